"""Branches of shaders that no case takes: what the matrices and the descriptions of test_dxil.py miss.

`tests/data/untaken_branches.txt` lists the conditions that hold in no shader of any plan of theirs. Some need
a device's capabilities, some the absence of tensors that operators require; the rest are gaps to be closed,
by a case in a matrix or a description in `random_shapes`.
"""

from __future__ import annotations

from pathlib import Path

from matrix_cases import OPERATORS, described
from random_shapes import described as drawn_description
from shader_branches import branches_of, conditions, covering, marked, of_matrices

LISTED = Path(__file__).with_name("data") / "untaken_branches.txt"


def test_branches_that_no_case_takes_are_listed() -> None:
    shaders = map(str.upper, OPERATORS)
    every = {condition for shader in shaders for _, condition in conditions(shader)}
    drawn = branches_of(drawn_description(family, seed) for family, seed in covering())
    untaken = every - {condition for _, condition in of_matrices().union(*drawn)}
    listed = LISTED.read_text(encoding="utf-8").splitlines()
    assert sorted(untaken - set(listed)) == [], "no case takes these: add one, or list them"
    assert len(untaken) < len(every) / 5


def test_branches_are_found() -> None:
    text = "#if A > 1  // note\nx\n#elif defined(B)\ny\n#if C\n#endif\n#else\nz\n#endif\n#ifdef D\n#endif"
    assert marked(text).conditions == ["A > 1", "defined(B)", "C", "none of A > 1, defined(B)", "D"]


def test_what_plans_take_depends_on_sizes() -> None:
    def line(length: int) -> dict[str, object]:
        tensor = {"DataType": "FLOAT32", "Sizes": [1, 1, 1, length]}
        kept = {**tensor, "Sizes": [1, 1, 1, 4]}
        return {
            "type": "TOP_K",
            "desc": {
                "InputTensor": tensor, "OutputValueTensor": kept, "Axis": 3, "K": 4,
                "OutputIndexTensor": {**kept, "DataType": "UINT32"},
            },
        }  # fmt: skip

    short, long = branches_of(described(line(length)) for length in (16, 1000))
    assert ("TOP_K", "SELECTS") in long - short
