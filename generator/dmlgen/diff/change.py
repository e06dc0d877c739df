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

_REFUSED = "a description that was valid is refused"
_ACCEPTED = "a description that was refused is accepted"
_LAYOUT = "the layout of the C struct changes: compiled callers and the library disagree"
_NAMES = "C, Python and JSON that name it no longer compile, run or parse"
_NUMBER = "compiled callers pass the old number"
_RESULTS = "a program may compute something else"
_NEW = "there is more; what there was stays as it was"
_TEXT = "texts for readers only"
_ANSWERS = "what `dmlops` answers about it changes; descriptions are judged as before"

KINDS: Mapping[str, tuple[Impact, str]] = {
    "level-added": ("compatible", _NEW),
    "level-removed": ("breaking", _NAMES),
    "level-order": ("breaking", "a level has operators and types of one that was above it, or below"),
    "level-value": ("breaking", _NUMBER),
    "level-declared": ("breaking", "the header declares it for other target versions"),
    "level-release": ("documentation", "which DirectML version or Windows build has the level"),
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
    "enum-value-element": ("breaking", "elements of this data type have another size or meaning"),
    "struct-added": ("compatible", _NEW),
    "struct-removed": ("breaking", _NAMES),
    "struct-layout": ("breaking", _LAYOUT),
    "declared-later": ("breaking", "code for the target versions between no longer compiles"),
    "declared-earlier": ("compatible", "the header declares it for more target versions"),
    "operator-added": ("compatible", _NEW),
    "operator-removed": ("breaking", _NAMES),
    "operator-value": ("breaking", _NUMBER),
    "operator-later": ("breaking", f"{_REFUSED} at the levels between"),
    "operator-earlier": ("compatible", f"{_ACCEPTED} at the levels between"),
    "alias-added": ("compatible", _NEW),
    "alias-removed": ("breaking", "C that uses the name no longer compiles"),
    "member-added": ("breaking", _LAYOUT),
    "member-removed": ("breaking", _LAYOUT),
    "member-renamed": ("breaking", _NAMES),
    "member-order": ("breaking", _LAYOUT),
    "member-type": ("breaking", f"{_LAYOUT}; a value of the old type is refused"),
    "member-role": ("breaking", "a tensor that was bound as one is the other"),
    "member-array": ("breaking", _LAYOUT),
    "member-required": ("breaking", f"{_REFUSED} where it leaves the member out"),
    "member-optional": ("compatible", f"{_ACCEPTED} where it leaves the member out"),
    "rule-added": ("breaking", _REFUSED),
    "rule-removed": ("compatible", _ACCEPTED),
    "rule-renamed": ("breaking", "who looks for the identifier no longer finds it"),
    "rule-stricter": ("breaking", _REFUSED),
    "rule-looser": ("compatible", _ACCEPTED),
    "rule-changed": ("breaking", f"{_REFUSED}, as far as one can tell"),
    "rule-violation": ("breaking", f"{_REFUSED}: what was advice is demanded"),
    "rule-advice": ("compatible", f"{_ACCEPTED}: what was demanded is advice"),
    "rule-stage": ("compatible", "of several broken rules, others are named"),
    "rule-order": ("compatible", "of several broken rules, another is named first"),
    "rule-message": ("documentation", _TEXT),
    "rule-source": ("documentation", _TEXT),
    "advice-added": ("compatible", "advice makes no description invalid"),
    "advice-removed": ("compatible", "advice makes no description invalid"),
    "advice-changed": ("compatible", "advice makes no description invalid"),
    "identifier-reused": ("breaking", "a retired identifier means something else to who has seen it"),
    "identifier-forgotten": ("breaking", "nothing keeps the identifier from being used again"),
    "hint-changed": ("documentation", _TEXT),
    "support-lost": ("breaking", _REFUSED),
    "support-gained": ("compatible", _ACCEPTED),
    "inference-changed": ("breaking", "an output that is left open gets other sizes or another type"),
    "inference-removed": ("breaking", "an output that is left open is no longer filled in"),
    "inference-added": ("compatible", "an output that had to be given may be left open"),
    "free-changed": ("documentation", "no rule depends on it"),
    "default-changed": ("breaking", "who leaves the member out gets another value"),
    "default-removed": ("breaking", "who leaves the member out has to give it"),
    "default-added": ("compatible", "the member may be left out"),
    "definition-changed": ("breaking", _RESULTS),
    "definition-removed": ("breaking", "there is no reference and no shader any more"),
    "definition-added": ("compatible", "there are a reference and a shader"),
    "in-place-lost": ("breaking", "an output that shares this input's buffer may be wrong"),
    "in-place-gained": ("compatible", _NEW),
    "fusion-lost": ("breaking", _REFUSED),
    "fusion-gained": ("compatible", _ACCEPTED),
    "data-changed": ("documentation", "no description shows it, and nothing checks it"),
    "example-changed": ("documentation", _TEXT),
    "erratum-added": ("documentation", _TEXT),
    "erratum-removed": ("documentation", _TEXT),
    "erratum-changed": ("documentation", _TEXT),
    "summary-changed": ("documentation", _TEXT),
    "page-changed": ("documentation", _TEXT),
    "family-changed": ("documentation", _TEXT),
    "counterpart-added": ("compatible", "more of a model has operators"),
    "counterpart-removed": ("breaking", "a part of a model that had operators has none"),
    "counterpart-changed": ("compatible", "a model comes down to other descriptions"),
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
