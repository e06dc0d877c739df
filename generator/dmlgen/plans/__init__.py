"""The planners of `dmlops.gpu.plans`, read as data: what they are told, how constants lie, and their text as
C.

`model` reads the modules, `params` gives shaders their constant buffers, `functions` translates.
"""
