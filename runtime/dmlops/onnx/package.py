"""The `onnx` package, an extra, which is loaded on first use."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any


class OnnxMissing(ImportError):
    """The `onnx` package is not installed."""


class _Package:
    """Its names, and its modules `inliner`, `reference` and `shape_inference`. Raises OnnxMissing."""

    @cached_property
    def _loaded(self) -> Any:
        try:
            for name in ("onnx.inliner", "onnx.reference", "onnx.shape_inference"):
                import_module(name)
        except ImportError as error:
            raise OnnxMissing("The `onnx` package is missing: pip install onnx.") from error
        return import_module("onnx")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loaded, name)


onnx: Any = _Package()
