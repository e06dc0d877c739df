"""Proves that an integer is never negative, from what is known of the integers it is computed from.

A `Term` is an integer: a polynomial with integer coefficients over atoms. Atoms are values that a description
or a loop provides, with terms as bounds, and what polynomials cannot express: quotients, remainders, minima
and maxima, choices. A `Case` is what is assumed: conditions, and facts that follow.

A proof is a chain of steps, each of which can only decrease the term: an atom is replaced by a bound, its own
or one from a fact, or something that is never negative is subtracted. If a choice stands in the way, both
sides are tried. Depth, splits and steps are limited, so every search ends. A failed search means that nothing
was proven, no more than that. Arithmetic is exact: proofs are about mathematical integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import lcm
from operator import attrgetter
from typing import Protocol, TypeAlias

MAX_DEPTH, MAX_SPLITS, MAX_STEPS = 9, 6, 400

Key: TypeAlias = tuple[object, ...]
Formula: TypeAlias = bool | Key
"""A condition: true, false, (">=", term), ("==", term), ("is", what), ("not", f), ("and", ...), ("or", ...).

Comparisons are with 0. Of `what` nothing is known but that ("one of", name, value) excludes other values.
"""
Monomial: TypeAlias = "tuple[Atom, ...]"


class Atom:
    """An integer that is not a polynomial of others; each `key` has one atom.

    It is never below the terms `lower` and never above the terms `upper`; its `rank` is greater than that of
    all atoms in them. The key is its kind and what it is made of: ("quotient", a, b) and the like.
    """

    __slots__ = ("key", "lower", "number", "rank", "upper")

    def __init__(self, number: int, key: Key, lower: tuple[Term, ...], upper: tuple[Term, ...]) -> None:
        self.number, self.key, self.lower, self.upper = number, key, lower, upper
        near = (atom for term in (*lower, *upper, *self.parts) for atom in term.atoms)
        self.rank: int = 1 + max((atom.rank for atom in near), default=0)

    @property
    def parts(self) -> tuple[Term, ...]:
        """The terms that it is made of."""
        return tuple(part for part in self.key[1:] if isinstance(part, Term))

    def __repr__(self) -> str:
        return f"{self.key[0]}({', '.join(map(str, self.key[1:]))})"


class Term:
    """A polynomial: integer coefficients by monomial. The empty monomial belongs to the constant."""

    __slots__ = ("_atoms", "_hash", "constant", "items")

    def __init__(self, items: dict[Monomial, int]) -> None:
        if 0 in items.values():
            items = {monomial: factor for monomial, factor in items.items() if factor}
        self.items = items
        self.constant = items.get((), 0) if len(items) == (() in items) else None  # None if it has atoms
        self._atoms: dict[Atom, None] | None = None
        self._hash: int | None = None

    @property
    def atoms(self) -> dict[Atom, None]:
        """The atoms, without duplicates."""
        if self._atoms is None:
            self._atoms = {atom: None for monomial in self.items for atom in monomial}
        return self._atoms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.items.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and self.items == other.items

    def plus(self, other: Term | int, times: int = 1) -> Term:
        """The sum of this term and a multiple of the other."""
        items = dict(self.items)
        for monomial, factor in term(other).items.items():
            items[monomial] = items.get(monomial, 0) + factor * times
        return Term(items)

    def __add__(self, other: Term | int) -> Term:
        return self.plus(other)

    def __sub__(self, other: Term | int) -> Term:
        return self.plus(other, -1)

    def __neg__(self) -> Term:
        return Term({monomial: -factor for monomial, factor in self.items.items()})

    def __mul__(self, other: Term | int) -> Term:
        if isinstance(other, int):
            return Term({monomial: factor * other for monomial, factor in self.items.items()})
        items: dict[Monomial, int] = {}
        for (a, m), (b, n) in product(self.items.items(), other.items.items()):
            monomial = tuple(sorted((*a, *b), key=_NUMBER)) if a and b else a or b
            items[monomial] = items.get(monomial, 0) + m * n
        return Term(items)

    def __repr__(self) -> str:
        parts = (" * ".join([str(n), *map(repr, m)]) for m, n in self.items.items())
        return " + ".join(parts) or "0"


_NUMBER = attrgetter("number")


def term(value: Term | int) -> Term:
    """An integer as a term."""
    return value if isinstance(value, Term) else Term({(): value})


def negated(formula: Formula) -> Formula:
    """The negation of a condition."""
    match formula:
        case bool():
            return not formula
        case ("not", inner):
            return inner  # type: ignore[return-value]
        case (">=", Term() as value):
            return (">=", -value - 1)
        case ("and", *parts):
            return either(negated(part) for part in parts)  # type: ignore[arg-type]
        case ("or", *parts):
            return both(negated(part) for part in parts)  # type: ignore[arg-type]
    return ("not", formula)


def least(value: Term) -> Formula:
    """Whether a term is not negative."""
    return (">=", value) if value.constant is None else value.constant >= 0


def zero(value: Term) -> Formula:
    """Whether a term is 0."""
    return ("==", value) if value.constant is None else value.constant == 0


def both(parts: Iterable[Formula]) -> Formula:
    """Whether all hold."""
    kept = tuple(dict.fromkeys(part for part in parts if part is not True))
    return False if False in kept else kept[0] if len(kept) == 1 else ("and", *kept) if kept else True


def either(parts: Iterable[Formula]) -> Formula:
    """Whether any holds."""
    kept = tuple(dict.fromkeys(part for part in parts if part is not False))
    return True if True in kept else kept[0] if len(kept) == 1 else ("or", *kept) if kept else False


class Atoms:
    """Creates atoms, one for each key."""

    def __init__(self) -> None:
        self._atoms: dict[Key, Atom] = {}

    def atom(self, *key: object, lower: Iterable[Term | int] = (), upper: Iterable[Term | int] = ()) -> Term:
        """The term of one atom."""
        if key not in self._atoms:
            self._atoms[key] = Atom(len(self._atoms), key, tuple(map(term, lower)), tuple(map(term, upper)))
        return Term({(self._atoms[key],): 1})

    def quotient(self, a: Term, b: Term) -> Term:
        """a // b, rounded down; 0 if b is 0."""
        if b.constant is not None and a.constant is not None:
            return term(a.constant // b.constant if b.constant else 0)
        return a if b.constant == 1 else self.atom("quotient", a, b)

    def remainder(self, a: Term, b: Term) -> Term:
        """a % b, with the sign of b; 0 if b is 0."""
        if b.constant is not None and a.constant is not None:
            return term(a.constant % b.constant if b.constant else 0)
        return term(0) if b.constant == 1 else self.atom("remainder", a, b)

    def smaller(self, a: Term, b: Term) -> Term:
        """The smaller of two."""
        return self.choice(least(b - a), a, b)

    def larger(self, a: Term, b: Term) -> Term:
        """The larger of two."""
        return self.choice(least(a - b), a, b)

    def clamped(self, value: Term, low: Term, high: Term) -> Term:
        """The value limited to `low` and `high`; `low` if `high` is less."""
        below = self.smaller(value, high)
        ends = [low], [self.larger(high, low)]
        return self.choice(least(below - low), below, low, *ends)

    def choice(
        self,
        test: Formula,
        then: Term,
        otherwise: Term,
        lower: Iterable[Term] = (),
        upper: Iterable[Term] = (),
    ) -> Term:
        """`then` where the test holds, else `otherwise`."""
        if isinstance(test, bool):
            return then if test else otherwise
        if then == otherwise:
            return then
        return self.atom("choice", test, then, otherwise, lower=lower, upper=upper)


class Waiting(Protocol):
    """A condition that holds if a guard does; used once the guard is known to hold."""

    @property
    def guard(self) -> Formula: ...

    @property
    def condition(self) -> Formula: ...


@dataclass(eq=False)
class Case:
    """What is assumed. Cases are immutable; `assume` returns a new one.

    `values` are those of conditions that are not comparisons; `facts` are terms that are never negative;
    `equal` gives atoms that equal a term. `choices` are sets of conditions of which one holds; a `waiting`
    condition holds if its guard does.
    """

    atoms: Atoms
    values: dict[Formula, bool] = field(default_factory=dict)
    facts: tuple[Term, ...] = ()
    equal: dict[Atom, Term] = field(default_factory=dict)
    choices: tuple[Formula, ...] = ()
    waiting: tuple[Waiting, ...] = ()

    def __post_init__(self) -> None:
        self._reduced: dict[Atom, Term | None] = {}
        self._known: dict[Term, tuple[bool, int]] = {}  # whether proven, and at which depth that was tried
        self._steps = 0
        self._stale = False  # whether new knowledge has not been propagated yet
        self._index: dict[Monomial, list[Term]] | None = None

    # Assuming.

    def assume(self, formula: Formula) -> Case | None:
        """The case in which a condition also holds; None if that is impossible."""
        new = replace(self, values=dict(self.values), equal=dict(self.equal))
        new._known = {value: found for value, found in self._known.items() if found[0]}
        return new._settled() if new._assume(formula) else None

    def _assume(self, formula: Formula) -> bool:
        """Adds a condition; returns whether that is possible, as far as can be seen."""
        match formula:
            case bool():
                return formula
            case ("and", *parts):
                return all(self._assume(part) for part in parts)  # type: ignore[arg-type]
            case ("or", *parts):
                open_ = [part for part in parts if self.says(part) is not False]  # type: ignore[arg-type]
                if len(open_) == 1:
                    return self._assume(open_[0])  # type: ignore[arg-type]
                self.choices += (formula,)
                self._note(formula, True)
                self._note(negated(formula), False)
                return bool(open_)
            case (">=", Term() as value):
                value = self.reduced(value)
                if value.constant is not None:
                    return value.constant >= 0
                if not self.proves_quickly(value):
                    if self.proves_quickly(-value - 1):
                        return False
                    self._add(value)
                return True
            case ("==", Term() as value):
                return self._equate(self.reduced(value))
            case ("not", ("==", Term() as value)):
                value = self.reduced(value)
                self._note(("==", value), False)
                if self.proves_quickly(value):
                    return self._assume((">=", value - 1))
                if self.proves_quickly(-value):
                    return self._assume((">=", -value - 1))
                self.choices += (either([least(value - 1), least(-value - 1)]),)
                return value.constant != 0
            case ("not", inner):
                return self._value(inner, False)  # type: ignore[arg-type]
        return self._value(formula, True)

    def _value(self, formula: Formula, value: bool) -> bool:
        if self.values.get(formula, value) is not value:
            return False
        self._note(formula, value)
        match formula:
            case ("is", ("one of", name, _)) if value:
                return not any(other != formula for other in self._chosen(name))
        return True

    def _note(self, formula: Formula, value: bool) -> None:
        self.values[formula] = value
        self._stale = True

    def _chosen(self, name: object) -> list[Formula]:
        """The conditions that hold for a value that is one of several."""
        true = (formula for formula, value in self.values.items() if value and isinstance(formula, tuple))
        return [one for one in true if one[0] == "is" and one[1][:2] == ("one of", name)]  # type: ignore[index]

    def _add(self, fact: Term) -> None:
        self.facts += (fact,)
        self._stale = True

    def _forget(self) -> None:
        """Discards results from before more was known."""
        self._reduced, self._index, self._stale = {}, None, False
        self._known = {value: found for value, found in self._known.items() if found[0]}

    def _equate(self, value: Term) -> bool:
        """Adds that a term is 0: an atom that stands alone in it is replaced by the rest."""
        if value.constant is not None:
            return value.constant == 0
        for monomial, factor in value.items.items():
            if len(monomial) == 1 and abs(factor) == 1 and monomial[0].key[0] in ("size", "member", "turn"):
                rest = value * -factor + Term({monomial: 1})
                if monomial[0] not in _inside(rest):
                    self.equal[monomial[0]] = rest
                    self._forget()
                    bounds = [rest - bound for bound in monomial[0].lower]
                    bounds += [bound - rest for bound in monomial[0].upper]
                    for bound in bounds:
                        if not self.proves_quickly(bound):
                            self._add(bound)
                    return True
        self._note(("==", value), True)
        self._add(value)
        self._add(-value)
        return True

    def _settled(self) -> Case | None:
        """The case with all consequences of new knowledge."""
        while True:
            if self._stale:
                self._forget()
            waiting, choices = self.waiting, self.choices
            self.waiting = self.choices = ()
            changed = False
            for one in waiting:
                applies = self.holds(one.guard)
                if applies is None:
                    self.waiting += (one,)
                elif applies:
                    changed = True
                    if not self._assume(one.condition):
                        return None
            for choice in choices:
                assert isinstance(choice, tuple)
                before = len(self.choices)
                settled = any(self.says(part) for part in choice[1:])  # type: ignore[arg-type]
                if not settled and not self._assume(choice):
                    return None
                changed |= not settled and len(self.choices) == before
            if not changed:
                if self._stale:
                    self._forget()
                return self

    def holds(self, formula: Formula) -> bool | None:
        """Whether a condition holds; None if a few steps do not prove it either way."""
        return self.says(formula, self.proves_quickly)

    def says(self, formula: Formula, proves: Callable[[Term], bool] | None = None) -> bool | None:
        """Whether a condition holds according to what is recorded; comparisons may be proven."""
        if formula in self.values:
            return self.values[formula]
        match formula:
            case bool():
                return formula
            case ("not", inner):
                known = self.says(inner, proves)  # type: ignore[arg-type]
                return None if known is None else not known
            case ("and" | "or" as op, *parts):
                found = [self.says(part, proves) for part in parts]  # type: ignore[arg-type]
                decisive = op == "or"
                return decisive if decisive in found else None if None in found else not decisive
            case (">=", Term() as value):
                value = self.reduced(value)
                if value.constant is not None:
                    return value.constant >= 0
                if proves is None:
                    return None
                return True if proves(value) else False if proves(-value - 1) else None
            case ("==", Term() as value):
                value = self.reduced(value)
                if value.constant is not None:
                    return value.constant == 0
                return self.values.get(("==", value))
            case ("is", ("one of", name, _)):
                return False if self._chosen(name) else None
        return None

    # Terms as they are in this case.

    def reduced(self, value: Term) -> Term:
        """The term in a normal form, in which equal things are written the same way."""
        new = {atom: found for atom in value.atoms if (found := self._atom(atom)) is not None}
        if not new:
            return value
        result = term(0)
        for monomial, factor in value.items.items():
            part = Term({tuple(atom for atom in monomial if atom not in new): factor})
            for atom in monomial:
                if atom in new:
                    part = part * new[atom]
            result = result + part
        return result

    def _atom(self, atom: Atom) -> Term | None:
        """What replaces an atom; None if nothing does."""
        if atom not in self._reduced:
            self._reduced[atom] = None  # unchanged while its own parts are being reduced
            found = self._rewritten(atom)
            self._reduced[atom] = None if found == Term({(atom,): 1}) else found
        return self._reduced[atom]

    def _rewritten(self, atom: Atom) -> Term:
        if atom in self.equal:
            return self.reduced(self.equal[atom])
        match atom.key:
            case ("quotient", Term() as a, Term() as b):
                a, b = self.reduced(a), self.reduced(b)
                if not self.proves_quickly(b - 1):
                    return self.atoms.quotient(a, b)
                whole, rest = _divided(a, b)
                return whole + self.atoms.quotient(rest, b)
            case ("remainder", Term() as a, Term() as b):
                a, b = self.reduced(a), self.reduced(b)
                return self.atoms.remainder(_divided(a, b)[1] if self.proves_quickly(b - 1) else a, b)
            case ("choice", test, Term() as then, Term() as otherwise):
                value = self.holds(test)  # type: ignore[arg-type]
                if value is not None:
                    return self.reduced(then if value else otherwise)
        return Term({(atom,): 1})

    # Proofs.

    def proves(self, value: Term, splits: int = MAX_SPLITS) -> bool:
        """Whether the term is never negative."""
        value = self.reduced(value)
        self._steps = 0
        if self._proves(value, MAX_DEPTH):
            return True
        condition = next(self._open(value), None) if splits else None
        if condition is None:
            return False
        cases = (self.assume(condition), self.assume(negated(condition)))
        return all(case is None or case.proves(value, splits - 1) for case in cases)

    def proves_quickly(self, value: Term) -> bool:
        """Whether a few steps prove it."""
        steps, self._steps = self._steps, MAX_STEPS - 24
        result = self._proves(self.reduced(value), 3)
        self._steps = steps
        return result

    def _open(self, value: Term) -> Iterator[Formula]:
        """Undecided conditions that stand in the way, nearest first."""
        todo, seen = list(value.atoms), set(value.atoms)
        for atom in todo:  # grows during the loop
            if atom.key[0] == "choice":
                test: Formula = atom.key[1]  # type: ignore[assignment]
                inner = (one.key[1] for one in _mentioned(test) if one.key[0] == "choice")
                yield from (one for one in (*inner, test) if self.holds(one) is None)  # type: ignore[arg-type,misc]
            near = (*atom.parts, *map(self.reduced, (*atom.lower, *atom.upper)))
            more = {part: None for one in near for part in one.atoms if part not in seen}
            seen |= more.keys()
            todo += more
        for choice in self.choices:
            assert isinstance(choice, tuple)
            for part in choice[1:]:
                if self.says(part) is None and _mentioned(part).keys() & value.atoms.keys():  # type: ignore[arg-type]
                    yield part  # type: ignore[misc]
        for one in self.waiting:
            yield from (part for part in _literals(one.guard) if self.says(part) is None)

    def _proves(self, value: Term, depth: int) -> bool:
        if value.constant is not None:
            return value.constant >= 0
        if depth == 0 or self._steps > MAX_STEPS:
            return False
        proven, tried = self._known.get(value, (False, 0))
        if proven or tried >= depth:
            return proven
        self._steps += 1
        self._known[value] = (False, depth)  # while the proof is in progress
        proven = any(self._proves(smaller, depth - 1) for smaller in self._smaller(value))
        self._known[value] = (proven, depth if proven or self._steps <= MAX_STEPS else tried)
        return proven

    def _smaller(self, value: Term) -> Iterator[Term]:
        """Terms that are at most this one, as far as they are promising."""
        for fact in self._facts_like(value):
            yield value - fact
        for atom in sorted(value.atoms, key=lambda atom: -atom.rank):
            yield from self._without(value, atom)
        shared = {fact: None for monomial in value.items for fact in self._with.get(monomial, ())}
        quotients = (fact for atom in value.atoms for fact in self._of_quotient(atom))
        for fact in (*shared, *quotients):
            for monomial, factor in fact.items.items():
                here = value.items.get(monomial, 0)
                if monomial and here * factor > 0:
                    whole = lcm(here, factor)
                    yield value * abs(whole // here) - fact * abs(whole // factor)

    def _facts_like(self, value: Term) -> Iterator[Term]:
        """Facts that differ from this term only in the constant."""
        for monomial in value.items:
            if monomial:
                for fact in self._with.get(monomial, ()):
                    if (value - fact).constant is not None:
                        yield fact
                return

    @property
    def _with(self) -> dict[Monomial, list[Term]]:
        """The facts that contain a monomial."""
        if self._index is None:
            self._index = _by_monomial(self.facts)  # while they are reduced, which needs proofs itself
            reduced = tuple(dict.fromkeys(map(self.reduced, self.facts)))
            self._index = _by_monomial(reduced)
            self._known = {value: found for value, found in self._known.items() if found[0]}
        return self._index

    def _of_quotient(self, atom: Atom) -> Iterator[Term]:
        match atom.key:
            case ("quotient", Term() as a, Term() as b) if self.proves_quickly(b - 1):
                whole = b * Term({(atom,): 1})
                yield a - whole
                yield whole + b - 1 - a

    def _without(self, value: Term, atom: Atom) -> Iterator[Term]:
        """The term with the atom replaced by its least and greatest values."""
        rest: dict[Monomial, int] = {}
        below: dict[Monomial, int] = {}
        above: dict[Monomial, int] = {}
        for monomial, factor in value.items.items():
            if atom not in monomial:
                rest[monomial] = factor
                continue
            others = list(monomial)
            others.remove(atom)
            if atom in others or not all(self._never_negative(other) for other in others):
                return
            (below if factor > 0 else above)[tuple(others)] = factor
        lower, upper = self._bounds(atom)
        for low, high in product(lower if below else [term(0)], upper if above else [term(0)]):
            yield Term(rest) + Term(below) * low + Term(above) * high

    def _never_negative(self, atom: Atom) -> bool:
        return self.proves_quickly(Term({(atom,): 1}))

    def _bounds(self, atom: Atom) -> tuple[list[Term], list[Term]]:
        lower, upper = list(map(self.reduced, atom.lower)), list(map(self.reduced, atom.upper))
        match atom.key:
            case ("quotient", Term() as a, Term() as b) if self.proves_quickly(a) and self.proves_quickly(b):
                lower.append(term(0))
                upper.append(a)
            case ("remainder", Term() as a, Term() as b) if self.proves_quickly(b - 1):
                lower.append(term(0))
                upper.append(b - 1)
                if self.proves_quickly(a):
                    upper.append(a)
            case ("choice", test, Term() as a, Term() as b):
                a, b = self.reduced(a), self.reduced(b)
                if test == least(b - a):  # the smaller
                    upper += [a, b]
                elif test == least(a - b):  # the larger
                    lower += [a, b]
                if a.constant is not None and b.constant is not None:
                    lower.append(term(min(a.constant, b.constant)))
                    upper.append(term(max(a.constant, b.constant)))
        for fact in self._with.get((atom,), ()):
            factor = fact.items[(atom,)]
            if abs(factor) == 1 and sum(atom in monomial for monomial in fact.items) == 1:
                (lower if factor > 0 else upper).append(Term({(atom,): 1}) - fact * factor)
        return list(dict.fromkeys(lower)), list(dict.fromkeys(upper))


def _by_monomial(facts: Iterable[Term]) -> dict[Monomial, list[Term]]:
    index: dict[Monomial, list[Term]] = {}
    for fact in facts:
        for monomial in fact.items:
            if monomial:
                index.setdefault(monomial, []).append(fact)
    return index


def _literals(formula: Formula) -> Iterator[Formula]:
    """The parts of a condition that are neither comparisons nor compound."""
    match formula:
        case ("not" | "and" | "or", *parts):
            for part in parts:
                yield from _literals(part)  # type: ignore[arg-type]
        case ("is", _):
            yield formula


def _divided(a: Term, b: Term) -> tuple[Term, Term]:
    """The part of `a` that is a multiple of `b`, divided by it, and the rest; only for single monomials."""
    if len(b.items) != 1:
        return term(0), a
    ((divisor, size),) = b.items.items()
    whole, rest = term(0), term(0)
    for monomial, factor in a.items.items():
        left = list(monomial)
        for atom in divisor:
            if atom in left:
                left.remove(atom)
        if len(left) == len(monomial) - len(divisor) and factor % size == 0:
            whole = whole + Term({tuple(left): factor // size})
        else:
            rest = rest + Term({monomial: factor})
    return whole, rest


def _inside(value: Term) -> dict[Atom, None]:
    """The atoms of a term, and those that they are made of, in a fixed order."""
    found: dict[Atom, None] = {}
    todo = list(value.atoms)
    while todo:
        atom = todo.pop()
        if atom not in found:
            found[atom] = None
            todo += (inner for part in atom.parts for inner in part.atoms)
            if atom.key[0] == "choice":
                todo += _mentioned(atom.key[1])  # type: ignore[arg-type]
    return found


def _mentioned(formula: Formula) -> dict[Atom, None]:
    """The atoms of a condition, in the same way."""
    match formula:
        case (">=" | "==", Term() as value):
            return _inside(value)
        case ("not" | "and" | "or", *parts):
            return {atom: None for part in parts for atom in _mentioned(part)}  # type: ignore[arg-type]
    return {}
