"""Finds errors that are only visible in the registry as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import takewhile
from pathlib import Path

from dmlgen.analysis.classes import size_classes
from dmlgen.diagnostics import Finding, Position, fault, nearest
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import walk_through
from dmlgen.names import clashes
from dmlgen.registry import Operator, OutputDefinitions, Registry, Rule, Support
from dmlgen.schedules import follows_definition


def lint(registry: Registry) -> list[Finding]:
    """All findings, in the order of files and lines."""
    findings = [
        *_identifiers(registry),
        *clashes(registry),
        *_sources(registry),
        *(finding for operator in registry.operators for finding in _operator(registry, operator)),
    ]
    return sorted(findings, key=lambda finding: finding.position)


def all_rules(registry: Registry) -> tuple[Rule, ...]:
    """Every rule of the registry, general ones first."""
    own = (rule for operator in registry.operators for rule in operator.rules)
    general = (*registry.operator_rules, *registry.tensor.rules, *registry.graphs.rules)
    return (*general, *registry.bindings.rules, *registry.calls, *own)


def list_identifiers(registry: Registry, path: Path, retire: Collection[str] = ()) -> None:
    """Brings the list of identifiers up to date: adds those of new rules, retires those that are named.

    The file is rewritten atomically, with the comments at its top. SpecError if it has comments elsewhere, or
    if an identifier to retire is not one that a rule used to have.
    """
    rules = {rule.id for rule in all_rules(registry)}
    gone = registry.identifiers - rules
    for identifier in sorted(set(retire) - gone - registry.retired):
        message = f"{identifier} cannot be retired: " + (
            "a rule has it" if identifier in rules else "it is in no list of identifiers"
        )
        where = registry.identifiers_position
        raise fault(where, "identifier-kept", message, nearest(identifier, gone))
    current = rules | gone - {*retire}
    retired = (registry.retired | registry.identifiers) - current
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    head = "".join(takewhile(lambda line: line.startswith("#") or not line.strip(), lines))
    for number, line in enumerate(lines, 1):
        if "#" in line and number > head.count("\n"):
            message = "a comment between identifiers cannot be kept; put it at the top of the file"
            where = Position(path.as_posix(), number, line.index("#") + 1)
            raise fault(where, "comment", message)
    lists = {"active": current, "retired": retired}
    body = "".join(
        f"{name}:\n" + "".join(f"  - {item}\n" for item in sorted(items)) if items else f"{name}: []\n"
        for name, items in lists.items()
    )
    if head + body == "".join(lines):
        return
    staged = path.with_suffix(".part")
    staged.write_text(head + body, encoding="utf-8", newline="\n")
    staged.chmod(path.stat().st_mode & 0o777)
    staged.replace(path)


def _identifiers(registry: Registry) -> Iterator[Finding]:
    rules = {rule.id: rule for rule in all_rules(registry)}
    for rule in rules.values():
        if rule.id in registry.retired:
            message = f"{rule.id} is a retired identifier; identifiers are never reused"
            yield Finding(rule.position, "identifier-reused", message)
        elif rule.id not in registry.identifiers:
            message = f"{rule.id} is not in the list of identifiers; `dmlgen lint --fix` adds it"
            yield Finding(rule.position, "identifier-unlisted", message)
    for identifier in sorted(registry.identifiers - rules.keys()):
        message = f"no rule has the identifier {identifier}; `dmlgen lint --retire {identifier}` retires it"
        suggestion = nearest(identifier, rules.keys() - registry.identifiers)
        yield Finding(registry.identifiers_position, "identifier-gone", message, suggestion=suggestion)


def _sources(registry: Registry) -> Iterator[Finding]:
    """A rule that no page or header requires is advice; what was observed has a public reference."""
    for rule in all_rules(registry):
        if not rule.advice and rule.source in ("ours", "observed"):
            message = f"{rule.id} has the source {rule.source}, so it must be advice; add `advice: true`"
            yield Finding(rule.position, "undocumented-rule", message)
    for erratum in (*registry.errata, *(one for operator in registry.operators for one in operator.errata)):
        if (erratum.source == "observed") != bool(erratum.seen):
            message = "an observed erratum, and no other, lists under `seen` the public places that show it"
            yield Finding(erratum.position, "unseen", message)


def _unwritten(operator: Operator) -> Iterator[Finding]:
    """The parts that `dmlgen new` leaves to the author."""
    if operator.defines is None and operator.algorithm is None:
        message = f"the spec does not say what {operator.name} computes; add `compute`"
        yield Finding(operator.position, "unwritten", message)
    texts = [(operator.name, operator.summary, operator.position)]
    texts += [(member.name, member.summary, member.position) for member in operator.members]
    for name, text, position in texts:
        if text.plain.startswith("TODO"):
            yield Finding(position, "unwritten", f"the summary of {name} is still to be written")


def _operator(registry: Registry, operator: Operator) -> Iterator[Finding]:
    yield from _unwritten(operator)
    yield from _unused_definitions(operator)
    yield from _unbounded_members(operator)
    yield from _tables(registry, operator)
    yield from _places(registry, operator)
    yield from _activated_rows(registry, operator)
    yield from _in_place(registry, operator)
    yield from _absent(operator)
    yield from _always_present(operator)
    yield from _never_alike(operator)
    inferred = {one.tensor for one in operator.inferences if one.field == "Sizes" and one.when is None}
    for output in operator.outputs:
        if not output.count and (output.name in inferred) == (output.name in operator.unconstrained):
            message = (
                f"no rule determines the sizes of {output.name}; add an `infer`, or add it to `unconstrained`"
            )
            if output.name in inferred:
                message = f"a rule determines the sizes of {output.name}, so it cannot be `unconstrained`"
            yield Finding(operator.position, "output-not-inferred", message)


def _places(registry: Registry, operator: Operator) -> Iterator[Finding]:
    """Operators that are named exist; those that accept this one as an activation have a member for it."""
    for name in operator.integer_operators:
        if name not in registry.operator:
            message = f"{name} is not an operator"
            yield Finding(
                operator.position, "unknown-name", message, suggestion=nearest(name, registry.operator)
            )
    able = {
        other.name
        for other in registry.operators
        if any(member.type == "OPERATOR_DESC" for member in other.members)
    }
    for name in operator.fusible_into:
        if name not in {"any", *able}:
            message = f"{name} is not an operator that takes a fused activation"
            yield Finding(operator.position, "unknown-name", message, suggestion=nearest(name, able))
    of_result = [rule.id for rule in operator.rules if rule.concerns_attributes and rule.reads_tensors]
    for name in sorted(able) if of_result else ():
        result = registry.operator[name].outputs[0]
        if operator.name in registry.fusable(registry.operator[name]) and (result.optional or result.count):
            message = f"{of_result[0]} reads the result, but {name} need not have {result.name}"
            yield Finding(operator.position, "fused-result", message)


def _activated_rows(registry: Registry, operator: Operator) -> Iterator[Finding]:
    """A row activation such as SOFTMAX needs a whole row: an intermediate tensor, read at `at`."""
    fused = {name: registry.operator[name].defines for name in registry.fusable(operator)}
    rows = sorted(name for name, one in fused.items() if one and (one.tensors or _read_elsewhere(one)))
    if operator.defines is None or not rows:
        return
    for node in (node for whole in operator.defines.whole for node in ir.walk(whole)):
        match node:
            case ir.Call("apply_activation", (ir.Entry(coordinate=ir.Local(name="at")), _)):
                continue
            case ir.Call("apply_activation"):
                message = (
                    f"{', '.join(rows)} can be fused, so apply_activation() needs an intermediate tensor, "
                    "read at `at`"
                )
                yield Finding(operator.position, "activation-of-rows", message)


def _in_place(registry: Registry, operator: Operator) -> Iterator[Finding]:
    """One pass writes all outputs that may share inputs' buffers, after reading what it needs from these.

    So these outputs must have the same sizes, and each element may depend only on the same element of such an
    input.
    """
    if operator.defines is None or not operator.in_place:
        return
    found: list[str] = []
    sizes = size_classes(operator.tensors, operator.rules)
    first, *others = operator.outputs
    for other in others:
        if sizes[other.name] != sizes[first.name] or other.optional or first.optional:
            found.append(
                f"in place, one pass writes all outputs, so a rule must give {other.name} the sizes of "
                f"{first.name}, and neither can be optional"
            )
    elsewhere = _read_elsewhere(operator.defines)
    for name in operator.in_place:
        if name in elsewhere:
            found.append(
                f"an output may overwrite {name}, so outputs must read it at `at`; "
                "an intermediate tensor can read it anywhere"
            )
    if found and follows_definition(registry, operator):  # schedules take care of it themselves
        yield from (Finding(operator.position, "in-place", message) for message in found)


def _read_elsewhere(defines: OutputDefinitions) -> set[str]:
    """The tensors that outputs read at other coordinates than `at`."""
    parts = (part for value in defines.outputs.values() for part in walk_through(value))
    loads = (part for part in parts if isinstance(part, ir.Load))
    return {load.tensor.name for load in loads if load.coordinate != ir.Local("at", ir.INTS)}


def _absent(operator: Operator) -> Iterator[Finding]:
    """Optional tensors that a definition reads although nothing checks that they are present."""
    if operator.defines is None:
        return
    parts = [part for value in operator.defines.whole for part in walk_through(value)]
    demands = [check.condition for rule in operator.rules for check in rule.checks]
    asked = {part.item for part in (*parts, *demands) if isinstance(part, ir.Present)}
    read = {part.tensor.name for part in parts if isinstance(part, ir.Load)}
    for member in operator.tensors:
        if member.optional and member.name in read and ir.Tensor(member.name) not in asked:
            message = f"{member.name} may be absent; read its elements only if present({member.name})"
            yield Finding(operator.places.get("compute", operator.position), "read-of-absent", message)


def _always_present(operator: Operator) -> Iterator[Finding]:
    """Checks for the presence of something that is always present."""
    asked = [(rule.position, part) for rule in operator.rules for check in rule.checks for part in check.read]
    if operator.defines is not None:
        place = operator.places.get("compute", operator.position)
        asked += [(place, value) for value in operator.defines.whole]
    for position, value in asked:
        for part in ir.walk(value):
            match part:
                case ir.Present(item=ir.Tensor(name=name, index=None) | ir.Member(name=name)):
                    if not operator.member[name].optional:
                        message = f"{name} is not optional, so present({name}) is always true"
                        yield Finding(position, "idle-expression", message)


def _never_alike(operator: Operator) -> Iterator[Finding]:
    """Tensors that a rule requires to be alike although no table allows it."""
    kinds = {"DataType": "data type", "DimensionCount": "dimension count"}
    for rule in operator.rules:
        for condition in (check.condition for check in rule.checks):
            match condition:
                case ir.Compare("==", ir.Field(ir.Tensor(name=a), what), ir.Field(ir.Tensor(name=b), other)):
                    if what != other or what not in kinds:
                        continue
                    tables = operator.support.values()
                    if not any(_allowed(rows, a, what) & _allowed(rows, b, what) for rows in tables):
                        message = f"no table lists a {kinds[what]} that both {a} and {b} support"
                        yield Finding(rule.position, "never-alike", message)


def _allowed(rows: Iterable[Support], tensor: str, what: str) -> set[int | str]:
    """The data types or dimension counts that a table lists for a tensor."""
    of = [row for row in rows if row.tensor == tensor]
    return {one for row in of for one in (row.types if what == "DataType" else row.ranks)}


def _expressions(operator: Operator) -> Iterator[ir.Expr]:
    """Every expression of the operator, without its `let` definitions."""
    for rule in operator.rules:
        yield from (part for check in rule.checks for part in check.read)
    for inference in operator.inferences:
        yield from inference.expressions
    for rows in operator.support.values():
        yield from (row.when for row in rows if row.when is not None)
    if operator.defines is not None:
        yield from operator.defines.whole
    elif operator.algorithm is not None:
        yield from operator.algorithm.roles.values()


def _unused_definitions(operator: Operator) -> Iterator[Finding]:
    expressions = (part for expression in _expressions(operator) for part in _without_own_names(expression))
    nodes = [node for expression in expressions for node in ir.walk(expression)]
    used = {node.name for node in nodes if isinstance(node, ir.Definition)}
    for definition in operator.definitions:
        if definition.name in used:
            continue
        match definition.value:
            case ir.Index(ir.Field(name="Sizes"), ir.Number()) if len(definition.name) == 1:
                continue  # in a `shape`, a letter such as in [N, C, H, W] may only be there for the reader
        close = nearest(definition.name, used - {definition.name})
        message = f"nothing else uses {definition.name}"
        yield Finding(
            definition.position or operator.position, "unused-definition", message, suggestion=close
        )


def _without_own_names(expression: ir.Expr) -> Iterator[ir.Expr]:
    """An expression, or the sizes in a pattern of sizes but those that the pattern only names."""
    match expression:
        case ir.Compare(op="==", left=ir.Field(name="Sizes") as sizes, right=ir.ListOf(items=items)):
            for axis, item in enumerate(items):
                own = ir.Index(sizes, ir.Number(axis, ir.INT))
                if not (isinstance(item, ir.Definition) and item.value == own):
                    yield item
        case _:
            yield expression


def _unbounded_members(operator: Operator) -> Iterator[Finding]:
    nodes = [node for rule in operator.rules for check in rule.checks for node in ir.walk(check.condition)]
    named = {node.name for node in nodes if isinstance(node, ir.Member)}
    for member in operator.attributes:
        if (
            member.type in ("UINT", "INT")
            and member.name not in named
            and member.name not in operator.unconstrained
        ):
            message = (
                f"no rule bounds {member.name}; add one, or add it to `unconstrained` if any value is fine"
            )
            yield Finding(member.position, "member-unbounded", message)


def _tables(registry: Registry, operator: Operator) -> Iterator[Finding]:
    previous = None
    for name, rows in operator.support.items():
        level = registry.level[name]
        cases: set[tuple[str, ir.Expr | None]] = set()
        for row in () if rows is previous else rows:
            if (row.tensor, row.when) in cases:
                message = f"the table of {name} lists {row.tensor} twice; combine both in one row"
                yield Finding(row.position or operator.position, "repeated-row", message)
            cases.add((row.tensor, row.when))
        for row in rows:
            for type_ in row.types:
                since = registry.data_type[type_].since
                if since.ordinal > level.ordinal:
                    message = f"{row.tensor} takes {type_} at {name}, but the type is new in {since.name}"
                    yield Finding(operator.position, "type-too-early", message)
        if previous is not None and rows is not previous and rows == previous:
            message = f"the table of {name} repeats the one before it; list only changes"
            yield Finding(operator.position, "repeated-table", message)
        previous = rows
