"""Exports cases for DxDispatch, which runs DirectML's operators on Windows, and checks its results.

`models` writes what DxDispatch runs: DirectML's own operator, or the shaders of this registry, on the same
buffers. `compare-results` compares the results with what the cases expect.
"""
