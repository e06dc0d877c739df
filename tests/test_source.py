"""Restricted YAML: what is accepted, what is rejected and where, and never a traceback."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dmlgen import source
from dmlgen.diagnostics import SpecError
from dmlgen.source import Mapping, Node, Scalar, Sequence, load, parse


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test with libyaml and with PyYAML's own parser, which machines without libyaml use."""
    monkeypatch.setattr(source, "_LOADER", getattr(yaml, request.param))


def mapping(text: str) -> Mapping:
    node = parse(text.encode(), "a.yaml")
    assert isinstance(node, Mapping)
    return node


def faults(data: str | bytes) -> list[tuple[int, int, str]]:
    with pytest.raises(SpecError) as caught:
        parse(data.encode() if isinstance(data, str) else data, "a.yaml")
    assert {finding.position.file for finding in caught.value.findings} == {"a.yaml"}
    return [(f.position.line, f.position.column, f.code) for f in caught.value.findings]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("0", 0),
        ("-12", -12),
        ("18446744073709551615", 2**64 - 1),
        ("1.5", 1.5),
        ("-0.25e-3", -0.25e-3),
        ("FLOAT32", "FLOAT32"),
        ("'4.1'", "4.1"),
        ('"yes"', "yes"),
        ("N", "N"),
        ("2 * Axis + 1", "2 * Axis + 1"),
        ("-Axis", "-Axis"),
        ("3x3", "3x3"),
        ('"a\\nb"', "a\nb"),
        ("é", "é"),
    ],
)
@pytest.mark.usefixtures("loader")
def test_values(text: str, value: object) -> None:
    node = mapping(f"key: {text}\n").get("key")
    assert isinstance(node, Scalar)
    assert (type(node.value), node.value) == (type(value), value)
    assert (node.position.line, node.position.column, node.raw) == (1, 6, text)


@pytest.mark.usefixtures("loader")
def test_tree_keeps_order_and_positions() -> None:
    root = mapping("# comment\nb: [x, 1]\na:\n  - c: {d: e}\n")
    assert root.plain() == {"b": ["x", 1], "a": [{"c": {"d": "e"}}]}
    assert [name for name, _ in root.items()] == ["b", "a"]
    assert [str(entry.key.position) for entry in root.entries] == ["a.yaml:2:1", "a.yaml:3:1"]
    items = root.get("a")
    assert isinstance(items, Sequence)
    assert str(items.items[0].position) == "a.yaml:4:5"
    assert root.get("c") is None
    assert root.entry("c") is None


def test_windows_line_ends_change_nothing() -> None:
    text = "a: |\n  x\n  y\nb: [1,\n  2]\n"
    assert mapping(text.replace("\n", "\r\n")).plain() == mapping(text).plain()


SURPRISES = """
    yes Yes NO on OFF y n True NULL ~ = 010 0x6B 0X1F -0x1 0o17 0o8 0b11 +1 1_000 1:30 190:20:30 1:30.5 .5 5.
    1e5 1.0e5 1_0.5
    .inf -.INF .nan 2001-01-01 2001-12-14t21:59:43.10-05:00 18446744073709551616 -9223372036854775809 1.0e999
"""


@pytest.mark.parametrize("text", [*SURPRISES.split(), "9" * 5000])
@pytest.mark.usefixtures("loader")
def test_ambiguous_scalars_are_refused_and_accepted_quoted(text: str) -> None:
    assert faults(f"key: {text}\n") == [(1, 6, "ambiguous-scalar")]
    assert mapping(f"key: '{text}'\n").plain() == {"key": text}


CORE: dict[
    str, Callable[[str], object]
] = {  # the core schema of YAML 1.2: what reads a plain scalar, and as what
    r"null|Null|NULL|~": lambda text: None,
    r"true|True|TRUE|false|False|FALSE": lambda text: text.lower() == "true",
    r"[-+]?[0-9]+": int,
    r"0o[0-7]+": lambda text: int(text, 8),
    r"0x[0-9a-fA-F]+": lambda text: int(text, 16),
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?": float,
    r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)": lambda text: float(text.replace(".", "")),
}


