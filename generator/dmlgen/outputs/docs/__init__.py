"""The reference site: static pages that need no server, with a search that runs in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlgen.cases.validators import Validators
from dmlgen.expr.functions import CONVERSIONS, ELEMENT_FUNCTIONS
from dmlgen.outputs import counterparts, definition, hlsl, python
from dmlgen.outputs.c_types import c_type
from dmlgen.outputs.docs import concepts, search, support
from dmlgen.outputs.docs.formula import code
from dmlgen.outputs.docs.operator import INTERFACES, Operators, lets_of, rule_view
from dmlgen.outputs.language import tables
from dmlgen.outputs.render import Templates
from dmlgen.project import CONCEPTS
from dmlgen.registry import ExampleTensor, FeatureLevel, Operator, Registry
from dmlgen.sentence import sentence

_EXAMPLE = "GATHER_ELEMENTS"  # its cases show how the general rules are broken
_SOURCES = {
    "docs": "Microsoft's documentation",
    "header": "DirectML.h",
    "observed": "what shipping software does",
    "ours": "a decision of this registry",
}


def render(registry: Registry, templates: Templates, matrices: Mapping[str, bytes]) -> dict[str, bytes]:
    """Every file of the site, by path; `matrices` are the operators' matrices by path."""
    return _Site(registry, templates, matrices).files()


class _Site:
    def __init__(self, registry: Registry, templates: Templates, matrices: Mapping[str, bytes]) -> None:
        self._registry = registry
        self._templates = templates
        shaders = hlsl.render(registry, templates) | definition.render(registry, templates)
        validators = Validators(registry, python.installed(registry, templates))
        self._operators = Operators(validators, matrices, shaders)
        self._names = _names_of(registry)
        self._files: dict[str, bytes] = {}
        self._pages: list[tuple[str, str, str]] = []  # for the search
        self._elsewhere: list[tuple[str, str, str]] = []  # the same for other interfaces

    def files(self) -> dict[str, bytes]:
        registry = self._registry
        for operator in registry.operators:
            view = self._operators.view(operator)
            self._add(f"operators/{operator.slug}.html", "operator", operator.name, view=view, nested=_nested)
        for level in registry.levels:
            box = "" if level.in_box is None else f"{level.in_box.name.plain} build {level.in_box.build}"
            words = f"{level.constant} {level.value:#x} DirectML {level.directml} {box} what is new"
            self._add(
                f"levels/{level.name}.html",
                "level",
                f"Feature level {level.name}",
                words,
                level=level,
                carried=next((one for one in registry.levels[level.ordinal :] if one.in_box), None),
                new=[operator for operator in registry.operators if operator.since == level],
                changed=_changed(registry, self._operators.changes, level),
                enumerators=_enumerators(registry, level),
            )
        self._overviews()
        self._languages()
        self._files |= self._templates.plain_files("docs/static")
        self._files["search-index.js"] = search.index(registry, self._pages, self._elsewhere)
        return self._files

    def _add(self, path: str, template: str, title: str, words: str | None = None, **context: Any) -> None:
        """Renders a page; if it has `words`, the search finds it by its title and by them."""
        if words is not None:
            self._pages.append((title, path, words))
        self._files[path] = self._templates.render(
            f"docs/{template}.html.j2",
            registry=self._registry,
            title=title,
            path=path,
            root="../" * path.count("/"),
            sources=_SOURCES,
            names=self._names,
            **context,
        )

    def _overviews(self) -> None:
        registry = self._registry
        general = (*registry.operator_rules, *registry.tensor.rules)
        shown = registry.operator.get(_EXAMPLE)
        cases = self._operators.cases.get(_EXAMPLE, ())
        examples = {} if shown is None else self._operators.examples.broken(shown, cases, general)
        definitions, order = registry.tensor.definitions, self._operators.order
        words = "all operators list families overview start home"
        self._add("index.html", "index", "Operators", words, families=self._operators.families)
        words = "versions Windows builds DirectML history which level do I need"
        self._add("levels/index.html", "levels", "Feature levels", words)
        words = "all rules texts identifiers"
        own = [(one, [(rule, sentence(rule)) for rule in one.rules]) for one in order if one.rules]
        self._add(
            "rules.html", "rules", "All rules", words,
            general=[(rule, sentence(rule)) for rule in (*general, *registry.calls)], own=own,
            graphs=[(rule, sentence(rule)) for rule in registry.graphs.rules],
            bindings=[(rule, sentence(rule)) for rule in registry.bindings.rules],
        )  # fmt: skip
        self._add(
            "general.html",
            "general",
            "Rules for every operator",
            "tensors strides sizes alignment flags TotalTensorSizeInBytes broadcast",
            operators=[rule_view(rule, (), examples) for rule in registry.operator_rules],
            tensors=[rule_view(rule, definitions, examples) for rule in registry.tensor.rules],
            calls=[rule_view(rule, (), {}) for rule in registry.calls],
            lets=lets_of(definitions),
        )
        definitions = registry.graphs.definitions
        self._add(
            "graphs.html",
            "graphs",
            "Graphs",
            "DML_GRAPH_DESC CompileGraph edges nodes constants cycle",
            rules=[rule_view(rule, definitions, {}) for rule in registry.graphs.rules],
            lets=lets_of(definitions),
            example=self._operators.examples.graph(registry.graphs.example),
        )
        rules = [(one, rule_view(one, (), {})) for one in registry.bindings.rules]
        words = "BindInputs BindOutputs temporary persistent resources offsets alias in place overlap"
        self._add("bindings.html", "bindings", "Bindings", words, rules=rules)
        self._counterparts()
        words = "errors in the documentation contradictions wrong pages"
        self._add("errata.html", "errata", "Errata", words, operators=order)
        enums = [enum for enum in registry.enums.values() if enum.name != "OPERATOR_TYPE"]
        for enum in enums:
            words = " ".join(f"{enum.prefix}{entry.name}" for entry in enum.entries)
            self._pages.append((enum.c_name, f"types.html#{enum.c_name}", words))
        for struct in registry.structs.values():
            self._pages.append((struct.c_name, f"types.html#{struct.c_name}", "struct"))
        structs = [
            (struct, [(member, c_type(registry, member)) for member in struct.members])
            for struct in registry.structs.values()
        ]
        title = "Enumerations, structs, constants"
        self._add("types.html", "types", title, "types data type flags", enums=enums, structs=structs)
        words = "0x80070057 E_INVALIDARG -2147024809 the parameter is incorrect HRESULT refused invalid why"
        self._add("rejected.html", "rejected", "My description is rejected. What now?", words)
        links = {one.name: f"operators/{one.slug}.html" for one in registry.operators}
        links |= {one.id: f"general.html#{one.id}" for one in general}
        lead, chapters = concepts.chapters(CONCEPTS.read_text(encoding="utf-8"), links)
        self._pages += [(one.title, f"concepts.html#{one.id}", one.words) for one in chapters]
        words = "strides layouts broadcasting levels advice"
        self._add("concepts.html", "concepts", "Concepts", words, lead=lead, chapters=chapters)
        words = "help how to read legend sources docs header observed ours advice"
        self._add("reading.html", "reading", "How to read these pages", words)

    def _counterparts(self) -> None:
        """The page of counterparts in other interfaces, and each of their operations for the search."""
        known, path = self._registry.counterparts, "counterparts.html"
        interfaces = [(one, INTERFACES[one], counterparts.rows(known, one)) for one in ("onnx", "webnn")]
        title = "From ONNX, WebNN, DirectMLX"
        self._add(path, "counterparts", title, "models mapping nodes", interfaces=interfaces)
        for key, name, rows in interfaces:
            for row in rows:
                words = " or ".join(" + ".join(form) for form in row.forms) or row.instead
                self._elsewhere.append((f"{name} {row.name}", f"{path}#{key}-{row.name}", words))
        for operator, names in known.directmlx.items():
            for name in names:
                url = f"{path}#directmlx-{operator}-{name}"
                self._elsewhere.append((f"DirectMLX {name}", url, operator))

    def _languages(self) -> None:
        elements = [
            (f"{name}({', '.join(one.arguments)})", one.meaning) for name, one in ELEMENT_FUNCTIONS.items()
        ]
        self._add(
            "language.html",
            "language",
            "The language of rules and definitions",
            "expressions formulas functions folds reductions coordinates syntax spec",
            elements=elements,
            conversions=CONVERSIONS,
            code=code,
            **tables(),
        )


