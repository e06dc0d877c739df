"""Descriptions from the matrices: broken and fixed side by side, and as JSON, Python and C++."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dmlgen.cases.validators import Validators, violations_of
from dmlgen.names import snake
from dmlgen.outputs.python_lines import wrapped
from dmlgen.registry import Member, Operator, Registry, Rule

if TYPE_CHECKING:
    from dmlops import Description

Case = Mapping[str, Any]  # of a matrix
_UNION = {"float": "Float", "signed": "Int", "unsigned": "UInt"}  # members of the union, with bits behind
_FIELDS = ("Strides", "Flags", "TotalTensorSizeInBytes", "GuaranteedBaseOffsetAlignment")


@dataclass(frozen=True)
class Row:
    """A member of a broken description, and of its valid twin if it differs there."""

    member: str
    broken: str
    mended: str

    @property
    def differs(self) -> bool:
        return self.broken != self.mended


@dataclass(frozen=True)
class Broken:
    """A description that breaks a rule, or draws advice, beside one that does not, and the message for it."""

    operator: str
    level: str
    mended_level: str
    rows: tuple[Row, ...]
    message: str


class Examples:
    """Makes examples from the cases of any operator, with the messages of these validators."""

    def __init__(self, validators: Validators) -> None:
        self._validators = validators

    def broken(self, operator: Operator, cases: Iterable[Case], rules: Iterable[Rule]) -> dict[str, Broken]:
        """The shortest example for each of the rules that the cases break or draw."""
        wanted = {rule.id for rule in rules}
        by_id = {case["id"]: case for case in cases}
        found: dict[str, Case] = {}
        for case in by_id.values():
            rule = case.get("breaks") or case.get("draws")
            if rule in wanted and (rule not in found or _length(case) < _length(found[rule])):
                found[rule] = case
        return {
            rule: Broken(
                operator.name,
                case["feature_level"],
                by_id[case["valid_variant"]]["feature_level"],
                tuple(self._rows(operator, case["desc"], by_id[case["valid_variant"]]["desc"])),
                self._message(rule, case),
            )
            for rule, case in found.items()
        }

    def _rows(
        self, operator: Operator, broken: Mapping[str, Any], mended: Mapping[str, Any]
    ) -> Iterator[Row]:
        for member in operator.members:
            texts = _shown(broken.get(member.name)), _shown(mended.get(member.name))
            if texts != ("absent", "absent"):
                yield Row(member.name, *texts)

    def graph(self, value: Mapping[str, Any]) -> str:
        """A graph in JSON as text, with a line for each node; "" if a spec of its operators is missing."""
        try:
            return "\n".join(self._validators.listed(value))
        except ValueError:
            return ""

    def snippets(self, operator: Operator, case: Case) -> tuple[tuple[str, str], ...]:
        """A valid case as code, by language."""
        checked = f"assert desc.validate({json.dumps(case['feature_level'])}) == []"
        in_python = f"from dmlops import *\n\ndesc = {self._description(case)!r}\n{checked}"
        in_cpp = _cpp_text(self._validators.registry, operator, case)
        return ("JSON", _json_text(case)), ("Python", wrapped(in_python)), ("C++", in_cpp)

    def _description(self, case: Case) -> Description:
        return self._validators.from_json({"type": case["type"], "desc": case["desc"]})

    def _message(self, rule: str, case: Case) -> str:
        """The validators' message for the case."""
        found = violations_of(self._description(case), self._validators.registry.level[case["feature_level"]])
        return next(one.message for one in found if one.rule == rule)


def minimal(cases: Iterable[Case]) -> Case | None:
    """The simplest valid case, if there is any: packed tensors, FLOAT32 if possible, and short."""

    def size(case: Case) -> tuple[object, ...]:
        text = json.dumps(case["desc"])
        extras = sum(text.count(f'"{field}": ') for field in _FIELDS)
        return (extras, '"FLOAT32"' not in text, len(text), case["id"])

    valid = [case for case in cases if case["expect"]["ok"] and not case["expect"]["advice"]]
    return min(valid, key=size, default=None)


def _json_text(case: Case) -> str:
    """The description, with one member per line."""
    members = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in case["desc"].items())
    return f'{{"type": {json.dumps(case["type"])}, "desc": {{\n{members}}}}}'


def _cpp_text(registry: Registry, operator: Operator, case: Case) -> str:
    """The description in C++17 with dmlops.h."""
    before: list[str] = []
    assignments = _Cpp(registry, before).members(operator, case["desc"], "desc", "")
    level = registry.level[case["feature_level"]].constant
    return "\n".join(
        [
            '#include "dmlops.h"',
            "",
            *before,
            *assignments,
            f"bool valid = dmlops::validate(desc, {level}).empty();",
        ]
    )


