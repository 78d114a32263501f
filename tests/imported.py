"""Which packages a Python process loaded, by what `-X importtime` tells on stderr."""


def packages_in(stderr: str) -> set[str]:
    """Return the top-level packages and modules that were imported."""
    return {
        line.rpartition("|")[2].strip().split(".")[0]
        for line in stderr.splitlines()
        if line.startswith("import time:")
    }
