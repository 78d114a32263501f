"""A script that trains where it is imported: it has no guard."""

from torch.utils.data import DataLoader

from tests.conformance.marked import Marked

dataset = Marked()
for _batch in DataLoader(dataset, batch_size=8, num_workers=1):
    pass
