"""The expression language: what it accepts, what it means, and that it always has a value."""

from __future__ import annotations

import re
import string
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dmlgen.diagnostics import Position, SpecError
from dmlgen.expr import ir
from dmlgen.expr.bounds import BOUNDS
from dmlgen.expr.define import FOLDS, NUMBERS, PLACES, Definer
from dmlgen.expr.evaluate import Evaluator
from dmlgen.expr.functions import ELEMENT_FUNCTIONS, FUNCTIONS
from dmlgen.expr.ir import LIMIT
from dmlgen.expr.parse import Scope, parse
from dmlgen.expr.printer import SOURCE
from dmlgen.schedules.cases import written

DATA_TYPE = ir.Type("enum", "TENSOR_DATA_TYPE")
TYPES = {"UNKNOWN": 0, "FLOAT32": 1, "INT8": 8, "INT64": 11}
FIELDS = {"DataType": DATA_TYPE, "DimensionCount": ir.INT, "Sizes": ir.INTS, "Strides": ir.INTS}
NAMES: dict[str, ir.Expr] = {
    "A": ir.Tensor("A"),
    "B": ir.Tensor("B"),
    "Many": ir.Tensors("Many"),
    "Axis": ir.Member("Axis", ir.INT),
    "Offset": ir.Member("Offset", ir.INT, signed=True),
    "Alpha": ir.Member("Alpha", ir.FLOAT),
    "Scale": ir.Member("Scale", ir.Type("struct", "SIZE_2D")),
    "at": ir.Local("at", ir.INTS),
}
SCOPE = Scope(NAMES, FIELDS, {"TENSOR_DATA_TYPE": TYPES}, {"SIZE_2D": {"Width": ir.INT, "Height": ir.INT}})
ENVIRONMENT = {
    "A": SimpleNamespace(DataType=1, DimensionCount=3, Sizes=(2, 3, 4), Strides=None),
    "B": None,
    "Many": (SimpleNamespace(DataType=8, DimensionCount=1, Sizes=(7,), Strides=(1,)),),
    "Axis": 1,
    "Offset": -2,
    "Alpha": 0.5,
    "Scale": SimpleNamespace(Width=5, Height=6),
}


def typed(text: str, expected: ir.Type | None = None) -> ir.Expr:
    return parse(text, SCOPE, lambda offset: Position("x.yaml", 1, 1 + offset), expected)


def evaluated(node: ir.Expr) -> object:
    return Evaluator({1: 32, 8: 8, 11: 64}, frozenset({8, 11})).function(node)(dict(ENVIRONMENT))


