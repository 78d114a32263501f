"""export/frameworks."""
