"""A script that trains only where it is run."""

from torch.utils.data import DataLoader

from tests.conformance.marked import Marked

dataset = Marked()

if __name__ == "__main__":
    for _batch in DataLoader(dataset, batch_size=8, num_workers=1):
        pass
