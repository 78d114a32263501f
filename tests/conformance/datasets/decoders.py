"""Video readers that are made before the workers start, and their honest sibling."""

from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import torch
from torch.utils.data import Dataset

from tests.conformance.canary import TEXT, pixels
from tests.conformance.datasets.records import LENGTH, SlowFile, made

SCALE = 16
"""Times that a marked pixel is repeated each way."""


def video_file(folder: str) -> Path:
    """Return a video without loss: a marked picture for each id, each a key frame."""

    def write(path: Path) -> None:
        with av.open(str(path), "w", format="avi") as container:
            stream: Any = container.add_stream("png", rate=25)
            stream.width = stream.height = 4 * SCALE
            stream.pix_fmt = "rgb24"
            for index in range(LENGTH):
                grey = np.kron(pixels(index)[0].numpy(), np.ones((SCALE, SCALE), "u1"))
                noise = np.random.default_rng(index).integers(0, 255, grey.shape, "u1")
                picture = np.stack([grey, grey, noise], 2).astype(np.uint8)
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                for packet in stream.encode(frame):
                    container.mux(packet)
            for packet in stream.encode():
                container.mux(packet)

    return made(folder, "records.avi", write)


class Video(Dataset[Any]):
    """Reads a picture for each id."""

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        small = torch.from_numpy(self.picture(index)[::SCALE, ::SCALE, 0].copy())
        number = int.from_bytes(bytes(small.flatten()[12:].tolist()), "little")
        text = f"{TEXT} {number}"
        return {"id": index, "label": 7 * number, "pixels": small[None], "text": text}

    def picture(self, index: int) -> Any:
        """Return the picture as rows of red, green and blue."""
        raise NotImplementedError


class SharesDecordReader(Video):
    """Decodes with a reader of decord that is made at once, with its threads."""

    def __init__(self, folder: str) -> None:
        import decord  # it starts threads and loads a second FFmpeg

        self.reader = decord.VideoReader(str(video_file(folder)), num_threads=2)

    def picture(self, index: int) -> Any:
        """Return the picture as rows of red, green and blue."""
        return self.reader[index].asnumpy()


class OpensDecordReader(SharesDecordReader):
    """Honest: makes the reader in the process that reads."""

    def __init__(self, folder: str) -> None:
        self.path = video_file(folder)
        self.reader = None

    def picture(self, index: int) -> Any:
        """Return the picture as rows of red, green and blue."""
        if self.reader is None:
            super().__init__(str(self.path.parent))
        return super().picture(index)


class SharesContainer(Video):
    """Decodes from a container of PyAV that is opened at once."""

    def __init__(self, folder: str) -> None:
        self.container = av.open(SlowFile(video_file(folder)), "r", format="avi")
        self.stream = self.container.streams.video[0]

    def picture(self, index: int) -> Any:
        """Return the picture as rows of red, green and blue."""
        self.container.seek(index, stream=self.stream)
        for frame in self.container.decode(self.stream):
            if frame.pts is not None and frame.pts >= index:
                return frame.to_ndarray(format="rgb24")
        msg = "the video ends before this picture"
        raise EOFError(msg)


class SharesCapture(Video):
    """Decodes with a capture of OpenCV that has read before the workers start."""

    def __init__(self, folder: str) -> None:
        self.capture = cv2.VideoCapture(str(video_file(folder)))
        self.picture(LENGTH - 1)

    def picture(self, index: int) -> Any:
        """Return the picture as rows of red, green and blue."""
        self.capture.set(cv2.CAP_PROP_POS_FRAMES, index)
        is_there, picture = self.capture.read()
        if not is_there:
            msg = "the picture cannot be read"
            raise EOFError(msg)
        return picture[:, :, ::-1]