def value(text: str) -> object:
    return evaluated(typed(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 // -2", -4),
        ("-7 % 3", 2),
        ("Axis // 0", 0),
        ("Axis % 0", 0),
        ("9223372036854775807 + 1", LIMIT),
        ("-9223372036854775807 * 4", -LIMIT),
        ("A.Sizes[Axis]", 3),
        ("A.Sizes[3]", 0),
        ("A.Sizes[Offset]", 0),
        ("A.Sizes[1:]", (3, 4)),
        ("A.Sizes[:Offset]", ()),
        ("A.Sizes[2:1]", ()),
        ("A.Sizes[Axis:99] + [5]", (3, 4, 5)),
        ("align(A.Sizes, 5, 1)", (1, 1, 2, 3, 4)),
        ("align(A.Sizes, 2, 1)", (3, 4)),
        ("align(A.Sizes, min(Offset, 8), 1)", ()),
        ("replace(A.Sizes, 1, 9)", (2, 9, 4)),
        ("replace(A.Sizes, 8, 9)", (2, 3, 4)),
        ("product(A.Sizes)", 24),
        ("sum(A.Sizes[d] for d in axes(A) if d != Axis)", 6),
        ("product(A.Sizes[d] * 4294967296 for d in axes(A))", LIMIT),
        ("max(A.Sizes[d] for d in range(0))", 0),
        ("[d * 2 for d in range(1, 4)]", (2, 4, 6)),
        ("all(A.Sizes[d] > 1 for d in axes(A))", True),
        ("any(A.Sizes[d] > 4 for d in axes(A))", False),
        ("1 <= Axis < A.DimensionCount", True),
        ("A.DataType == FLOAT32", True),
        ("A.DataType in (INT8, INT64)", False),
        ("A.DataType not in (INT8, INT64)", True),
        ("bits(A.DataType)", 32),
        ("signed(Many[0].DataType)", True),
        ("len(Many)", 1),
        ("Many[0].Sizes[0]", 7),
        ("present(B)", False),
        ("present(A.Strides)", False),
        ("not present(A.Strides) and Alpha < 1", True),
        ("5 if present(B) else 6", 6),
        ("power_of_two(64)", True),
        ("power_of_two(0)", False),
        ("abs(Offset)", 2),
        ("Scale.Width + Scale.Height", 11),
    ],
)
def test_values(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("Axsi", "unknown-name", 1),
        ("1 + A.Size[0]", "unknown-name", 7),
        ("A.DataType == FLOAT23", "unknown-name", 15),
        ("foo(1)", "unknown-name", 1),
        ("Axis < Alpha", "expression-type", 8),
        ("A < 1", "expression-type", 5),
        ("A.Sizes < A.Strides", "expression-type", 1),
        ("A.Sizes == A.Sizes", "idle-expression", 1),
        ("A.Sizes[-9]", "expression-form", 9),
        ("A.Sizes[8]", "expression-form", 9),
        ("A.Sizes[:2][2]", "expression-form", 13),
        ("A.Sizes[3:5][Axis + 2]", "expression-form", 14),
        ("A.Sizes[0] and Axis", "expression-type", 1),
        ("1 if Axis else 2", "expression-type", 6),
        ("Scale.Depth", "unknown-name", 7),
        ("A.Sizes[::2]", "expression-type", 1),
        ("Axis ** 2", "expression-form", 1),
        ("Axis / 2", "expression-type", 1),
        ("'text'", "expression-form", 1),
        ("(Axis, 1)", "expression-form", 1),
        ("min(1)", "expression-form", 1),
        ("all(d for d in range(3))", "expression-type", 5),
        ("sum(1 for d in range(Axis))", "unbounded", 16),
        ("sum(1 for d in range(100))", "unbounded", 16),
        ("sum(1 for d in range(Offset, 3))", "unbounded", 16),
        ("sum(1 for d in A.Sizes)", "expression-form", 16),
        ("sum(d for Axis in axes(A))", "name-clash", 11),
        ("align(A.Sizes, Axis, 1)", "unbounded", 1),
        ("A.Sizes + A.Sizes + A.Sizes + A.Sizes + A.Sizes + A.Sizes + A.Sizes", "unbounded", 1),
        ("1 + )", "expression-syntax", 5),
        ("a; b", "expression-syntax", 2),
        ("99999999999999999999", "expression-size", 1),
    ],
)
def test_faults_have_a_code_and_a_column(text: str, code: str, column: int) -> None:
    with pytest.raises(SpecError) as raised:
        typed(text)
    (finding,) = raised.value.findings
    assert (finding.code, finding.position.column) == (code, column)


@pytest.mark.parametrize(
    "text",
    [
        "1 <= Axis and Axis < A.DimensionCount",
        "-(Axis + 1) * 2 - (3 - Axis) // 4",
        "not (Axis == 1 or present(B))",
        "A.Sizes[Axis:] + [1, 2] + align(A.Sizes[:2], 4, 1)",
        "all(A.Sizes[d] == (1 if d == Axis else 2) for d in range(1, 3) if d != 2)",
        "A.DataType not in (INT8, INT64)",
        "Many[Axis + 1].Sizes[0] % 2",
        "(1 if Axis == 1 else 2) + 3",
    ],
)
def test_printing_and_parsing_are_inverse(text: str) -> None:
    node = typed(text)
    assert typed(SOURCE.print(node)) == node


