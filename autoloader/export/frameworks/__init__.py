"""What settings are handed to: one module a framework, each with exact keys."""

from autoloader.export.frameworks.registry import NAMES, export_to, exports
from autoloader.export.frameworks.snippet import Export, Naming

__all__ = ["NAMES", "Export", "Naming", "export_to", "exports"]
