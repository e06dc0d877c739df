"""Changes that do not belong to one operator: levels, constants, number types, enumerations, structs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from dmlgen.diff.change import At, Change
from dmlgen.diff.members import member_changes
from dmlgen.diff.places import Sides
from dmlgen.expr.printer import SOURCE
from dmlgen.registry import Enum, FeatureLevel, Registry
from dmlgen.text import Text


def renamed_values(old: Registry, new: Registry) -> dict[str, str]:
    """New names of enumerators: those whose number has another name now, while the old name is gone."""
    renamed = {}
    for name, enum in new.enums.items():
        before = {entry.value: entry.name for entry in (old.enums[name].entries if name in old.enums else ())}
        names = {entry.name for entry in enum.entries}
        for entry in enum.entries:
            was = before.get(entry.value, entry.name)
            if was not in names and entry.name not in before.values():
                renamed[was] = entry.name
    return renamed


def general_changes(sides: Sides, values: Mapping[str, str]) -> Iterator[Change]:
    """All of these changes, except rules and identifiers; `values` gives the new names of enumerators."""
    yield from _levels(sides)
    yield from _constants(sides)
    yield from _types(sides)
    yield from _enums(sides, values)
    yield from _structs(sides)
    yield from _hints(sides)
    yield from _tensor_defaults(sides)
    pages = sides.old.registry.pages, sides.new.registry.pages
    yield from page("pages", pages, sides.general("constants", "pages"))


def come_and_gone(
    kind: str, what: str, before: Collection[str], after: Collection[str], at: Callable[[str], At]
) -> Iterator[Change]:
    """Changes for what exists on one side only."""
    for name in before:
        if name not in after:
            yield Change(f"{kind}-removed", name, f"{what} {name} is gone", (at(name)[0], None))
    for name in after:
        if name not in before:
            yield Change(f"{kind}-added", name, f"{what} {name} is new", (None, at(name)[1]))


def declared(subject: str, levels: tuple[FeatureLevel, FeatureLevel], at: At) -> Iterator[Change]:
    """The change of the level at which the header first declares something, if there is one."""
    was, now = levels
    if was.name != now.name:
        kind = "declared-later" if now.value > was.value else "declared-earlier"
        text = f"the header declares {subject} from another target version on"
        yield Change(kind, subject, text, at, (was.name, now.name))


def told(subject: str, texts: tuple[Text, Text], at: At) -> Iterator[Change]:
    """The change of a summary, if there is one."""
    was, now = texts
    if was != now:
        text = f"the summary of {subject} reads otherwise"
        yield Change("summary-changed", subject, text, at, (was.plain, now.plain))


def page(subject: str, names: tuple[str, str], at: At) -> Iterator[Change]:
    """The change of a page's name, if there is one."""
    if names[0] != names[1]:
        yield Change("page-changed", subject, f"the page of {subject} is another one", at, names)


def _levels(sides: Sides) -> Iterator[Change]:
    before, after = sides.old.registry.level, sides.new.registry.level

    def at(name: str) -> At:
        return sides.general("feature_levels", "feature_levels", name)

    yield from come_and_gone("level", "feature level", before, after, at)
    common = [[name for name in levels if name in before and name in after] for levels in (before, after)]
    for name in common[1]:
        yield from _level(before[name], after[name], at(name))
    if common[0] != common[1]:
        where = sides.general("feature_levels", "feature_levels")
        yield Change("level-order", "levels", "feature levels have another order", where)
    declared_ = sides.old.registry.levels_declared.name, sides.new.registry.levels_declared.name
    if declared_[0] != declared_[1]:
        text = "the header declares feature levels from another target version on"
        where = sides.general("feature_levels", "declared")
        yield Change("level-declared", "levels", text, where, declared_)


def _level(was: FeatureLevel, now: FeatureLevel, at: At) -> Iterator[Change]:
    if was.value != now.value:
        text = f"feature level {now.name} has another number"
        yield Change("level-value", now.name, text, at, (f"{was.value:#x}", f"{now.value:#x}"))
    if was.ntddi != now.ntddi:
        text = f"the header declares feature level {now.name} for another NTDDI_VERSION"
        yield Change("level-declared", now.name, text, at, (was.ntddi or "none", now.ntddi or "none"))
    if (was.directml, was.in_box) != (now.directml, now.in_box):
        text = f"feature level {now.name} comes with other releases"
        yield Change("level-release", now.name, text, at, (_release(was), _release(now)))


def _release(level: FeatureLevel) -> str:
    box = level.in_box
    windows = f", {box.name.plain} (build {box.build}, {box.source})" if box else ""
    return f"DirectML {level.directml}{windows}"