def test_loops_that_are_written_out_hide_variables_of_the_same_name() -> None:
    node = typed("[A.Sizes[d] * 10 for d in axes(A)]")
    for place in (2, 0):
        assert isinstance(node, ir.Reduce)
        entry = ir.Index(ir.Definition("entries", node), ir.Number(place, ir.INT))
        node = replace(node, body=ir.Binary("+", entry, node.loop.variable, ir.INT))
    assert evaluated(node) == evaluated(written(node, {})) == (40, 41, 42)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("max(A.DimensionCount - Axis, 0)", (0, 8)),
        ("len(A.Sizes + A.Sizes[1:])", (0, 15)),
        ("len([1, 2] + A.Sizes[:3])", (2, 5)),
        ("A.DimensionCount - 1", (-1, 7)),
        ("max(Offset, 0)", (0, LIMIT)),
        ("Axis", (0, LIMIT)),
        ("Scale.Width", (-LIMIT, LIMIT)),
        ("min(Offset, 9) % 4", (0, 3)),
        ("min(Axis, 9) // 4", (0, 2)),
        ("sum(d * 2 for d in range(1, 4))", (6, 18)),
        ("sum(d for d in range(4) if d != Axis)", (0, 12)),
        ("product(d + 1 for d in axes(A))", (1, 8**8)),
        ("min(5 for d in axes(A))", (0, 5)),
    ],
)
def test_bounds(text: str, bounds: tuple[int, int]) -> None:
    assert BOUNDS.value(typed(text)) == bounds


TEXT = st.text(alphabet=string.printable, max_size=60)
VOCABULARY = re.findall(
    r"\S+",
    """A B Many Axis Offset Alpha Scale at d . Sizes DimensionCount DataType Width [ ] ( ) , : + - * // % ==
    < <= in not and or if else for all any sum range axes align replace wrap bits 0 1 7 FLOAT32 present""",
)
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join)


@given(TEXT | WORDS)
def test_any_text_is_an_expression_or_a_finding(text: str) -> None:
    try:
        node = typed(text)
    except SpecError as error:
        assert error.findings
        return
    if not any(
        isinstance(part, ir.Load | ir.Local) or part.type.kind in ("tensor", "tensors")
        for part in ir.walk(node)
    ):
        Evaluator({}, frozenset()).function(node)(dict(ENVIRONMENT))


BOUNDED = Scope(
    {
        **{name: value for name, value in NAMES.items() if name != "at"},
        "Steps": ir.Member("Steps", ir.INTS, signed=True),
        "Windows": ir.Member("Windows", ir.INTS),
    },
    FIELDS,
    {"TENSOR_DATA_TYPE": TYPES},
    {"SIZE_2D": {"Width": ir.INT, "Height": ir.INT}},
)
UINTS, SINTS = st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1)


def forms(*texts: str) -> st.SearchStrategy[str]:
    """Texts in which I means an integer and L an array, both made up."""

    def filled(text: str) -> st.SearchStrategy[str]:
        parts = [part for part in re.split(r"\b([IL])\b", text) if part]
        return st.tuples(*(INTEGERS if p == "I" else LISTS if p == "L" else st.just(p) for p in parts)).map(
            "".join
        )

    return st.one_of(*map(filled, texts))


