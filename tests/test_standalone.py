"""`dmlops shader`: HLSL without macros, which computes what the plan's own shaders compute."""

from __future__ import annotations

import itertools
import json
import random
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import matrix_cases
from c_runner import compiler as c_compiler
from dmlops import TensorDesc, gpu, make
from dmlops.__main__ import main
from dmlops.gpu import compiler
from dmlops.gpu.folding import folded
from dmlops.gpu.plans.capabilities import FASTER, NO_CAPABILITIES
from dmlops.gpu.preprocessing import preprocessed, resolved
from dmlops.gpu.work import Dispatch, Work
from gpu_device import device, run_in_guard_zones
from gpu_results import inputs_of
from test_gpu_matrix import OPERATORS

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import gpu_cases

__all__ = ["device"]

# Of each template, and definitions of every form.
COMPILED = (
    *("argmax", "cast", "convolution", "cumulative_summation", "element_wise_pow", "fill_value_sequence"),
    *("gather", "gemm", "gru", "max_pooling2", "mean_variance_normalization1", "multihead_attention"),
    *("nonzero_coordinates", "resample1", "roi_align", "scatter_elements", "top_k1"),
)


def variants(slug: str) -> list[tuple[str, dict[str, Any]]]:
    """The shaders and macros of an operator's last case with data."""
    desc = matrix_cases.described(matrix_cases.cases(slug)[-1])
    return [(one.shader or slug, dict(one.defines)) for one in gpu.plan(desc).dispatches]


