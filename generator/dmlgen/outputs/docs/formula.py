"""Expressions on the site: as marked-up text of the spec language, and as formulas in MathML.

In marked-up text, a name defined on the same page links to its definition; formulas have no links, because
assistive technology treats a formula as one unit. A tensor argument of a `let` function is substituted in its
body; here it is shown as an argument again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from markupsafe import Markup, escape

from dmlgen.expr import ir
from dmlgen.expr.printer import ATOM, COMPARISON, PRODUCT, SOURCE, SUM, Printer, SpecPrinter, Spelling

_LINE = 60  # characters, as specs write an expression
_TOKEN = re.compile(r"([A-Za-z_]\w*)|(\d[\w.]*)")
_WORDS = frozenset(["if", "else", "for", "in", "and", "or", "not", "when", "range"])
_RELATIONS = {"==": "=", "!=": "≠", "<": "&lt;", "<=": "≤", ">": "&gt;", ">=": "≥"}
_OPERATIONS = {"*": "·", "-": "\N{MINUS SIGN}", "%": "mod", "&": "&amp;", "<<": "&lt;&lt;", ">>": "&gt;&gt;"}
_BIG = {"sum": "∑", "product": "∏", "min": "min", "max": "max", "argmax": "arg max", "argmin": "arg min"}
_BIG |= {"all": "\N{N-ARY LOGICAL AND}", "any": "\N{N-ARY LOGICAL OR}"}
_FENCES = {"abs": ("|", "|"), "floor": ("⌊", "⌋"), "ceil": ("⌈", "⌉")}


def names_in(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Those of the names that occur in a text of the spec language, in order."""
    found = (one[1] for one in _TOKEN.finditer(text) if text[one.start() - 1 : one.start()] != ".")
    return tuple(dict.fromkeys(name for name in found if name in known))


def code(text: str, links: Collection[str] = ()) -> Markup:
    """Text of the spec language with its words and numbers marked, and links to the names in `links`."""
    parts: list[Markup] = []
    end = 0
    for found in _TOKEN.finditer(text):
        parts.append(escape(text[end : found.start()]))
        end = found.end()
        name = found[1]
        if name is None:
            parts.append(Markup("<b class=n>{}</b>").format(found[0]))
        elif name in _WORDS:
            parts.append(Markup("<b class=k>{}</b>").format(name))
        elif name in links and text[found.start() - 1 : found.start()] != ".":
            parts.append(Markup('<a href="#let-{0}">{0}</a>').format(name))
        else:
            parts.append(escape(name))
    parts.append(escape(text[end:]))
    return Markup("").join(parts)


TensorArguments = Mapping[ir.Function, tuple[str, ...]]


class Source(SpecPrinter):
    """Prints expressions as specs write them."""

    def __init__(self, tensors: TensorArguments) -> None:
        self._tensors = tensors

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        if isinstance(node, ir.Apply) and node.function in self._tensors:
            listed = (*self._tensors[node.function], *map(self.print, node.arguments))
            return f"{node.function.name}({', '.join(listed)})", ATOM
        return super()._node(node)


