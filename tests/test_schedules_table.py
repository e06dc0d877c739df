"""Forms in the notation of specs, and the table of which operator has which."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlgen.analysis.pattern import match
from dmlgen.expr import ir
from dmlgen.memory import Memory
from dmlgen.schedules.table import found, listed, misfits
from schedule_cases import Variant
from whole_registry import whole_registry


def test_every_operator_has_the_form_that_is_listed() -> None:
    registry = whole_registry()
    assert list(misfits(registry, Memory())) == []
    with_forms = {one.name for one in registry.operators if one.defines is not None and found(registry, one)}
    assert with_forms == {one.name for one in registry.operators if listed(one.name) is not None}


TERMS = "BTensor[at[:r - 1] + [k]] * ATensor[at[:r - 1] + [k]] for k in range(K)"


@pytest.mark.parametrize(
    ("operator", "output", "forms"),
    [
        ("ELEMENT_WISE_ABS", "abs(InputTensor[at])", None),
        ("ELEMENT_WISE_ABS", "max(abs(InputTensor[p]) for p in ndindex([1 for d in axes(InputTensor)]))", ""),
        ("GEMM", f"sum({TERMS})", "left BTensor"),
        ("GEMM", f"max({TERMS})", "slowly"),
    ],
)
def test_what_no_longer_fits_is_named(operator: str, output: str, forms: str | None, tmp_path: Path) -> None:
    let = "  let: {r: OutputTensor.DimensionCount}\n" if "r - 1" in output else ""
    variant = Variant(tmp_path, operator, f'compute:\n{let}  outputs:\n    OutputTensor: "{output}"\n')
    messages = [one.message for one in misfits(variant.registry, Memory())]
    assert len(messages) == (forms is not None)
    assert all(one.startswith(f"{operator} is no longer ") and (forms or "") in one for one in messages)


X, N = ir.Load(ir.Tensor("XTensor"), ir.AT, ir.FLOAT), ir.Local("n", ir.INT)
A, B = ir.at(0), ir.at(1)
TOTAL = ir.Reduce("sum", (ir.Loop(N, ir.ZERO, B),), ir.Index(ir.AT, N), ir.INT, over_elements=True)


def added(left: ir.Expr, right: ir.Expr, type_: ir.Type = ir.INT) -> ir.Expr:
    return ir.Binary("+", left, right, type_)


@pytest.mark.parametrize(
    ("pattern", "node", "names"),
    [
        ("x", A, {"x": A}),
        ("at[0] + x", added(B, A), {"x": B}),
        ("a + a", added(A, A), {"a": A}),
        ("a + a", added(A, B), None),
        ("at + b", added(ir.ListOf((A,)), ir.AT, ir.INTS), None),
        ("[a] + at", added(ir.ListOf((A,)), ir.AT, ir.INTS), {"a": A}),
        ("a - 1", ir.Binary("-", A, ir.ONE, ir.INT), {"a": A}),
        ("1 - a", ir.Binary("-", A, ir.ONE, ir.INT), None),
        ("a == at[1]", ir.Compare("==", B, A), {"a": A}),
        ("a < at[1]", ir.Compare("<", B, A), None),
        ("at[0]", ir.Definition("first", A), {}),
        ("ATensor[at]", X, {"ATensor": ir.Tensor("XTensor")}),
        ("A[at]", X, None),
        ("A[at]", ir.Entry("Kept", ir.AT, ir.FLOAT), {"A": ir.Tensor("Kept")}),
        ("ATensor[at]", ir.Entry("Kept", ir.AT, ir.FLOAT), None),
        ("sum(at[i] for i in range(count) if c)", TOTAL, {"i": N, "count": B, "c": None}),
        ("sum(at[i] for i in range(1, count))", TOTAL, None),
        ("sum(at[i] for i in ndindex(sizes))", TOTAL, None),
        ("max(at[i] for i in range(count))", TOTAL, None),
    ],
)
def test_what_names_stand_for(pattern: str, node: ir.Expr, names: dict[str, ir.Expr | None] | None) -> None:
    found = match(pattern, node)
    assert (None if found is None else vars(found)) == names
