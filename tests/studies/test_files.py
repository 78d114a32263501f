"""Studies whose examples lie in files: frames, augment and stream."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, default_collate

from studies.augment.dataset import SIDE as AUGMENT_SIDE
from studies.augment.dataset import Pictures, changed, make_pictures
from studies.frames.dataset import Frames, make_frames
from studies.stream.dataset import SHARDS, Shards, make_shards
from tests.studies.reading import digests, equal, times


@pytest.mark.parametrize("make", [make_frames, make_pictures, make_shards])
def test_files_are_made_alike_and_once(
    make: Callable[[Path, Path, int], bool], photos: Path, tmp_path: Path
) -> None:
    """Two makers write the same bytes, and a second start writes none."""
    assert make(tmp_path / "a", photos, 5)
    assert make(tmp_path / "b", photos, 5)
    before = times(tmp_path / "a")

    assert not make(tmp_path / "a", photos, 5)

    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert times(tmp_path / "a") == before


@pytest.fixture
def frames(photos: Path, tmp_path: Path) -> Frames:
    """Return five frames."""
    make_frames(tmp_path / "frames", photos, 5)
    return Frames(tmp_path / "frames")


def test_a_frame_is_three_megabytes_of_the_file(frames: Frames, tmp_path: Path) -> None:
    """What arrives is what is stored, with the planes first, and may be written to."""
    stored = np.load(tmp_path / "frames" / "frames.npy")

    pixels, label = frames[3]

    assert pixels.shape == (3, 1024, 1024)
    assert pixels.dtype is torch.uint8
    assert np.array_equal(pixels.numpy(), stored[3].transpose(2, 0, 1))
    assert label in range(3)
    pixels.zero_()
    assert np.array_equal(np.load(tmp_path / "frames" / "frames.npy"), stored)


def test_a_map_of_frames_is_not_sent_to_a_worker(frames: Frames) -> None:
    """A spawned worker gets the path, not a gigabyte, and maps the file itself."""
    expected = frames[1]

    sent = pickle.dumps(frames)
    received = pickle.loads(sent)  # noqa: S301  # made here

    assert len(sent) < 10_000
    assert equal(received[1], expected)


def test_frames_end(frames: Frames) -> None:
    """An index beyond the last frame is an IndexError, as of a list."""
    with pytest.raises(IndexError):
        frames[len(frames)]


@pytest.fixture
def pictures(photos: Path, tmp_path: Path) -> Path:
    """Return the folder of twelve pictures."""
    make_pictures(tmp_path / "augment", photos, 12)
    return tmp_path / "augment"


def test_a_picture_is_changed_by_the_generator_of_torch(pictures: Path) -> None:
    """The same state gives the same example, another one another."""
    dataset = Pictures(pictures)

    torch.manual_seed(1)
    one, label = dataset[7]
    other, _ = dataset[7]
    torch.manual_seed(1)
    again, _ = dataset[7]

    assert one.shape == (3, AUGMENT_SIDE, AUGMENT_SIDE)
    assert one.dtype is torch.float32
    assert label in range(3)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_without_training_pictures_are_as_they_are_stored(pictures: Path) -> None:
    """Nothing is random then, and each index has a picture of its own."""
    dataset = Pictures(pictures, train=False)

    found = [dataset[index][0] for index in range(len(dataset))]

    assert all(torch.equal(dataset[index][0], found[index]) for index in range(12))
    assert len({picture.numpy().tobytes() for picture in found}) == 12


def test_no_two_workers_and_no_two_epochs_change_alike(pictures: Path) -> None:
    """All examples of two epochs in two kept workers are different from each other."""
    loader = DataLoader(
        Pictures(pictures),
        sampler=[4] * 8,
        batch_size=2,
        num_workers=2,
        persistent_workers=True,
    )

    found = [example for _ in range(2) for batch, _ in loader for example in batch]

    assert len({example.numpy().tobytes() for example in found}) == 16


def test_a_change_moves_lights_and_blots() -> None:
    """The picture stays one: same shape, 0 to 1, and of what it was before."""
    size = AUGMENT_SIDE
    before = np.linspace(0, 1, size * size * 3, dtype=np.float32)
    before = before.reshape(size, size, 3)

    after = changed(before, np.random.default_rng(0))

    assert after.shape == before.shape
    assert after.dtype == np.float32
    assert after.min() >= 0
    assert after.max() <= 1
    assert not np.array_equal(after, before)


@pytest.fixture
def shards(photos: Path, tmp_path: Path) -> Shards:
    """Return forty examples in all shards."""
    make_shards(tmp_path / "stream", photos, 40)
    return Shards(tmp_path / "stream")


def test_a_stream_gives_every_id_once_in_order(shards: Shards) -> None:
    """One process reads all shards from front to back."""
    found = list(shards)

    assert [example["id"] for example in found] == list(range(40))
    assert found[0]["image"].shape == (3, 128, 128)
    assert found[0]["image"].dtype is torch.float32
    assert {example["label"] for example in found} == {0, 1, 2}


def test_a_second_pass_of_a_stream_is_the_first(shards: Shards) -> None:
    """Nothing of it is consumed."""
    first = list(shards)

    assert equal(list(shards), first)


def test_workers_share_the_shards_out(shards: Shards) -> None:
    """Two workers deliver what one process reads: the same ids and content, once."""
    expected = {example["id"]: example for example in shards}

    loader = DataLoader(shards, batch_size=4, num_workers=2, collate_fn=list)
    found = [example for batch in loader for example in batch]

    assert sorted(example["id"] for example in found) == sorted(expected)
    assert all(equal(example, expected[example["id"]]) for example in found)


def test_every_shard_has_its_part(shards: Shards, photos: Path, tmp_path: Path) -> None:
    """There are as many files as shards, and examples become one batch."""
    files = list((tmp_path / "stream").glob("*.tar"))

    batch = default_collate(list(shards)[:8])

    assert len(files) == SHARDS
    assert batch["image"].shape == (8, 3, 128, 128)
