"""ONNX's node tests through the registry's counterparts: every form that fits, run in several ways."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from dmlops import counterparts
from dmlops.counterparts.describe import Execute, Plan, at_common_rank, plans
from dmlops.onnx.execute import plain
from dmlops.onnx.graph import Graph, key
from dmlops.onnx.model import Unreadable, describe, whole

TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}
OF_FOUR_DIGITS = 1e-4
ROUNDED = {  # expected outputs that ONNX has with four digits
    "test_averagepool_2d_ceil_last_window_starts_on_pad",
    "test_roialign_aligned_false",
    "test_roialign_aligned_true",
}


class Inexpressible(Exception):
    """DirectML has no such values."""


@dataclass(frozen=True)
class Trial:
    """The result of a node test: its status as a whole, and for each form of each node the operators, and
    whether the outputs were right (None: it has no outputs to compare).

    `refused_otherwise` are forms that no level accepts, and not for their data types: a mistake in the form.
    """

    name: str
    status: str
    reason: str
    forms: tuple[tuple[str, bool | None], ...] = ()
    refused_otherwise: tuple[str, ...] = ()


@cache
def by_operator() -> Mapping[str, list[Any]]:
    """The node tests by the operator that they are for, without those of definitions by other operators."""
    found: dict[str, list[Any]] = {}
    with warnings.catch_warnings():  # some overflow while they are put together
        warnings.simplefilter("ignore")
        tests = collect_testcases(None)
    for test in tests:
        if "_expanded" in test.name:
            continue
        found.setdefault(test.model.graph.node[0].op_type, []).append(test)
    return found


def array_of(item: Any) -> np.ndarray:
    if isinstance(item, np.ndarray | np.generic):
        return np.asarray(item)
    if not isinstance(item, TensorProto):
        raise Inexpressible("a sequence")
    return numpy_helper.to_array(item)


def trial(test: Any, executes: Sequence[Execute]) -> Trial:
    """The result of a test if all inputs but the first are known, or none, or, if need be, all; each form is
    run in each of these ways."""
    given, expected = test.data_sets[0]
    try:
        arrays = [array_of(item) for item in given]
        wanted = [array_of(item) for item in expected]
    except Inexpressible as error:
        return Trial(test.name, "no tensors", str(error))
    tried: list[Trial] = []
    for unknown in sorted({1, len(arrays)}):
        tried.append(_tried(test, arrays, wanted, unknown, executes))
    if all(one.status == "undecided" for one in tried):
        tried.append(_tried(test, arrays, wanted, 0, executes))
    best = next((one for one in tried if one.status == "mapped"), tried[-1])
    return Trial(
        test.name,
        best.status,
        best.reason,
        tuple(form for one in tried for form in one.forms),
        tuple(form for one in tried for form in one.refused_otherwise),
    )


def _tried(
    test: Any, arrays: list[np.ndarray], wanted: list[np.ndarray], unknown: int, executes: Sequence[Execute]
) -> Trial:
    """The test with the values of its inputs from the `unknown`-th on known beforehand."""
    model = onnx.ModelProto()
    model.CopyFrom(test.model)
    inputs = {info.name: array for info, array in zip(model.graph.input, arrays, strict=True)}
    for name in list(inputs)[unknown:]:
        if inputs[name].dtype.kind in "biuf" and inputs[name].size:
            model.graph.initializer.append(numpy_helper.from_array(inputs[name], name))
    try:
        model = whole(model, {})
    except Unreadable as error:
        return Trial(test.name, "unreadable", str(error))
    graph = Graph(model, model.graph)
    for name, array in inputs.items():  # shapes that the model leaves open
        if array.dtype.kind in "biuf":
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.values[name].type = helper.make_tensor_type_proto(kind, array.shape)
    known = {one.name: plain(numpy_helper.to_array(one)) for one in model.graph.initializer}
    known |= {name: plain(array) for name, array in inputs.items()}
    last = {one.name: plain(array) for one, array in zip(model.graph.output, wanted, strict=True)}
    forms: list[tuple[str, bool | None]] = []
    refused: list[str] = []
    for node in model.graph.node:
        graph.enter(node)
        told = describe(graph, node)
        if told.status not in ("mapped", "host"):
            return Trial(test.name, told.status, f"{node.op_type}: {told.reason}", tuple(forms))
        if told.status == "host":
            found = {name: graph.values[name].array for name in node.output if name in graph.values}
            known |= {name: plain(array) for name, array in found.items() if array is not None}
            continue
        results = {}
        for plan in _every_form(graph, node):
            operators = " ".join(work.desc.OPERATOR for work in plan.work)
            if plan.level is None:
                refused += [operators] if _is_mistaken(plan) else []
                continue
            runs = [plan.run(known, execute) for execute in executes]
            results = runs[0]
            if any(name in last for name in node.output):
                tolerance = OF_FOUR_DIGITS if test.name in ROUNDED else 0.0
                is_right = [_right(found, last, tolerance) for found in runs]
                forms.append((operators, None if None in is_right else all(is_right)))
        known |= results
    return Trial(test.name, "mapped", "", tuple(forms), tuple(refused))


def _every_form(graph: Graph, node: Any) -> Iterator[Plan]:
    """Each form of a node, as it is and with leading sizes of 1."""
    domain, name = key(node)
    operation = counterparts.operation("onnx", name, domain)
    signature = operation.signature(graph.versions.get(domain, 1)) if operation else None
    assert signature
    for plan in plans(signature, graph.named(node, signature)):
        yield plan
        yield at_common_rank(plan)


def _is_mistaken(plan: Plan) -> bool:
    """Whether the newest level rejects the plan for more than data types."""
    broken = {violation.rule for work in plan.work for violation in work.desc.validate()}
    return "DML-OPERATOR-data-type" not in broken


def _right(
    found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray], tolerance: float
) -> bool | None:
    """Whether those outputs that are there are right; None if none is."""
    compared = [(found[name], array) for name, array in wanted.items() if name in found]
    return all(_same(one, array, tolerance) for one, array in compared) if compared else None


def _same(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> bool:
    if found.size != wanted.size or found.dtype != wanted.dtype:
        return False
    found = found.reshape(wanted.shape)
    if wanted.dtype.kind != "f":
        return bool((found == wanted).all())
    tolerance = tolerance or TOLERANCE[wanted.dtype.name]
    return bool(np.allclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True))
