"""The HLSL functions that shaders call: complete texts of overloads, as few as a shader needs.

Each file in `hlsl/functions` and `hlsl/elements` has the overloads of one function, after a comment on what
it computes. A function may have overloads in both folders, and is written once if those for float and double
differ only in the names of `hlsl/reals.hlsl`. Functions in `hlsl/float16` replace those of the same name for
floats in `hlsl/functions` where all floats that a shader loads and stores are float16: they are exact enough
for those, and cheaper.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeAlias

from dmlgen.outputs.hlsl_tensors import ShaderTensor, in_float16
from dmlgen.outputs.render import Templates

NUMBERS, ELEMENTS = "hlsl/functions", "hlsl/elements"  # floating-point only; also integer types
FLOAT16, REALS = "hlsl/float16", "hlsl/reals.hlsl"
VALUE_TYPES = frozenset({"float", "double", "int", "uint", "int64_t", "uint64_t"})

Calls: TypeAlias = Mapping[str, Collection[str]]
"""Functions that are called, each with the types that the first element given to it may have."""

_FUNCTION = re.compile(
    r"^\w+ (?P<name>\w+)\((?P<parameters>[^)]*)\)(?: \{.*\}|\n\{\n(?:.*\n)*?\})$", re.MULTILINE
)
_WORD = re.compile(r"\w+")
_CALL = re.compile(r"(\w+)\((?:(\w+)(?=[,)]))?")
_COMMENT = re.compile(r"//.*")
_NAMED = re.compile(r"^// for (\w+): (\S+), (\S+)\n", re.MULTILINE)
_SINGLE = re.compile(r"\b(\d+\.\d+(?:e-?\d+)?)f\b")


def merged_calls(*calls: Calls) -> Calls:
    """All of these calls."""
    return {name: set().union(*(one.get(name, ()) for one in calls)) for one in calls for name in one}


@dataclass(frozen=True)
class Overload:
    """One function: the types of its parameters, all words of its text, the last comment above it. `calls`
    are words followed by a parenthesis, each with the type of the parameter given first, or "" for anything
    else."""

    file: str
    name: str
    types: tuple[str, ...]
    words: frozenset[str]
    calls: frozenset[tuple[str, str]]
    text: str
    comment: str


class FunctionTexts(NamedTuple):
    """The functions of a shader, each after those that it calls. `is_precise`: one depends on an order of
    operations that drivers must not change; `is_precise_in_float16`: so does one of float16."""

    texts: tuple[str, ...] = ()
    is_precise: bool = False
    is_precise_in_float16: bool = False


class Functions:
    """All functions."""

    def __init__(self, templates: Templates) -> None:
        reals = (templates.directory / REALS).read_text(encoding="utf-8")
        self._all = [
            overload
            for folder in (NUMBERS, FLOAT16, ELEMENTS)
            for name, text in templates.plain_files(folder).items()
            for overload in _overloads(f"{folder}/{name}", text.decode(), reals)
        ]
        short = {(one.name, one.types) for one in self._all if one.file.startswith(FLOAT16)}
        self._exact = _by_name(one for one in self._all if not one.file.startswith(FLOAT16))
        self._float16 = _by_name(
            one for one in self._all if not one.file.startswith(NUMBERS) or (one.name, one.types) not in short
        )

    @property
    def names(self) -> frozenset[str]:
        """The names of all that are exact."""
        return frozenset(self._exact)

    def closure(
        self,
        calls: Calls,
        types: Collection[str],
        halves: Sequence[ShaderTensor] = (),
        of_float16: Collection[str] = (),
    ) -> FunctionTexts:
        """Functions that are called, and all that they call. `types` are those that further elements may
        have; overloads that no call can resolve to are left out.

        Where all of the tensors `halves` are float16, so are all floats that are stored, and elements have
        the types `of_float16`; functions that suffice for these then replace others.
        """
        exact = short = self._in_order(_needed(self._exact, calls, types))
        if halves:
            of_short = {name: set(given).intersection(of_float16) for name, given in calls.items()}
            short = self._in_order(_needed(self._float16, of_short, of_float16))
        if not any(one.file.startswith(FLOAT16) for one in short):
            return FunctionTexts(tuple(_texts(exact)), _are_precise(exact), _are_precise(exact))
        changed = set(exact).difference(short)
        for one in exact:
            if not changed.isdisjoint(_called_by(self._exact, one)):
                changed.add(one)
        texts = list(_texts(one for one in exact if one not in changed))
        apart = [_texts(one for one in some if one in changed or one not in exact) for some in (short, exact)]
        chosen, others = ("\n\n".join(some) for some in apart)
        note = "// For float16, functions are only as exact as half precision can show."
        texts.append(f"{note}\n#if {in_float16(halves)}\n{chosen}\n#else\n{others}\n#endif")
        return FunctionTexts(tuple(texts), _are_precise(exact), _are_precise(short))

    def _in_order(self, kept: Collection[Overload]) -> list[Overload]:
        """File by file, each after those with functions it calls; functions of numbers call none of
        elements."""
        files: dict[str, list[Overload]] = {}
        for overload in self._all:
            if overload in kept:
                files.setdefault(overload.file, []).append(overload)
        order: dict[str, None] = {}

        def place(file: str) -> None:
            if file in order:
                return
            called = {name for one in files[file] for name, _ in one.calls} - {
                one.name for one in files[file]
            }
            for other, overloads in sorted(files.items()):
                lower = not other.startswith(ELEMENTS) or file.startswith(ELEMENTS)
                if other != file and lower and any(one.name in called for one in overloads):
                    place(other)
            order[file] = None

        for file in sorted(files):
            place(file)
        return [overload for file in order for overload in files[file]]


_Named: TypeAlias = Mapping[str, Sequence[Overload]]


def _by_name(overloads: Iterable[Overload]) -> _Named:
    found: dict[str, list[Overload]] = {}
    for one in overloads:
        found.setdefault(one.name, []).append(one)
    return found


def _are_precise(overloads: Iterable[Overload]) -> bool:
    return any("precise " in one.text for one in overloads)


def _needed(overloads: _Named, calls: Calls, types: Collection[str]) -> Collection[Overload]:
    """Functions that are called, and all that they call. Ends: each is visited once, since overloads may call
    others of the same name."""
    kept: dict[Overload, None] = {}
    waiting = [one for name, given in calls.items() for one in _meant(overloads[name], given, types)]
    while waiting:
        one = waiting.pop()
        if one not in kept:
            kept[one] = None
            waiting += _called_by(overloads, one)
    return kept


def _called_by(overloads: _Named, caller: Overload) -> list[Overload]:
    """The overloads that its calls may resolve to, by the parameter given first and by all types that it
    mentions."""
    found: list[Overload] = []
    known = VALUE_TYPES & caller.words
    for name, given in sorted(caller.calls):
        several = overloads.get(name, [])
        several = [one for one in several if given in one.types[:1]] or several
        fitting = [one for one in several if VALUE_TYPES & set(one.types) <= known]
        found += (
            fitting
            or [one for one in several if VALUE_TYPES & one.words <= {*known, "int", "uint"}]
            or several
        )
    return found


def _meant(
    overloads: Sequence[Overload], given: Collection[str], types: Collection[str]
) -> Sequence[Overload]:
    """The overloads for a first element of the types `given`; all if there are none."""

    def fits(overload: Overload) -> bool:
        first, *others = [one for one in overload.types if one in VALUE_TYPES] or [""]
        # Further arguments may be members of the description, or numbers of bits.
        return first in given and {*types, "float", "int", "uint"} >= set(others)

    return [one for one in overloads if fits(one)] or overloads


def written_out(text: str, reals: str) -> str:
    """A file in which each function written once is replaced by two, for float and for double."""
    names = [match.groups() for match in _NAMED.finditer(reals + text)]
    single, double = {name: one for name, one, _ in names}, {name: other for name, _, other in names}

    def both(match: re.Match[str]) -> str:
        if "REAL" not in _WORD.findall(match[0]):
            return match[0]
        longer = _SINGLE.sub(r"\1L", match[0])
        return f"{_renamed(match[0], single)}\n\n{_renamed(longer, double)}"

    return _FUNCTION.sub(both, _NAMED.sub("", text))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _WORD.sub(lambda word: names.get(word[0], word[0]), text)


@cache
def _overloads(file: str, text: str, reals: str) -> tuple[Overload, ...]:
    """The functions of a file."""
    text = written_out(text, reals)
    found: list[Overload] = []
    end, comment = 0, ""
    for match in _FUNCTION.finditer(text):
        end, comment = match.end(), text[end : match.start()].strip() or comment
        parameters = [parameter.split() for parameter in match["parameters"].split(",") if parameter.strip()]
        types = tuple(words[-2] for words in parameters)
        type_of = {words[-1]: words[-2] for words in parameters}
        code = _COMMENT.sub("", match[0])
        calls = frozenset(
            (name, type_of.get(given, "")) for name, given in _CALL.findall(code.partition(")")[2])
        )
        words = frozenset(_WORD.findall(code))
        found.append(Overload(file, match["name"], types, words, calls, match[0], comment))
    return tuple(found)


def _texts(overloads: Iterable[Overload]) -> Iterator[str]:
    """The functions, each under its comment unless that is already above; short ones follow each other."""
    text, comment = "", ""
    for overload in overloads:
        if text and overload.comment == comment and "\n" not in overload.text and text.endswith(" }"):
            text += f"\n{overload.text}"
            continue
        if text:
            yield text
        text = (
            overload.text if overload.comment == comment else f"{overload.comment}\n{overload.text}".strip()
        )
        comment = overload.comment
    if text:
        yield text
