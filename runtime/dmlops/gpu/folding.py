"""Folds what is constant once macros are resolved, so that a shader reads as if written for one variant.

Only whole operands are touched: what stands between brackets, commas, or an assignment and a semicolon. Ends,
since each substitution shortens the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ..hlsl_reachable import reached
from .preprocessing import tidy, value_of

_TOKEN = r"[\d\s|&!=<>]"
_CONSTANT = rf"(?:{_TOKEN}|\((?:{_TOKEN}|\({_TOKEN}*\))*\))+"
"""Brackets are balanced, two deep."""
_ARITHMETIC = re.compile(r"(?<=[\[(,])( ?)(\d+) ([-+*/%]) (\d+)(?=[\]),])")
_IN_PARENTHESES = re.compile(r"(?<=[-+*/%=<>] )\((\d+)\)")
_BY_ONE = re.compile(r" / 1(?=[\]);,])|(?<=[\[(+\-=,] )1 \* |(?<=[\[(])1 \* ")
_CHOICE = re.compile(rf"(?:(?<=[^=!<>]= )|(?<=, )|(?<=\())({_CONSTANT}) \? (\w+) : (\w+)(?=[;,)])")
_NEVER = re.compile(r"(?<=[^=!<>]= )0 \? [^?:;]* : ")
_ALSO = re.compile(rf"\bif \(({_CONSTANT}) && (?=[A-Za-z])")
_BLOCK = re.compile(
    rf"^( *)if \(({_CONSTANT})(?: && .*)?\)(?:  //.*)?\n"
    r"(?:\1\{\n(?:\1 .*\n|\n)*?\1\}\n|(?:\1    .*\n)*?\1    .*;\n)(?! *else)",
    re.MULTILINE,
)
_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}


def folded(text: str) -> str:
    """The text of a variant with constant operands folded, without statements that are never executed, and
    without functions that only these call."""
    before = ""
    while text != before:
        before = text
        text = _ARITHMETIC.sub(_computed, text)
        text = _BY_ONE.sub("", _IN_PARENTHESES.sub(r"\1", text))
        text = _CHOICE.sub(lambda found: found[2] if value_of(found[1]) else found[3], text)
        text = _NEVER.sub("", text)
        text = _ALSO.sub(lambda found: "if (" if value_of(found[1]) else found[0], text)
        text = _BLOCK.sub(lambda found: found[0] if value_of(found[2]) else "", text)
    return tidy(reached(text))


def _computed(found: re.Match[str]) -> str:
    left, right = int(found[2]), int(found[4])
    if (found[3] in "/%" and right == 0) or (found[3] == "-" and left < right):
        return found[0]
    return f"{found[1]}{_OPERATIONS[found[3]](left, right)}"