INTEGERS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.sampled_from(["Axis", "Offset", "A.DimensionCount", "B.DimensionCount", "bits(A.DataType)"])
        | st.integers(-9, 9).map(lambda number: f"({number})")
        | forms("(I + I)", "(I - I)", "(I * I)", "(I // I)", "(I % I)", "min(I, I)", "max(I, I)", "abs(I)")
        | forms("(-I)", "(I if I < I else I)", "len(L)", "sum(L)", "product(L)", "L[I]")
        | forms("sum(I for k in range(3))", "min(I for k in range(2))", "product(I for k in range(2))")
        | forms("max(k * I for k in axes(A))", "sum(m - I for m in range(max(I, 0), min(I, 9)) if m > I)")
        | forms("Scale.Width", "Scale.Height", "Many[I].Sizes[I]", "product(m + I for m in range(len(Many)))")
    )
)
LISTS: st.SearchStrategy[str] = st.deferred(
    lambda: (
        st.sampled_from(["A.Sizes", "B.Sizes", "Steps", "Windows"])
        | forms("[I, I]", "L[I:]", "L[:I]", "L[I:I]", "(L + L)", "replace(L, I, I)", "align(L, 4, I)")
        | forms("[I for k in range(3)]", "[I for k in range(max(I, 0), min(I, 8))]", "(L if I < I else L)")
    )
)


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    INTEGERS | LISTS,
    st.lists(UINTS | st.integers(0, 9), max_size=8),
    st.lists(SINTS | st.integers(-9, 9), max_size=8),
    UINTS | st.integers(0, 9),
    SINTS | st.integers(-9, 9),
)
def test_values_are_within_their_bounds(
    text: str, sizes: list[int], steps: list[int], axis: int, offset: int
) -> None:
    try:
        node = parse(text, BOUNDED, lambda offset: Position("x.yaml"))
    except SpecError:
        assume(False)
    tensor = SimpleNamespace(DataType=1, DimensionCount=len(sizes), Sizes=tuple(sizes), Strides=None)
    environment = {**ENVIRONMENT, "A": tensor, "Axis": axis, "Offset": offset}
    environment |= {"Scale": {"Width": offset, "Height": axis}}
    environment |= {"Steps": tuple(steps), "Windows": tuple(sizes[::-1])}
    found = Evaluator({1: 32}, frozenset()).function(node)(environment)
    low, high = BOUNDS.value(node)
    if isinstance(found, tuple):
        least, most = BOUNDS.length(node)
        assert least <= len(found) <= most
    for one in found if isinstance(found, tuple) else (found,):
        assert isinstance(one, int)
        assert low <= one <= high


@pytest.mark.parametrize(
    "text",
    [
        "sum(1 for k in range((A.DimensionCount - Axis) % Axis)) > 0",
        "all(k > 0 for k in range(Steps[0:][0], 3))",
    ],
)
def test_loops_whose_bounds_were_taken_for_known(text: str) -> None:
    with pytest.raises(SpecError, match=r"bound of at most|may start below 0"):
        parse(text, BOUNDED, lambda offset: Position("x.yaml"))


DEFINED = [*VOCABULARY, "T", "k", "w", "ndindex", "/", "2.5"]
DEFINED += [*FOLDS, *PLACES, *NUMBERS, *ELEMENT_FUNCTIONS, *FUNCTIONS]
DEFINITIONS = st.sampled_from(
    [
        "A[at]",
        "sum(A[at] for k in range(A.Sizes[0]))",
        "A[[at[0], k]] * 2.5",
        "max(T[w] for w in ndindex(A.Sizes) if in_bounds(w, A.Sizes))",
        "argmax(B[w] for w in ndindex(A.Sizes[1:]))",
        "ravel_index(at, A.Sizes)",
        "unravel_index(Axis, A.Sizes)[0]",
        "clamp(int(Alpha), 0, Axis)",
        "quantize(Alpha, A)",
        "float(Axis) / Alpha if present(B) else 0",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(DEFINITIONS, st.just("")), st.lists(st.sampled_from(DEFINED), max_size=9), st.integers(0, 60)
)
def test_any_text_of_a_definition_is_typed_or_a_finding(text: str, words: list[str], where: int) -> None:
    spoilt = f"{text[:where]} {' '.join(words)} {text[where:]}" if words else text
    definer = Definer(SCOPE, {"A": ir.FLOAT, "B": ir.INT}, [], Position("x.yaml"))
    definer.kept["T"] = ir.FLOAT
    try:
        definer.parse(spoilt, lambda offset: Position("x.yaml", 1, 1 + offset))
    except SpecError as error:
        assert error.findings
        assert all(1 <= finding.position.column <= len(spoilt) + 1 for finding in error.findings)