def _names_of(registry: Registry) -> frozenset[str]:
    """The names of the ABI with which texts refer to members, values and types."""
    structs = registry.structs.values()
    names = {member.name for operator in registry.operators for member in operator.members}
    names |= {member.name for struct in structs for member in struct.members}
    names |= {entry.name for enum in registry.enums.values() for entry in enum.entries}
    names |= {f"{enum.prefix}{entry.name}" for enum in registry.enums.values() for entry in enum.entries}
    names |= {operator.name for operator in registry.operators}
    names |= {struct.c_name for struct in structs} | {enum.c_name for enum in registry.enums.values()}
    return frozenset(names)


def _nested(tensor: ExampleTensor) -> str:
    """The elements of a worked example's tensor in brackets, row by row."""
    rows = [str(one) for one in tensor.data or ()]
    for size in reversed(tensor.sizes):
        rows = [f"[{', '.join(rows[i : i + size])}]" for i in range(0, len(rows), size)]
    return "".join(rows)


def _changed(
    registry: Registry, changes: Mapping[str, list[support.Change]], level: FeatureLevel
) -> list[tuple[Operator, tuple[str, ...]]]:
    """The existing operators that have something new at the level."""
    return [
        (registry.operator[name], change.news)
        for name, history in changes.items()
        for change in history
        if change.level == level and registry.operator[name].since != level
    ]


def _enumerators(registry: Registry, level: FeatureLevel) -> list[tuple[str, str]]:
    """New values of existing enumerations, except operators, and new enumerations."""
    return [
        (enum.c_name, f"{enum.prefix}{entry.name}")
        for enum in registry.enums.values()
        for entry in enum.entries
        if entry.since == level and level.ordinal and enum.name != "OPERATOR_TYPE"
    ]