def test_what_is_accepted_reads_the_same_in_both_versions() -> None:
    """Random spellings, beside PyYAML, which reads YAML 1.1, and the core schema of 1.2."""
    random = Random(11)
    accepted = set()
    for _ in range(40_000):
        text = "".join(random.choices("0127_+-.eExob:nNaAfiytTZ~= ", k=random.randint(1, 6))).strip()
        with suppress(SpecError):
            value = parse(f"key: {text}\n".encode(), "a.yaml").plain()["key"]
            newer = next((read(text) for rule, read in CORE.items() if re.fullmatch(rule, text)), text)
            older = yaml.safe_load(f"key: {text}\n")["key"]
            assert repr(value) == repr(newer) == repr(older), text
            accepted.add(text)
    assert len(accepted) > 10_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [(1, 1, "empty-document")]),
        ("# nothing\n", [(1, 1, "empty-document")]),
        ("---\n", [(2, 1, "empty-document")]),
        ("a: 1\n---\nb: 2\n", [(2, 1, "several-documents")]),
        ("%YAML 1.1\n---\na: 1\n", [(1, 1, "directive")]),
        ("a: &x 1\nb: *x\n", [(1, 4, "anchor"), (2, 4, "alias")]),
        ("a: !!int 1\nb: !x [1]\n", [(1, 4, "tag"), (2, 4, "tag")]),
        ("a: !!python/object/apply:os.system ['true']\n", [(1, 4, "tag")]),
        ("<<: {a: 1}\n", [(1, 1, "merge-key")]),
        ("a: 1\nb: {c: 1, 'c': 2}\na: 3\n", [(2, 11, "duplicate-key"), (3, 1, "duplicate-key")]),
        (
            "1: a\ntrue: b\n? [x]\n: c\n",
            [(1, 1, "key-not-string"), (2, 1, "key-not-string"), (3, 3, "key-not-string")],
        ),
        ("a:\nb: {c}\n", [(1, 3, "empty-value"), (2, 6, "empty-value")]),
        ("a:\tb\n# \tc\n", [(1, 3, "tab"), (2, 3, "tab")]),
        ("a: 1 # \u202e evil\n", [(1, 8, "hidden-character")]),
        ("a: x\u00a0y\n", [(1, 5, "hidden-character")]),
        ("a: x\u2028y\n", [(1, 5, "hidden-character")]),
        ("a: x\ry\n", [(1, 5, "hidden-character")]),
        ("a: x\0\n", [(1, 5, "hidden-character")]),
        ('a: "\\u202e"\n', [(1, 4, "hidden-character")]),
        ('a: "\\e"\n', [(1, 4, "hidden-character")]),
        ("a: e\u0301\n", [(1, 4, "not-normal")]),
        ("a: b: c\n", [(1, 5, "yaml-syntax")]),
        ("a: yes\nb: *x\nc: [\n", [(1, 4, "ambiguous-scalar"), (2, 4, "alias"), (4, 1, "yaml-syntax")]),
        ("a: " + "[" * 40, [(1, 36, "too-deep")]),
        ("[" * 500_000, [(1, 34, "too-deep")]),
        ("a: x\u3164y\n", [(1, 5, "hidden-character")]),
        ("a: x\u115fy\n", [(1, 5, "hidden-character")]),
        ("a: x\u034fy\n", [(1, 5, "hidden-character")]),
        ("a: x\ufe0fy\n", [(1, 5, "hidden-character")]),
        ("a: x\U000e0100y\n", [(1, 5, "hidden-character")]),
        ("a: x\u0378y\n", [(1, 5, "hidden-character")]),  # not assigned
        ("- x\n" * 6_000, [(5_001, 3, "too-many-items")]),
        (("- [" + "x, " * 99 + "]\n") * 600, [(500, 298, "too-many-nodes")]),
        ("#" * (1 << 20) + "\n", [(1, 1, "too-large")]),
    ],
)
@pytest.mark.usefixtures("loader")
def test_faults(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert faults(text) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a: 1\nb: \xff\n", [(2, 4, "not-utf8")]),
        (b"\xed\xa0\x80", [(1, 1, "not-utf8")]),
        (b"\xef\xbb\xbfa: 1\n", [(1, 1, "byte-order-mark")]),
        ("a: 1\n".encode("utf-16"), [(1, 1, "not-utf8")]),
    ],
)
def test_encoding(data: bytes, expected: list[tuple[int, int, str]]) -> None:
    assert faults(data) == expected


def test_number_of_findings_is_bounded() -> None:
    assert len(faults("- yes\n" * 1000)) == len(faults("\t" * 1000)) == source.MAX_FINDINGS


def test_a_fix_is_suggested() -> None:
    with pytest.raises(SpecError, match="did you mean '\"yes\"'"):
        parse(b"a: yes", "a.yaml")


