"""Translates planners to C, statement by statement, from the small subset of Python they are written in.

- `int` is `int64_t`. `+ - * // % <<`, `abs`, `min`, `max` and `gcd` are functions of the header: results
  saturate at 64 bits, quotients are rounded down, and division by 0 gives 0.
- `bool` and `str` are `int` and `const char*`. Strings are never built, except for the name of a macro,
  f"{text}_END".
- A record, a NamedTuple, is a struct: passed by address, copied where it is kept. What a function returns is
  built where it is needed, and a variable that is only another name for something has its address. Fields
  may be given by name, in their order.
- A list with a capacity is a struct that contains its entries. One entry too many refuses the plan, and so
  does an index beyond the end; a negative one counts from there. Nothing is accessed out of bounds. A list
  without a capacity is the address of static entries.
- `extend` takes a list of numbers.
- `_replace` returns a copy of a record, with other values in some fields.
- `for` iterates over a list, a slice of it, `range`, `enumerate` or `zip`; so do comprehensions, with at most
  one `if`, and `all` and `any`, without any. Lists and bounds must not change meanwhile. `while` also ends
  once the plan has been refused.
- Methods of `Planning` are functions of the header; `refuse` also returns.

A variable has one type, that of its first value, and belongs to the block where it gets that; a list display
needs its type declared. Of several variables that are assigned at once, none may be used for the values of
those after it. The operands of a conditional expression, of `and` and `or`, and the condition of `while`
must be expressions in C, too. Lists are copied where Python shares them; `sharing` makes sure that this makes
no difference.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dmlgen.literals import c_string
from dmlgen.names import snake
from dmlgen.plans.model import (
    BOOL,
    INT,
    NOTHING,
    PLANNING,
    TEXT,
    Field,
    Function,
    ListOf,
    Module,
    Plans,
    Record,
    Scalar,
    Type,
    constant,
)
from dmlgen.plans.sharing import CHANGES, writes

_KEYWORDS = frozenset({"switch", "default", "case", "double", "float", "int", "long", "short", "char"})
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.FloorDiv: "divide",
    ast.Mod: "modulo",
    ast.LShift: "shift",
}
_BITS: dict[type[ast.operator], str] = {ast.BitOr: "|", ast.BitAnd: "&", ast.RShift: ">>"}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}

WIDTH = 120

_RESULT = "result"  # where a function stores a record or a list that it returns
_MADE = (ast.Call, ast.List, ast.ListComp, ast.Subscript)  # expressions that may build a record or a list


@dataclass(frozen=True)
class Value:
    """The text of an expression, and its type; for records and lists, the text of their address."""

    text: str
    type: Type
    is_compound: bool = False  # has operators

    @property
    def operand(self) -> str:
        """The text within other operators."""
        return f"({self.text})" if self.is_compound else self.text

    @property
    def is_scalar(self) -> bool:
        """Whether it is a number or a text."""
        return isinstance(self.type, Scalar)

    @property
    def content(self) -> str:
        """The text of the value itself."""
        if self.is_scalar:
            return self.text
        return self.text[1:] if self.text.startswith("&") else f"*{self.operand}"

    def member(self, name: str, type_: Type) -> Value:
        text = f"{self.text[1:]}.{name}" if self.text.startswith("&") else f"{self.operand}->{name}"
        return Value(text if isinstance(type_, Scalar) else f"&{text}", type_)


def c_name(name: str) -> str:
    """The name, changed if it is a keyword of C."""
    return f"{name}_" if name in _KEYWORDS else name


def c_type(type_: Type) -> str:
    """The type of a variable."""
    match type_:
        case Scalar(name=name):
            return {"int": "int64_t", "bool": "int", "str": "const char*", "None": "void"}[name]
        case Record(name=name):
            return f"dmlops_plan_{name}"
        case ListOf(element=element, capacity=capacity):
            names = {"int64_t": "dmlops_plan_int", "const char*": "dmlops_plan_text"}
            inner = c_type(element)
            return f"{names.get(inner, inner)}_{'list' if capacity is None else capacity}"


def types(plans: Plans) -> list[Record | ListOf]:
    """The types of records and lists, each after those that it contains."""
    found: dict[str, Record | ListOf] = {}

    def add(type_: Type) -> None:
        if isinstance(type_, Scalar) or c_type(type_) in found:
            return
        for inner in [one.type for one in type_.fields] if isinstance(type_, Record) else [type_.element]:
            add(inner)
        found[c_type(type_)] = type_

    for record in plans.records:
        add(record)
    for function in plans.functions:
        for node in ast.walk(function.node):
            if isinstance(node, ast.AnnAssign):
                add(plans.type(function.module, node.annotation))
        for type_ in (function.result, *(type_ for _, type_ in function.parameters)):
            add(type_)
    return list(found.values())


def layouts(plans: Plans) -> list[Record]:
    """The layouts of constants, after those of records in them."""
    whole = [record for record in plans.records if record.name.endswith("Params")]
    fields = [one.type for record in whole for one in record.fields]
    parts = [one.element if isinstance(one, ListOf) else one for one in fields]
    return list(dict.fromkeys([*(one for one in parts if isinstance(one, Record)), *whole]))


def head(function: Function) -> str:
    """The head of a function; records and lists are passed by address."""
    parameters = ["dmlops_planning* planning"]
    for name, type_ in function.parameters:
        if type_ != PLANNING:
            space = " " if isinstance(type_, Scalar) else "* "
            const = "" if isinstance(type_, Scalar) else "const "
            parameters.append(f"{const}{c_type(type_)}{space}{c_name(name)}")
    if isinstance(function.result, Scalar):
        return f"DMLOPS_CALLED {c_type(function.result)} {_called(function)}({', '.join(parameters)})"
    parameters.append(f"{c_type(function.result)}* {_RESULT}")
    return f"DMLOPS_CALLED void {_called(function)}({', '.join(parameters)})"


def _called(function: Function) -> str:
    return f"dmlops_plan_{snake(function.name).removeprefix('plan_')}"


def definition(plans: Plans, function: Function) -> str:
    """A function in C, with its docstring as a comment."""
    return _Translation(plans, function).text()


class _Translation:
    """The translation of one function. Statements go to `lines`; `names` are the variables in scope."""

    def __init__(self, plans: Plans, function: Function) -> None:
        self.plans = plans
        self.function = function
        self.module: Module = function.module
        self.writes = writes(function)
        self.lines: list[str] = []
        self.names: dict[str, Value] = {}
        self._temporaries = 0
        self._next_name: str | None = None  # of the record or list that is built next

    def text(self) -> str:
        for name, type_ in self.function.parameters:
            self.names[name] = Value("planning" if type_ == PLANNING else c_name(name), type_)
        comment = ast.get_docstring(self.function.node)
        self.block(self.function.node.body)
        if not any("planning" in line for line in self.lines):
            self.lines.insert(0, "(void)planning;")
        inner = "\n".join(f"    {line}" for line in self.lines)
        about = ""
        if comment:
            text = " ".join(comment.split()).replace("*/", "* /")
            about = (
                f"/* {textwrap.fill(text, WIDTH - 3, subsequent_indent='   ', break_long_words=False)} */\n"
            )
        return f"{about}{head(self.function)} {{\n{inner}\n}}"

    # Statements.

    def block(self, body: Sequence[ast.stmt]) -> None:
        outer = dict(self.names)
        for node in body:
            self.statement(node)
        self.names = outer

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                self.assign(name, value, self.plans.type(self.module, annotation))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given = dict(self.function.parameters).get(name)
                if given is not None and not isinstance(given, Scalar):
                    raise self.module.refused(node, "assigning to a parameter that is no number")
                self.assign(name, value, self.type_of(name))
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for place, (target, value) in enumerate(zip(names, values, strict=True), 1):
                    if not isinstance(target, ast.Name) or target.id in _names(*values[place:]):
                        raise self.module.refused(node, "these targets")
                    self.assign(target.id, value, self.type_of(target.id))
            case ast.Assign(targets=[ast.Subscript(value=owner, slice=index)], value=value):
                entry = self.item(self.expr(owner), index)
                self.copy(entry.content, self.expr(value, entry.type))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                whole = ast.copy_location(ast.BinOp(target, op, value), node)
                self.assign(name, whole, self.type_of(name))
            case ast.Expr(value=ast.Constant(value=str())):
                pass  # a docstring
            case ast.Expr(value=ast.Call() as call):
                self.call_statement(call)
            case ast.If(test=test, body=then, orelse=otherwise):
                with self.braces(f"if ({self.expr(test).text})"):
                    self.block(then)
                if otherwise:
                    self.lines.pop()
                    with self.braces("} else"):
                        self.block(otherwise)
            case ast.While(test=test, body=inner, orelse=[]):
                with self.expression(test):
                    condition = self.expr(test).operand
                with self.braces(f"while (planning->reason == DMLOPS_REASON_NONE && {condition})"):
                    self.block(inner)
            case ast.For(target=target, iter=source, body=inner, orelse=[]):
                if _names(source) & {one.name for one in self.writes if node in one.loops}:
                    raise self.module.refused(source, "changing a list or a bound that is gone through")
                with self.loop(target, source):
                    self.block(inner)
            case ast.Return(value=None):
                self.lines.append("return;")
            case ast.Return(value=ast.expr() as value) if isinstance(self.function.result, Scalar):
                self.lines.append(f"return {self.expr(value, self.function.result).content};")
            case ast.Return(value=ast.expr() as value):
                self._next_name = _RESULT if isinstance(value, _MADE) else None
                found = self.expr(value, self.function.result)
                self._next_name = None
                self.copy(f"*{_RESULT}", found)
                self.lines.append("return;")
            case _:
                raise self.module.refused(node, f"a statement {type(node).__name__}")

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        """Puts the statements translated inside into a block."""
        outer, self.lines = self.lines, []
        yield
        inner, self.lines = self.lines, outer
        self.lines += [f"{head} {{", *(f"    {line}" for line in inner), "}"]

    @contextmanager
    def expression(self, node: ast.AST) -> Iterator[None]:
        """Translates an expression whose parts must not need statements before it."""
        before = len(self.lines)
        yield
        if len(self.lines) != before:
            raise self.module.refused(node, "this where C wants an expression")

    def type_of(self, name: str) -> Type | None:
        known = self.names.get(name)
        return known.type if known else None

    def assign(self, name: str, value: ast.expr, wanted: Type | None) -> None:
        """Assigns to a variable, which is declared if it is new. A record or a list is built in place."""
        known, variable = self.names.get(name), c_name(name)
        if known is not None:
            self.copy(known.content, self.expr(value, wanted))
            return
        self._next_name = variable if isinstance(value, _MADE) else None
        found = self.expr(value, wanted)
        self._next_name = None
        if found.is_scalar:
            if found.text != variable:
                self.lines.append(f"{_declared(found.type, variable)} = {found.text};")
            found = Value(variable, found.type)
        elif found.text != f"&{variable}":
            if self.is_fixed(name) and self.is_fixed(_owner(value)):
                self.lines.append(f"const {_declared(found.type, f'* {variable}')} = {found.text};")
                found = Value(variable, found.type)
            else:
                place = self.place(variable, found.type)
                self.copy(place.content, found)
                found = place
        self.names[name] = found

    def is_fixed(self, name: str | None) -> bool:
        """Whether a variable is always the same record or list, so that another may hold its address."""
        return name is not None and [one.kind for one in self.writes if one.name == name] in ([], ["new"])

    def new(self) -> str:
        if self._next_name is not None:
            name, self._next_name = self._next_name, None
            return name
        self._temporaries += 1
        return f"made_{self._temporaries}"

    # Loops.

    @contextmanager
    def loop(self, target: ast.expr, source: ast.expr) -> Iterator[None]:
        """Translates everything inside once per item of the iterable. C works out the end again for each."""
        outer = dict(self.names)
        number: ast.expr = ast.Name("_")
        lists: list[tuple[ast.expr, ast.expr]] = []  # each with the name of its items
        match source, target:
            case ast.Call(func=ast.Name(id="range"), args=[last]), _:
                number, begin, end = target, "0", self.expr(last).operand
            case ast.Call(func=ast.Name(id="range"), args=[first, last]), _:
                number, begin, end = target, self.expr(first).operand, self.expr(last).operand
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner]), ast.Tuple(elts=[number, item]):
                lists = [(item, inner)]
            case ast.Call(func=ast.Name(id="zip"), args=inners), ast.Tuple(elts=items):
                lists = list(zip(items, inners, strict=True))
            case _:
                lists = [(target, source)]
        counter = self.counter(number)
        spans = [(item, self.span(inner)) for item, inner in lists]
        for _, (begin, _, _) in spans:
            if begin != "0" and isinstance(source, ast.Call):
                raise self.module.refused(source, "a part that does not begin its list")
        if spans:
            begin, end, _ = spans[0][1]
        with self.braces(f"for (int64_t {counter} = {begin}; {counter} < {end}; ++{counter})"):
            for place, (item, (_, _, whole)) in enumerate(spans):
                self.bind(item, self.at(whole, counter, is_inside=place == 0))
            yield
        self.names = outer

    def counter(self, target: ast.expr) -> str:
        if not isinstance(target, ast.Name):
            raise self.module.refused(target, "this target")
        if target.id == "_":
            return self.new().replace("made", "each")
        name = c_name(target.id)
        self.names[target.id] = Value(name, INT)
        return name

    def span(self, source: ast.expr) -> tuple[str, str, Value]:
        """The first number, the end, and the list that is iterated over, of which it may be a slice."""
        match source:
            case ast.Subscript(value=owner, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                whole = self.list_of(owner)
                count = whole.member("count", INT).text
                begin = "0" if lower is None else f"dmlops_clip({self.expr(lower).text}, {count})"
                end = count if upper is None else f"dmlops_clip({self.expr(upper).text}, {count})"
            case _:
                whole = self.list_of(source)
                begin, end = "0", whole.member("count", INT).text
        return begin, end, whole

    def list_of(self, node: ast.expr) -> Value:
        value = self.expr(node)
        if not isinstance(value.type, ListOf):
            raise self.module.refused(node, "going through this")
        return value

    def bind(self, target: ast.expr, value: Value) -> None:
        """Names an item of the iterable."""
        if not isinstance(target, ast.Name):
            raise self.module.refused(target, "this target")
        name = c_name(target.id)
        pointer = "" if value.is_scalar else "*"
        line = f"const {c_type(value.type)}{pointer} {name} = {value.text};"
        self.lines.append(line.replace("const const", "const"))
        self.names[target.id] = Value(name, value.type)

    def at(self, whole: Value, index: str, is_inside: bool = False) -> Value:
        assert isinstance(whole.type, ListOf)
        count = whole.member("count", INT).text
        items = whole.member("items", INT).text
        text = f"{items}[{index}]" if is_inside else f"{items}[dmlops_item(planning, {index}, {count})]"
        element = whole.type.element
        return Value(text if isinstance(element, Scalar) else f"&{text}", element)

    def item(self, whole: Value, index: ast.expr) -> Value:
        if not isinstance(whole.type, ListOf):
            raise self.module.refused(index, "an index here")
        return self.at(whole, self.expr(index).text)

    # Calls.

    def call_statement(self, call: ast.Call) -> None:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=arguments):
                owner = self.names.get(name)
                if owner is not None and owner.type == PLANNING:
                    self.lines.append(f"{self.planned(method, arguments)};")
                    if method == "refuse":
                        self.lines += self.nothing()
                elif owner is not None and isinstance(owner.type, ListOf) and method in CHANGES:
                    (self.extend if method == "extend" else self.append)(owner, arguments[0])
                else:
                    raise self.module.refused(call, "this call")
            case ast.Call(func=ast.Name(id=name)) if name in self.module.functions:
                self.lines.append(f"{self.called(call, self.module.functions[name])};")
            case _:
                raise self.module.refused(call, "this call")

    def extend(self, owner: Value, source: ast.expr) -> None:
        """Appends the numbers of another list."""
        is_built = isinstance(source, ast.List | ast.ListComp | ast.Subscript)
        whole = self.expr(source, owner.type if is_built else None)
        for one in (owner, whole):
            if not (isinstance(one.type, ListOf) and one.type.element == INT):
                raise self.module.refused(source, "extending a list like this")
        self.lines.append(f"DMLOPS_EXTEND(planning, {owner.text}, {whole.text});")

    def append(self, owner: Value, item: ast.expr) -> None:
        """Adds an item to a list."""
        assert isinstance(owner.type, ListOf)
        value = self.expr(item, owner.type.element)
        self.lines.append(f"DMLOPS_APPEND(planning, {owner.text}, {value.content});")

    def planned(self, method: str, arguments: list[ast.expr]) -> str:
        """A call of a method of `Planning`."""
        if method == "dispatch":
            record = self.expr(arguments[0])
            assert isinstance(record.type, Record)
            self.lines.append(f"dmlops_put_{record.type.name}(planning, {record.text});")
            arguments = arguments[1:]
        texts: list[str] = []
        if method.startswith("define"):
            texts += self.macro(arguments[0])
            arguments = arguments[1:]
        texts += [self.expr(one).text for one in arguments]
        if method == "scratch" and len(texts) == 1:
            texts.append("0")
        return f"dmlops_out_{method}({', '.join(['planning', *texts])})"

    def nothing(self) -> list[str]:
        """Statements that return, with a dummy value if there must be one."""
        result = self.function.result
        if result == NOTHING:
            return ["return;"]
        if isinstance(result, Scalar):
            return ["return 0;"]
        return [f"memset({_RESULT}, 0, sizeof *{_RESULT});", "return;"]

    def macro(self, name: ast.expr) -> tuple[str, str]:
        """The two parts of a macro's name, the second of which is a literal."""
        match name:
            case ast.Constant(value=str(text)):
                return c_string(""), f"DMLOPS_TEXT({c_string(text)})"
            case ast.JoinedStr(values=[ast.FormattedValue(value=start), ast.Constant(value=str(text))]):
                return self.expr(start).text, f"DMLOPS_TEXT({c_string(text)})"
        return self.expr(name).text, f"DMLOPS_TEXT({c_string('')})"

    def called(self, call: ast.Call, function: Function) -> str:
        given = ["planning"]
        parameters = [one for one in function.parameters if one[1] != PLANNING]
        arguments = call.args[len(function.parameters) - len(parameters) :]
        if len(arguments) != len(parameters) or call.keywords:
            raise self.module.refused(call, "a call with other arguments")
        for node, (_, type_) in zip(arguments, parameters, strict=True):
            given.append(self.expr(node, type_).text)
        return f"{_called(function)}({', '.join(given)})"

    # Expressions.

    def expr(self, node: ast.expr, wanted: Type | None = None) -> Value:
        """An expression of the type that is wanted, if any; list displays need one."""
        found = self.untyped(node, wanted)
        if wanted is not None and not _fits(found.type, wanted):
            raise self.module.refused(node, "this, which is of another type,")
        return found

    def untyped(self, node: ast.expr, wanted: Type | None) -> Value:
        number = constant(self.module, node)
        if number is not None:
            return Value(_number(number), INT)
        match node:
            case ast.Constant(value=bool(value)):
                return Value(str(int(value)), BOOL)
            case ast.Constant(value=str(text)):
                return Value(c_string(text), TEXT)
            case ast.Name(id=name):
                found = self.names.get(name)
                if found is None:
                    raise self.module.refused(node, f"the name {name}")
                return found
            case ast.Attribute(value=ast.Name(id="Reason" | "Capability" as enum), attr=name):
                return Value(f"DMLOPS_{enum.upper()}_{name}", INT)
            case ast.Attribute(value=owner, attr=name):
                record = self.expr(owner)
                field = record.type.field(name) if isinstance(record.type, Record) else None
                if field is None:
                    raise self.module.refused(node, f"the field {name}")
                return record.member(c_name(name), field.type)
            case ast.Subscript(slice=ast.Slice()):
                return self.copied(node, wanted)
            case ast.Subscript(value=owner, slice=index):
                return self.item(self.expr(owner), index)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Value(f"dmlops_subtract(0, {self.expr(operand).text})", INT)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Value(f"!{self.expr(operand).operand}", BOOL)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(node, op, left, right)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self.compared(left, ops, others)
            case ast.BoolOp(op=bool_op, values=[first, *rest]):
                glue = " && " if isinstance(bool_op, ast.And) else " || "
                texts = [self.expr(first).operand]
                with self.expression(node):
                    texts += [self.expr(one).operand for one in rest]
                return Value(glue.join(texts), BOOL, True)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                condition = self.expr(test).operand
                with self.expression(node):
                    a = self.expr(then)
                    b = self.expr(otherwise, a.type)
                return Value(f"{condition} ? {a.operand} : {b.operand}", a.type, True)
            case ast.List(elts=items):
                whole = self.new_list(node, wanted)
                for one in items:
                    self.append(whole, one)
                return whole
            case ast.ListComp(elt=item, generators=[ast.comprehension(ifs=[] | [_]) as generator]):
                return self.collected(node, wanted, generator, item)
            case ast.Call():
                return self.call(node, wanted)
        raise self.module.refused(node, f"an expression {type(node).__name__}")

    def binary(self, node: ast.expr, op: ast.operator, left: ast.expr, right: ast.expr) -> Value:
        a, b = self.expr(left), self.expr(right)
        if type(op) in _ARITHMETIC:
            return Value(f"dmlops_{_ARITHMETIC[type(op)]}({a.text}, {b.text})", INT)
        if type(op) in _BITS:
            return Value(f"{a.operand} {_BITS[type(op)]} {b.operand}", INT, True)
        raise self.module.refused(node, "this operator")

    def compared(self, left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr]) -> Value:
        values = [self.expr(one) for one in (left, *others)]
        if not all(_fits(one.type, INT) or _fits(one.type, BOOL) for one in values):
            raise self.module.refused(left, "comparing what is not a number")
        pairs = zip(values, ops, values[1:], strict=False)
        texts = [f"{a.operand} {_COMPARISONS[type(op)]} {b.operand}" for a, op, b in pairs]
        return Value(" && ".join(texts), BOOL, True)

    def new_list(self, node: ast.expr, wanted: Type | None) -> Value:
        """A list without items."""
        if not isinstance(wanted, ListOf):
            raise self.module.refused(node, "a list without a stated type")
        whole = self.place(None, wanted)
        self.lines.append(f"{whole.member('count', INT).text} = 0;")
        return whole

    def collected(
        self, node: ast.expr, wanted: Type | None, generator: ast.comprehension, item: ast.expr
    ) -> Value:
        """The list of a comprehension."""
        whole = self.new_list(node, wanted)
        with self.loop(generator.target, generator.iter):
            if generator.ifs:
                with self.braces(f"if ({self.expr(generator.ifs[0]).text})"):
                    self.append(whole, item)
            else:
                self.append(whole, item)
        return whole

    def copied(self, source: ast.expr, wanted: Type | None) -> Value:
        """A new list with the items of another, or of a slice of it."""
        item = ast.copy_location(ast.Name("item"), source)
        return self.collected(source, wanted, ast.comprehension(item, source, [], 0), item)

    def call(self, node: ast.Call, wanted: Type | None) -> Value:
        match node:
            case ast.Call(func=ast.Name(id="list"), args=[source]):
                return self.copied(source, wanted)
            case ast.Call(func=ast.Name(id="len"), args=[whole]):
                return self.list_of(whole).member("count", INT)
            case ast.Call(func=ast.Name(id="int"), args=[truth]):
                return Value(f"(int64_t){self.expr(truth).operand}", INT)
            case ast.Call(func=ast.Name(id="abs"), args=[number]):
                return Value(f"dmlops_abs({self.expr(number).text})", INT)
            case ast.Call(func=ast.Name(id="min" | "max" | "gcd" as name), args=[first, *rest]) if rest:
                text = self.expr(first).text
                for other in rest:
                    text = f"dmlops_{name}({text}, {self.expr(other).text})"
                return Value(text, INT)
            case ast.Call(
                func=ast.Name(id="all" | "any" as name),
                args=[ast.GeneratorExp(elt=item, generators=[ast.comprehension(ifs=[]) as generator])],
            ):
                return self.quantified(name == "all", item, generator)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method), args=arguments) if (
                self.type_of(owner) == PLANNING
            ):
                text = self.planned(method, arguments)
                if method == "has":
                    return Value(text, BOOL)
                found = self.place(None, self.plans.record("Buffer"))
                self.lines.append(f"{found.content} = {text};")
                return found
            case ast.Call(func=ast.Name(id=name), args=arguments) if isinstance(
                self.module.types.get(name), Record
            ):
                record = self.module.types[name]
                assert isinstance(record, Record)
                return self.record(node, record, arguments)
            case ast.Call(func=ast.Attribute(value=owner, attr="_replace"), args=[], keywords=changes):
                return self.replaced(node, owner, changes)
            case ast.Call(func=ast.Name(id=name)) if name in self.module.functions:
                function = self.module.functions[name]
                own, self._next_name = self._next_name, None
                text = self.called(node, function)
                if isinstance(function.result, Scalar):
                    return Value(text, function.result)
                found = self.place(own, function.result)
                self.lines.append(f"{text[:-1]}, {found.text});")
                return found
        raise self.module.refused(node, "this call")

    def place(self, name: str | None, type_: Type) -> Value:
        """The destination of a new record or list: a variable of this name or a new one, or the result."""
        name = name or self.new()
        if name == _RESULT:
            return Value(_RESULT, type_)
        self.lines.append(f"{_declared(type_, name)};")
        return Value(f"&{name}", type_)

    def copy(self, target: str, value: Value) -> None:
        """Copies a value, unless it is there already; of a list, only the entries in use."""
        if target == value.content:
            return
        if isinstance(value.type, ListOf) and value.type.capacity is not None:
            target = target[1:] if target.startswith("*") else f"&{target}"
            self.lines.append(f"DMLOPS_COPY({target}, {value.text});")
        else:
            self.lines.append(f"{target} = {value.content};")

    def record(self, node: ast.Call, record: Record, arguments: list[ast.expr]) -> Value:
        named = [field.name for field in record.fields[len(arguments) :]]
        if [one.arg for one in node.keywords] != named or len(arguments) > len(record.fields):
            raise self.module.refused(node, f"{record.name} with other fields")
        arguments = [*arguments, *(one.value for one in node.keywords)]
        own, self._next_name = self._next_name, None
        fields = [
            (field, self.expr(node, field.type)) for field, node in zip(record.fields, arguments, strict=True)
        ]
        return self.filled(self.place(own, record), fields)

    def replaced(self, node: ast.Call, owner: ast.expr, changes: list[ast.keyword]) -> Value:
        """A copy of a record with other values in some fields."""
        own, self._next_name = self._next_name, None
        source = self.expr(owner)
        if not isinstance(source.type, Record):
            raise self.module.refused(node, "_replace() of this")
        fields: list[tuple[Field, Value]] = []
        for one in changes:
            field = source.type.field(one.arg or "")
            if field is None:
                raise self.module.refused(node, f"the field {one.arg}")
            fields.append((field, self.expr(one.value, field.type)))
        found = self.place(own, source.type)
        self.copy(found.content, source)
        return self.filled(found, fields)

    def filled(self, record: Value, fields: list[tuple[Field, Value]]) -> Value:
        """The record, after its fields have been given these values."""
        for field, value in fields:
            self.copy(record.member(c_name(field.name), field.type).content, value)
        return record

    def quantified(self, is_all: bool, item: ast.expr, generator: ast.comprehension) -> Value:
        name = self.new()
        self.lines.append(f"int {name} = {int(is_all)};")
        with self.loop(generator.target, generator.iter):
            text = self.expr(item).operand
            self.lines.append(f"{name} = {name} {'&&' if is_all else '||'} {text};")
        return Value(name, BOOL)


def _declared(type_: Type, name: str) -> str:
    return f"{c_type(type_)} {name}"


def _number(value: int) -> str:
    if abs(value) < 2**31:
        return str(value)
    return f"INT64_C({value})" if value > 0 else f"(-INT64_C({-value}))"


def _fits(given: Type, wanted: Type) -> bool:
    """Whether a value of one type can be used as another, apart from their `hlsl` names and words."""
    if isinstance(given, Scalar) and isinstance(wanted, Scalar):
        return given.name == wanted.name
    return given == wanted


def _names(*nodes: ast.AST) -> set[str]:
    """The variables in nodes."""
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _owner(source: ast.expr | None) -> str | None:
    """The variable that holds a record or list in some place; None for one that is built."""
    while isinstance(source, ast.Attribute) or (
        isinstance(source, ast.Subscript) and not isinstance(source.slice, ast.Slice)
    ):
        source = source.value
    return source.id if isinstance(source, ast.Name) else None
