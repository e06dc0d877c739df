"""Generator of the DirectML operator registry: specs to validators, bindings, shaders and test matrices."""

__version__ = "0.1.0"  # of everything: this package, dmlops, the header, the shaders
