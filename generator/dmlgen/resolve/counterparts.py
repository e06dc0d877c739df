"""What other interfaces have for DirectML's operators: specs/counterparts."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping as Map
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from dmlgen.diagnostics import Position, nearest
from dmlgen.expr.mapping import Names, parse, results
from dmlgen.registry import (
    Between,
    Counterpart,
    CounterpartForm,
    Counterparts,
    FusedName,
    Limit,
    Member,
    Operator,
    Registration,
    Signature,
    Step,
)
from dmlgen.resolve.general import General
from dmlgen.resolve.nodes import (
    Faults,
    fault,
    flag,
    free_text,
    mapping,
    mappings,
    place,
    scalar,
    scalars,
    text,
)
from dmlgen.source import Mapping, Node, Scalar, Sequence
from dmlgen.text import Text

Interface: TypeAlias = Literal["onnx", "webnn"]

FILES = ("onnx", "webnn", "directmlx", "onnxruntime")
INTERFACES = FILES[:3]


def resolve_counterparts(
    general: General, operators: Map[str, Operator], files: Map[str, Mapping]
) -> Counterparts:
    """Everything below specs/counterparts; nothing where there are no `files`. SpecError with all faults."""
    if not files:
        return Counterparts((), (), {}, {}, {}, (), {}, {})
    faults = Faults()
    operations: list[Counterpart] = []
    interfaces: tuple[Interface, ...] = ("onnx", "webnn")
    for interface in interfaces:
        shared = mapping(files[interface], "shared")
        for name, node in mapping(files[interface], "operations").items():
            if isinstance(node, Mapping):
                reader = _Reader(general, operators, shared, faults)
                operations.append(reader.counterpart(interface, name, node))
    activations = []
    for name, node in mapping(files["onnx"], "activations").items():
        with faults:
            activations.append(_activation(operators, name, cast(Mapping, node)))
    data_types = mapping(files["onnx"], "data_types").plain()
    domains = mapping(files["onnx"], "domains")
    for entry in mapping(files["onnx"], "data_types").entries:
        if entry.name not in general.enum_values["TENSOR_DATA_TYPE"]:
            faults += fault(
                entry.key.position, "unknown-name", f"there is no data type {entry.name}"
            ).findings
    functions: dict[str, tuple[str, ...]] = {}
    for entry in mapping(files["directmlx"], "functions").entries:
        with faults:
            _known(operators, entry.name, entry.key.position)
        items = entry.value.items if isinstance(entry.value, Sequence) else (entry.value,)
        functions[entry.name] = tuple(str(item.value) for item in items if isinstance(item, Scalar))
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
        domains={name: free_text(domains, name) for name, _ in domains.items()},
        directmlx=functions,
        registrations=registrations,
        without=without,
        sources={name: tuple(Text(str(s.value)) for s in scalars(files[name], "sources")) for name in FILES},
    )


def _registrations(general: General, file: Mapping) -> tuple[Registration, ...]:
    groups = {name: scalars(mapping(file, "types"), name) for name, _ in mapping(file, "types").items()}
    types = general.enum_values["TENSOR_DATA_TYPE"]
    for item in (item for group in groups.values() for item in group):
        if item.value not in types:
            message = f"there is no data type {item.value}"
            raise fault(item.position, "unknown-name", message, nearest(str(item.value), types))
    readings = mapping(file, "readings")
    found: list[Registration] = []
    for name, node in mapping(file, "registrations").items():
        assert isinstance(node, Mapping)
        group = scalar(node, "types")
        if group is not None and group.value not in groups:
            message = f"there is no group of types {group.value}"
            raise fault(group.position, "unknown-name", message, nearest(str(group.value), groups))
        domain, _, plain = name.rpartition(".")
        versions = tuple(int(str(one.value)) for one in scalars(node, "versions"))
        known = tuple(str(one.value) for one in groups[str(group.value)]) if group else None
        found.append(Registration(domain, plain, versions, known, free_text(readings, name)))
    registered = [name for name, _ in mapping(file, "registrations").items()]
    for entry in readings.entries:
        if entry.name not in registered:
            message = f"there is no registration {entry.name}"
            raise fault(entry.key.position, "unknown-name", message, nearest(entry.name, registered))
    return tuple(found)


def _known(operators: Map[str, Operator], name: str, where: Position) -> Operator:
    if name not in operators:
        raise fault(where, "unknown-name", f"there is no operator {name}", nearest(name, operators))
    return operators[name]


def _without(operators: Map[str, Operator], reached: set[str], file: Mapping) -> Map[str, Text]:
    """The operators that nothing leads to; each has a reason, and no other has one."""
    faults = Faults()
    reasons: dict[str, Text] = {}
    for group in mappings(file, "without"):
        for item in scalars(group, "operators"):
            name = str(item.value)
            with faults:
                _known(operators, name, item.position)
                if name in reached or name in reasons:
                    message = f"{name} has a counterpart above, so it does not belong under `without`"
                    raise fault(item.position, "counterpart", message)
                reasons[name] = free_text(group, "because")
    for name in operators:
        if name not in reached and name not in reasons:
            message = (
                f"nothing leads to {name}; map something to it, or list it under `without`, with a reason"
            )
            faults += fault(place(file, "without"), "counterpart", message).findings
    faults.stop()
    return reasons


def _activation(operators: Map[str, Operator], name: str, node: Mapping) -> FusedName:
    operator = _known(operators, text(node, "operator"), place(node, "operator"))
    members: dict[str, tuple[Literal["alpha", "beta"], float | None]] = {}
    fixed: dict[str, float] = {}
    own = {member.name for member in operator.attributes}
    for entry in mapping(node, "members").entries:
        if entry.name not in own:
            message = f"{operator.name} has no member {entry.name}"
            raise fault(entry.key.position, "unknown-name", message, nearest(entry.name, own))
        if isinstance(entry.value, Mapping):
            ((source, default),) = entry.value.plain().items()
            members[entry.name] = (cast(Literal["alpha", "beta"], source), default)
        else:
            fixed[entry.name] = float(cast(Scalar, entry.value).value or 0)
    missing = sorted(own - members.keys() - fixed.keys())
    if missing:
        raise fault(node.position, "missing", f"{name} does not say what {missing[0]} is")
    return FusedName(name, operator.name, members, fixed)


@dataclass
class _Reader:
    """Reads one operation; faults are collected, so that one does not hide the next."""

    general: General
    operators: Map[str, Operator]
    shared: Mapping
    faults: Faults

    def counterpart(self, interface: Interface, name: str, node: Mapping) -> Counterpart:
        domain, _, plain = name.rpartition(".")
        versions = [node, *mappings(node, "older")]
        signatures = tuple(self.signature(self._like(version)) for version in versions)
        for newer, older, version in zip(signatures, signatures[1:], versions[1:], strict=False):
            if older.last is None or older.last + 1 != newer.first:
                message = f"the versions before {newer.first} must end with {newer.first - 1}"
                self.faults += fault(place(version, "opsets"), "opsets", message).findings
        return Counterpart(interface, domain, plain, signatures, free_text(node, "note"))

    def _like(self, node: Mapping) -> Mapping:
        """The node with what the shared part that it names says, too; what it says itself holds."""
        name = scalar(node, "like")
        if name is None:
            return node
        other = self.shared.get(str(name.value))
        if not isinstance(other, Mapping):
            names = [key for key, _ in self.shared.items()]
            message = f"there is no shared entry {name.value}"
            self.faults += fault(
                name.position, "unknown-name", message, nearest(str(name.value), names)
            ).findings
            return node
        entries = {entry.name: entry for entry in (*other.entries, *node.entries)}
        both = mapping(other, "let"), mapping(node, "let")
        if both[0].entries and both[1].entries:
            lets = {entry.name: entry for part in both for entry in part.entries}
            # What the node defines comes first: the shared part reads it.
            own = [entry.name for entry in both[1].entries]
            order = sorted(lets, key=lambda let: let not in own)
            entries["let"] = replace(
                entries["let"], value=Mapping(node.position, tuple(lets[n] for n in order))
            )
        return Mapping(node.position, tuple(entries.values()))

    def signature(self, node: Mapping) -> Signature:
        first, last = _opsets(text(node, "opsets", "1-"))
        inputs, outputs = (
            tuple(str(one.value) for one in scalars(node, key)) for key in ("inputs", "outputs")
        )
        attributes = mapping(node, "attributes").plain()
        tensors = [one.rstrip("?*") for one in (*inputs, *outputs)]
        names = Names(tensors, {**dict.fromkeys(attributes), "opset": None}, self._enumerators())
        let, names = self._lets(mapping(node, "let"), names)
        limits = []
        for limit in mappings(node, "limits"):
            limits.append(Limit(self._expression(limit, "when", names), free_text(limit, "says")))
        forms: list[CounterpartForm] = []
        if node.get("forms") is not None:
            forms = [self._form(one, names) for one in mappings(node, "forms")]
        elif node.get("operator") is not None or node.get("steps") is not None:
            forms = [self._form(node, names, whole=True)]
        infers = tuple(self._between(key, one, names) for key, one in mapping(node, "infers").items())
        expands = flag(node, "expands")
        kinds = [bool(forms) or expands, node.get("none") is not None, node.get("host") is not None]
        if kinds.count(True) != 1:
            message = "an operation has forms, or expands, or is the host's, or says why there is `none`"
            self.faults += fault(node.position, "counterpart", message).findings
        return Signature(
            first=first,
            last=last,
            inputs=inputs,
            outputs=outputs,
            attributes=attributes,
            ignored=tuple(str(one.value) for one in scalars(node, "ignored")),
            let=let,
            limits=tuple(limits),
            forms=tuple(forms),
            infers=infers,
            none=free_text(node, "none"),
            host=free_text(node, "host"),
            expands=expands,
            position=node.position,
        )

    def _enumerators(self) -> set[str]:
        return {name for values in self.general.enum_values.values() for name in values}

    def _lets(self, node: Mapping, names: Names) -> tuple[dict[str, str], Names]:
        """The definitions, each of which may use those above it, and the names with them."""
        found: dict[str, str] = {}
        for entry in node.entries:
            with self.faults:
                tree = self._parsed(entry.value, names)
                found[entry.name] = ast.unparse(tree)
                names = replace(names, values={**names.values, entry.name: tree})
        return found, names

    def _form(self, node: Mapping, names: Names, whole: bool = False) -> CounterpartForm:
        when = self._expression(node, "when", names)
        tensors: list[Between] = []
        for name, one in mapping(node, "tensors").items():
            tensors.append(self._between(name, one, names))
            names = replace(names, tensors=[*names.tensors, name])
        let: dict[str, str] = {}
        if not whole:
            let, names = self._lets(mapping(node, "let"), names)
        steps: list[Step] = []
        for step in mappings(node, "steps") or [node]:
            with self.faults:
                steps.append(self._step(step, names))
        return CounterpartForm(when, let, tuple(tensors), tuple(steps))

    def _between(self, name: str, node: Node, names: Names) -> Between:
        type_, sizes = (self._expression(cast(Mapping, node), key, names) for key in ("type", "sizes"))
        return Between(name, type_, sizes)

    def _step(self, node: Mapping, names: Names) -> Step:
        operator = _known(self.operators, text(node, "operator"), place(node, "operator"))
        counts = {member.count for member in operator.members if member.count}
        over = text(node, "over")
        if over:
            if over not in names.tensors:
                raise fault(
                    place(node, "over"),
                    "unknown-name",
                    f"there is no input {over}",
                    nearest(over, names.tensors),
                )
            names = replace(names, tensors=[*names.tensors, "each", "so_far"])
        desc: dict[str, str] = {}
        given = mapping(node, "desc")
        for entry in given.entries:
            member = operator.member.get(entry.name)
            if member is None or member.name in counts:
                message = f"{operator.name} has no member {entry.name}"
                if member is not None:
                    message = f"{entry.name} follows from the array whose entries it counts"
                raise fault(entry.key.position, "unknown-name", message, nearest(entry.name, operator.member))
            with self.faults:
                desc[entry.name] = self._member(member, entry.value, names)
        for member in operator.members:
            needed = not member.optional and member.name not in counts
            if needed and given.get(member.name) is None:
                message = f"the description of {operator.name} does not say what {member.name} is"
                self.faults += fault(given.position, "missing", message).findings
        return Step(operator.name, {m.name: desc[m.name] for m in operator.members if m.name in desc}, over)

    def _member(self, member: Member, node: Node, names: Names) -> str:
        """The expression of one member; the values of an enumeration are its own."""
        assert isinstance(node, Scalar)
        tree = self._parsed(node, names, tensor=member.is_tensor)
        if member.type in self.general.enum_values:
            choices = self.general.enum_values[member.type]
            for result in results(tree, names):
                if isinstance(result, ast.Constant) and result.value not in choices:
                    message = f"{result.value!r} is not a value of {member.type}"
                    raise fault(node.position, "unknown-name", message, nearest(str(result.value), choices))
        return ast.unparse(tree)

    def _expression(self, node: Mapping, key: str, names: Names) -> str:
        """The expression below a key, "" where it is absent."""
        value = node.get(key)
        if value is None:
            return ""
        with self.faults:
            return ast.unparse(self._parsed(value, names))
        return ""

    def _parsed(self, node: Node, names: Names, tensor: bool = False) -> ast.expr:
        assert isinstance(node, Scalar)
        if not isinstance(node.value, str):
            return ast.Constant(node.value)
        return parse(node.value, names, node.at, tensor)


def _opsets(written: str) -> tuple[int, int | None]:
    """First and last version: "13-", "7-12", "9"."""
    match = re.fullmatch(r"(\d+)(-)?(\d+)?", written)
    assert match is not None, written
    first = int(match[1])
    return first, (int(match[3]) if match[3] else None if match[2] else first)
