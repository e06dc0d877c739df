"""Every function and operator of definitions, with every kind of operand: what lint accepts means the same on
all targets, at every data type.

The expressions come from the generator's own tables, so a new function is included automatically. Those that
lint accepts are combined into a few operators: row n of the output is expression n, so that a shader compiled
once for a data type tests several of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest

from dmlgen.diagnostics import SpecError
from dmlgen.expr.define import FOLDS, NUMBERS, PLACES
from dmlgen.expr.functions import CONVERSIONS, ELEMENT_FUNCTIONS, FUNCTIONS
from dmlgen.resolve import load_registry
from other_specs import differences, generate, write
from sharing import Shared

FLOATS = ["FLOAT16", "FLOAT32", "FLOAT64"]
INTEGERS = ["INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"]
TYPES = {"float": FLOATS, "int": INTEGERS, "element": [*FLOATS, *INTEGERS]}
COORDINATES = "coordinates"  # a kind of operands, beside those of InputTensor's elements
OPERANDS = {  # two of a kind, and one of another
    **dict.fromkeys(TYPES, ("InputTensor[at]", "SecondTensor[at]", "OtherTensor[at]")),
    COORDINATES: ("at[0]", "at[1]", "OtherTensor[at]"),
}  # fmt: skip
OTHERS = {"float": "int", "int": "float", "element": "element", COORDINATES: "float"}  # kinds of OtherTensor
OF_BITS = ("bit_not", "bit_count")
# Of rules, or a whole value.
ELSEWHERE = {"power_of_two", "bits", "signed", "previous_contents", "concat", "apply_activation"}
ENDS = ("min_value", "max_value")
SAME = ("same", "bits")  # outputs of InputTensor's data type
ROWS = 6  # of an operator


@dataclass(frozen=True, order=True)
class Row:
    """An expression, the kind of its operands, and that of the output, or one of SAME."""

    operands: str
    output: str
    text: str


def rows() -> Iterator[Row]:
    """All functions and operators with operands of each kind; lint rejects many."""
    for kind, (x, y, z) in OPERANDS.items():
        yield from (Row(kind, "int" if kind == COORDINATES else "same", text) for text in of_alike(x, y, z))
        yield from (Row(kind, "bits", text) for text in of_bits(x, y))
        yield from (Row(kind, "int", text) for text in of_integers(x, y))
        yield from (Row(kind, "int", f"1 if {text} else 0") for text in truths(x, y))
        for name in CONVERSIONS:
            yield from (Row(kind, output, f"{name}({x}, OutputTensor)") for output in ("same", *TYPES))
        yield Row(kind, "float", f"float({x})")


def of_alike(x: str, y: str, z: str) -> Iterator[str]:
    """What is of the kind of its operands."""
    yield f"-{x}"
    yield from (f"{x} {op} {y}" for op in ("+", "-", "*", "/", "//", "%"))
    yield from (f"{x} {op} 3" for op in ("+", "-", "*", "/", "//", "%"))
    yield f"{x} if {x} < {y} else {y}"
    yield from calls("element", x, y, z)
    yield from (over(name, x) for name in ("sum", "product", "min", "max"))
    yield from (f"clamp({x}, {y}, 3)", f"clamp({x}, {y}, {x})")
    yield from (f"{name}(InputTensor)" for name in ENDS)
    yield from (f"{x} {op} {name}(InputTensor)" for name in ENDS for op in ("+", "*", "//"))


def of_bits(x: str, y: str) -> Iterator[str]:
    """What takes the bits of its operands, whatever these stand for."""
    yield from (f"{x} {op} {y}" for op in ("&", "|", "^", "<<", ">>"))
    yield from (f"{name}({x})" for name in OF_BITS)


def of_integers(x: str, y: str) -> Iterator[str]:
    """Integers that are made of operands of a kind."""
    sizes = "InputTensor.Sizes"
    yield from (
        f"int({x})",
        f"normalize_index({x}, 3)",
        f"ravel_index([{x}, {y}], {sizes})",
        f"unravel_index({x}, {sizes})[1]",
    )
    yield from (f"product([{x}, {y}])", f"sum([{x}, {y}])", f"len([{x}, {y}])", f"[{x}, {y}][at[0]]")
    yield from (f"align([{x}, {y}], 3, {y})[0]", f"replace([{x}, {y}], 1, {x})[1]")
    yield from (over(name, x) for name in ("argmax", "argmin"))


def truths(x: str, y: str) -> Iterator[str]:
    """Conditions of operands of a kind."""
    yield from (f"{x} {op} {other}" for op in ("==", "!=", "<", "<=", ">", ">=") for other in (y, "2"))
    yield from (
        f"{x} in (1, {y})",
        f"not {x} < {y}",
        f"power_of_two({x})",
        f"in_bounds([{x}, {y}], InputTensor.Sizes)",
    )
    yield from calls("bool", x, y, y)
    yield from (over(name, f"{x} < {y}") for name in ("any", "all"))


def calls(result: str, x: str, y: str, z: str) -> Iterator[str]:
    """The functions of elements with that result; an argument of any type is tried in all of them."""
    for name, function in ELEMENT_FUNCTIONS.items():
        if function.result == result and name not in (*OF_BITS, *ELSEWHERE):
            for other in (y, z, "Factor", "3") if "any" in function.arguments else (y,):
                left = {"element": [y, x], "any": [other], "float": ["0.5", "Factor"]}
                yield f"{name}({', '.join(left[one].pop() for one in function.arguments)})"


def over(name: str, body: str) -> str:
    """A reduction along the second dimension."""
    body = body.replace("[at]", "[replace(at, 1, k)]").replace("at[1]", "k")
    return f"{name}({body} for k in range(InputTensor.Sizes[1]))"


def spec(name: str, value: int, kind: str, output: str, texts: Sequence[str]) -> str:
    """An operator whose output has a line for each of these expressions."""
    elements = "int" if kind == COORDINATES else kind
    types = {"InputTensor": elements, "SecondTensor": elements, "OtherTensor": OTHERS[kind]}
    types |= {"OutputTensor": elements if output in SAME else output}
    alike = ["InputTensor", "SecondTensor", *(["OutputTensor"] if output in SAME else [])]
    rules: list[dict[str, object]] = [
        {"id": "same-type", "same": "DataType", "of": alike},
        {"id": "same-sizes", "same": "Sizes", "of": ["InputTensor", "SecondTensor", "OtherTensor"]},
        {"id": "input-shape", "shape": "InputTensor", "sizes": [len(texts), "W"]},
        {"id": "output-sizes", "infer": "OutputTensor.Sizes = InputTensor.Sizes"},
    ]
    members: dict[str, dict[str, object]] = {
        tensor: {"role": "output" if tensor == "OutputTensor" else "input", "summary": "A tensor."}
        for tensor in types
    }
    members["Factor"] = {"type": "FLOAT", "summary": "A number."}
    chosen = "row0"
    for number in range(1, len(texts)):
        chosen = f"row{number} if at[0] == {number} else {chosen}"
    names = {f"row{number}": text for number, text in enumerate(texts)}
    compute: dict[str, object] = {"let": names, "outputs": {"OutputTensor": chosen}}
    if output == "bits":  # as a whole value
        compute = {"outputs": {"OutputTensor": texts[0]}}
    document = {
        "operator": name, "value": value, "since": "5.0", "summary": "An operator of tests.", "page": "none",
        "members": members,
        "rules": [{**rule, "source": "docs"} for rule in rules],
        "support": {"5.0": [{"tensors": [one], "ranks": 2, "types": TYPES[of]} for one, of in types.items()]},
        "compute": compute,
    }  # fmt: skip
    return json.dumps(document, indent=1)


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The rows that lint accepts, each in a separate operator."""
    specs = tmp_path_factory.mktemp("each") / "specs"
    alone = {
        f"row_{n}": (row, spec(f"ROW_{n}", n, row.operands, row.output, [row.text]))
        for n, row in enumerate(dict.fromkeys(rows()), 1)
    }
    write(specs, {slug: text for slug, (_, text) in alone.items()})
    with pytest.raises(SpecError) as error:
        load_registry(specs)
    refused = {Path(finding.position.file).stem for finding in error.value.findings}
    return [row for slug, (row, _) in alone.items() if slug not in refused]


def test_each_function_is_accepted_of_something(accepted: list[Row]) -> None:
    texts = " ".join(row.text for row in accepted)
    for name in {*ELEMENT_FUNCTIONS, *FUNCTIONS, *FOLDS, *PLACES, *NUMBERS, *CONVERSIONS} - ELSEWHERE:
        assert f"{name}(" in texts, name


@pytest.fixture(scope="module")
def generated(accepted: list[Row], shared: Shared) -> Path:
    """A folder with the outputs of operators that have all of them."""

    def make(folder: Path) -> None:
        operators: dict[str, str] = {}
        for (kind, output), group in groupby(sorted(accepted), lambda row: (row.operands, row.output)):
            texts = [row.text for row in group]
            most = 1 if output == "bits" else ROWS
            for first in range(0, len(texts), most):
                number = len(operators) + 1
                operators[f"rows_{number}"] = spec(
                    f"ROWS_{number}", number, kind, output, texts[first : first + most]
                )
        write(folder / "specs", operators)
        generate(folder)

    return shared("function-rows", make)


@pytest.mark.parametrize("by", ["reference", "shaders", "plans"])
def test_they_mean_the_same_everywhere(by: str, generated: Path) -> None:
    assert differences(generated, by) == ""
