"""The reference site, read as files: links, anchors, structure, and the truth of what it shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from inspect import isfunction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

import dmlops
from c_runner import WARNINGS, compiler
from dmlgen.cases.validators import Validators
from dmlgen.cli import ROOT, main
from dmlgen.outputs import python
from dmlgen.outputs.docs.example import Examples
from dmlgen.outputs.render import Templates
from dmlgen.project import TEMPLATES
from dmlgen.text import Text
from dmlops import registry
from dmlops.data import rule_texts
from site_pages import Page
from test_hostile_specs import NASTY, small, spoil_texts
from whole_registry import whole_registry

SAMPLE = (
    *("activation_relu", "batch_normalization", "convolution", "element_wise_clip1", "element_wise_identity"),
    *("fill_value_constant", "fill_value_sequence", "gather_elements", "gemm", "join", "lstm", "padding"),
    *("local_response_normalization", "multihead_attention", "quantize", "random_generator", "reduce"),
    *("resample2", "roi_pooling", "slice1", "split", "top_k1"),
)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    files = sorted(site.rglob("*.html"))
    return {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in files}


def matrix(operator: str) -> Any:
    path = ROOT / f"generated/matrix/{operator.lower()}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def snippets(pages: dict[str, Page], slug: str) -> list[str]:
    """The minimal description in JSON, Python and C++."""
    return [one.text for one in pages[f"operators/{slug}.html"].with_class("snippet")]


def test_there_is_a_page_for_each_operator_and_level(pages: dict[str, Page]) -> None:
    assert {f"operators/{name.lower()}.html" for name in registry.OPERATORS} <= set(pages)
    assert {f"levels/{level}.html" for level in registry.LEVELS} <= set(pages)


def test_every_rule_is_an_anchor_on_the_page_of_its_operator(pages: dict[str, Page]) -> None:
    for rule, text in rule_texts().items():
        family = rule.split("-")[1]
        general = {"GRAPH": "graphs.html", "BINDING": "bindings.html"}.get(family, "general.html")
        page = f"operators/{text.operator.lower()}.html" if text.operator else general
        assert rule in pages[page].ids


def test_links_and_anchors_resolve(site: Path, pages: dict[str, Page]) -> None:
    ids = {name: set(page.ids) for name, page in pages.items()}
    for name, page in pages.items():
        for link in page.links:
            if link.startswith(("https://learn.microsoft.com/", "https://github.com/", "data:")):
                continue
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            assert (site / target).is_file(), f"{name}: {link}"
            assert not anchor or anchor in ids[target], f"{name}: {link}"


def test_the_search_leads_to_pages_and_anchors(site: Path, pages: dict[str, Page]) -> None:
    script = (site / "search-index.js").read_text(encoding="utf-8")
    index = json.loads(script[script.index("{") : script.rindex("}") + 1])
    ids = {name: set(page.ids) for name, page in pages.items()}
    names = [f"operators/{one[0].lower()}.html" for one in index["operators"]]
    for _, link, _ in index["pages"] + index["elsewhere"]:
        page, _, anchor = link.partition("#")
        assert page in pages and (not anchor or anchor in ids[page]), link
    for member, operators in index["members"].items():
        assert all(member in ids[names[number]] for number in operators)
    for number, rule, _ in index["rules"]:
        general = {-1: "general.html", -2: "graphs.html", -3: "bindings.html"}
        assert rule in ids[general.get(number) or names[number]]
    for number, requirement, _ in index["data"]:
        assert f"data-{requirement}" in ids[names[number]]


def test_pages_are_well_formed(pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        assert page.faults == [], name
        assert len(page.ids) == len(set(page.ids)), name
        levels = [int(one.tag[1]) for one in page.all("h1", "h2", "h3", "h4", "h5")]
        assert levels.count(1) == 1 and levels[0] == 1, name
        steps = pairwise(levels)
        assert all(after <= before + 1 for before, after in steps), f"{name}: headings skip a level"
        assert all(one.attributes.get("scope") in ("row", "col") for one in page.all("th")), name
        assert page.all("html")[0].attributes["lang"] == "en"
        assert not [one for one in page.elements for key in one.attributes if key.startswith("on")]


def test_pages_need_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*"):
        if path.suffix in (".css", ".js", ".html"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"(?:src|@import|url\(|fetch\(|import\()\s*=?\s*[\"']?https?:", text), path
            assert not re.search(r"<link[^>]+https?:", text), path


def test_the_json_snippets_are_valid(pages: dict[str, Page]) -> None:
    for name in registry.OPERATORS:
        page = pages[f"operators/{name.lower()}.html"]
        desc = dmlops.from_json(json.loads(snippets(pages, name.lower())[0]))
        level = re.search(r"Valid at feature level (\d\.\d)", page.all("main")[0].text)
        assert level is not None
        assert name == desc.OPERATOR and desc.validate(level[1]) == []


def test_the_python_snippets_run_and_say_the_same(pages: dict[str, Page]) -> None:
    for name in registry.OPERATORS:
        text, python, _ = snippets(pages, name.lower())
        namespace: dict[str, Any] = {}
        exec(python, namespace)  # asserts that the description is valid
        assert namespace["desc"] == dmlops.from_json(json.loads(text)), name


def test_the_cpp_snippets_compile_and_are_valid(pages: dict[str, Page], tmp_path: Path) -> None:
    body = ['#include "dmlops.h"', "int main() {", "int bad = 0;"]
    for slug in SAMPLE:
        lines = snippets(pages, slug)[2].splitlines()
        assert lines[0] == '#include "dmlops.h"'
        check = f'if (!valid) {{ ++bad; puts("{slug}"); }}'
        body += ["{", *lines[1:], check, "}"]
    source = tmp_path / "snippets.cpp"
    source.write_text("\n".join([*body, "return bad;", "}"]), encoding="utf-8")
    include = f"-I{ROOT / 'generated/include'}"
    program = tmp_path / "snippets"
    command = [compiler("g++"), "-std=c++17", "-DDMLOPS_STANDALONE", *WARNINGS, include]
    subprocess.run([*command, str(source), "-o", str(program)], check=True)
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_the_messages_shown_are_those_of_the_validators() -> None:
    known = whole_registry()
    package = python.installed(known, Templates(ROOT / "templates"))
    examples = Examples(Validators(known, package))
    shown = 0
    for operator in known.operators:
        cases = matrix(operator.name)["cases"]
        said: dict[str, set[str]] = {}
        for case in cases:
            rule = case.get("breaks") or case.get("draws")
            if rule is not None and rule.startswith(f"DML-{operator.name}-"):
                desc, level = dmlops.from_json({k: case[k] for k in ("type", "desc")}), case["feature_level"]
                found = [*desc.validate(level), *desc.advice(level)]
                said.setdefault(rule, set()).update(one.message for one in found if one.rule == rule)
        for rule, example in examples.broken(operator, cases, operator.rules).items():
            assert example.message in said[rule], rule
            assert any(row.differs for row in example.rows) or example.level != example.mended_level
            shown += 1
    assert shown > 900


def test_every_erratum_is_listed(pages: dict[str, Page]) -> None:
    files = [*ROOT.glob("specs/operators/*/*.yaml"), *ROOT.glob("specs/*.yaml")]
    specs = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in files]
    rows = [one for one in pages["errata.html"].all("tr") if "data-words" in one.attributes]
    assert len(rows) >= sum(len(spec.get("errata", ())) for spec in specs) > 300


def test_the_support_bars_are_the_tables(pages: dict[str, Page]) -> None:
    """Types and dimension counts at each level, read back from the bars of GATHER_ELEMENTS."""
    page = pages["operators/gather_elements.html"]
    levels = [str(level) for level in registry.LEVELS]
    found: dict[str, set[str]] = {level: set() for level in levels}
    for cell in page.with_class("yes"):
        span = re.match(r"(\d\.\d)(?: to (\d\.\d))?: (.*?)(?: dimensions)?$", cell.text)
        assert span is not None
        first, last = levels.index(span[1]), levels.index(span[2] or span[1])
        assert last - first + 1 == int(cell.attributes["colspan"] or 1)
        for level in levels[first : last + 1]:
            found[level].add(span[3].replace("\N{EN DASH}", "-"))
    for level in levels:
        tables = registry.support("GATHER_ELEMENTS", level).values()
        ranks = {
            f"{min(row.ranks)}-{max(row.ranks)}" if len(row.ranks) > 1 else str(row.ranks[0])
            for row in tables
        }
        assert found[level] == ranks


def test_what_is_public_is_documented_where_it_is_declared() -> None:
    headers = (ROOT / f"generated/include/{name}.h" for name in ("dmlops", "dmlops_plan"))
    text = "".join(path.read_text(encoding="utf-8") for path in headers)
    functions = re.compile(r"^DMLOPS_API [^(;{]*?(dmlops_\w+)\(", re.MULTILINE)
    below_comments = re.findall(r"\*/\n((?:.+\n)+)", text)
    declared, commented = set(functions.findall(text)), set(functions.findall("".join(below_comments)))
    assert {"dmlops_validate", "dmlops_plan"} < declared == commented
    public = [getattr(dmlops, name) for name in dmlops.__all__]
    methods = [one for part in public if isinstance(part, type) for one in vars(part).items()]
    functions_ = [(one.__name__, one) for one in public if callable(one)] + methods
    assert len(functions_) > 200
    for name, one in functions_:
        assert name.startswith("_") or not isfunction(one) or one.__doc__, name


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    specs = small(tmp_path / "specs")
    nasty = "".join([*(one for one in NASTY if len(one) < 100), "<img src=x onerror=alert(2)>"])
    for path in specs.rglob("*.yaml"):
        if "operators" in path.parts:
            document = spoil_texts(yaml.safe_load(path.read_text(encoding="utf-8")), nasty)
            path.write_text(yaml.safe_dump(document, sort_keys=False, width=1 << 20), encoding="utf-8")
    out = tmp_path / "site"
    assert main(["docs", "--specs", str(specs), "--out", str(out)]) == 0
    for path in out.rglob("*.html"):
        page = Page(path.read_text(encoding="utf-8"))
        assert page.faults == []
        assert [Path(one.attributes["src"] or "").name for one in page.all("script")] == [
            "theme.js",
            "search-index.js",
            "site.js",
        ]
        assert not page.all("img", "iframe", "object")
        assert not [one for one in page.elements for key in one.attributes if key.startswith("on")]
    shown = Page((out / "operators/gather_elements.html").read_text(encoding="utf-8"))
    assert "<script>alert(1)</script>" in shown.all("main")[0].text


def test_a_page_refuses_a_text_that_no_filter_has_quoted() -> None:
    with pytest.raises(TypeError, match="as it stands"):
        Templates(TEMPLATES).render(
            "docs/level.html.j2", title=Text("x"), registry=None, path="", root="", sources={}
        )


def test_the_same_specs_give_the_same_bytes(tmp_path: Path) -> None:
    specs = small(tmp_path / "specs")
    for seed in ("1", "2"):
        command = [
            sys.executable,
            "-m",
            "dmlgen",
            "docs",
            "--specs",
            str(specs),
            "--out",
            str(tmp_path / seed),
        ]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
    files = {
        seed: {
            path.relative_to(tmp_path / seed): path.read_bytes() for path in (tmp_path / seed).rglob("*.*")
        }
        for seed in ("1", "2")
    }
    assert files["1"] == files["2"] and files["1"]
