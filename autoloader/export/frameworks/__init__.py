"""One module a framework that settings are handed to."""
