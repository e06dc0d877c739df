"""Lowers the forms in which specs state rules to checks, the single form that targets print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dmlgen.diagnostics import Position, fault
from dmlgen.expr import ir
from dmlgen.message import Part, Place, circumstance, explain, filled, has_words, joined, place, settled
from dmlgen.registry import Check, Hint, Stage
from dmlgen.text import Message

Loops: TypeAlias = tuple[ir.Loop, ...]

_NEGATIVE = 1 << 31  # unsigned 32-bit numbers from here on are converted negative ones
_WRAP = 1 << 32


@dataclass(frozen=True)
class Wording:
    """The parts of a rule's messages in its spec; each text can name the variables of a check's loops.

    `message` is the whole text, `because` the reason at the end of a generated one, whose `verb` is "should"
    in advice. `hint` is an addition with its own condition, `case` the words for the feature levels at which
    the rule applies. `general` are the texts of hints that need no spec, by name; `inputs` the tensors that
    the operator reads.
    """

    position: Position
    message: Callable[[Loops], tuple[Part, ...]]
    general: Mapping[str, Message]
    because: Callable[[Loops], tuple[Part, ...]] = lambda _: ()
    hint: Callable[[Loops], Hint | None] = lambda _: None
    inputs: frozenset[str] = frozenset()
    case: tuple[Part, ...] = ()
    verb: str = "must"


def require(condition: ir.Expr, guard: ir.Expr | None, wording: Wording) -> tuple[Check, ...]:
    """The checks of a condition: one per operand of `and`, with `all(...)` turned into loops."""
    return tuple(_checks(condition, guard, (), wording.case, wording))


def same(
    field: str,
    type_: ir.Type,
    tensors: list[ir.Tensor | ir.Tensors],
    optional: set[str],
    guard: ir.Expr | None,
    wording: Wording,
) -> tuple[Check, ...]:
    """A field is the same in all these tensors that are given; each is compared with the first.

    For an array of tensors, each entry is compared; if the array comes first, its first entry is the first
    tensor.
    """
    checks: list[Check] = []
    first, *others = tensors
    for tensor in tensors if isinstance(first, ir.Tensors) else others:
        loops: Loops = ()
        one: ir.Tensor
        given = presence(first, optional) if tensor is not first else []
        if isinstance(tensor, ir.Tensors):
            variable = ir.Local("i", ir.INT)
            start = ir.Number(1 if tensor is first else 0, ir.INT)
            loops = (ir.Loop(variable, start, ir.Call("len", (tensor,), ir.INT)),)
            one = ir.Tensor(tensor.name, variable)
        else:
            one = tensor
            given += presence(tensor, optional)
        expected = ir.Field(representative(first), field, type_)
        condition = ir.Compare("==", ir.Field(one, field, type_), expected)
        when = conjunction([*given, *([] if guard is None else [guard])])
        checks.append(_check(condition, when, loops, wording.case, wording))
    return tuple(checks)


def presence(tensor: ir.Tensor | ir.Tensors, optional: set[str]) -> list[ir.Expr]:
    """The condition that there is such a tensor, or any in an array; [] if there always is."""
    if isinstance(tensor, ir.Tensors):
        return [ir.Compare(">=", ir.Call("len", (tensor,), ir.INT), ir.Number(1, ir.INT))]
    return [ir.Present(tensor)] if tensor.name in optional else []


def representative(tensor: ir.Tensor | ir.Tensors) -> ir.Tensor:
    """The tensor, or the first of an array of them."""
    return ir.Tensor(tensor.name, ir.Number(0, ir.INT)) if isinstance(tensor, ir.Tensors) else tensor


def conjunction(conditions: Iterable[ir.Expr]) -> ir.Expr | None:
    """The conjunction of the conditions; None if there are none."""
    operands = tuple(conditions)
    return None if not operands else operands[0] if len(operands) == 1 else ir.Logic("and", operands)


def conjuncts(condition: ir.Expr | None) -> tuple[ir.Expr, ...]:
    """The conditions of which all must hold; none for None."""
    if isinstance(condition, ir.Logic) and condition.op == "and":
        return condition.operands
    return () if condition is None else (condition,)


def stage_of(checks: tuple[Check, ...]) -> Stage:
    """COUNTS for rules on dimension counts and single numbers only, VALUES for all others."""
    for check in checks:
        for part in check.read:
            for node in ir.walk(part):
                if isinstance(node, ir.Field) and node.name != "DimensionCount":
                    return Stage.VALUES
                if isinstance(node, ir.Member) and node.type.kind in ("ints", "floats"):
                    return Stage.VALUES
    return Stage.COUNTS


def _checks(
    condition: ir.Expr, guard: ir.Expr | None, loops: Loops, case: tuple[Part, ...], wording: Wording
) -> Iterable[Check]:
    match condition:
        case ir.Logic(op="and", operands=operands):
            for operand in operands:
                yield from _checks(operand, guard, loops, case, wording)
        case ir.Reduce(kind="all", loop=loop, body=body):
            yield from _checks(body, guard, (*loops, loop), case, wording)
        case ir.Conditional(test=test, then=then, otherwise=ir.Number(value=True)) if not loops:
            yield from _checks(then, _both(guard, test), loops, case, wording)
        case ir.Compare(op=op, left=ir.Number() | ir.Constant() as left, right=right) if not isinstance(
            right, ir.Number | ir.Constant
        ):
            yield from _checks(ir.Compare(ir.FLIPPED[op], right, left), guard, loops, case, wording)
        case ir.Compare(op=op, left=left, right=right) if not wording.message(loops) and (
            cases := _cases(right)
        ):
            for test, value in cases:
                which = (*case, *circumstance(test))
                yield from _checks(ir.Compare(op, left, value), _both(guard, test), loops, which, wording)
        case _:
            yield _check(condition, guard, loops, case, wording)


def _check(
    condition: ir.Expr, guard: ir.Expr | None, loops: Loops, case: tuple[Part, ...], wording: Wording
) -> Check:
    written, because = wording.message(loops), wording.because(loops)
    sentence = written or explain(condition, case, wording.verb)
    message = joined([*sentence, *([" (", *because, ")"] if because else [])])
    if not sentence:
        reason = "no words tell a user how this condition is broken; write them, as `message`"
        raise fault(wording.position, "message", reason)
    variables = {loop.variable.name for loop in loops}
    at = place(condition, variables) or (place(loops[0].upper) if loops else None) or Place("", ())
    read = [
        condition,
        *([] if guard is None else [guard]),
        *(part for loop in loops for part in ir.children(loop)),
    ]
    hint = wording.hint(loops) or _general_hint(condition, wording)
    if hint is not None:
        (when,) = settled([hint.when], read)
        assert not isinstance(when, str)
        hint = Hint(when, settled(hint.message, read))
    worded = bool(written or because or case) or wording.verb != "must"
    return Check(
        at.member, settled(at.parts, read), loops, guard, condition, settled(message, read), hint, worded
    )


def _cases(node: ir.Expr) -> list[tuple[ir.Expr, ir.Expr]]:
    """The values that a member selects, each with the test for it."""
    match node:
        case ir.Definition(value=value):
            return _cases(value)
        case ir.Conditional(test=test, then=then, otherwise=otherwise) if node.type not in (
            ir.INTS,
            ir.FLOATS,
        ):
            if circumstance(test) and (has_words(then) or has_words(otherwise)):
                return [(test, then), (ir.opposite(test), otherwise)]
    return []


def _both(guard: ir.Expr | None, test: ir.Expr) -> ir.Expr:
    return test if guard is None else ir.Logic("and", (guard, test))


def _general_hint(condition: ir.Expr, wording: Wording) -> Hint | None:
    """The hint for a mistake that is the same with every operator."""
    match condition:
        case ir.Compare(op="==", left=ir.Field(tensor, "Sizes") as left, right=right) if (
            tensor.name in wording.inputs
        ):
            return _hint(broadcasts(left, right), wording, "broadcast", {"expected": right})
        case ir.Compare(op="<" | "<=", left=left, right=right) if _is_unsigned(left) and any(
            isinstance(part, ir.Field) and part.name == "DimensionCount" for part in ir.walk(right)
        ):
            negative = ir.Binary("-", left, ir.Number(_WRAP, ir.INT), ir.INT)
            when = ir.Compare(">=", left, ir.Number(_NEGATIVE, ir.INT))
            return _hint(when, wording, "axis", {"value": left, "negative": negative})
    return None


def _hint(when: ir.Expr, wording: Wording, name: str, values: Mapping[str, ir.Expr]) -> Hint:
    return Hint(when, filled(wording.general[name], values))


def broadcasts(sizes: ir.Field, expected: ir.Expr) -> ir.Expr:
    """Whether sizes are the expected ones, except for some that are 1."""
    d = ir.Local("d", ir.INT)
    size = ir.Index(sizes, d)
    fits = ir.Logic(
        "or",
        (ir.Compare("==", size, ir.Index(expected, d)), ir.Compare("==", size, ir.Number(1, ir.INT))),
    )
    rank = ir.Field(sizes.tensor, "DimensionCount", ir.INT)
    loop = ir.Loop(d, ir.ZERO, rank)
    same_rank = ir.Compare("==", rank, ir.Call("len", (expected,), ir.INT))
    return ir.Logic("and", (same_rank, ir.Reduce("all", (loop,), fits, ir.BOOL)))


def _is_unsigned(node: ir.Expr) -> bool:
    match node:
        case ir.Member(type=type_, signed=signed) | ir.Index(sequence=ir.Member(type=type_, signed=signed)):
            return not signed and type_ in (ir.INT, ir.INTS)
    return False
