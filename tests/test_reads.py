# ruff: noqa: E501   (a table)
"""Reads in definitions: proofs that they are in bounds are right, and reads out of bounds are found."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlgen.analysis.proof import Atoms, Case, Formula, Term, both, least, negated, term, zero
from dmlgen.analysis.reads import Read, reads_of
from dmlgen.expr.printer import SOURCE
from dmlgen.registry import Registry
from dmlgen.resolve import load_registry
from dmlgen.show import describe

LONG = int(os.environ.get("DMLGEN_EXAMPLES", "0"))  # of every property; few by default
SPECS = Path(__file__).parent.parent / "specs"


def value(one: Term, of: Mapping[object, int]) -> int:
    """A term's value; `of` gives those of sizes by their key, and of turns as fractions of their range."""
    total = 0
    for monomial, factor in one.items.items():
        for atom in monomial:
            match atom.key:
                case ("size", _):
                    factor *= of[atom.key]
                case ("turn", name, Term() as low, Term() as high):
                    first, last = value(low, of), value(high, of)
                    factor *= first + of[name] % max(last - first + 1, 1)
                case ("quotient", Term() as a, Term() as b):
                    divisor = value(b, of)
                    factor *= value(a, of) // divisor if divisor else 0
                case ("remainder", Term() as a, Term() as b):
                    divisor = value(b, of)
                    factor *= value(a, of) % divisor if divisor else 0
                case ("choice", test, Term() as then, Term() as otherwise):
                    factor *= value(then if holds(test, of) else otherwise, of)  # type: ignore[arg-type]
        total += factor
    return total


def holds(formula: Formula, of: Mapping[object, int]) -> bool:
    match formula:
        case (">=", Term() as one):
            return value(one, of) >= 0
        case ("==", Term() as one):
            return value(one, of) == 0
        case ("not", inner):
            return not holds(inner, of)  # type: ignore[arg-type]
        case ("and", *parts):
            return all(holds(part, of) for part in parts)  # type: ignore[arg-type]
        case ("or", *parts):
            return any(holds(part, of) for part in parts)  # type: ignore[arg-type]
    assert isinstance(formula, bool)
    return formula


def is_sound(one: Term, of: Mapping[object, int]) -> bool:
    """Whether all loops that a term speaks of have a turn."""
    todo, seen = list(one.atoms), set(one.atoms)
    for atom in todo:  # grows
        if atom.key[0] == "turn" and value(atom.key[2], of) > value(atom.key[3], of):  # type: ignore[arg-type]
            return False
        near = [inner for part in (*atom.parts, *atom.lower, *atom.upper) for inner in part.atoms]
        todo += [inner for inner in near if inner not in seen]
        seen |= set(near)
    return True


@st.composite
def problems(draw: st.DrawFn) -> tuple[Atoms, Term, list[Formula]]:
    """A term made of sizes, loops, quotients and choices, and conditions."""
    atoms = Atoms()
    sizes = [atoms.atom("size", name, lower=[1], upper=[7]) for name in "abc"]

    def integer(depth: int) -> Term:
        kind = draw(st.integers(0, 11 if depth else 2))
        if kind == 0:
            return term(draw(st.integers(-3, 3)))
        if kind < 3:
            return draw(st.sampled_from(sizes))
        a, b = integer(depth - 1), integer(depth - 1)
        match kind:
            case 3 | 4:
                low, high = term(0), a - 1
                return atoms.atom("turn", draw(st.sampled_from("ij")), low, high, lower=[low], upper=[high])
            case 5:
                return a + b
            case 6:
                return a - b
            case 7:
                return a * b
            case 8:
                return atoms.quotient(a, b)
            case 9:
                return atoms.remainder(a, b)
            case 10:
                return atoms.clamped(a, term(0), b)
        return atoms.choice(condition(depth - 1), a, b)

    def condition(depth: int) -> Formula:
        a = integer(depth)
        made: Formula = draw(st.sampled_from([least(a), zero(a), negated(zero(a)), negated(least(a))]))
        return both([made, condition(depth - 1)]) if depth and draw(st.booleans()) else made

    given_ = [condition(1) for _ in range(draw(st.integers(0, 2)))]
    return atoms, integer(3), given_


