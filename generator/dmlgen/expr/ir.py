"""The expression language after parsing: typed, total, bounded.

Every expression has a value for every description of the right shape, on every target:

* integers saturate at 64 bits; division or remainder by zero is 0;
* reading an array out of range gives 0; slices are clamped to the array;
* loops run over ranges whose length has a static bound (`bounds.py` proves it).

So printers need no notion of an exception, and the same text means the same in Python, C and HLSL.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias, TypeGuard, get_args

from dmlgen.expr.arithmetic import LIMIT as LIMIT

CompareOp: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
ArithmeticOp: TypeAlias = Literal["+", "-", "*", "/", "//", "%"]
BitOp: TypeAlias = Literal["&", "|", "^", "<<", ">>"]
LogicOp: TypeAlias = Literal["and", "or"]
Reduction: TypeAlias = Literal["all", "any", "sum", "product", "min", "max", "argmax", "argmin", "list"]

COMPARE: Mapping[CompareOp, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
OPPOSITE: Mapping[CompareOp, CompareOp] = {
    "==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
}  # fmt: skip
"""The comparison that holds where this one does not; with NaN, neither of two that order numbers does."""
FLIPPED: Mapping[CompareOp, CompareOp] = {
    "==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
}  # fmt: skip
"""The comparison with its sides exchanged."""


@dataclass(frozen=True, slots=True)
class Type:
    """The type of an expression; `name` distinguishes enumerations (`TENSOR_DATA_TYPE`) and elements."""

    kind: Literal["int", "bool", "float", "ints", "floats", "enum", "struct", "tensor", "tensors", "element"]
    name: str | None = None

    def __str__(self) -> str:
        if self.kind == "element":
            return f"element of {self.name}"
        return self.name or {"ints": "list of int", "floats": "list of float"}.get(self.kind, self.kind)


INT, BOOL, FLOAT = Type("int"), Type("bool"), Type("float")
INTS, FLOATS = Type("ints"), Type("floats")
TENSOR, TENSORS = Type("tensor"), Type("tensors")


def element_of(tensor: str) -> Type:
    """The type of a tensor's elements in computations, for any data type."""
    return Type("element", tensor)


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric or boolean literal."""

    value: int | bool | float
    type: Type


@dataclass(frozen=True, slots=True)
class EnumValue:
    """One value of an enumeration, by its name without the prefix: `FLOAT32`."""

    name: str
    value: int
    type: Type


@dataclass(frozen=True, slots=True)
class Constant:
    """A named constant of the header."""

    name: str
    value: int
    type: ClassVar[Type] = INT


@dataclass(frozen=True, slots=True)
class Local:
    """A loop variable, a parameter, or `at`, the output coordinate.

    `varies`: in a definition, whether it can differ between elements.
    """

    name: str
    type: Type
    varies: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """A use of a name that a `let` block defines."""

    name: str
    value: Expr

    @property
    def type(self) -> Type:
        return self.value.type


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the operator's description that is not a tensor; `signed` if it can be negative."""

    name: str
    type: Type
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor member, or one of an array of them. The name "" is the tensor being checked."""

    name: str
    index: Expr | None = None
    type: ClassVar[Type] = TENSOR

    @property
    def entry(self) -> str:
        """The name of its buffer: "InputTensor", or "InputTensors[1]" if the index in an array is fixed."""
        return f"{self.name}[{self.index.value}]" if isinstance(self.index, Number) else self.name

    @staticmethod
    def of(entry: str) -> Tensor:
        """The tensor with the buffer of a name."""
        name, _, index = entry.partition("[")
        return Tensor(name, Number(int(index.rstrip("]")), INT) if index else None)

    @property
    def place(self) -> int | None:
        """The fixed index in an array, if it has one."""
        return int(self.index.value) if isinstance(self.index, Number) else None


@dataclass(frozen=True, slots=True)
class Tensors:
    """A member that is an array of tensors."""

    name: str
    type: ClassVar[Type] = TENSORS


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a tensor's description: `InputTensor.Sizes`."""

    tensor: Tensor
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a member that is a struct: `PooledSize.Width`."""

    member: Member
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Present:
    """Whether an optional member, or an optional field of a tensor, is given."""

    item: Tensor | Field | Member
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Index:
    """One entry of an array; 0 if the index is out of range."""

    sequence: Expr
    index: Expr

    @property
    def type(self) -> Type:
        return FLOAT if self.sequence.type == FLOATS else INT


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of an array, with bounds clamped to the array; `None` is the array's own end."""

    sequence: Expr
    lower: Expr | None
    upper: Expr | None

    @property
    def type(self) -> Type:
        return self.sequence.type


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array literal of integers."""

    items: tuple[Expr, ...]
    type: ClassVar[Type] = INTS


@dataclass(frozen=True, slots=True)
class Negate:
    """Arithmetic negation."""

    operand: Expr

    @property
    def type(self) -> Type:
        return self.operand.type


@dataclass(frozen=True, slots=True)
class Not:
    """Logical negation."""

    operand: Expr
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic on numbers, `+` of arrays (concatenation), `&` and `|` of flags."""

    op: ArithmeticOp | BitOp
    left: Expr
    right: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Compare:
    """One comparison; chains are split while parsing."""

    op: CompareOp
    left: Expr
    right: Expr
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class OneOf:
    """Membership in a literal set of enumerators or numbers."""

    item: Expr
    choices: tuple[Expr, ...]
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` or `or` of two or more booleans."""

    op: LogicOp
    operands: tuple[Expr, ...]
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if test else otherwise`."""

    test: Expr
    then: Expr
    otherwise: Expr

    @property
    def type(self) -> Type:
        return self.then.type


@dataclass(frozen=True, slots=True)
class Loop:
    """`for variable in range(lower, upper) if condition`; of coordinates, `in ndindex(lower, upper)`, where 0
    stands for zeros."""

    variable: Local
    lower: Expr
    upper: Expr
    condition: Expr | None = None


@dataclass(frozen=True, slots=True)
class Reduce:
    """`all(body for d in range(...))` and the like; "list" is a list comprehension.

    Only a reduction `over_elements`, a fold, has several loops, of which the last has the condition; bounds
    do not use variables of the same fold. Any other has as many iterations as there are dimensions, which its
    variable indexes, or tensors in an array.
    """

    kind: Reduction
    loops: tuple[Loop, ...]
    body: Expr
    type: Type
    over_elements: bool = False

    @property
    def loop(self) -> Loop:
        """The first loop, the only one of a reduction that is no fold."""
        return self.loops[0]

    @property
    def condition(self) -> Expr | None:
        return self.loops[-1].condition


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language; `functions.py` lists them."""

    function: str
    arguments: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Load:
    """The element of a tensor at a coordinate (an array with one entry per dimension); only in `compute`."""

    tensor: Tensor
    coordinate: Expr
    type: Type


