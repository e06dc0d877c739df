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
from typing import TypeAlias

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


@dataclass(frozen=True)
class FunctionChoice:
    """The functions of a shader that may work on float16 values: those needed in any case, for float16 only,
    otherwise.

    `float16` is empty if they need no separate functions.
    """

    always: tuple[str, ...]
    float16: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def is_precise(self) -> bool:
        """Whether a function depends on an order of operations that drivers must not change."""
        return any("precise " in text for text in (*self.always, *self.others))

    @property
    def is_precise_in_float16(self) -> bool:
        """Whether a function of float16 depends on such an order."""
        return any("precise " in text for text in (*self.always, *self.float16))


class Functions:
    """All functions."""

    def __init__(self, templates: Templates) -> None:
        reals = (templates.directory / REALS).read_text(encoding="utf-8")

        def overloads(folder: str) -> list[Overload]:
            files = templates.plain_files(folder).items()
            return [
                overload
                for name, text in files
                for overload in _overloads(f"{folder}/{name}", text.decode(), reals)
            ]

        numbers, short, elements = map(overloads, (NUMBERS, FLOAT16, ELEMENTS))
        replaced = {(one.name, one.types) for one in short}
        kept = [one for one in numbers if (one.name, one.types) not in replaced]
        self._exact = _Library([*numbers, *elements])
        self._float16 = _Library([*kept, *short, *elements])

    @property
    def names(self) -> frozenset[str]:
        """The names of all that are exact."""
        return frozenset(self._exact.overloads)

    def closure(self, calls: Calls, types: Iterable[str]) -> tuple[str, ...]:
        """The texts of functions that are called, and of all that they call. `types` are those that further
        elements may have.

        Each follows those that it calls; overloads that no call can resolve to are left out.
        """
        return tuple(_texts(self._exact.needed(calls, types)))

    def choice(
        self, calls: Calls, types: Collection[str], types_of_float16: Collection[str]
    ) -> FunctionChoice:
        """The texts of a `closure`, with what suffices for floats stored as float16, and for elements that
        occur with these."""
        of_float16 = {name: set(given).intersection(types_of_float16) for name, given in calls.items()}
        exact = self._exact.needed(calls, types)
        short = self._float16.needed(of_float16, types_of_float16)
        if not any(one.file.startswith(FLOAT16) for one in short):
            return FunctionChoice(tuple(_texts(exact)))
        replaced = set(exact).difference(short)
        always = [one for one in exact if replaced.isdisjoint(self._exact.with_callees([one]))]
        return FunctionChoice(
            tuple(_texts(always)),
            tuple(_texts(one for one in short if one not in always)),
            tuple(_texts(one for one in exact if one not in always)),
        )


class _Library:
    """Functions of one kind, by name."""

    def __init__(self, overloads: Sequence[Overload]) -> None:
        self._all = overloads
        self.overloads: dict[str, list[Overload]] = {}
        for overload in overloads:
            self.overloads.setdefault(overload.name, []).append(overload)

    def needed(self, calls: Calls, types: Iterable[str]) -> list[Overload]:
        """Functions that are called, and all that they call, in order."""
        values = frozenset(types)
        called = (one for name, given in sorted(calls.items()) for one in self._meant(name, given, values))
        return self._in_order(self.with_callees(called))

    def with_callees(self, overloads: Iterable[Overload]) -> Collection[Overload]:
        """These and all that they call, directly or indirectly. Ends: each is visited once, since overloads
        may call others of the same name."""
        kept: dict[Overload, None] = {}
        waiting = list(overloads)
        while waiting:
            overload = waiting.pop()
            if overload not in kept:
                kept[overload] = None
                waiting += self._called_by(overload)
        return kept

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
            called = {one for overload in files[file] for one, _ in overload.calls}
            for other, overloads in sorted(files.items()):
                lower = not other.startswith(ELEMENTS) or file.startswith(ELEMENTS)
                if other != file and lower and any(one.name in called for one in overloads):
                    place(other)
            order[file] = None

        for file in sorted(files):
            place(file)
        return [overload for file in order for overload in files[file]]

    def _meant(self, name: str, given: Collection[str], types: frozenset[str]) -> list[Overload]:
        """The overloads for a first element of the types `given`; all if there are none."""
        if name not in self.overloads:
            raise KeyError(f"there is no HLSL function {name}")

        def fits(overload: Overload) -> bool:
            first, *others = [one for one in overload.types if one in VALUE_TYPES] or [""]
            # Further arguments may be members of the description, or numbers of bits.
            return first in given and types | {"float", "int", "uint"} >= set(others)

        return [one for one in self.overloads[name] if fits(one)] or self.overloads[name]

    def _called_by(self, caller: Overload) -> list[Overload]:
        """The overloads that its calls may resolve to, by the parameter given first and by all types that it
        mentions."""
        found: list[Overload] = []
        known = VALUE_TYPES & caller.words
        for name, given in sorted(caller.calls):
            overloads = self.overloads.get(name, [])
            overloads = [one for one in overloads if given in one.types[:1]] or overloads
            fitting = [one for one in overloads if VALUE_TYPES & set(one.types) <= known]
            mentioned = known | {"int", "uint"}
            found += (
                fitting or [one for one in overloads if VALUE_TYPES & one.words <= mentioned] or overloads
            )
        return found


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