@settings(max_examples=LONG or 200, deadline=None)
@given(problems(), st.data())
def test_what_is_proven_is_true(problem: tuple[Atoms, Term, list[Formula]], data: st.DataObject) -> None:
    atoms, one, conditions = problem
    case: Case | None = Case(atoms)
    for condition in conditions:
        case = case and case.assume(condition)
    proven = case is None or case.proves(one)
    for _ in range(20 if proven else 0):
        of = {("size", name): data.draw(st.integers(1, 7)) for name in "abc"}
        of |= {name: data.draw(st.integers(0, 40)) for name in "ij"}  # type: ignore[misc]
        spoken = [one, *(part for f in conditions for part in _terms(f))]
        if all(is_sound(part, of) for part in spoken) and all(holds(f, of) for f in conditions):
            assert case is not None, "what can be was taken for impossible"
            assert value(one, of) >= 0


def _terms(formula: Formula) -> list[Term]:
    if isinstance(formula, bool):
        return []
    return [t for part in formula[1:] for t in ([part] if isinstance(part, Term) else _terms(part))]  # type: ignore[arg-type]


UNPROVEN = {
    # Places that are made of floats, which round.
    "ROI_ALIGN": {"InputTensor"},
    "ROI_ALIGN1": {"InputTensor"},
    "ROI_ALIGN_GRAD": {"InputTensor"},
    # Which tensors are there decides what the sizes follow from; too many cases.
    "MULTIHEAD_ATTENTION": {"BiasTensor", "MaskTensor", "Mixed"},
    "MULTIHEAD_ATTENTION1": {"BiasTensor", "MaskTensor", "Mixed", "PastSequenceLengthsTensor"},
    # A member says at which dimension a coordinate is cut or put together.
    "GATHER": {"IndicesTensor", "InputTensor"},
    "GATHER_ELEMENTS": {"InputTensor"},
    "GATHER_ND": {"IndicesTensor", "InputTensor"},
    "GATHER_ND1": {"IndicesTensor", "InputTensor"},
    "ONE_HOT": {"ValuesTensor"},
    "REVERSE_SUBSEQUENCES": {"SequenceLengthsTensor"},
    "SPLIT": {"InputTensor"},
    # Products and quotients by members.
    "DEPTH_TO_SPACE": {"InputTensor"},
    "DEPTH_TO_SPACE1": {"InputTensor"},
    "DEQUANTIZE": {"QuantizationTensors"},
    "PADDING": {"InputTensor"},
    "PADDING1": {"InputTensor"},
    "QUANTIZE": {"QuantizationTensors"},
    "SLICE1": {"InputTensor"},
    "SLICE_GRAD": {"InputGradientTensor"},
    "SPACE_TO_DEPTH": {"InputTensor"},
    "SPACE_TO_DEPTH1": {"InputTensor"},
    "UPSAMPLE_2D": {"InputTensor"},
}


def _tensor(read: Read) -> str:
    return SOURCE.print(read.node).partition("[")[0]


def test_reads_of_the_registry_are_proven_to_be_inside(registry: Registry) -> None:
    found: dict[str, set[str]] = {}
    total = 0
    for operator in registry.operators:
        for read in reads_of(registry, operator, most=2):
            total += 1
            if read.fault:
                found.setdefault(operator.name, set()).add(_tensor(read))
    assert found == UNPROVEN
    assert total > 350


def test_show_counts_them(registry: Registry) -> None:
    assert "reads: 4 proven to be inside, 0 clamped\n" in describe(registry, registry.operator["GEMM"])
    lines = describe(registry, registry.operator["ROI_ALIGN"]).splitlines()
    first = lines.index("reads: 11 proven to be inside, 2 clamped")
    assert "InputTensor[[batch(r), c, i, j]] of OutputTensor: index 2 may be below 0" in lines[first + 1]


@dataclass(frozen=True)
class Spoil:
    """Replace `old` by `new` in `file`, a spec or one that `of` uses; a read of `tensor` is then at fault."""

    name: str
    file: str
    old: str
    new: str
    tensor: str
    fault: str
    of: str = ""


