"""Frozen values that parent, child and files have in common."""
