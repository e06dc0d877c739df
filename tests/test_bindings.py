"""Rules of bindings: in Python and in C, the JSON form, and the command line."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dmlops
from c_bindings import Library
from dmlgen.diagnostics import SpecError
from dmlgen.registry import Registry
from dmlgen.resolve import load_registry
from dmlops import Description, JsonError, TensorDesc
from dmlops.__main__ import main
from dmlops.bindings import Bindings, Range, Target
from graph_cases import graph, relu
from random_bindings import graphs, operators, random_bindings
from random_graphs import random_graphs
from spoiled import edit

CASES = Path(__file__).parents[1] / "generated/matrix/bindings.jsonl"
COUNT = 4000

Json = dict[str, Any]


def binding_cases() -> list[Json]:
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def rules(bindings: Bindings) -> list[str]:
    return [one.rule.removeprefix("DML-BINDING-") for one in (*bindings.validate(), *bindings.advice())]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("bindings"))


# Rules.


def test_every_rule_has_a_case(registry: Registry) -> None:
    broken = {rule for case in binding_cases() for rule in (*case["violations"], *case["advice"])}
    assert broken == {rule.id for rule in registry.bindings.rules}
    whole = [case["id"] for case in binding_cases() if not (case["violations"] or case["advice"])]
    assert whole == ["valid-execute", "valid-initialize"]


@pytest.mark.parametrize("case", binding_cases(), ids=lambda case: case["id"])
def test_a_case_breaks_its_rule_alone(case: Json, library: Library, registry: Registry) -> None:
    bindings = Bindings.from_json(case["bindings"])
    assert [one.rule for one in bindings.validate()] == case["violations"]
    assert [one.rule for one in bindings.advice()] == case["advice"]
    found = library.judge(bindings)
    assert [[rule for rule, _, _ in one] for one in found] == [case["violations"], case["advice"]]
    for one in registry.bindings.rules:
        assert one.id not in (*case["violations"], *case["advice"]) or bindings.phase in one.phases


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("id: required", "id: demanded", "there is no check demanded"),
        ("bound_heaps: [DEFAULT, CUSTOM]", "bound_heaps: [DEFAULT, CUSTOMS]", "there is no CUSTOMS"),
        ("SizeInBytes % 4 == 0", "SizeInByte % 4 == 0", "SizeInByte"),
        ("{label}; {operator} needs it", "{label}; {kind} needs it", "kind"),
        ("roles: [temporary]", "roles: [scratch]", "scratch"),
    ],
)
def test_a_mistake_in_the_rules_is_a_finding(
    old: str, new: str, told: str, gather_specs: Path, tmp_path: Path
) -> None:
    specs = tmp_path / "specs"
    shutil.copytree(gather_specs, specs)
    edit(specs / "bindings.yaml", old, new)
    with pytest.raises(SpecError, match=told):
        load_registry(specs)


PLAIN = TensorDesc("FLOAT32", (1,))
IN_PLACE = {
    1: dmlops.make.activation_relu(PLAIN),
    2: dmlops.make.element_wise_add(PLAIN, PLAIN),
}
APART = {
    1: dmlops.make.reduce(PLAIN, Function="SUM", Axes=[0]),
    2: dmlops.make.gather_elements(PLAIN, TensorDesc("UINT32", (1,)), Axis=0),
}
# The five examples on the page of IDMLBindingTable::BindInputs: the columns of its drawings that the inputs
# and the output take, by resource; and whether that is valid to execute, to execute in place, to initialize.
EXAMPLES: dict[str, tuple[list[tuple[str, int, int]], tuple[str, int, int], tuple[bool, bool, bool]]] = {
    "different resources": ([("A", 0, 15)], ("B", 0, 15), (True, True, True)),
    "different regions": ([("A", 0, 7)], ("A", 7, 15), (True, True, False)),
    "inputs overlap": ([("A", 0, 9), ("A", 6, 15)], ("B", 0, 15), (True, True, True)),
    "the same region": ([("A", 0, 15)], ("A", 0, 15), (False, True, False)),
    "regions overlap": ([("A", 0, 13)], ("A", 4, 15), (False, False, False)),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_the_page(example: str, library: Library) -> None:
    """A column is as wide as the alignment of persistent resources."""
    read, written, expected = EXAMPLES[example]
    inputs, output = (
        [Range(name, 256 * a, 256 * (b - a)) for name, a, b in one] for one in (read, [written])
    )
    assert not APART[len(inputs)].IN_PLACE and IN_PLACE[len(inputs)].IN_PLACE
    owned = TensorDesc("FLOAT32", (1,), Flags="OWNED_BY_DML")
    target = dmlops.make.join([owned] * len(inputs), Axis=0)
    tables = (
        Bindings("execute", [APART[len(inputs)]], inputs=inputs, outputs=output),
        Bindings("execute", [IN_PLACE[len(inputs)]], inputs=inputs, outputs=output),
        Bindings("initialize", [Target(target, 256)], inputs=[inputs], outputs=output),
    )
    assert tuple(not one.validate() for one in tables) == expected
    assert tuple(not library.judge(one)[0] for one in tables) == expected


# What overlaps, found by painting bytes.


@st.composite
def tables(draw: st.DrawFn) -> Bindings:
    """An operator or a graph with ranges for all its tensors, in a few hundred bytes of two buffers."""
    what = draw(st.sampled_from([*operators(), graph([relu("act", "x", "y", 1, 1, 4, 4)])]))
    ranges = st.builds(
        Range,
        st.sampled_from("ab"),
        st.integers(0, 9).map(lambda n: 16 * n),
        st.sampled_from([0, 16, 64, 96]),
    )
    inputs, outputs = Target(what).requirements
    resource = st.none() | ranges
    return Bindings(
        "execute",
        [what],
        inputs=[draw(ranges) if one.is_present else None for one in inputs],
        outputs=[draw(ranges) if one.is_present else None for one in outputs],
        persistent=draw(resource),
        temporary=draw(resource),
    )


def painted(given: Any, size: int | None = None) -> set[tuple[str, int]]:
    """The bytes of a range, or its first ones."""
    if given is None:
        return set()
    return {(given.buffer, given.offset + at) for at in range(given.size if size is None else size)}


def hazards(table: Bindings) -> Counter[str]:
    """The rules on overlapping bytes that the page states, each as often as it is broken."""
    target = table.targets[0]
    needed = target.requirements
    found: Counter[str] = Counter()
    for at, output in enumerate(table.outputs):
        written = painted(output)
        for number, read in enumerate(table.inputs):
            if written & painted(read):
                in_place = not target.is_graph and needed.inputs[number].name in target.what.IN_PLACE  # type: ignore[union-attr]
                if written != painted(read) or not (in_place or target.is_graph):
                    found["hazard-in-place"] += 1
                elif target.is_graph:
                    found["hazard-graph"] += 1
        for other in range(at):
            areas = [painted(table.outputs[one], needed.outputs[one].size) for one in (at, other)]
            found["outputs-disjoint"] += bool(areas[0] & areas[1])
        found["hazard-persistent"] += bool(written & painted(table.persistent))
    for one in (*table.inputs, *table.outputs, table.persistent):
        found["hazard-temporary"] += bool(painted(table.temporary) & painted(one))
    return +found


@settings(max_examples=300, deadline=None)
@given(tables())
def test_overlaps_are_those_of_painted_bytes(table: Bindings) -> None:
    expected = hazards(table)
    found = Counter(one.rule.removeprefix("DML-BINDING-") for one in table.validate())
    assert {rule: found[rule] for rule in found if rule in HAZARDS} == {
        rule: count for rule, count in expected.items() if rule != "hazard-graph"
    }
    if not found:
        assert Counter(rules(table))["hazard-graph"] == expected["hazard-graph"]


HAZARDS = ("hazard-in-place", "outputs-disjoint", "hazard-persistent", "hazard-temporary")


# C and Python.


def test_c_and_python_agree_on_random_bindings(library: Library, registry: Registry) -> None:
    seen: Counter[str] = Counter()
    for table in islice(random_bindings(1), COUNT):
        found = tuple([(one.rule, one.member, one.message) for one in all_] for all_ in both(table))
        assert found == library.judge(table), table
        seen.update(rule for one in found for rule, _, _ in one)
        seen["none"] += not found[0]
    assert {rule.id for rule in registry.bindings.rules} - seen.keys() == set()
    assert seen["none"] > COUNT // 10


def both(table: Bindings) -> tuple[list[dmlops.Violation], list[dmlops.Violation]]:
    return table.validate(), table.advice()


def test_parts_can_be_judged_one_by_one(library: Library) -> None:
    """As an app binds them: each violation is found once, by the call that completes it."""
    for table in islice(random_bindings(2), COUNT // 8):
        whole = library.judge(table)[0]
        parts = [
            library.judge(table, bound, judged)[0] for bound, judged in ((1, 1), (3, 2), (7, 4), (15, 8))
        ]
        assert sorted(one for part in parts for one in part) == sorted(whole)
    assert library.judge(table, 0, 15) == ([], [])


def test_requirements_of_operators(library: Library) -> None:
    for desc in operators():
        compare_requirements(library, Target(desc))


def test_requirements_of_graphs(library: Library) -> None:
    """Also of those with edges that lead nowhere."""
    for one in [*graphs(), *islice(random_graphs(3), 100)]:
        try:
            compare_requirements(library, Target(one))
        except ValueError:  # C structs cannot hold a description
            continue


def compare_requirements(library: Library, target: Target) -> None:
    for outputs in (False, True):
        found = [
            (one.size, one.alignment, one.present, one.owned, one.in_place, one.alike)
            for one in library.requirements(target, outputs)
        ]
        assert found == [
            (
                *(one.size, one.alignment, one.is_present, one.is_owned, one.in_place),
                sum(1 << at for at in one.alike),
            )
            for one in target.requirements[outputs]
        ]


# Numbers.


def executed(desc: Description, *inputs: Any, **bound: Any) -> Bindings:
    return Bindings("execute", [desc], inputs=inputs, **bound)


RELU = dmlops.make.activation_relu(TensorDesc("FLOAT32", (1, 1, 4, 4)))
OUTPUT = [Range("out", 0, 64)]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (Range("a", 0, 64, width=64), []),
        (Range("a", 16, 64, width=64), ["bounds"]),
        (Range("a", (1 << 64) - 16, 64, width=64), ["bounds"]),  # the sum is 48 in 64 bits
        (Range("a", (1 << 64) - 16, 64), ["bounds"]),
        (Range("a", 0, (1 << 64) - 4, width=1 << 20), ["bounds"]),
        (Range("a", (1 << 63) - 64, 64, width=1 << 63), ["bounds"]),
        (Range("a", 0, 0, width=64), ["size"]),
        (Range("a", 24, 64), ["offset"]),
        (Range("a", 16, 62), ["size", "size-word"]),
        (Range("a", 0, 64, heap="READBACK"), ["heap"]),
        (Range("a", 0, 64, heap="UPLOAD"), ["heap"]),
    ],
    ids=str,
)
def test_numbers_of_a_range(given: Range, found: list[str], library: Library) -> None:
    table = executed(RELU, given, outputs=OUTPUT)
    assert rules(table) == found
    assert [rule.removeprefix("DML-BINDING-") for rule, _, _ in library.judge(table)[0]] == found


def test_the_end_of_a_range_does_not_wrap_around() -> None:
    """Two ranges that end beyond 2^64 are out of bounds; they do not overlap those at the start."""
    end = Range("a", (1 << 64) - 64, 128)
    assert rules(executed(RELU, end, outputs=[Range("a", 0, 64)])) == ["bounds"]


def test_an_operator_without_inputs() -> None:
    fill = dmlops.make.fill_value_constant(
        OutputTensor=TensorDesc("FLOAT32", (4,)), ValueDataType="FLOAT32", Value=1.0
    )
    assert rules(executed(fill, outputs=[Range("a", 0, 16)])) == []
    assert rules(executed(fill, None, outputs=[Range("a", 0, 16)])) == ["count"]


def test_an_input_of_a_graph_that_nothing_reads_has_a_binding() -> None:
    """BindInputs counts it, and it can be of type NONE."""
    whole = graph([relu("act", "x", "y", 1, 1, 4, 4)], ("x", "unread"))
    one, output = Range("a", 0, 64), [Range("b", 0, 64)]
    for unread in (None, Range("a", 128, 4)):
        assert rules(Bindings("execute", [whole], inputs=[one, unread], outputs=output)) == []
    assert rules(Bindings("execute", [whole], inputs=[one], outputs=output)) == ["count"]


def test_every_entry_of_an_array_is_bound() -> None:
    parts = [TensorDesc("FLOAT32", (1, 1, 1, 4)), TensorDesc("FLOAT32", (1, 1, 3, 4))]
    join = dmlops.make.join(parts, Axis=2)
    one, two, output = Range("a", 0, 16), Range("a", 16, 48), [Range("b", 0, 64)]
    assert rules(executed(join, one, two, outputs=output)) == []
    (found,) = executed(join, one, None, outputs=output).validate()
    assert (found.member, found.message) == (
        "Inputs[1]",
        "nothing is bound to InputTensors[1]; JOIN needs it",
    )


def test_an_initializer_without_anything_to_do_needs_no_bindings() -> None:
    """ONNX Runtime creates one for no operators, and binds nothing where nothing is owned or persistent."""
    assert rules(Bindings("initialize", [])) == []
    assert rules(Bindings("initialize", [RELU, RELU])) == []
    assert rules(Bindings("initialize", [RELU, RELU], inputs=[None, ()], outputs=[None, None])) == []
    assert rules(Bindings("initialize", [Target(RELU, 64)])) == ["init-outputs"]


def test_initializers_of_several_operators_write_apart() -> None:
    targets = [Target(RELU, 256), Target(RELU, 512)]
    written = [Range("a", 0, 256), Range("a", 256, 512)]
    assert rules(Bindings("initialize", targets, outputs=written)) == []
    written[0] = Range("a", 256, 512)
    assert rules(Bindings("initialize", targets, outputs=written)) == ["outputs-disjoint"]


def test_the_same_range_twice() -> None:
    """Inputs can share a range; an output can be all of them at once, if the operator runs in place."""
    square, one = TensorDesc("FLOAT32", (1, 1, 4, 4)), Range("a", 0, 64)
    add, gemm = dmlops.make.element_wise_add(square, square), dmlops.make.gemm(square, square)
    assert rules(executed(add, one, one, outputs=[one])) == []
    assert rules(executed(gemm, one, one, None, outputs=OUTPUT)) == []
    assert rules(executed(gemm, one, one, None, outputs=[one])) == ["hazard-in-place"] * 2


# JSON, and the command line.


EXECUTED = binding_cases()[0]["bindings"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"Execute": None}, "Execute"),
        ({"Initialize": []}, ""),
        ({"Input": []}, "Input"),
        ({"Inputs": {}}, "Inputs"),
        ({"Inputs": [1]}, "Inputs[0]"),
        ({"Inputs": [{"Buffer": "a", "Size": 4}]}, "Inputs[0].Size"),
        ({"Inputs": [{"Buffer": "a"}]}, "Inputs[0].SizeInBytes"),
        ({"Inputs": [{"Buffer": "a", "SizeInBytes": -1}]}, "Inputs[0].SizeInBytes"),
        ({"Inputs": [{"Buffer": "a", "SizeInBytes": 1 << 64}]}, "Inputs[0].SizeInBytes"),
        ({"Inputs": [{"Buffer": 1, "SizeInBytes": 4}]}, "Inputs[0].Buffer"),
        ({"Inputs": [{"Buffer": "A", "SizeInBytes": 4}]}, "Inputs[0].Buffer"),
        ({"Inputs": [[{"Buffer": "a", "SizeInBytes": 4, "Offset": 0.5}]]}, "Inputs[0][0].Offset"),
        ({"Initialized": []}, "Initialized"),
        ({"TemporaryResourceSize": "4"}, "TemporaryResourceSize"),
        ({"Buffers": {"a": {"Heap": "DEFAULTS"}}}, "Buffers.a.Heap"),
        ({"Execute": {"type": "DML_OPERATOR_GEM", "desc": {}}}, "Execute.type"),
        ({"Execute": {"nodes": [1]}}, "Execute.nodes[0]"),
        (
            {"Execute": {**EXECUTED["Execute"], "PersistentResourceSize": -1}},
            "Execute.PersistentResourceSize",
        ),
    ],
)
def test_a_value_that_is_no_table_is_told_with_its_place(change: Json, path: str) -> None:
    with pytest.raises(JsonError) as told:
        Bindings.from_json(EXECUTED | change)
    assert told.value.path == path


@pytest.mark.parametrize("value", [None, 1, [], "table", {}, {"Inputs": []}])
def test_other_values_are_no_tables(value: Any) -> None:
    with pytest.raises(JsonError):
        Bindings.from_json(value)


@pytest.mark.parametrize("value", [-16, 1 << 64])
def test_numbers_are_those_of_the_abi(value: int) -> None:
    for make in (
        lambda: Range("a", value, 64),
        lambda: Target(RELU, value),
        lambda: executed(RELU, temporary_size=value),
    ):
        with pytest.raises(ValueError, match="number of bytes"):
            make()


def test_one_target_is_executed() -> None:
    with pytest.raises(ValueError, match="0 targets"):
        Bindings("execute", [])


def ran(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str, action: str
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return main(["bindings", action, "-"]), capsys.readouterr().out


def test_validate_answers_each_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = binding_cases()
    text = "".join(f"{json.dumps({'id': one['id'], **one['bindings']})}\n" for one in cases) + "{\n"
    status, out = ran(capsys, monkeypatch, text, "validate")
    answers = [json.loads(line) for line in out.splitlines()]
    assert status == 1 and len(answers) == len(cases) + 1
    for answer, case in zip(answers, cases, strict=False):
        assert (answer["id"], answer["ok"]) == (case["id"], not case["violations"])
        assert [one["rule"] for one in answer["violations"]] == case["violations"]
        assert [one["rule"] for one in answer["advice"]] == case["advice"]
    assert answers[-1]["violations"][0]["rule"] == "DML-JSON"


@pytest.mark.parametrize("case", binding_cases(), ids=lambda case: case["id"])
def test_explain_shows_what_is_bound_and_what_is_wrong(
    case: Json, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out = ran(capsys, monkeypatch, json.dumps(case["bindings"]), "explain")
    assert status == bool(case["violations"])
    found = [line.strip() for line in out.splitlines() if line.startswith("   Rule")]
    assert found == [f"Rule {rule}." for rule in (*case["violations"], *case["advice"])]
    assert "Outputs[0]" in out