GEMM, FOLD, UNFOLD = "matrix/gemm.yaml", "shape/fold.yaml", "shape/unfold.yaml"
BATCH, CONVOLUTION = "normalization/batch_normalization.yaml", "matrix/convolution.yaml"
RNN, AVERAGE, LP = "recurrent/rnn.yaml", "pooling/average_pooling.yaml", "normalization/lp_normalization.yaml"
WINDOW, SHARED_RNN = "shared/definitions/window.yaml", "shared/definitions/recurrent.yaml"
RESAMPLE = "shared/definitions/resample.yaml"
BEYOND, BELOW = "beyond the end", "below 0"
SPOILS = [
    Spoil("one too far", GEMM, "([k, at[r - 1]] if", "([k + 1, at[r - 1]] if", "BTensor", BEYOND),
    Spoil("one too early", GEMM, "([k, at[r - 1]] if", "([k - 1, at[r - 1]] if", "BTensor", BELOW),
    Spoil("one turn too many", GEMM, "for k in range(K)", "for k in range(K + 1)", "ATensor", BEYOND),
    Spoil("exchanged", GEMM, "[k, at[r - 2]]", "[at[r - 2], k]", "ATensor", BEYOND),
    Spoil("no rule on the inner size", GEMM, '== K"', '>= 1"', "BTensor", BEYOND),
    Spoil("no rule on equal sizes", GEMM, "  - {same: Sizes, of: [OutputTensor, CTensor]}\n", "", "CTensor", BEYOND),
    Spoil("no rule on blocks", FOLD, "InputTensor.Sizes[2] == product", "InputTensor.Sizes[2] <= product", "InputTensor", BEYOND),
    Spoil("no rule on windows", FOLD, "== OutputTensor.Sizes[1] * product", "<= OutputTensor.Sizes[1] * product", "InputTensor", BEYOND),
    Spoil("no condition", FOLD, "inside(block(w), BlocksPerDimension) and on_stride(w)", "on_stride(w)", "InputTensor", BELOW),
    Spoil("condition on another box", UNFOLD, "inside(place, InputTensor.Sizes[2:])", "inside(place, [9 for d in range(DimensionCount)])", "InputTensor", BEYOND),
    Spoil("no rule on groups", CONVOLUTION, '== (FilterTensor.Sizes[1] * GroupCount if', '>= (FilterTensor.Sizes[1] * GroupCount if', "FilterTensor", BEYOND),
    Spoil("the step itself", SHARED_RNN, 's - 1"', 's"', "Fed", BEYOND, RNN),
    Spoil("the step before", SHARED_RNN, 'or at[0] <=', 'or at[0] - 1 <=', "Fed", BELOW, RNN),
    Spoil("unlimited lengths", SHARED_RNN, "clamp(SequenceLengthsTensor[[0, 0, 0, b]], 0, SequenceLength)", "SequenceLengthsTensor[[0, 0, 0, b]]", "Fed", BEYOND, RNN),
    Spoil("less than the greatest", RESAMPLE, "max(larger[d] for d in range(dims))", "max(larger[d] for d in range(1, dims))", "Place", BEYOND, "resample/resample1.yaml"),
    Spoil("padding is not left out", WINDOW, 'valid(w): "inside(place(at[2:], w), spatial)"', 'valid(w): "inside(padded(at[2:]), spatial)"', "InputTensor", BELOW, AVERAGE),
    Spoil("all of the tensor", LP, "InputTensor[over(r)] * InputTensor[over(r)]", "InputTensor[over(r)] * InputTensor[r + []]", "", "", ""),
]  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda spoil: spoil.name)
def test_a_definition_that_reads_outside_is_seen(spoil: Spoil, tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    shutil.copytree(SPECS, specs, ignore=shutil.ignore_patterns("operators", "counterparts"))
    operator = f"operators/{spoil.of or spoil.file}"
    (specs / operator).parent.mkdir(parents=True)
    shutil.copy(SPECS / operator, specs / operator)
    path = specs / (spoil.file if spoil.of else operator)
    text = path.read_text(encoding="utf-8")
    assert spoil.old in text, "the text to spoil is no longer in the spec"
    path.write_text(text.replace(spoil.old, spoil.new), encoding="utf-8")

    registry = load_registry(specs)

    faults = {(_tensor(read), read.fault) for read in reads_of(registry, registry.operators[0], most=2)}
    faults = {one for one in faults if one[1]}
    if spoil.fault:
        assert any(tensor == spoil.tensor and spoil.fault in fault for tensor, fault in faults), faults
    else:
        assert not faults