EXPRESSIONS = """\
plain: Axis < Rank
single: 'Axis < Rank'
folded: >-
    all(Sizes[d]
      for d in axes)
literal: |
  first
  second line
several: Axis <
   Rank
double: "Axis <
   Rank"
"""


@pytest.mark.usefixtures("loader")
def test_offsets_lead_to_the_same_character_of_the_file() -> None:
    lines = EXPRESSIONS.split("\n")
    for name, node in mapping(EXPRESSIONS).items():
        assert isinstance(node, Scalar)
        assert isinstance(node.value, str)
        for offset, char in enumerate(node.value):
            place = node.at(offset)
            if not char.isspace():
                assert lines[place.line - 1][place.column - 1] == char, (name, offset)
        last = node.at(len(node.value.rstrip()) - 1)
        assert node.at(len(node.value)).column == last.column + 1


@pytest.mark.usefixtures("loader")
def test_offsets_of_escaped_text_lead_to_its_start() -> None:
    node = mapping('a: "\\u0041xis < Rank"\n').get("a")
    assert isinstance(node, Scalar)
    assert node.at(7) == node.position


def test_load_names_the_file_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/a.yaml").write_text("a: yes\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError) as caught:
        load(Path("specs/a.yaml"), Path("specs"))
    assert str(caught.value.findings[0].position) == "specs/a.yaml:1:4"


def refusal(path: Path, root: Path) -> str:
    with pytest.raises(SpecError) as caught:
        load(path, root)
    (finding,) = caught.value.findings
    return finding.code


def test_load_stays_below_root_and_follows_no_link(tmp_path: Path) -> None:
    root, outside = tmp_path / "specs", tmp_path / "outside"
    for directory in (root, outside):
        directory.mkdir()
        (directory / "a.yaml").write_text("a: 1\n")
    (root / "link.yaml").symlink_to(root / "a.yaml")
    (root / "sub").symlink_to(outside)
    (root / "dangling.yaml").symlink_to("nowhere")
    os.mkfifo(root / "pipe.yaml")
    assert load(root / "a.yaml", root).plain() == {"a": 1}
    assert refusal(root / "link.yaml", root) == "symlink"
    assert refusal(root / "sub/a.yaml", root) == "symlink"
    assert refusal(root / "dangling.yaml", root) == "symlink"
    assert refusal(outside / "a.yaml", root) == "outside-root"
    assert refusal(root / "../outside/a.yaml", root) == "outside-root"
    assert refusal(root / "absent.yaml", root) == "no-file"
    assert refusal(root / "pipe.yaml", root) == "no-file"
    assert refusal(root, tmp_path) == "no-file"


def test_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.yaml").write_text("a: 1\n")
    (tmp_path / "specs").symlink_to("real")
    assert load(tmp_path / "specs/a.yaml", tmp_path / "specs").plain() == {"a": 1}


def check_any(data: bytes) -> None:
    try:
        node = parse(data, "a.yaml")
    except SpecError as error:
        assert error.findings
        assert all(f.position.line >= 1 and f.position.column >= 1 for f in error.findings)
    else:
        check_node(node)


def check_node(node: Node) -> None:
    if isinstance(node, Mapping):
        assert len({entry.name for entry in node.entries}) == len(node.entries)
        for entry in node.entries:
            assert isinstance(entry.key.value, str)
            check_node(entry.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            check_node(item)
    else:
        assert isinstance(node.value, str | int | float | bool | None)


YAML_TEXT = st.lists(
    st.sampled_from(
        [*"[]{}:,-?&*!|>'\"%@#~ \n\\x0179.e", "a", ": ", "- ", "\n  ", "<<", "yes", "---\n", "\u202e", '"\\']
    ),
    max_size=40,
).map("".join)


@given(
    st.one_of(
        st.binary(max_size=60), st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
    )
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    check_any(data)


@given(YAML_TEXT)
def test_anything_like_yaml_is_read_or_refused(text: str) -> None:
    check_any(text.encode())


@given(YAML_TEXT)
def test_parsers_agree_on_what_they_both_accept(text: str) -> None:
    trees = []
    for name in ("CSafeLoader", "SafeLoader"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(source, "_LOADER", getattr(yaml, name))
            try:
                trees.append(parse(text.encode(), "a.yaml").plain())
            except SpecError:
                return
    assert trees[0] == trees[1]
