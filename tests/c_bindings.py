"""Bindings as the structs of the C header, and what it says of them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from c_declarations import struct_of
from c_graphs import as_c
from c_library import Header, Violations
from dmlops import Graph
from dmlops.bindings import Binding, Bindings, Range, Target
from dmlops.bindings.json_form import DIMENSIONS, HEAPS

ALL = 15  # parts
EXECUTE, INITIALIZE = 0, 1
NONE, BUFFER, BUFFER_ARRAY = 0, 1, 2
Pointer = ctypes.c_void_p


CRange, CBinding, CRequirement, CTarget, CBindings = (
    struct_of(f"dmlops_{name}") for name in ("range", "binding_desc", "requirement", "target", "bindings")
)


class Library(Header):
    """What the header says of bindings."""

    def requirements(self, target: Target, outputs: bool) -> Any:
        """The requirements of the inputs or of the outputs, as an array of structs."""
        what = target.what
        described: Any = as_c(what) if isinstance(what, Graph) else what.to_ctypes()

        def fill(array: Any, capacity: int) -> int:
            if isinstance(what, Graph):
                args = (ctypes.addressof(described), described.operators, outputs, array, capacity)
                return int(self.call.dmlops_graph_requirements(*args))
            return int(self.call.dmlops_requirements(ctypes.addressof(described), outputs, array, capacity))

        array = (CRequirement * fill(None, 0))()
        assert fill(array, len(array)) == len(array)
        names = [one.name for one in target.requirements[outputs]]
        if isinstance(what, Graph):
            for one, name in zip(array, names, strict=True):
                one.member = name.encode() or None
        return array

    def judge(self, bindings: Bindings, bound: int = ALL, judged: int = ALL) -> tuple[Violations, Violations]:
        """The violations, and the advice."""
        whole = self._as_c(bindings, bound, judged)
        functions = self.call.dmlops_validate_bindings, self.call.dmlops_advise_on_bindings
        violations, advice = (self.judged(one, ctypes.addressof(whole)) for one in functions)
        return violations, advice

    def _as_c(self, bindings: Bindings, bound: int, judged: int) -> Any:
        targets = [self._target(one) for one in bindings.targets]
        pointers = (Pointer * len(targets))(*map(ctypes.addressof, targets))
        inputs, outputs = _list(bindings.inputs), _list(bindings.outputs)
        whole = CBindings(
            INITIALIZE if bindings.phase == "initialize" else EXECUTE,
            ctypes.addressof(pointers),
            len(targets),
            bindings.temporary_size,
            bound,
            judged,
            ctypes.addressof(inputs),
            len(inputs),
            ctypes.addressof(outputs),
            len(outputs),
            _binding(bindings.persistent),
            _binding(bindings.temporary),
            _range(bindings.initialized),
        )
        resources = [_binding(bindings.persistent), _binding(bindings.temporary)]
        whole.persistent, whole.temporary = resources
        whole.alive = (targets, pointers, inputs, outputs, resources)
        return whole

    def _target(self, target: Target) -> Any:
        inputs, outputs = (self.requirements(target, outputs) for outputs in (False, True))
        made = CTarget(
            target.name.encode(),
            target.is_graph,
            ctypes.addressof(inputs),
            len(inputs),
            ctypes.addressof(outputs),
            len(outputs),
            target.persistent_size,
        )
        made.alive = (inputs, outputs)
        return made


def _list(bindings: Sequence[Binding]) -> Any:
    made = [_binding(one) for one in bindings]
    array = (CBinding * len(made))(*made)
    array.alive = made
    return array


def _binding(binding: Binding) -> Any:
    ranges = [] if binding is None else [binding] if isinstance(binding, Range) else list(binding)
    type_ = NONE if binding is None else BUFFER if isinstance(binding, Range) else BUFFER_ARRAY
    array = (CRange * len(ranges))(*map(_range, ranges))
    made = CBinding(type_, ctypes.addressof(array), len(ranges))
    made.alive = (array,)
    return made


def _range(given: Range | None) -> Any:
    if given is None:
        return CRange()
    buffer = 1 + int.from_bytes(given.buffer.encode(), "big") % ((1 << 64) - 1)
    heap, dimension = HEAPS.get(given.heap or "", 0), DIMENSIONS.get(given.dimension or "", 0)
    return CRange(buffer, given.offset, given.size, given.width, heap, dimension)
