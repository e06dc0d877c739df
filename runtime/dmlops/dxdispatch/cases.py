"""`python -m dmlops.dxdispatch.cases`: makes models from test cases, one per line.

The generator runs this over the matrices. Each input line is a case as in a matrix. Each output line has its
`models` by kind ("directml", "shader"), the `files` of its outputs with their tensors, in `why`, by kind, the
reason for a missing model, and in `sources`, by name, the shaders that no earlier line has needed. With
`--no-shaders`, only the model of the operator is made.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..description import Description
from ..elements import computed_type, stored
from ..errors import JsonError
from ..gpu.direct3d import source
from ..gpu.errors import GpuUnavailable, Unsupported
from ..json_form import from_json
from ..tensor import TensorDesc
from .models import (
    Inexpressible,
    Json,
    operator_model,
    output_files,
    shader_model,
    shaders_of,
    to_json_tensor,
)

COMPILER_MISSING = 3  # exit status; standard error says where the compiler was looked for


def models_of(case: Json, with_shaders: bool) -> Json:
    """The models of a case, and for each kind without one the reason."""
    answer: Json = {"models": {}, "why": {}, "files": {}}
    try:
        desc = from_json({"type": case["type"], "desc": case["desc"]})
    except JsonError as error:
        return {**answer, "why": {"directml": str(error)}}
    inputs = None
    if "inputs" in case:
        inputs = inputs_of(case, desc)
        answer["files"] = {
            name: {"file": file, **to_json_tensor(tensor)}
            for name, (file, tensor) in output_files(desc).items()
        }
    _try(answer, "directml", lambda: operator_model(desc, inputs))
    if inputs is not None and with_shaders:
        given = inputs
        _try(answer, "shader", lambda: shader_model(desc, given))
    return answer


def _try(answer: Json, kind: str, made: Callable[[], Json]) -> None:
    try:
        answer["models"][kind] = made()
    except (Inexpressible, Unsupported) as error:
        answer["why"][kind] = str(error)


def inputs_of(case: Json, desc: Description) -> dict[str, Any]:
    """The arrays of a case with data, as `dmlops.reference.run` takes them."""
    return {name: _arrays(getattr(desc, name), elements) for name, elements in case["inputs"].items()}


def _arrays(tensor: TensorDesc | tuple[TensorDesc, ...], elements: list[Any]) -> Any:
    if isinstance(tensor, tuple):
        return [_array(one, part) for one, part in zip(tensor, elements, strict=True)]
    return _array(tensor, elements)


def _array(tensor: TensorDesc, elements: Iterable[Any]) -> np.ndarray:
    """Elements as in matrices; strings can represent numbers."""
    if tensor.DataType.kind == "float":
        numbers = np.array([float(one) for one in elements])
    else:
        numbers = np.array([int(one) for one in elements], computed_type(tensor.DataType))
    array: np.ndarray = stored(numbers, tensor.DataType)
    return array.reshape(tensor.Sizes)


def main() -> None:
    """Answers every line of standard input."""
    with_shaders = "--no-shaders" not in sys.argv
    known: set[str] = set()
    for line in sys.stdin:
        try:
            answer = models_of(json.loads(line), with_shaders)
        except GpuUnavailable as error:
            print(error, file=sys.stderr)
            sys.exit(COMPILER_MISSING)
        used = {name for model in answer["models"].values() for name in shaders_of(model)} - known
        answer["sources"] = {name: source(name) for name in sorted(used)}
        known |= used
        print(json.dumps(answer, allow_nan=False))


if __name__ == "__main__":
    main()
