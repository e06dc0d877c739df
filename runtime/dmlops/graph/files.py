"""Reads graphs from files of any form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import JsonError
from ..json_form import is_model
from ..reading import tried, values
from .json_form import from_json
from .model import Graph
from .models import from_model
from .serialized import from_serialized

SERIALIZED, ONNX = ".bin", ".onnx"  # how the names of such files end


def graphs(path: str) -> Iterator[tuple[Any, Graph | JsonError]]:
    """The graphs in a file, each with its id, or the reason why there is none; "-" is standard input.

    A file holds JSON values, one a line or a single one: graphs, or DxDispatch models. Or it is a serialized
    graph of ONNX Runtime or DxDispatch, or an ONNX model. Raises OSError if it cannot be read.
    """
    if path.endswith(ONNX):
        yield None, _of_onnx(path)
    elif path.endswith(SERIALIZED):
        yield None, tried(from_serialized, Path(path).read_bytes())
    else:
        for identity, value in values(path):
            yield identity, tried(from_model if is_model(value) else from_json, value)


def _of_onnx(path: str) -> Graph | JsonError:
    from ..onnx.graph import Unreadable
    from ..onnx.package import OnnxMissing
    from .mapped import NotMapped, from_onnx

    try:
        return from_onnx(path)
    except (NotMapped, OnnxMissing, Unreadable) as error:
        return JsonError("", str(error))
