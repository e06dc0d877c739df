"""Lists that something else keeps: a copy in C, the list itself in Python.

Both mean the same as long as such a list is not changed afterwards, which is rejected here. A list is kept by
a record, another list or a variable that it is assigned to, and by a function that returns a record.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dmlgen.plans.model import Function, Record

CHANGES = ("append", "extend")


@dataclass(frozen=True)
class Event:
    """An event in the life of a variable, with the loops around it."""

    kind: Literal["new", "kept", "changed"]
    name: str
    node: ast.AST
    loops: tuple[ast.AST, ...]


def writes(function: Function) -> list[Event]:
    """The assignments to variables, and changes of lists. Raises SpecError if a list is changed after
    something else keeps it."""
    events = list(_events(function, function.node, ()))
    for place, change in enumerate(events):
        if change.kind == "changed" and _is_kept(events, place):
            raise function.module.refused(change.node, f"changing {change.name}, which is kept elsewhere,")
    return [one for one in events if one.kind != "kept"]


def _is_kept(events: Sequence[Event], place: int) -> bool:
    """Whether something keeps the list that is changed: before the change, or in the previous iteration of a
    loop around both."""
    change = events[place]
    made: tuple[ast.AST, ...] = ()
    kept = False
    for number, event in enumerate(events):
        if event.name != change.name:
            continue
        if event.kind == "new":
            made = event.loops
            kept = kept and number > place
        elif event.kind == "kept":
            repeated = set(event.loops) & set(change.loops) - set(made)
            kept = kept or number < place or bool(repeated)
        if number >= place and kept:
            return True
    return kept


def _events(function: Function, node: ast.AST, loops: tuple[ast.AST, ...]) -> Iterator[Event]:
    """The events in program order."""
    match node:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))], value=value):
            yield from _events(function, value, loops)
            yield Event("changed", name, node, loops)
            return
        case (
            ast.Assign(targets=[target], value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
        ):
            yield from _events(function, value, loops)
            yield from _kept([value], loops)
            for one in ast.walk(target):
                if isinstance(one, ast.Name):
                    yield Event("new", one.id, node, loops)
            return
        case ast.Call(func=ast.Attribute(attr="_replace"), keywords=named):
            yield from _kept([one.value for one in named], loops)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=arguments):
            if method in CHANGES:
                yield Event("changed", name, node, loops)
                yield from _kept(arguments[-1:], loops)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=named):
            called = function.module.functions.get(name)
            if name in function.module.types or (called is not None and isinstance(called.result, Record)):
                yield from _kept([*arguments, *(one.value for one in named)], loops)
        case ast.List(elts=items):
            yield from _kept(items, loops)
        case ast.For() | ast.While():
            loops = (*loops, node)
    for child in ast.iter_child_nodes(node):
        yield from _events(function, child, loops)


def _kept(nodes: Sequence[ast.expr], loops: tuple[ast.AST, ...]) -> Iterator[Event]:
    """Lists that are passed on as they are."""
    for node in nodes:
        for part in [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]:
            if isinstance(part, ast.Name):
                yield Event("kept", part.id, part, loops)
