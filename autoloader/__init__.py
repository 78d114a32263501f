"""Find the simplest PyTorch DataLoader settings that are fast enough, and prove them.

Light to import: neither torch nor optuna nor pandas is loaded here.
"""

from autoloader.api import check, measure, tune
from autoloader.errors import AutoloaderError
from autoloader.export.readings import loops, readings, trials
from autoloader.export.recommendation import OtherMachineWarning, Recommendation, load
from autoloader.watching import watch

__all__ = [
    "AutoloaderError",
    "OtherMachineWarning",
    "Recommendation",
    "__version__",
    "check",
    "load",
    "loops",
    "measure",
    "readings",
    "trials",
    "tune",
    "watch",
]

__version__ = "0.1.0"
