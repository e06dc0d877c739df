"""Random expressions of the rule language, from the parser's tables, so new functions are included."""

from __future__ import annotations

from random import Random

from dmlgen.expr import ir
from dmlgen.expr.functions import FUNCTIONS
from dmlgen.expr.parse import _REDUCTIONS, COMPARE, Scope

_NUMBERS = (0, 1, 2, 3, 4, 7, 8, 64, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1)


class Expressions:
    """Makes texts of expressions of a type, over the names of a scope."""

    def __init__(self, scope: Scope, choice: Random) -> None:
        self.scope, self.choice = scope, choice
        self.leaves: dict[ir.Type, list[str]] = {}
        self.tensors: list[str] = []
        for name, node in scope.names.items():
            match node:
                case ir.Tensor():
                    self.tensors.append(name)
                case ir.Tensors():
                    self.leaves.setdefault(ir.INT, []).append(f"len({name})")
                    self.tensors.append(f"{name}[0]")
                case ir.Member(type=ir.Type(kind="struct", name=struct)):
                    for part, type_ in scope.structs.get(struct or "", {}).items():
                        self.leaves.setdefault(type_, []).append(f"{name}.{part}")
                case ir.Member():
                    self.leaves.setdefault(node.type, []).append(name)
        for tensor in self.tensors:
            for field, type_ in scope.fields.items():
                self.leaves.setdefault(type_, []).append(f"{tensor}.{field}")
            self.leaves.setdefault(ir.BOOL, []).append(f"present({tensor})")
        self._loops = 0

    def text(self, type_: ir.Type, depth: int = 4, variables: tuple[str, ...] = ()) -> str:
        """An expression of this type; `variables` are those of the loops around it."""
        makers = {ir.INT: self._integer, ir.BOOL: self._truth, ir.INTS: self._array}
        if depth > 0 and type_ in makers and self.choice.random() < 0.85:
            return makers[type_](depth - 1, variables)
        if type_ == ir.INT and self.choice.random() < 0.4:
            return str(self.choice.choice(_NUMBERS))
        if type_ == ir.INT and variables and self.choice.random() < 0.5:
            return self.choice.choice(variables)
        return self.choice.choice(self.leaves[type_])

    def _called(self, type_: ir.Type, depth: int, variables: tuple[str, ...]) -> str:
        names = sorted(name for name, function in FUNCTIONS.items() if function.result == type_)
        name = self.choice.choice(names)
        kinds = (ir.INT, ir.BOOL, ir.INTS, *self.leaves)
        types = [
            self.choice.choice([one for one in types if one in kinds]) for types in FUNCTIONS[name].arguments
        ]
        given = [self.text(one, depth, variables) for one in types]
        if name == "align":
            given[1] = f"min({given[1]}, 8)"
        return f"{name}({', '.join(given)})"

    def _loop(self, body: ir.Type, depth: int, variables: tuple[str, ...]) -> str:
        self._loops += 1
        variable = f"v{self._loops}"
        over = self.choice.choice(
            [
                f"axes({self.choice.choice(self.tensors)})",
                f"range({self.choice.randrange(5)})",
                f"range(len({self.text(ir.INTS, 0, variables)}))",
                f"range(max({self.text(ir.INT, 1, variables)}, 0), 6)",
                f"range(min({self.text(ir.INT, 1, variables)}, 6))",
            ]
        )
        inner = (*variables, variable)
        condition = f" if {self.text(ir.BOOL, 1, inner)}" if self.choice.random() < 0.3 else ""
        return f"{self.text(body, depth, inner)} for {variable} in {over}{condition}"

    def _integer(self, depth: int, variables: tuple[str, ...]) -> str:
        def one() -> str:
            return self.text(ir.INT, depth, variables)

        match self.choice.randrange(8):
            case 0 | 1:
                return f"({one()} {self.choice.choice(('+', '-', '*', '//', '%'))} {one()})"
            case 2:
                return f"(-{one()})"
            case 3:
                return f"({one()} if {self.text(ir.BOOL, depth, variables)} else {one()})"
            case 4 | 5:
                return self._called(ir.INT, depth, variables)
            case 6:
                kind = self.choice.choice(
                    [name for name in sorted(_REDUCTIONS) if name not in ("all", "any")]
                )
                return f"{kind}({self._loop(ir.INT, depth, variables)})"
        return f"{self.text(ir.INTS, depth, variables)}[{one()}]"

    def _truth(self, depth: int, variables: tuple[str, ...]) -> str:
        def one(type_: ir.Type = ir.BOOL) -> str:
            return self.text(type_, depth, variables)

        match self.choice.randrange(8):
            case 0 | 1:
                type_ = self.choice.choice([ir.INT, ir.INT, ir.FLOAT])
                return f"({one(type_)} {self.choice.choice(list(COMPARE.values()))} {one(type_)})"
            case 2:
                return f"({one(ir.INTS)} {self.choice.choice(['==', '!='])} {one(ir.INTS)})"
            case 3:
                return f"({one()} {self.choice.choice(['and', 'or'])} {one()})"
            case 4:
                return f"(not {one()})"
            case 5:
                return self._called(ir.BOOL, depth, variables)
            case 6:
                return f"{self.choice.choice(['all', 'any'])}({self._loop(ir.BOOL, depth, variables)})"
        types = ", ".join(self.choice.sample(sorted(self.scope.enums["TENSOR_DATA_TYPE"]), 3))
        negation = self.choice.choice(["", "not "])
        return f"({self.choice.choice(self.tensors)}.DataType {negation}in ({types}))"

    def _array(self, depth: int, variables: tuple[str, ...]) -> str:
        def one(type_: ir.Type) -> str:
            return self.text(type_, depth, variables)

        match self.choice.randrange(6):
            case 0:
                return f"[{', '.join(one(ir.INT) for _ in range(self.choice.randrange(1, 4)))}]"
            case 1:
                return f"({self.text(ir.INTS, 0, variables)} + {self.text(ir.INTS, 1, variables)})"
            case 2:
                ends = [one(ir.INT) if self.choice.random() < 0.6 else "" for _ in range(2)]
                return f"{one(ir.INTS)}[{':'.join(ends)}]"
            case 3:
                return self._called(ir.INTS, depth, variables)
            case 4:
                return f"[{self._loop(ir.INT, depth, variables)}]"
        return f"({one(ir.INTS)} if {one(ir.BOOL)} else {one(ir.INTS)})"
