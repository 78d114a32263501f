"""Graphs of PyTorch Geometric on their way; it takes seconds to import."""

from typing import Any

import torch
from torch.utils.data import DataLoader
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader as GraphLoader

from tests.conformance.marked import Marked


class Graphs(Marked):
    """Graphs of PyTorch Geometric, of different sizes."""

    def __getitem__(self, index: int) -> Any:
        """Return the graph of an index."""
        found = super().__getitem__(index)
        nodes = 3 + index % 5
        return Data(
            x=found["pixels"].reshape(1, -1).repeat(nodes, 1).float(),
            edge_index=torch.arange(nodes).repeat(2, 1),
            y=found["label"],
            text=found["text"],
            number=index,
        )


def graphs() -> DataLoader[Any]:
    """Return the loader of PyTorch Geometric over them."""
    loader: DataLoader[Any] = GraphLoader(Graphs(), batch_size=8)
    return loader