def tokens(text: str, *macros: str) -> list[str]:
    """The tokens that a C preprocessor leaves."""
    command = [c_compiler("gcc"), "-E", "-P", "-w", "-x", "c", "-undef", *(f"-D{one}" for one in macros), "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return re.findall(r"\w+|[^\w\s]", result.stdout)


@pytest.mark.parametrize("slug", sorted({*COMPILED, *OPERATORS[::8]}))
def test_macros_are_resolved_as_by_a_c_preprocessor(slug: str) -> None:
    """On either target, apart from what is left out because nothing reaches it."""
    name, macros = variants(slug)[-1]
    source = gpu.shader(name)
    text = preprocessed(source.partition("\n\n")[2], macros)
    given = [f"{key}={value}" for key, value in macros.items()]
    for target in ([], ["__spirv__=1"]):
        assert tokens(text, *target) == tokens(source, *given, *target)
    code = resolved(source, macros)
    assert not set(re.findall(r"\w+", re.sub(r"//.*", "", code))) & macros.keys()
    assert {line for line in code.split("\n") if line.startswith("#if")} <= {"#ifdef __spirv__"}
    assert not [one for one in code.split("\n\n") if all(line.startswith("//") for line in one.split("\n"))]


@pytest.mark.parametrize("slug", COMPILED)
def test_resolved_shaders_compile_to_the_same_code(slug: str) -> None:
    for name, macros in variants(slug):
        text = resolved(gpu.shader(name), macros)
        code = compiler.compile(gpu.shader(name), macros, "dxil")
        assert compiler.compile(text, {}, "dxil") == code
        assert compiler.compile(folded(text), {}, "dxil") == code
        assert len(folded(text)) <= len(text) < len(gpu.shader(name))


def test_shaders_at_the_sizes_of_networks_are_folded() -> None:
    """Those that split a sum among groups, for example, which no small tensor does, also for devices with
    cooperative matrices."""
    seen = set()
    for case, capabilities in itertools.product(gpu_cases.cases(), (NO_CAPABILITIES, FASTER)):
        for one in gpu.plan(case.describe(), capabilities).dispatches:
            slug, macros = one.shader or case.operator, tuple(one.defines.items())
            if (slug, macros) not in seen:
                seen.add((slug, macros))
                text = resolved(gpu.shader(slug), dict(macros))
                assert text.count("(") == text.count(")")
                assert folded(text).count("(") == folded(text).count(")")
                assert len(folded(text)) <= len(text)
    products = (dict(macros) for slug, macros in seen if slug == "GEMM")
    split = next(one for one in products if one.get("SPLIT_K") and "COOPERATIVE_MATRIX" not in one)
    text = folded(resolved(gpu.shader("GEMM"), split))
    assert compiler.compile(text, {}, "dxil") == compiler.compile(gpu.shader("GEMM"), split, "dxil")


# Files.


def files() -> Iterator[Any]:
    """Descriptions whose files have one variant or several, tensors with gaps, absent ones, those read in
    vectors, and scratch."""
    gapped, attended = TensorDesc("FLOAT16", (3, 5), Strides=(8, 1)), TensorDesc("FLOAT16", (1, 6, 32))
    yield make.reduce((300, 700), Function="SUM", Axes=[0, 1])
    yield make.element_wise_add(gapped, TensorDesc("FLOAT16", (3, 5)), OutputTensor=gapped)
    relu = make.activation_relu()
    yield make.gemm((1, 1, 40, 30), (1, 1, 40, 30), TransB="TRANSPOSE", Beta=0, FusedActivation=relu)
    yield make.multihead_attention(
        attended, attended, attended, Scale=0.25, MaskFilterValue=-1e7, HeadCount=4, MaskType="NONE",
        OutputTensor=attended,
    )  # fmt: skip
    yield make.top_k1((2, 9000), Axis=1, K=5000, AxisDirection="DECREASING", OutputIndexTensor="UINT32")


def read(text: str) -> tuple[list[Dispatch], dict[str, int]]:
    """The dispatches that the head of a file lists, with VARIANT in place of macros, and all buffers."""
    head = [line.removeprefix("//").removeprefix(" ") for line in text.partition("\n\n")[0].split("\n")]
    buffers: dict[str, int] = {}
    dispatches: list[Dispatch] = []
    for line in head:
        if found := re.match(r"  (\S+): (\d+), (?:input|output|scratch)", line):
            buffers[found[1]] = int(found[2])
        elif found := re.fullmatch(r"  (\d+): (\d+) x (\d+) x 1 groups(, after a barrier)?; (.+)", line):
            resources = [one.split(" ") for one in found[5].split(", ")]
            reads = sum(register.startswith("t") for register, _ in resources)
            assert [register for register, _ in resources] == [
                *(f"t{i}" for i in range(reads)),
                *(f"u{i}" for i in range(len(resources) - reads)),
            ]
            names, groups = tuple(name for _, name in resources), (int(found[2]), int(found[3]))
            variant = {"VARIANT": int(found[1])}
            dispatches.append(Dispatch(variant, names, reads, b"", groups, found[4] is not None))
        elif dispatches and re.fullmatch(r"     [\d, ]+", line):
            words = [int(word) for word in line.replace(",", " ").split()]
            constants = dispatches[-1].constants + struct.pack(f"<{len(words)}I", *words)
            dispatches[-1] = dispatches[-1]._replace(constants=constants)
    return dispatches, buffers


@pytest.mark.parametrize("desc", list(files()), ids=lambda desc: desc.OPERATOR)
def test_a_file_runs_as_its_head_says(
    desc: Any, device: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "desc.json"
    file.write_text(json.dumps(desc.to_json()))
    assert main(["shader", str(file)]) == 0
    text = capsys.readouterr().out
    (described,) = re.findall(r"^// ({.*)$", text, re.MULTILINE)
    assert json.loads(described) == desc.to_json()
    dispatches, buffers = read(text)
    planned = gpu.plan(desc)
    scratch = {name: size for name, size in buffers.items() if name.startswith("scratch")}
    assert (scratch, len(dispatches)) == (dict(planned.scratch), len(planned.dispatches))
    inputs = inputs_of(desc)
    found = run_in_guard_zones(device, desc, inputs, Work(tuple(dispatches), scratch), lambda _: text)
    for name, array in run_in_guard_zones(device, desc, inputs, planned).items():
        assert found[name].tobytes() == array.tobytes(), name
    (command,) = re.findall(r"^// dxc (.*?)(?: -D VARIANT=.*)? FILE$", text, re.MULTILINE)
    assert compiler.find().compile(text, command.split())[:4] == b"DXBC"


def test_what_has_no_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = {"DataType": "FLOAT32", "Sizes": [2**31]}
    large = {"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": one, "OutputTensor": one}}
    wrong = {"type": "ELEMENT_WISE_IDENTITY", "desc": {"InputTensor": one}}
    file = tmp_path / "desc.json"
    for forms, status, text in (
        ([large], 1, "There is no plan"),
        ([wrong], 1, "OutputTensor"),
        ([{"type": "NOTHING"}], 1, "Not a valid description"),
        ([large, large], 2, "several descriptions"),
        ([], 2, "no description"),
    ):
        file.write_text("\n".join(map(json.dumps, forms)))
        assert main(["shader", str(file)]) == status
        out, error = capsys.readouterr()
        assert (out, text in error) == ("", True), error


# The preprocessor.


def expression(choice: random.Random, depth: int) -> str:
    if depth == 0:
        return choice.choice(["0", "1", "2", "7", "0x10", "A", "B", "MISSING"])
    match choice.randrange(5):
        case 0:
            return f"{choice.choice('!-~')}({expression(choice, depth - 1)})"
        case 1:
            return f"({expression(choice, depth - 1)})"
    operator = choice.choice([*"|^&<>+-*", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>"])
    if operator in ("<<", ">>"):
        return f"(({expression(choice, depth - 1)}) {operator} {choice.choice('0123')})"
    return f"{expression(choice, depth - 1)} {operator} {expression(choice, depth - 1)}"


def test_conditions_are_those_of_c() -> None:
    choice = random.Random(5)
    shifts = ("1 << 2 + 1 == 8", "2 | 1 << 1 == 2", "8 >> 1 - 1 & 7", "1 << 2 >> 1 < 2", "2 * 1 << 1 == 4")
    conditions = [*shifts, *(expression(choice, 3) for _ in range(400))]
    text = "\n".join(f"#if {one}\nyes{i}\n#else\nno{i}\n#endif" for i, one in enumerate(conditions))
    found = preprocessed(text, {"A": 3, "B": "(A - 5)"})
    assert found.split() == tokens(text, "A=3", "B=(A - 5)")
    assert {one.rstrip("0123456789") for one in found.split()} == {"yes", "no"}


def test_arguments_of_macros_may_have_brackets_and_commas() -> None:
    nested = "(((((1, 2)))))"
    text = f"#define SECOND(x, y, z) [y]\n#define USED SECOND(f(1, 2), {nested}, 3) + SECOND(4, 5, 6)\nUSED"
    found = preprocessed(text, {}).splitlines()[-1]
    assert found == f"[{nested}] + [5]"
    assert re.findall(r"\w+|[^\w\s]", found) == tokens(text)


@pytest.mark.parametrize(
    "text",
    [
        "#undef A",
        '#include "x"',
        "#define A 1\n#define A 2",
        "#define A(x) x##1",
        "#if 1",
        "#if 1 +\n#endif",
        "#if defined(A)\n#endif",
        "#if f(1)\n#endif",
        "#ifdef __spirv__\n#elif 1\n#endif",
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"handled|twice|endif"):
        resolved(f"// head\n\n{text}\n", {})


def test_what_is_not_reached_is_left_out_with_its_comments() -> None:
    text = """// head

#if MODE == 1
#define TWICE(x) (x * FACTOR)
#define FACTOR 2
// kept
float Kept(float x) { return TWICE(x); } // A MODE
#else
float Kept(float x) { return 0; }
#endif

// left out
float Unused(float x)
{
    return Kept(x);
}

struct Gone
{
    uint a;
};
static const uint SIZE = MODE, OTHER = 5;
StructuredBuffer<TYPE> from : register(t0);

[numthreads(SIZE, 1, 1)]
void CSMain(uint i : SV_GroupIndex) { Kept(from[i]); }
"""
    expected = """#define TWICE(x) (x * 2)
// kept
float Kept(float x) { return TWICE(x); } // A MODE

static const uint SIZE = 1, OTHER = 5;
StructuredBuffer<float> from : register(t0);

[numthreads(SIZE, 1, 1)]
void CSMain(uint i : SV_GroupIndex) { Kept(from[i]); }
"""
    assert resolved(text, {"MODE": 1, "TYPE": "float"}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = steps[7 / 4][7 % 4] + f(2, 3 - 1);", "x = steps[1][3] + f(2, 2);"),
        ("x = y / (16 / 4) * (z - 1);", "x = y / 4 * (z - 1);"),
        ("x = y[2 - 3] + y[1 / 0] + f(a - 1, 2 * b);", "x = y[2 - 3] + y[1 / 0] + f(a - 1, 2 * b);"),
        ("x = 0 || (4 == 1 && !0) ? 4 : 1;", "x = 1;"),
        ("x = 0 ? f(y, z) : 0, z = 2;", "x = 0, z = 2;"),
        ("x = (y & z) != 0 ? 1 : 2;", "x = (y & z) != 0 ? 1 : 2;"),
        ("if (0 != 0)\n    {\n        x = 1;\n    }\n    y = 2;", "y = 2;"),
        ("if (1 > 2)\n        x = 1;\n    y = 2;", "y = 2;"),
        ("if (0 != 0)\n        x = 1;\n    else\n        x = 2;", None),
        ("if (1 != 0)\n        x = 1;", None),
        ("if (4 >> 1 & 1 && x == 2)  // two\n        x = 1;\n    y = 2;", "y = 2;"),
        ("if (4 >> 2 & 1 && x == 2)  // two\n        x = 1;", "if (x == 2)  // two\n        x = 1;"),
    ],
)
def test_what_is_constant_is_folded(text: str, expected: str | None) -> None:
    """An expected text of None is the same."""
    whole = "void CSMain()\n{{\n    {}\n}}\n"
    assert folded(whole.format(text)) == whole.format(text if expected is None else expected)
