"""Reads graphs from files of any form."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import JsonError
from ..json_form import is_model
from ..reading import Entry, values
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
    if path == "-":
        yield from map(_of_entry, values(sys.stdin.buffer))
        return
    if path.endswith(ONNX):
        yield None, _of_onnx(path)
        return
    with open(path, "rb") as file:
        if path.endswith(SERIALIZED):
            yield None, _tried(from_serialized, file.read())
        else:
            yield from map(_of_entry, values(file))


def _of_onnx(path: str) -> Graph | JsonError:
    from ..onnx.graph import Unreadable
    from ..onnx.package import OnnxMissing
    from .mapped import NotMapped, from_onnx

    try:
        return from_onnx(path)
    except (NotMapped, OnnxMissing, Unreadable) as error:
        return JsonError("", str(error))


def _of_entry(entry: Entry) -> tuple[Any, Graph | JsonError]:
    if entry.error is not None:
        return entry.identity, entry.error
    return entry.identity, _tried(from_model if is_model(entry.value) else from_json, entry.value)


def _tried(read: Callable[[Any], Graph], value: Any) -> Graph | JsonError:
    try:
        return read(value)
    except JsonError as error:
        return error
