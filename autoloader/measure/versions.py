"""Which versions of Python and of packages are installed, without importing them."""

import importlib.metadata
import platform

_PACKAGES = ("torch", "optuna", "numpy", "torch-autoloader")


def versions() -> dict[str, str]:
    """Return the versions that speed depends on; what is not installed is left out."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
