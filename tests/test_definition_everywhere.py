"""Small definitions that some output once got wrong or could not print; now all outputs agree.

They are checked like the random definitions in `test_random_definitions.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from other_specs import differences, generate, write
from sharing import Shared

FLOATS = ["FLOAT64", "FLOAT32", "FLOAT16"]
SIGNED = ["INT64", "INT32", "INT16", "INT8"]
UNSIGNED = ["UINT64", "UINT32", "UINT16", "UINT8"]
DIMENSIONS, NOTHING = "for d in axes(InputTensor)", "InputTensor.Sizes[d] - InputTensor.Sizes[d]"
MIRRORED = f"[InputTensor.Sizes[d] - 1 - at[d] {DIMENSIONS}]"
MEMBERS = {"Axis": "UINT", "Count": "UINT", "Offset": "INT", "Factor": "FLOAT", "Switch": "BOOL"}


@dataclass(frozen=True)
class Definition:
    """The rule for OutputTensor, of its own types or those of InputTensor."""

    name: str
    value: str
    types: list[str]
    output: list[str] | None = None
    let: dict[str, str] | None = None

    def spec(self, number: int) -> str:
        inputs = ["InputTensor", "SecondTensor"]
        alike = [*inputs, *([] if self.output else ["OutputTensor"])]
        rules: list[dict[str, object]] = [
            {"same": ["DataType"], "of": alike},
            {"same": ["DimensionCount", "Sizes"], "of": [*inputs, "OutputTensor"]},
            {"id": "axis-range", "require": "Axis < InputTensor.DimensionCount"},
            {"id": "count-range", "require": "Count <= 3"},
            {"id": "offset-range", "require": "-3 <= Offset and Offset <= 3"},
        ]
        members: dict[str, dict[str, object]] = {
            name: {"role": "output" if name == "OutputTensor" else "input"}
            for name in (*inputs, "OutputTensor")
        }
        members |= {name: {"type": type_} for name, type_ in MEMBERS.items()}
        document = {
            "operator": f"SMALL_{number}",
            "value": number + 1,
            "since": "5.0",
            "summary": "An operator of tests.",
            "page": "none",
            "members": {name: {**one, "summary": "A part."} for name, one in members.items()},
            "rules": rules,
            "default_outputs": ["OutputTensor.Sizes = InputTensor.Sizes"],
            "support": {
                "5.0": [
                    {"tensors": inputs, "ranks": "1..3", "types": self.types},
                    {"tensors": ["OutputTensor"], "ranks": "1..3", "types": self.output or self.types},
                ]
            },
            "compute": ({"let": self.let} if self.let else {}) | {"outputs": {"OutputTensor": self.value}},
        }
        return json.dumps(document, indent=1)


DEFINITIONS = [
    Definition("integer-as-element", "Count if at[0] == 1 else Offset", FLOATS, [*SIGNED, *UNSIGNED]),
    Definition(
        "ends-of-64-bits",
        "max_value(InputTensor) - min_value(OutputTensor) if Switch else min_value(InputTensor) // 2",
        [*SIGNED, *UNSIGNED],
    ),
    Definition(
        "ends-of-elements",
        "InputTensor[at] if Switch else max_value(InputTensor) + min_value(InputTensor) + 1",
        [*SIGNED, *UNSIGNED, *FLOATS],
    ),
    Definition(
        "small-as-integer",
        "1 if convert(InputTensor[at], OutputTensor) - 5 < 0 else -1",
        [*SIGNED, *UNSIGNED],
        [*UNSIGNED, "INT8"],
    ),
    Definition(
        "product-of-elements",
        "times(x * 1000003) + Offset",
        ["INT8", "UINT8"],
        ["INT64", "UINT64"],
        let={"x": "InputTensor[at] * SecondTensor[at]", "times(i)": "i * 1000003 - x"},
    ),
    Definition(
        "difference-of-elements",
        "float(x - x * 2147483647)",
        ["INT32", "INT16", "UINT16"],
        FLOATS,
        let={"x": "InputTensor[at] + 1"},
    ),
    Definition(
        "quotient-of-nothing",
        "product(Factor for k in range(Count)) / sum(Factor for k in range(Count)) + InputTensor[at]",
        FLOATS,
    ),
    Definition(
        "quotient-by-members",
        "(at[0] - 1) // Count * 100 + (at[0] - 1) % Count * 10 + at[0] // Offset + at[0] % Offset",
        FLOATS,
        SIGNED,
    ),
    Definition(  # as are those that a list has
        "listed-divisors",
        "(at[0] - 1) // steps[0] * 100 + (at[0] - 1) % steps[0] * 10",
        FLOATS,
        SIGNED,
        let={"steps": f"[Offset - 3 {DIMENSIONS}]"},
    ),
    Definition(  # computed in single precision, in which it is finite
        "integer-beyond-float16", "mean(convert(70000 + at[0], InputTensor), SecondTensor[at])", FLOATS
    ),
    Definition(  # plans define what a member is, of shaders without tiles, too
        "chosen-by-member", "-(Factor if Switch else -1.5) * InputTensor[at]", FLOATS
    ),
    Definition(
        "bits-by-name",
        "masked",
        FLOATS,
        let={"masked": "InputTensor[at] & SecondTensor[at]"},
    ),
    Definition(
        "bits-by-choice",
        "masked if Switch else bit_not(x) if at[0] == 1 else x",
        [*FLOATS, *SIGNED],
        let={"masked": "x ^ SecondTensor[at]", "x": "InputTensor[at]"},
    ),
    Definition(
        "bits-of-integers",
        "x >> y if Switch else y",
        [*SIGNED, *UNSIGNED],
        let={"y": "SecondTensor[at] if at[0] == 0 else x", "x": "InputTensor[at]"},
    ),
    Definition("converted-integer", "convert(Offset, OutputTensor) + InputTensor[at]", [*SIGNED, "FLOAT32"]),
    Definition(
        "loop-in-a-function-of-entries",
        f"InputTensor[[along(d) {DIMENSIONS}]]",
        ["FLOAT32", "INT8"],
        let={"mirrored": MIRRORED, "along(i)": f"min(mirrored[i] + {NOTHING} {DIMENSIONS})"},
    ),
    Definition(
        "loop-in-entries-of-a-list",
        "InputTensor[place]",
        ["FLOAT32", "INT8"],
        let={
            "mirrored": MIRRORED,
            "place": f"[min(mirrored[e] + {NOTHING} {DIMENSIONS}) for e in axes(InputTensor)]",
        },
    ),
]


@pytest.fixture(scope="module")
def generated(shared: Shared) -> Path:
    """A folder with specs of the definitions, and with their outputs."""

    def make(folder: Path) -> None:
        texts = (one.spec(number) for number, one in enumerate(DEFINITIONS))
        write(folder / "specs", {f"small_{number}": text for number, text in enumerate(texts)})
        generate(folder)

    return shared("small-definitions", make)


@pytest.mark.parametrize("by", ["reference", "shaders", "plans"])
def test_a_small_definition_means_the_same_everywhere(by: str, generated: Path) -> None:
    assert differences(generated, by) == ""