class Formulas(Printer):
    """Prints expressions as MathML."""

    spelling = Spelling(
        logic={"and": "<mtext>&nbsp;and&nbsp;</mtext>", "or": "<mtext>&nbsp;or&nbsp;</mtext>"},
        negation=("<mtext>not&nbsp;</mtext>{}", COMPARISON),
    )

    def __init__(self, tensors: TensorArguments) -> None:
        self._tensors = tensors

    def equation(self, name: str, parameters: Iterable[str], value: ir.Expr) -> Markup:
        """`name(parameters) = value`, as a separate formula."""
        arguments = _separated([_identifier(one) for one in parameters])
        head = _identifier(name) + (_fenced("(", arguments, ")") if arguments else "")
        return self._math(head, value)

    def entry(self, tensor: str, value: ir.Expr) -> Markup:
        """`tensor[at] = value`, as a separate formula."""
        return self._math(_identifier(tensor) + _fenced("[", _identifier("at"), "]"), value)

    def value(self, value: ir.Expr) -> Markup:
        """An expression within a sentence."""
        return Markup(f"<math>{self.print(value)}</math>")

    def _math(self, head: str, value: ir.Expr) -> Markup:
        """An equation; each term of a long sum has its own line, since browsers do not break formulas."""
        first, *others = self._terms(value) if _is_long(value) else [self.print(value)]
        rows = [_row(f"{head}<mo>=</mo>", first), *(_row("", one) for one in others)]
        text = f'<mtable class="lines">{"".join(rows)}</mtable>' if others else f"{head}<mo>=</mo>{first}"
        return Markup(f'<math display="block">{text}</math>')

    def _terms(self, value: ir.Expr) -> list[str]:
        """The terms of a sum, each but the first with its sign."""
        if not (isinstance(value, ir.Binary) and value.op in ("+", "-")):
            return [self.print(value, SUM)]
        right = self.print(value.right, SUM + 1)
        return [*self._terms(value.left), f"<mo>{_OPERATIONS.get(value.op, value.op)}</mo>{right}"]

    def print(self, node: ir.Expr, outer: int = 0) -> str:
        text, precedence = self._node(node)
        return _fenced("(", text, ")") if precedence < outer else f"<mrow>{text}</mrow>"

    def _node(self, node: ir.Expr) -> tuple[str, int]:
        match node:
            case ir.Negate(operand=operand):
                return f"<mo>\N{MINUS SIGN}</mo>{self.print(operand, PRODUCT + 1)}", PRODUCT + 1
            case ir.Compare(op=op, left=left, right=right):
                sides = self.print(left, COMPARISON + 1), self.print(right, COMPARISON + 1)
                return f"<mo>{_RELATIONS[op]}</mo>".join(sides), COMPARISON
            case ir.Entry(tensor=tensor, coordinate=coordinate):
                return self._element(_identifier(tensor), coordinate), ATOM
            case ir.Apply(function=function, arguments=arguments):
                name = _identifier(function.name)
                given = [*map(_identifier, self._tensors.get(function, ())), *map(self.print, arguments)]
                return name + (_fenced("(", _separated(given), ")") if given else ""), ATOM
        return super()._node(node)

    def number(self, value: int | bool | float) -> str:
        if isinstance(value, bool):
            return _identifier(str(value))
        return f"<mn>{int(value) if value in (0, 1, 2) else value!r}</mn>"

    def enum_value(self, node: ir.EnumValue) -> str:
        return f"<mtext>{escape(node.name)}</mtext>"

    def constant(self, node: ir.Constant) -> str:
        return f"<mtext>{escape(node.name)}</mtext>"

    def name(self, node: ir.Local | ir.Definition | ir.Member | ir.Tensors) -> str:
        return _identifier(node.name)

    def tensor(self, node: ir.Tensor) -> str:
        name = _identifier(node.name)
        return name if node.index is None else f"<msub>{name}{self.print(node.index)}</msub>"

    def field(self, node: ir.Field) -> str:
        dot = '<mo lspace="0" rspace="0">.</mo>'
        return (self.tensor(node.tensor) + dot if node.tensor.name else "") + _identifier(node.name)

    def part(self, node: ir.Part) -> str:
        return f'{self.name(node.member)}<mo lspace="0" rspace="0">.</mo>{_identifier(node.name)}'

    def present(self, node: ir.Present) -> str:
        return f"{self.print(node.item)}<mtext>&nbsp;is given</mtext>"

    def index(self, node: ir.Index) -> str:
        return f"<msub>{self.print(node.sequence, ATOM)}{self.print(node.index)}</msub>"

    def slice(self, node: ir.Slice) -> str:
        lower = "" if node.lower is None else self.print(node.lower)
        upper = "" if node.upper is None else self.print(node.upper)
        return self.print(node.sequence, ATOM) + _fenced("[", f"{lower}<mo>:</mo>{upper}", "]")

    def list_of(self, items: tuple[ir.Expr, ...]) -> str:
        return _fenced("[", _separated([self.print(item) for item in items]), "]")

    def binary(self, node: ir.Binary) -> tuple[str, int]:
        if node.op in ("/", "//"):
            fraction = f"<mfrac>{self.print(node.left)}{self.print(node.right)}</mfrac>"
            return fraction if node.op == "/" else _fenced("⌊", fraction, "⌋"), ATOM
        _, precedence = super().binary(node)
        left, right = self.print(node.left, precedence), self.print(node.right, precedence + 1)
        return f"{left}<mo>{_OPERATIONS.get(node.op, node.op)}</mo>{right}", precedence

    def one_of(self, node: ir.OneOf, negated: bool) -> str:
        choices = _separated([self.print(choice) for choice in node.choices])
        sign = "∉" if negated else "∈"
        return f"{self.print(node.item, COMPARISON + 1)}<mo>{sign}</mo>{_fenced('{', choices, '}')}"

    def conditional(self, node: ir.Conditional) -> str:
        """Cases; if one is long, the condition of each is below its value."""
        cases: list[tuple[ir.Expr, str]] = []
        rest: ir.Expr = node
        is_long = False
        while isinstance(rest, ir.Conditional):
            is_long = is_long or _is_long(rest)
            cases.append((rest.then, f"<mtext>if&nbsp;</mtext>{self.print(rest.test)}"))
            rest = rest.otherwise
        cases.append((rest, "<mtext>otherwise</mtext>"))
        rows: list[str] = []
        for value, when in cases:
            if is_long:
                rows += [
                    _row(term) for term in (self._terms(value) if _is_long(value) else [self.print(value)])
                ]
                rows.append(_row(f'<mspace width="2em"/>{when}'))
            else:
                rows.append(_row(self.print(value), when))
        return f'<mo>{{</mo><mtable class="cases">{"".join(rows)}</mtable>'

    def reduce(self, node: ir.Reduce) -> str:
        loops = [self._range(node.loop.variable, node.loop.lower, node.loop.upper)]
        if node.loop.condition is not None:
            loops.append(self.print(node.loop.condition))
        if node.kind == "list":
            return f"<msub>{_fenced('[', self.print(node.body), ']')}<mrow>{_separated(loops)}</mrow></msub>"
        return self._big(node.kind, loops, node.body)

    def fold(self, node: ir.Fold) -> str:
        loops = [self._each(each) for each in node.loops]
        if node.condition is not None:
            loops.append(self.print(node.condition))
        return self._big(node.kind, loops, node.body)

    def call(self, node: ir.Call) -> str:
        arguments = node.arguments
        match node.function, arguments:
            case "element", (argument,):  # inserted where the language converts implicitly
                return self.print(argument)
            case "sqrt", (argument,):
                return f"<msqrt>{self.print(argument)}</msqrt>"
            case "exp", (argument,):
                return f"<msup><mi>e</mi>{self.print(argument)}</msup>"
            case "pow", (base, exponent):
                return f"<msup>{self.print(base, ATOM)}{self.print(exponent)}</msup>"
            case "divide_exactly", (left, right):
                return f"<mfrac>{self.print(left)}{self.print(right)}</mfrac>"
            case ("abs" | "floor" | "ceil") as function, (argument,):
                opening, closing = _FENCES[function]
                return _fenced(opening, self.print(argument), closing)
        return _identifier(node.function) + self._arguments(arguments)

    def load(self, node: ir.Load) -> str:
        return self._element(self.tensor(node.tensor), node.coordinate)

    def _element(self, tensor: str, coordinate: ir.Expr) -> str:
        if isinstance(coordinate, ir.ListOf):
            return tensor + self.list_of(coordinate.items)
        return tensor + _fenced("[", self.print(coordinate), "]")

    def _arguments(self, arguments: tuple[ir.Expr, ...]) -> str:
        return _fenced("(", _separated([self.print(argument) for argument in arguments]), ")")

    def _big(self, kind: str, loops: list[str], body: ir.Expr) -> str:
        rows = "".join(f"<mtr><mtd>{loop}</mtd></mtr>" for loop in loops)
        sign = f'<mo movablelimits="false">{_BIG[kind]}</mo>'
        return f'<munder>{sign}<mtable class="limits">{rows}</mtable></munder>{self.print(body, PRODUCT)}'

    def _each(self, each: ir.Each) -> str:
        if each.variable.type != ir.INTS:
            return self._range(each.variable, each.first or ir.Number(0, ir.INT), each.last)
        bounds = [self.print(bound) for bound in (each.first, each.last) if bound is not None]
        box = _identifier("ndindex") + _fenced("(", _separated(bounds), ")")
        return f"{_identifier(each.variable.name)}<mo>∈</mo>{box}"

    def _range(self, variable: ir.Local, lower: ir.Expr, upper: ir.Expr) -> str:
        name = _identifier(variable.name)
        return f"{self.print(lower)}<mo>≤</mo>{name}<mo>&lt;</mo>{self.print(upper)}"


def _identifier(name: str) -> str:
    return f"<mi>{escape(name)}</mi>"


def _separated(items: list[str]) -> str:
    return "<mo>,</mo>".join(items)


def _fenced(opening: str, inner: str, closing: str) -> str:
    """The inner part in fences, which only stretch around tall content, because fonts stretch coarsely."""
    tall = "<mfrac" in inner or "<mtable" in inner
    fence = f'<mo fence="true" stretchy="{str(tall).lower()}">'
    return f"<mrow>{fence}{opening}</mo>{inner}{fence}{closing}</mo></mrow>"


def _is_long(value: ir.Expr) -> bool:
    """Whether an expression is too long for a line; of a conditional, its first case."""
    shown = (value.then, value.test) if isinstance(value, ir.Conditional) else (value,)
    return sum(len(SOURCE.print(one)) for one in shown) > _LINE


def _row(*cells: str) -> str:
    return f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in cells)}</mtr>"
