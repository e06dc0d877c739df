"""Reads of tensors in shaders of definitions, and what depends on the data types of tensors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dmlgen.analysis.definition_bounds import Valid
from dmlgen.expr import ir
from dmlgen.expr.definition_queries import local_names
from dmlgen.expr.printer import ATOM
from dmlgen.expr.widths import COUNT, Widths
from dmlgen.outputs.hlsl_constants import Constants
from dmlgen.outputs.hlsl_definition.constants import is_constant
from dmlgen.outputs.hlsl_definition.functions import VECTOR, FunctionPrinter
from dmlgen.outputs.hlsl_names import HELPERS, WORDS, local, macro
from dmlgen.outputs.hlsl_tensors import tensor_of, with_shared_types
from dmlgen.registry import EnumEntry, Intermediate, Operator, OutputDefinitions, Registry, Stage


@dataclass(frozen=True)
class Kept:
    """An intermediate tensor: its name as a variable, the type of its entries, and the kind of these, after
    which functions that load and store them are named: Real, Long, Bool or Int."""

    member: str
    name: str
    function: str
    type: str
    kind: str

    @property
    def macro(self) -> str:
        return macro(self.name)


class TensorPrinter(FunctionPrinter):
    """Prints what reads tensors or depends on their types.

    `quantized` are the tensors to whose type numbers are quantized, `held` those whose old contents are read.
    Shaders number `inputs`, then `outputs`.
    """

    def __init__(
        self,
        registry: Registry,
        operator: Operator,
        moves: tuple[str, ...],
        in_runs: bool,
        taken: frozenset[str],
    ) -> None:
        """`moves` are the tensors that are treated as raw bits, perhaps of runs of elements; functions must
        not have the names `taken`."""
        defines = operator.defines
        assert defines is not None
        self.moves = moves
        own = {one: tensor_of(registry, operator, one, moves, in_runs) for one in _buffers(operator, defines)}
        fuses = any(one.type == "OPERATOR_DESC" and one.count is None for one in operator.members)
        classes = dict(defines.classes)
        if fuses or operator.fusible_into:  # an activation that runs apart is given single precision
            classes.update((output, output) for output in defines.outputs)
        self.tensors = with_shared_types(own, classes)
        inputs = {member.name for member in operator.inputs}
        self.inputs = tuple(one for one in self.tensors.values() if one.node.name in inputs)
        self.outputs = tuple(self.tensors[name] for name in defines.outputs)
        self.reals = {"float"}.union(*({"double"} & one.values for one in self.outputs))
        """The types that floats may be computed in."""
        self.names_real = False
        self.bounds = Valid(registry, operator, Stage.VALUES)
        self.held: dict[str, None] = {}
        self.quantized: set[str] = set()
        widths = self._widths(registry, defines)
        self.kept = {tensor.name: self._kept(tensor, widths) for tensor in defines.tensors}
        names = {*WORDS, *(local(name) for name in local_names(defines.whole))}
        names |= {kept.name + what for kept in self.kept.values() for what in ("Sizes", "First")}
        self.constants = Constants(self.tensors.values(), names)
        functions = [tensor.function for tensor in self.tensors.values()]
        functions += [kept.function for kept in self.kept.values()]
        of_tensors = {
            prefix + name for name in functions for prefix in ("Load", "Store", "Read", "Write", "Quantize")
        }
        super().__init__(widths, taken | HELPERS | of_tensors)

    def _widths(self, registry: Registry, defines: OutputDefinitions) -> Widths:
        bits = {
            name: max((_bits(registry.data_type[one]) for one in tensor.types), default=COUNT)
            for name, tensor in self.tensors.items()
        }
        bits |= {tensor.name: COUNT for tensor in defines.tensors}
        before: dict[str, int] = {}
        while bits != before:  # recurrences read later tensors; ends: widths only grow, to at most 64
            before = dict(bits)
            for tensor in defines.tensors:
                bits[tensor.name] = max(bits[tensor.name], Widths(before).bits(tensor.value, {}))
        return Widths(bits)

    def _kept(self, tensor: Intermediate, widths: Widths) -> Kept:
        entry = ir.Entry(tensor.name, ir.ListOf(()), tensor.type)
        type_ = self.type_name(tensor.type, widths.is_wide(entry, {}))
        kind = "Real" if tensor.type == ir.FLOAT else {"int64_t": "Long"}.get(type_, type_.capitalize())
        return Kept(tensor.name, f"kept{tensor.name}", f"Kept{tensor.name}", type_, kind)

    def field(self, node: ir.Field) -> str:
        assert node.name == "DimensionCount", "other fields are constants"
        return f"{self.tensors[node.tensor.name].macro}_RANK"

    def present(self, node: ir.Present) -> str:
        match node.item:
            case ir.Tensor(name=name):
                return f"{self.tensors[name].macro}_RANK"  # 0 if it is absent
        raise TypeError(f"present({node.item.name}) is passed to no shader")

    def load(self, node: ir.Load) -> str:
        text = self._element(node)
        if node.type.kind == "element":
            return text
        if node.type == ir.INT and "UINT64" in self.tensors[node.tensor.entry].types:
            values = self.tensors[node.tensor.entry].values
            return self.call_of("Integer", values, text)
        type_ = self.type_of(node)
        return text if self.tensors[node.tensor.entry].values == {type_} else f"({type_}){text}"

    @property
    def real(self) -> str:
        """The type that floats are computed in, by a macro if the text has to name one."""
        if len(self.reals) == 1:
            return "float"
        self.names_real = True
        return "REAL_VALUE"

    def type_name(self, type_: ir.Type, wide: bool = False) -> str:
        if type_ == ir.FLOAT:
            return self.real
        if type_.kind == "element":
            assert type_.name is not None
            return self.tensors[type_.name].value
        return super().type_name(type_, wide)

    def _of_float(self, text: str) -> str:
        """A float in the type that floats are computed in."""
        return text if len(self.reals) == 1 else f"({self.real}){text}"

    def _element(self, node: ir.Load) -> str:
        """An element in the type in which its tensor's elements are computed."""
        how = VECTOR if node.tensor.name == self.vectorized else ""
        return f"Read{how}{self.tensors[node.tensor.entry].function}({self.deciding(node.coordinate)})"

    def _entry(self, node: ir.Entry) -> str:
        return f"Read{self.kept[node.tensor].function}({self.deciding(node.coordinate)})"

    def _converted(self, node: ir.Call, value: ir.Expr, target: ir.Expr) -> str:
        assert isinstance(target, ir.Tensor)
        tensor = self.tensors[target.entry]
        if node.function == "quantize" and node.type == ir.FLOAT:
            return self.print(value, ATOM)
        if node.function == "quantize":
            self.quantized.add(target.entry)
            self.use("Quantize", {"float"})
            self.use("RoundEven", self.reals)
            self.use("Convert", self.reals)
            return f"({self.type_of(node)})Quantize{tensor.function}({self.deciding(value)})"
        if node.type == ir.FLOAT:  # rounded as the element of the tensor that it becomes
            return f"({self.real})({tensor.stored}){self._rounded_once(value, target.entry)}"
        number = self._in_value_type(value, target.entry)
        text = self.call_of("LowBits", tensor.values, number, tensor.fact("bits"))
        return text if node.type.kind == "element" else f"({self.type_of(node)}){text}"

    def _rounded_once(self, node: ir.Expr, name: str) -> str:
        """A float that becomes an element of a tensor: two casts would round a double twice."""
        if "double" not in self.reals:
            return self.print(node, ATOM)
        significand = self.tensors[name].fact("significand")
        return self.call_of("RoundingOnce", self.values(node), self.print(node), significand)

    def _in_value_type(self, node: ir.Expr, name: str) -> str:
        """A number in the type in which a tensor's elements are computed; it may have bits that those
        lack."""
        tensor = self.tensors[name]
        if node.type == ir.INT and not {"float", "double"} & tensor.values:
            return f"({tensor.value}){self.deciding(node, ATOM)}"
        text = self._whole(node)
        if node.type.kind == "element" and "double" in self.values(node):  # which may be stored as float16
            text = self.call_of("RoundingOnce", self.values(node), text, tensor.fact("significand"))
        return self.call_of("Convert", self.values(node), text, f"({tensor.value})0")

    def _whole(self, node: ir.Expr) -> str:
        """An integer as an argument of a function with overloads for other types."""
        if node.type == ir.INT and not self._is_typed(node):
            return f"({self.type_of(node)}){self.deciding(node, ATOM)}"
        return self.deciding(node)

    def _is_typed(self, node: ir.Expr) -> bool:
        """Whether the text of an integer has a type: HLSL literals, and thus expressions of literals and
        macros, have none."""
        if is_constant(node):
            return self.constants.of(node).kind != "bound"
        match node:
            case ir.Number() | ir.Field():
                return False
            case ir.Definition(value=value) | ir.Negate(operand=value):
                return self._is_typed(value)
            case ir.Conditional(then=left, otherwise=right) | ir.Binary(left=left, right=right):
                return self._is_typed(left) or self._is_typed(right)
        return True

    def _limit(self, end: str, node: ir.Expr, target: ir.Expr) -> str:
        """The least or the greatest value of a tensor's data type, in the type of `node`."""
        assert isinstance(target, ir.Tensor)
        if node.type == ir.FLOAT:
            return self._infinity(end)
        tensor = self.tensors[target.entry]
        text = tensor.fact("lowest" if end == "min_value" else "highest")
        if node.type == ir.INT and "UINT64" in tensor.types:
            return self.call_of("Integer", tensor.values, f"({tensor.value}){text}")
        return f"({self.type_of(node)}){text}"

    def values(self, node: ir.Expr) -> Collection[str]:
        if node.type.kind == "element":
            assert node.type.name is not None
            return self.tensors[node.type.name].values
        return self.reals if node.type == ir.FLOAT else {self.type_name(node.type, self._is_wide(node))}

    def _infinity(self, end: str) -> str:
        bits = "0x7f800000u" if end == "max_value" else "0xff800000u"
        return self._of_float(f"asfloat({bits})")


def _buffers(operator: Operator, defines: OutputDefinitions) -> Iterator[str]:
    """The tensors that shaders name; for an array, those that are read by number, or the current one."""
    nodes = [node for whole in defines.whole for node in ir.walk(whole)]
    read = {node.tensor.entry for node in nodes if isinstance(node, ir.Load)}
    calls = [node for node in nodes if isinstance(node, ir.Call)]  # whose types may matter
    read |= {item.entry for call in calls for item in call.arguments if isinstance(item, ir.Tensor)}
    whole = {node.name for node in nodes if isinstance(node, ir.Tensors)} | defines.outputs.keys()
    for member in operator.tensors:
        if member.count is None or member.name in whole:
            yield member.name
        yield from sorted(name for name in read if name.startswith(f"{member.name}["))


def _bits(type_: EnumEntry) -> int:
    """The bits of a data type's integers, including a sign."""
    return type_.bits + (type_.kind == "unsigned")