# Additional nodes of definitions, which `define.py` parses.


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of an intermediate tensor at a coordinate."""

    tensor: str
    coordinate: Expr
    type: Type


@dataclass(frozen=True, eq=False)
class Function:
    """A function in a definition's `let`, typed for one use; it is only equal to itself.

    `structural` are the parameters that index dimensions. Tensor and activation arguments are substituted in
    the body. The body can use `at`, which is not a parameter. `varies`: whether its value can differ between
    elements.
    """

    name: str
    parameters: tuple[Local, ...]
    body: Expr
    structural: frozenset[str]
    varies: bool

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Apply:
    """A use of a `let` function, or of a `let` name without parameters."""

    function: Function
    arguments: tuple[Expr, ...]

    @property
    def type(self) -> Type:
        return self.function.body.type


AT = Local("at", INTS)
"""The coordinate of the element being defined."""
ZERO, ONE = Number(0, INT), Number(1, INT)


def at(dimension: int) -> Index:
    """An entry of that coordinate."""
    return Index(AT, Number(dimension, INT))


Expr: TypeAlias = (
    Number | EnumValue | Constant | Local | Definition | Member | Tensor | Tensors | Field | Part | Present
    | Index | Slice | ListOf | Negate | Not | Binary | Compare | OneOf | Logic | Conditional | Reduce
    | Call | Load | Entry | Apply
)  # fmt: skip


_EXPRESSIONS = frozenset(get_args(Expr))
# The fields that can hold expressions, according to their annotations.
_NAMES = {"Expr", "Loop", *(kind.__name__ for kind in _EXPRESSIONS)}
PARTS = {
    kind: tuple(
        field.name for field in fields(kind) if not _NAMES.isdisjoint(re.findall(r"\w+", str(field.type)))
    )
    for kind in (*_EXPRESSIONS, Loop)
}


def children(node: Expr | Loop) -> list[Expr]:
    """The direct sub-expressions, in written order; not the body of a function."""
    found: list[Expr] = []
    for name in PARTS[type(node)]:
        value = getattr(node, name)
        if type(value) in _EXPRESSIONS:
            found.append(value)
        elif isinstance(value, tuple):
            for item in value:
                found += children(item) if isinstance(item, Loop) else (item,)
    return found


def walk(node: Expr) -> Iterator[Expr]:
    """The expression and all its sub-expressions, outermost first."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if PARTS[type(node)]:
            waiting += reversed(children(node))


