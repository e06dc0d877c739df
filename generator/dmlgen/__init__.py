"""Generates validators, bindings, shaders and test matrices from DirectML operator specs."""

__version__ = "0.1.0"  # shared by this package, dmlops, the header and the shaders
