"""A dataset that asks a store on this machine for each of its examples."""

import urllib.request
from typing import Any

import torch
from torch.utils.data import Dataset


class Asks(Dataset[Any]):
    """Bytes of a store, by a client of the standard library."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __len__(self) -> int:
        return 48

    def __getitem__(self, index: int) -> Any:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"{self.url}/{index:04}") as answer:
            return torch.tensor(list(answer.read())), index % 7
