"""Reads the planners: their constants, records, list types and functions.

The modules are parsed by Python's own parser; only enumerations are run. `functions` describes what others
may contain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from runpy import run_path
from typing import TypeAlias

from dmlgen.diagnostics import Finding, Position, SpecError
from dmlgen.project import PLANNERS

# Modules that each provide planners with a class; the header has the first one by hand.
MACHINE, REASONS, CAPABILITIES = "planning", "reasons", "capabilities"


@dataclass(frozen=True)
class Scalar:
    """`int`, `bool`, `str`, `None`, or `Planning`, which collects the plan. `hlsl`: the type in shaders."""

    name: str
    hlsl: str = "uint"


@dataclass(frozen=True)
class ListOf:
    """A list with a maximum number of entries; without a capacity, one that is the same for all descriptions.

    `words` are the rest of its annotation, for shaders: the macro for its length, and names of strides.
    """

    element: Type
    capacity: int | None
    words: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Field:
    """A field of a record, with its comment in shaders; `default` is its number where a record is absent."""

    name: str
    type: Type
    comment: str
    default: int


@dataclass(frozen=True)
class Record:
    """A NamedTuple."""

    name: str
    fields: tuple[Field, ...] = field(compare=False)

    def field(self, name: str) -> Field | None:
        return next((one for one in self.fields if one.name == name), None)


Type: TypeAlias = Scalar | ListOf | Record

INT, BOOL, TEXT, NOTHING = Scalar("int"), Scalar("bool"), Scalar("str"), Scalar("None")
PLANNING = Scalar("Planning")
_SCALARS = {"int": INT, "bool": BOOL, "str": TEXT, "Planning": PLANNING}


@dataclass
class Module:
    """A module: the meaning of its own names. Names that it imports have the same meaning there."""

    name: str
    path: Path
    tree: ast.Module
    constants: dict[str, int] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def refused(self, node: ast.AST, what: str) -> SpecError:
        """The error for code that the translator does not support."""
        position = Position(
            self.path.as_posix(), getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
        )
        return SpecError([Finding(position, "plans", f"{what} is more than planners may use")])


@dataclass(frozen=True)
class Function:
    """A function: the types of its parameters, in order, and of its result."""

    name: str
    module: Module = field(repr=False)
    node: ast.FunctionDef = field(repr=False)
    parameters: tuple[tuple[str, Type], ...]
    result: Type


@dataclass(frozen=True)
class Enumeration:
    """An enumeration shared by Python and C: numbers and texts by name."""

    names: dict[str, int]
    texts: dict[str, str]


@cache
def package_plans() -> Plans:
    """The planners of the package."""
    return Plans(PLANNERS)


class Plans:
    """All modules in a folder, each after those it imports."""

    def __init__(self, folder: Path) -> None:
        self.modules: dict[str, Module] = {}
        self.home: dict[str, str] = {}
        """The modules that define records and functions, by their names."""
        self._folder = folder
        for path in sorted(self._folder.glob("*.py")):
            if path.stem not in ("__init__", MACHINE, REASONS, CAPABILITIES):
                self._load(path.stem)
        self._check_names()
        self.reasons = self._enumeration(REASONS)
        self.capabilities = self._enumeration(CAPABILITIES)

    @property
    def records(self) -> Iterator[Record]:
        """The records, each after those it contains."""
        found = (type_ for module in self.modules.values() for type_ in module.types.values())
        yield from dict.fromkeys(type_ for type_ in found if isinstance(type_, Record))

    @property
    def functions(self) -> Iterator[Function]:
        for module in self.modules.values():
            yield from (one for one in module.functions.values() if one.module is module)

    def record(self, name: str) -> Record:
        return next(one for one in self.records if one.name == name)

    def _check_names(self) -> None:
        """In C all modules share one namespace, in which all functions start with `plan_`: no two may define
        the same name, except for constants and lists."""
        owners: dict[str, Module] = {}
        for module in self.modules.values():
            for node in module.tree.body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    self.home[node.name] = module.name
                    name = node.name.removeprefix("plan_")
                    if name in owners:
                        raise module.refused(node, f"{name}, as in {owners[name].name},")
                    owners[name] = module

    def _enumeration(self, name: str) -> Enumeration:
        """The texts of a module that imports no planner, by the members of its class."""
        texts = run_path(str(self._folder / f"{name}.py"))["TEXTS"]
        return Enumeration(
            {one.name: one.value for one in texts}, {one.name: text for one, text in texts.items()}
        )

    def _load(self, name: str) -> Module:
        if name in self.modules:
            return self.modules[name]
        path = self._folder / f"{name}.py"
        module = Module(name, path, ast.parse(path.read_text(encoding="utf-8")))
        for node in module.tree.body:
            self._read(module, node)
        self.modules[name] = module
        return module

    def _read(self, module: Module, node: ast.stmt) -> None:
        match node:
            case ast.ImportFrom(level=1, module=str(name), names=names) if name not in (
                MACHINE,
                REASONS,
                CAPABILITIES,
            ):
                source = self._load(name)
                wanted = {alias.name for alias in names}
                module.constants |= {k: v for k, v in source.constants.items() if k in wanted}
                module.types |= {k: v for k, v in source.types.items() if k in wanted}
                module.functions |= {k: v for k, v in source.functions.items() if k in wanted}
            case ast.ImportFrom() | ast.Import() | ast.Expr():
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as value):
                module.types[name] = self.type(module, value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                module.constants[name] = _number(module, value)
            case ast.ClassDef(name=name, bases=[ast.Name(id="NamedTuple")], body=body):
                module.types[name] = Record(name, tuple(self._fields(module, body)))
            case ast.FunctionDef(name=name, args=arguments, returns=returns):
                parameters = tuple(
                    (one.arg, self.type(module, one.annotation or one)) for one in arguments.args
                )
                result = NOTHING if returns is None else self.type(module, returns)
                module.functions[name] = Function(name, module, node, parameters, result)
            case _:
                raise module.refused(node, type(node).__name__)

    def _fields(self, module: Module, body: list[ast.stmt]) -> Iterator[Field]:
        for place, node in enumerate(body):
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    default = _number(module, value) if isinstance(value, ast.Name | ast.Constant) else 0
                    comment = ""
                    match body[place + 1 : place + 2]:
                        case [ast.Expr(value=ast.Constant(value=str(comment)))]:
                            pass
                    yield Field(name, self.type(module, annotation), comment, default)
                case ast.Expr():
                    pass
                case _:
                    raise module.refused(node, type(node).__name__)

    def type(self, module: Module, node: ast.AST) -> Type:
        """The type that an annotation denotes."""
        match node:
            case ast.Constant(value=None):
                return NOTHING
            case ast.Name(id=name) if name in _SCALARS:
                return _SCALARS[name]
            case ast.Name(id=name) if name in module.types:
                return module.types[name]
            case ast.Subscript(value=ast.Name(id="list" | "Sequence"), slice=element):
                return ListOf(self.type(module, element), None)
            case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[inner, *rest])):
                return _annotated(self.type(module, inner), [_constant(module, one) for one in rest])
        raise module.refused(node, "this type")


def _annotated(inner: Type, rest: list[int | str]) -> Type:
    words = tuple(one for one in rest if isinstance(one, str))
    if isinstance(inner, Scalar):
        return Scalar(inner.name, words[0])
    assert isinstance(inner, ListOf)
    numbers = [one for one in rest if isinstance(one, int)]
    return ListOf(inner.element, numbers[0] if numbers else inner.capacity, words)


def _constant(module: Module, node: ast.AST) -> int | str:
    """A number that is known at translation time, or a text."""
    match node:
        case ast.Constant(value=int(value)) | ast.Constant(value=str(value)):
            return value
        case ast.Name(id=name) if name in module.constants:
            return module.constants[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(module, operand)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _number(module, left) * _number(module, right)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return int(_number(module, left) ** _number(module, right))
    raise module.refused(node, "this constant")


def _number(module: Module, node: ast.AST) -> int:
    value = _constant(module, node)
    if not isinstance(value, int):
        raise module.refused(node, "this constant")
    return value


def constant(module: Module, node: ast.AST) -> int | None:
    """The value of an expression if it is known at translation time, else None."""
    try:
        value = _constant(module, node)
    except SpecError:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