class _Cpp:
    """Writes what a description points to into `before`, and returns the assignments of its members."""

    def __init__(self, registry: Registry, before: list[str]) -> None:
        self._registry = registry
        self._before = before

    def members(self, operator: Operator, desc: Mapping[str, Any], variable: str, prefix: str) -> list[str]:
        lines = [f"{operator.c_name} {variable} = {{}};"]
        lengths = {m.count: len(desc[m.name]) for m in operator.members if m.count and m.name in desc}
        given = {**lengths, **desc}
        for member in operator.members:
            if member.name in given:
                lines += self._assignment(operator, member, given, f"{variable}.{member.name}", prefix)
        return lines

    def _assignment(
        self, operator: Operator, member: Member, desc: Mapping[str, Any], target: str, prefix: str
    ) -> list[str]:
        value, local = desc[member.name], f"{prefix}{snake(member.name)}"
        if member.is_tensor and isinstance(value, list):
            names = [self._tensor(f"{local}{i}", one) for i, one in enumerate(value)]
            listed = ", ".join(f"{name}.desc()" for name in names)
            self._before.append(f"const DML_TENSOR_DESC {local}[] = {{{listed}}};")
            return [f"{target} = {local};"]
        if member.is_tensor:
            return [f"{target} = {self._tensor(local, value)};"]
        if member.type == "OPERATOR_DESC":
            listed_ = value if isinstance(value, list) else [value]
            parts = [
                self._nested(one, f"{local}{i}_" if len(listed_) > 1 else f"{local}_")
                for i, one in enumerate(listed_)
            ]
            self._before.append(f"const DML_OPERATOR_DESC {local}[] = {{{', '.join(parts)}}};")
            return [f"{target} = {local};"]
        if isinstance(value, list):
            entries = ", ".join(self._number(member, one) for one in value)
            type_ = f"DML_{member.type}" if member.type in self._registry.enums else member.type
            self._before.append(f"const {type_} {local}[] = {{{entries}}};")
            return [f"{target} = {local};"]
        if member.typed_by is not None:
            typing = desc[member.typed_by]
            named = typing["DataType"] if isinstance(typing, Mapping) else typing
            entry = self._registry.data_type[named]
            return [f"{target}.{_UNION[entry.kind or '']}{entry.bits} = {value};"]
        if isinstance(value, Mapping):
            parts = [
                self._number(part, value[part.name]) for part in self._registry.structs[member.type].members
            ]
            if not member.pointer:
                return [f"{target} = {{{', '.join(parts)}}};"]
            self._before.append(f"const DML_{member.type} {local} = {{{', '.join(parts)}}};")
            return [f"{target} = &{local};"]
        return [f"{target} = {self._number(member, value)};"]

    def _tensor(self, name: str, value: Mapping[str, Any]) -> str:
        sizes, strides = (_braced(value.get(field, [])) for field in ("Sizes", "Strides"))
        tail = f", {strides}" if "Strides" in value else ""
        prefix = self._registry.enums["TENSOR_DATA_TYPE"].prefix
        self._before.append(f"dmlops::tensor {name}({prefix}{value['DataType']}, {sizes}{tail});")
        return name

    def _nested(self, value: Mapping[str, Any], local: str) -> str:
        operator = self._registry.operator[value["type"].removeprefix("DML_OPERATOR_")]
        variable = f"{local}desc"
        lines = self.members(operator, value["desc"], variable, local)
        self._before += lines
        return f"dmlops::describe({variable})"

    def _number(self, member: Member, value: Any) -> str:
        enum = self._registry.enums.get(member.type)
        if enum is not None and isinstance(value, str):
            return f"{enum.prefix}{value}"
        if isinstance(value, bool):
            return str(int(value))
        if member.type == "FLOAT":
            return f"{float(value)!r}f"
        return str(value)


def _braced(numbers: list[int]) -> str:
    return f"{{{', '.join(map(str, numbers))}}}"


def _shown(value: Any) -> str:
    """A member's value on one line."""
    match value:
        case None:
            return "absent"
        case {"Sizes": sizes, "DataType": type_}:
            rest = "".join(f", {name} {_shown(value[name])}" for name in _FIELDS if name in value)
            return f"{type_} {json.dumps(sizes)}{rest}"
        case {"type": str(type_), "desc": dict(desc)}:
            name = type_.removeprefix("DML_OPERATOR_")
            return (
                f"{name} ({', '.join(f'{part} {_shown(one)}' for part, one in desc.items())})"
                if desc
                else name
            )
        case dict():
            return ", ".join(f"{name} {one}" for name, one in value.items())
        case list() if value and isinstance(value[0], dict):
            return "; ".join(map(_shown, value))
        case str():
            return value
    return json.dumps(value)


def _length(case: Case) -> int:
    return len(json.dumps(case["desc"]))
