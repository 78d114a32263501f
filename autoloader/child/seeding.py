"""Seed the global generators, as PyTorch does in its workers."""

import random

import numpy as np
import torch


def seed_all(seed: int) -> None:
    """Seed the three global generators that PyTorch seeds in its workers."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # the global one is what datasets use
