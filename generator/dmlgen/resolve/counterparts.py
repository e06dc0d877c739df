"""Resolves specs/counterparts: the counterparts of DirectML's operators in other interfaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dmlgen import written
from dmlgen.decode import decode
from dmlgen.diagnostics import fault, nearest
from dmlgen.expr.mapping import Names, parse, results
from dmlgen.mappings import Form, Limit, Operation, Step
from dmlgen.registry import (
    NO_COUNTERPARTS,
    Counterparts,
    FusedName,
    Member,
    Operator,
    Registration,
    Signature,
)
from dmlgen.resolve.faults import Faults, check_each, check_known
from dmlgen.resolve.general import General
from dmlgen.resolve.merge import merged
from dmlgen.source import Scalar, Value
from dmlgen.text import NO_TEXT, Text

Interface: TypeAlias = Literal["onnx", "webnn"]

FILES = ("onnx", "webnn", "directmlx", "onnxruntime")
INTERFACES = FILES[:3]


def resolve_counterparts(
    general: General, operators: Mapping[str, Operator], files: Mapping[str, written.Counterparts]
) -> Counterparts:
    """Everything below specs/counterparts; empty if there are no `files`. SpecError with all errors."""
    if not files:
        return NO_COUNTERPARTS
    faults = Faults()
    operations: list[Operation] = []
    interfaces: tuple[Interface, ...] = ("onnx", "webnn")
    for interface in interfaces:
        reader = _Reader(general, operators, files[interface].shared, faults)
        for name, operation in files[interface].operations.items():
            operations.append(reader.counterpart(interface, name, operation))
    activations = []
    for name, activation in files["onnx"].activations.items():
        with faults:
            activations.append(_activation(operators, name, activation))
    data_types = {key.value: number for key, number in files["onnx"].data_types.items()}
    for keys in (files["onnx"].data_types, files["webnn"].operand_types):
        with faults:
            check_each(keys, general.enum_values["TENSOR_DATA_TYPE"], "there is no data type {}")
    with faults:
        check_each(files["directmlx"].functions, operators, "there is no operator {}")
    functions = {
        key.value: function if isinstance(function, tuple) else (function,)
        for key, function in files["directmlx"].functions.items()
    }
    reached = {
        name: {op for one in operations if one.interface == name for op in one.operators} for name in FILES
    }
    reached["directmlx"] = set(functions)
    without = {}
    for name in INTERFACES:
        with faults:
            without[name] = _without(operators, reached[name], files[name])
    registrations: tuple[Registration, ...] = ()
    with faults:
        registrations = _registrations(general, files["onnxruntime"])
    faults.stop()
    return Counterparts(
        operations=tuple(operations),
        activations=tuple(activations),
        data_types=data_types,
        operand_types=tuple(one.value for one in files["webnn"].operand_types),
        domains=files["onnx"].domains,
        directmlx=functions,
        registrations=registrations,
        without=without,
        sources={name: files[name].sources for name in FILES},
    )


def _registrations(general: General, file: written.Counterparts) -> tuple[Registration, ...]:
    types = general.enum_values["TENSOR_DATA_TYPE"]
    check_each((item for group in file.types.values() for item in group), types, "there is no data type {}")
    readings = {key.value: text for key, text in file.readings.items()}
    found: list[Registration] = []
    for name, node in file.registrations.items():
        group = node.types
        if group is not None:
            check_known(group, file.types, f"there is no group of types {group.value}")
        domain, _, plain = name.rpartition(".")
        known = None if group is None else tuple(one.value for one in file.types[group.value])
        found.append(Registration(domain, plain, node.versions, known, readings.get(name, NO_TEXT)))
    check_each(file.readings, file.registrations, "there is no registration {}")
    return tuple(found)


def _known(operators: Mapping[str, Operator], name: Scalar[str]) -> Operator:
    check_known(name, operators, f"there is no operator {name.value}")
    return operators[name.value]


def _without(
    operators: Mapping[str, Operator], reached: set[str], file: written.Counterparts
) -> Mapping[str, Text]:
    """The operators without a counterpart; each of them, and no other, must have a reason."""
    faults = Faults()
    reasons: dict[str, Text] = {}
    for group in file.without:
        for item in group.operators:
            with faults:
                name = _known(operators, item).name
                if name in reached or name in reasons:
                    message = f"{name} has a counterpart above, so it does not belong under `without`"
                    raise fault(item.position, "counterpart", message)
                reasons[name] = group.because
    for name in operators:
        if name not in reached and name not in reasons:
            message = (
                f"nothing leads to {name}; map something to it, or list it under `without`, with a reason"
            )
            faults.report(file.place("without"), "counterpart", message)
    faults.stop()
    return reasons


def _activation(operators: Mapping[str, Operator], name: str, node: written.Activation) -> FusedName:
    operator = _known(operators, node.operator)
    members: dict[str, tuple[Literal["alpha", "beta"], float | None]] = {}
    fixed: dict[str, float] = {}
    own = {member.name for member in operator.attributes}
    for key, given in node.members.items():
        check_known(key, own, f"{operator.name} has no member {key.value}")
        if isinstance(given, Mapping):
            ((parameter, default),) = given.items()
            members[key.value] = (parameter, default)
        else:
            fixed[key.value] = float(given)
    missing = sorted(own - members.keys() - fixed.keys())
    if missing:
        raise fault(node.position, "missing", f"{name} does not say what {missing[0]} is")
    return FusedName(name, operator.name, members, fixed)


@dataclass
class _Reader:
    """Reads one operation; errors are collected, so that one does not hide the next."""

    general: General
    operators: Mapping[str, Operator]
    shared: Mapping[str, written.Signature]
    faults: Faults

    def counterpart(self, interface: Interface, name: str, node: written.Operation) -> Operation:
        domain, _, plain = name.rpartition(".")
        versions: list[written.Signature] = [node, *node.older]
        signatures = tuple(self.signature(self._extended(version)) for version in versions)
        for newer, older, version in zip(signatures, signatures[1:], versions[1:], strict=False):
            if older.last is None or older.last + 1 != newer.first:
                message = f"the versions before {newer.first} must end with {newer.first - 1}"
                self.faults.report(version.place("opsets"), "opsets", message)
        return Operation(interface, domain, plain, signatures, node.note.plain)

    def _extended(self, node: written.Signature) -> written.Signature:
        """The node merged with the shared part that it names; its own entries win."""
        if node.extends is None:
            return node
        shared = self.shared.get(node.extends.value)
        if shared is None:
            message = f"there is no shared entry {node.extends.value}"
            close = nearest(node.extends.value, self.shared)
            self.faults.report(node.extends.position, "unknown-name", message, close)
            return node
        return decode(type(node), merged(shared.node, node.node))

    def signature(self, node: written.Signature) -> Signature:
        first, last = _opsets(node.opsets)
        tensors = [one.rstrip("?*") for one in (*node.inputs, *node.outputs)]
        names = Names(tensors, {**dict.fromkeys(node.attributes), "opset": None}, self._enumerators())
        let, names = self._lets(node.let, names)
        limits = tuple(
            Limit(self._expression(limit.when, names), limit.because.plain) for limit in node.limits
        )
        forms: list[Form] = []
        if node.forms:
            forms = [self._form(one, names) for one in node.forms]
        elif node.operator is not None or node.steps:
            forms = [self._form(replace(node, let={}), names)]
        infers = {key.value: self._between(one, names) for key, one in node.infers.items()}
        given = [*(one.rstrip("?*") for one in node.inputs), *node.attributes]
        ranked = Names((), {"rank": None}, ())
        example = {}
        for key, value in node.example.items():
            with self.faults:
                check_known(key, given, f"there is no input or attribute {key.value}")
            example[key.value] = self._expression(value, ranked)
        if [bool(forms) or node.expands is not None, bool(node.none), bool(node.host)].count(True) != 1:
            message = "an operation has forms, or expands, or is the host's, or says why there is `none`"
            self.faults.report(node.position, "counterpart", message)
        return Signature(
            first=first,
            last=last,
            inputs=node.inputs,
            outputs=node.outputs,
            attributes={
                name: list(value) if isinstance(value, tuple) else value
                for name, value in node.attributes.items()
            },
            ignored=tuple(one.value for one in node.ignored),
            let=let,
            limits=limits,
            forms=tuple(forms),
            infers=infers,
            example=example,
            none=node.none.plain,
            host=node.host.plain,
            expands=node.expands is not None,
            position=node.position,
        )

    def _enumerators(self) -> set[str]:
        return {name for values in self.general.enum_values.values() for name in values}

    def _lets(self, let: written.NodeLet, names: Names) -> tuple[dict[str, str], Names]:
        """The definitions, each of which can use those above it, and the names including them."""
        found: dict[str, str] = {}
        for key, value in let.items():
            with self.faults:
                tree = self._parsed(value, names)
                found[key.value] = ast.unparse(tree)
                names = replace(names, values={**names.values, key.value: tree})
        return found, names

    def _form(self, node: written.NodeForm, names: Names) -> Form:
        when = self._expression(node.when, names)
        tensors: dict[str, tuple[str, str]] = {}
        for key, one in node.tensors.items():
            tensors[key.value] = self._between(one, names)
            names = replace(names, tensors=[*names.tensors, key.value])
        let, names = self._lets(node.let, names)
        steps: list[Step] = []
        for step in node.steps or [node]:
            with self.faults:
                steps.append(self._step(step, names))
        return Form(when, let, tensors, tuple(steps))

    def _between(self, node: written.Between, names: Names) -> tuple[str, str]:
        return self._expression(node.type, names), self._expression(node.sizes, names)

    def _step(self, node: written.Step | written.NodeForm, names: Names) -> Step:
        if node.operator is None:
            raise fault(node.position, "missing-key", "key 'operator' is missing")
        operator = _known(self.operators, node.operator)
        counts = {member.count for member in operator.members if member.count}
        if node.over is not None:
            check_known(node.over, names.tensors, f"there is no input {node.over.value}")
            names = replace(names, tensors=[*names.tensors, "each", "so_far"])
        desc: dict[str, str] = {}
        for key, value in node.desc.items():
            member = operator.member.get(key.value)
            if member is None or member.name in counts:
                message = f"{operator.name} has no member {key.value}"
                if member is not None:
                    message = f"{key.value} follows from the array whose entries it counts"
                raise fault(key.position, "unknown-name", message, nearest(key.value, operator.member))
            with self.faults:
                desc[key.value] = self._member(member, value, names)
        given = {key.value for key in node.desc}
        for member in operator.members:
            needed = not member.optional and member.name not in counts
            if needed and member.name not in given:
                message = f"the description of {operator.name} does not say what {member.name} is"
                self.faults.report(node.place("desc"), "missing", message)
        ordered = {member.name: desc[member.name] for member in operator.members if member.name in desc}
        when = self._expression(node.when, names) if isinstance(node, written.Step) else ""
        return Step(operator.name, ordered, "" if node.over is None else node.over.value, when)

    def _member(self, member: Member, node: Scalar[Value], names: Names) -> str:
        """The expression for one member; enumerators of its own enumeration can be used."""
        tree = self._parsed(node, names, tensor=member.is_tensor)
        if member.type in self.general.enum_values:
            choices = self.general.enum_values[member.type]
            for result in results(tree, names):
                if isinstance(result, ast.Constant) and result.value not in choices:
                    message = f"{result.value!r} is not a value of {member.type}"
                    raise fault(node.position, "unknown-name", message, nearest(str(result.value), choices))
        return ast.unparse(tree)

    def _expression(self, node: Scalar[Value] | None, names: Names) -> str:
        """An expression; "" if there is none."""
        if node is None:
            return ""
        with self.faults:
            return ast.unparse(self._parsed(node, names))
        return ""

    def _parsed(self, node: Scalar[Value], names: Names, tensor: bool = False) -> ast.expr:
        if not isinstance(node.value, str):
            return ast.Constant(node.value)
        return parse(node.value, names, node.at, tensor)


def _opsets(written: str) -> tuple[int, int | None]:
    """First and last version, from "13-", "7-12" or "9"."""
    match = re.fullmatch(r"(\d+)(-)?(\d+)?", written)
    assert match is not None, written
    first = int(match[1])
    return first, (int(match[3]) if match[3] else None if match[2] else first)
