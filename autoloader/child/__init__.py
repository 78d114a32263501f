"""The processes that touch the user's code: reference, host and trials.

The only package that imports torch, and only in modules that the parent never imports;
`wire` and `stages` are shared with the parent and stay light.
"""
