"""On a machine with an accelerator, all that is said of it is what PyTorch says."""

import pytest

from autoloader.child.device import device_kind
from scripts.accelerator_check import main

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.alone,
    pytest.mark.skipif(device_kind() != "cuda", reason="there is no CUDA device here"),
]


def test_the_check_agrees_with_plain_pytorch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its table is printed where it does not."""
    code = main([])

    assert code == 0, capsys.readouterr().out