def _constants(sides: Sides) -> Iterator[Change]:
    before, after = ({one.name: one for one in side.registry.constants} for side in (sides.old, sides.new))

    def at(name: str) -> At:
        return sides.general("constants", "constants", name)

    yield from come_and_gone("constant", "the constant", before, after, at)
    for name, now in after.items():
        was = before.get(name, now)
        if was.value != now.value:
            text = f"the constant {name} is another number"
            yield Change("constant-value", name, text, at(name), (str(was.value), str(now.value)))
        yield from declared(name, (was.since, now.since), at(name))
        yield from told(name, (was.summary, now.summary), at(name))


def _types(sides: Sides) -> Iterator[Change]:
    """Number types, and structs of other headers."""
    for key in ("types", "foreign"):
        before, after = (getattr(side.registry, key) for side in (sides.old, sides.new))

        def at(name: str, key: str = key) -> At:
            return sides.general("constants", key, name)

        yield from come_and_gone("type", "the type", before, after, at)
        for name in after:
            if name in before and before[name] != after[name]:
                yield Change("type-changed", name, f"the type {name} is stored otherwise", at(name))


def _enums(sides: Sides, values: Mapping[str, str]) -> Iterator[Change]:
    before, after = sides.old.registry.enums, sides.new.registry.enums

    def at(name: str) -> At:
        return sides.general("enums", "enums", name)

    yield from come_and_gone("enum", "the enumeration", before, after, at)
    for name, now in after.items():
        was = before.get(name, now)
        if was.prefix != now.prefix:
            text = f"constants of {name} have another prefix"
            yield Change("enum-changed", name, text, at(name), (was.prefix, now.prefix))
        if was.flags != now.flags:
            text = f"values of {name} are {'' if now.flags else 'no '}flags"
            yield Change("enum-changed", name, text, at(name))
        yield from declared(name, (was.since, now.since), at(name))
        yield from told(name, (was.summary, now.summary), at(name))
        if name in before:
            yield from _values(sides, was, now, values)


def _values(sides: Sides, was: Enum, now: Enum, renamed: Mapping[str, str]) -> Iterator[Change]:
    before = {f"{now.name}.{renamed.get(entry.name, entry.name)}": entry for entry in was.entries}
    after = {f"{now.name}.{entry.name}": entry for entry in now.entries}

    def at(subject: str) -> At:
        steps = ("enums", now.name, "values")
        return (
            sides.old.general("enums", *steps, before[subject].name) if subject in before else None,
            sides.new.general("enums", *steps, after[subject].name) if subject in after else None,
        )

    yield from come_and_gone("enum-value", "the value", before, after, at)
    for subject, other in after.items():
        one = before.get(subject, other)
        if one.name != other.name:
            text = f"{one.name} of {now.name} is called {other.name}"
            yield Change("enum-value-renamed", subject, text, at(subject), (one.name, other.name))
        if one.value != other.value:
            numbers = str(one.value), str(other.value)
            yield Change("enum-value-number", subject, f"{subject} is another number", at(subject), numbers)
        if (one.bits, one.kind) != (other.bits, other.kind):
            text, kinds = f"elements of {subject} are other ones", (f"{one.kind}", f"{other.kind}")
            texts = f"{one.bits} bits, {kinds[0]}", f"{other.bits} bits, {kinds[1]}"
            yield Change("enum-value-element", subject, text, at(subject), texts)
        if (one.since.name, other.since.name) != (was.since.name, now.since.name):  # unlike the enum
            yield from declared(subject, (one.since, other.since), at(subject))
        yield from told(subject, (one.summary, other.summary), at(subject))


def _structs(sides: Sides) -> Iterator[Change]:
    before, after = sides.old.registry.structs, sides.new.registry.structs

    def at(name: str) -> At:
        return sides.general("structs", "structs", name)

    yield from come_and_gone("struct", "the struct", before, after, at)
    for name, now in after.items():
        was = before.get(name, now)
        if was.union != now.union:
            text = f"{name} is {'a union' if now.union else 'no union any more'}"
            yield Change("struct-layout", name, text, at(name))
        yield from declared(name, (was.since, now.since), at(name))
        yield from told(name, (was.summary, now.summary), at(name))
        yield from page(name, (was.page or "", now.page or ""), at(name))
        if name in before:
            yield from member_changes(sides, name, was.members, now.members)


def _hints(sides: Sides) -> Iterator[Change]:
    before, after = sides.old.registry.hints, sides.new.registry.hints
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            at = sides.general("rules", "hints", name)
            yield Change("hint-changed", name, f"the general hint {name} reads otherwise", at)


def _tensor_defaults(sides: Sides) -> Iterator[Change]:
    before, after = (
        {f"TENSOR.{name}": SOURCE.print(value) for name, value in side.registry.tensor.defaults.items()}
        for side in (sides.old, sides.new)
    )

    def at(subject: str) -> At:
        return sides.general("rules", "tensor", "defaults", subject.removeprefix("TENSOR."))

    yield from come_and_gone("default", "the default of", before, after, at)
    for subject, now in after.items():
        was = before.get(subject, now)
        if was != now:
            text = f"the default of {subject} is another one"
            yield Change("default-changed", subject, text, at(subject), (was, now))
