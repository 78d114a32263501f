"""Trainers: the loader that one trains with, and a recommendation put into it.

One module a framework, imported only by those who train with it.
"""
