"""The planners of `dmlops.gpu.plans`, read as data: their inputs, the layout of constants, and their
translation to C.

`model` reads the modules, `params` gives shaders their constant buffers, `functions` translates.
"""
