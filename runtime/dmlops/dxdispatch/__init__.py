"""Cases for DxDispatch, which runs DirectML's operators on Windows, and a check of its results.

`models` writes what DxDispatch runs: DirectML's own operator, or the shaders of this registry, over the same
buffers. `verify` compares what came out with what the cases expect.
"""