def outermost(node: Expr, *kinds: type) -> Iterator[Expr]:
    """The parts of these kinds below an expression, without those nested in them."""
    for child in children(node):
        if isinstance(child, kinds):
            yield child
        else:
            yield from outermost(child, *kinds)


def joined_parts(node: Expr) -> list[Expr]:
    """The arrays that nested + operators concatenate, in order."""
    if isinstance(node, Binary) and node.type == INTS:
        return [*joined_parts(node.left), *joined_parts(node.right)]
    return [node]


def opposite(node: Expr) -> Expr:
    """The negation of a condition."""
    match node:
        case Compare(op=op, left=left, right=right) if left.type != FLOAT:  # none holds with NaN
            return Compare(OPPOSITE[op], left, right)
        case Not(operand=operand):
            return operand
    return Not(node)


def varies(node: Expr) -> bool:
    """Whether a value differs between elements, so that it depends on more than the description."""
    return any(
        isinstance(part, Load) or (isinstance(part, Local) and part.name == "at") for part in walk(node)
    )


def rebuilt(node: Expr, write: Callable[[Expr], Expr]) -> Expr:
    """The expression with each of its direct parts written again; it has no loops."""
    changes: dict[str, Any] = {}
    for name in PARTS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, tuple):
            changes[name] = tuple(map(write, value))
        elif type(value) in PARTS:
            changes[name] = write(value)
    return replace(node, **changes) if changes else node


def substitute(node: Expr, new: Mapping[Expr, Expr]) -> Expr:
    """The expression with every sub-expression that is a key of `new` replaced, except a variable inside a
    loop with one of the same name."""
    kinds = frozenset(map(type, new))  # other nodes need no hash, which would walk all below them
    has_variables = Local in kinds

    def inside(node: Any) -> Any:
        if type(node) in kinds and node in new:
            return new[node]
        if has_variables and isinstance(node, Reduce) and not new.keys().isdisjoint(_variables(node)):
            return around(node)
        changes: dict[str, object] = {}
        for name in PARTS[type(node)]:
            value = getattr(node, name)
            if isinstance(value, tuple):
                parts = tuple(map(inside, value))
                same = all(part is old for part, old in zip(parts, value, strict=True))
                found: object = value if same else parts
            else:
                found = None if value is None else inside(value)
            if found is not value:
                changes[name] = found
        return replace(node, **changes) if changes else node

    def around(node: Reduce) -> Expr:
        """A loop whose variables are keys: these are replaced in its bounds only."""
        rest = {old: value for old, value in new.items() if old not in _variables(node)}

        def within(condition: Expr | None) -> Expr | None:
            return None if condition is None else substitute(condition, rest)

        loops = tuple(
            Loop(one.variable, inside(one.lower), inside(one.upper), within(one.condition))
            for one in node.loops
        )
        return replace(node, loops=loops, body=substitute(node.body, rest))

    return inside(node)  # type: ignore[no-any-return]


def _variables(node: Reduce) -> list[Local]:
    """The variables that a reduction binds in its body."""
    return [loop.variable for loop in node.loops]


def is_fold(node: Expr) -> TypeGuard[Reduce]:
    """Whether it is a reduction over elements."""
    return isinstance(node, Reduce) and node.over_elements
