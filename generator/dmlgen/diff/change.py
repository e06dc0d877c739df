"""A change between two registries: its kind, whom it breaks, and its position on both sides.

Kinds are stable slugs, which allowances refer to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dmlgen.diagnostics import Position

At: TypeAlias = tuple[Position | None, Position | None]  # the positions on the old and the new side
Impact: TypeAlias = Literal["breaking", "compatible", "documentation"]

_REFUSED = "a valid description becomes invalid"
_ACCEPTED = "an invalid description becomes valid"
_LAYOUT = "the layout of the C struct changes: compiled callers and the library disagree"
_NAMES = "C, Python and JSON that use the name no longer compile, run or parse"
_NUMBER = "compiled callers pass the old number"
_RESULTS = "a program may compute different results"
_NEW = "an addition; everything else is unchanged"
_TEXT = "affects only text for readers"
_ANSWERS = "`dmlops` answers differently about it; validation is unchanged"

KINDS: Mapping[str, tuple[Impact, str]] = {
    "level-added": ("compatible", _NEW),
    "level-removed": ("breaking", _NAMES),
    "level-order": ("breaking", "a level gets the operators and types of one that was above or below it"),
    "level-value": ("breaking", _NUMBER),
    "level-declared": ("breaking", "the header declares it for other target versions"),
    "level-release": ("documentation", "the DirectML version or Windows build with the level changes"),
    "constant-added": ("compatible", _NEW),
    "constant-removed": ("breaking", _NAMES),
    "constant-value": ("breaking", _NUMBER),
    "type-added": ("compatible", _NEW),
    "type-removed": ("breaking", _LAYOUT),
    "type-changed": ("breaking", _LAYOUT),
    "enum-added": ("compatible", _NEW),
    "enum-removed": ("breaking", _NAMES),
    "enum-changed": ("breaking", _NAMES),
    "enum-value-added": ("compatible", _NEW),
    "enum-value-removed": ("breaking", _NAMES),
    "enum-value-renamed": ("breaking", _NAMES),
    "enum-value-number": ("breaking", _NUMBER),
    "enum-value-element": ("breaking", "elements of this data type have a different size or meaning"),
    "struct-added": ("compatible", _NEW),
    "struct-removed": ("breaking", _NAMES),
    "struct-layout": ("breaking", _LAYOUT),
    "interface-added": ("compatible", _NEW),
    "interface-removed": ("breaking", _NAMES),
    "interface-changed": (
        "breaking",
        "C++ that calls or implements it disagrees",
    ),
    "declared-later": ("breaking", "code for the target versions in between no longer compiles"),
    "declared-earlier": ("compatible", "the header declares it for more target versions"),
    "operator-added": ("compatible", _NEW),
    "operator-removed": ("breaking", _NAMES),
    "operator-value": ("breaking", _NUMBER),
    "operator-later": ("breaking", f"{_REFUSED} at the levels in between"),
    "operator-earlier": ("compatible", f"{_ACCEPTED} at the levels in between"),
    "alias-added": ("compatible", _NEW),
    "alias-removed": ("breaking", "C that uses the name no longer compiles"),
    "member-added": ("breaking", _LAYOUT),
    "member-removed": ("breaking", _LAYOUT),
    "member-renamed": ("breaking", _NAMES),
    "member-order": ("breaking", _LAYOUT),
    "member-type": ("breaking", f"{_LAYOUT}; a value of the old type is rejected"),
    "member-role": ("breaking", "an input becomes an output, or the other way round"),
    "member-array": ("breaking", _LAYOUT),
    "member-required": ("breaking", f"{_REFUSED} if it leaves the member out"),
    "member-optional": ("compatible", f"{_ACCEPTED} if it leaves the member out"),
    "rule-added": ("breaking", _REFUSED),
    "rule-removed": ("compatible", _ACCEPTED),
    "rule-renamed": ("breaking", "code that looks for the identifier no longer finds it"),
    "rule-stricter": ("breaking", _REFUSED),
    "rule-looser": ("compatible", _ACCEPTED),
    "rule-changed": ("breaking", "a valid description may become invalid"),
    "rule-violation": ("breaking", f"{_REFUSED}: advice becomes a requirement"),
    "rule-advice": ("compatible", f"{_ACCEPTED}: a requirement becomes advice"),
    "rule-stage": ("compatible", "if several rules are broken, others are reported"),
    "rule-order": ("compatible", "if several rules are broken, another is reported first"),
    "rule-message": ("documentation", _TEXT),
    "rule-source": ("documentation", _TEXT),
    "advice-added": ("compatible", "advice makes no description invalid"),
    "advice-removed": ("compatible", "advice makes no description invalid"),
    "advice-changed": ("compatible", "advice makes no description invalid"),
    "identifier-reused": ("breaking", "a retired identifier gets a new meaning"),
    "identifier-forgotten": ("breaking", "nothing prevents the identifier from being reused"),
    "hint-changed": ("documentation", _TEXT),
    "support-lost": ("breaking", _REFUSED),
    "support-gained": ("compatible", _ACCEPTED),
    "inference-changed": ("breaking", "an output that is left open gets different sizes or a different type"),
    "inference-removed": ("breaking", "an output that is left open is no longer filled in"),
    "inference-added": ("compatible", "an output that had to be given can be left open"),
    "free-changed": ("documentation", "no rule depends on it"),
    "default-changed": ("breaking", "callers that leave the member out get a different value"),
    "default-removed": ("breaking", "callers can no longer leave the member out"),
    "default-added": ("compatible", "the member can be left out"),
    "definition-changed": ("breaking", _RESULTS),
    "definition-removed": ("breaking", "there are no longer a reference and a shader"),
    "definition-added": ("compatible", "there are a reference and a shader"),
    "in-place-lost": ("breaking", "an output that shares this input's buffer may be wrong"),
    "in-place-gained": ("compatible", _NEW),
    "fusion-lost": ("breaking", _REFUSED),
    "fusion-gained": ("compatible", _ACCEPTED),
    "integers-changed": ("documentation", _TEXT),
    "data-changed": ("documentation", "descriptions do not contain it, and nothing checks it"),
    "example-changed": ("documentation", _TEXT),
    "erratum-added": ("documentation", _TEXT),
    "erratum-removed": ("documentation", _TEXT),
    "erratum-changed": ("documentation", _TEXT),
    "summary-changed": ("documentation", _TEXT),
    "page-changed": ("documentation", _TEXT),
    "family-changed": ("documentation", _TEXT),
    "counterpart-added": ("compatible", "more operations can be mapped"),
    "counterpart-removed": ("breaking", "an operation that could be mapped no longer can"),
    "counterpart-changed": ("compatible", "models are mapped to different descriptions"),
    "counterpart-note": ("documentation", _ANSWERS),
}


@dataclass(frozen=True)
class Change:
    """A change. `subject` is an operator (GEMM), a member (GEMM.Alpha) or a rule's identifier.

    `texts` are the old and new text, if there is something to read. On a side where the subject does not
    exist it has no position.
    """

    kind: str
    subject: str
    message: str
    at: At
    texts: tuple[str, str] = ("", "")

    @property
    def old(self) -> Position | None:
        return self.at[0]

    @property
    def new(self) -> Position | None:
        return self.at[1]

    @property
    def impact(self) -> Impact:
        return KINDS[self.kind][0]

    @property
    def reason(self) -> str:
        """Whom it breaks, or why nobody."""
        return KINDS[self.kind][1]
