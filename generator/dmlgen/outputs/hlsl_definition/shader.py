"""The parts of a definition's shader."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dmlgen.analysis.keyed import Keyed, keyed
from dmlgen.expr import ir
from dmlgen.expr.printer import ATOM
from dmlgen.outputs.hlsl_activation import ActivationText, activations_of
from dmlgen.outputs.hlsl_definition.attention import attention_pass, lowered
from dmlgen.outputs.hlsl_definition.contraction import contraction_passes
from dmlgen.outputs.hlsl_definition.form import FormPass, lists_of
from dmlgen.outputs.hlsl_definition.map import map_pass
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.rows import rows_pass
from dmlgen.outputs.hlsl_definition.separable import separable_pass
from dmlgen.outputs.hlsl_definition.sliding import sliding_pass
from dmlgen.outputs.hlsl_definition.sparse_sum import sparse_sum_passes
from dmlgen.outputs.hlsl_definition.sums import sums_passes
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_functions import Functions, FunctionTexts, merged_calls
from dmlgen.outputs.hlsl_names import local
from dmlgen.outputs.hlsl_tensors import ShaderTensor, WithTensors, in_double
from dmlgen.outputs.hlsl_types import HlslType, hlsl_types
from dmlgen.outputs.render import Templates
from dmlgen.plans.model import Plans, package_plans
from dmlgen.plans.params import Declaration, Params, params_of
from dmlgen.registry import Intermediate, Operator, OutputDefinitions, Registry
from dmlgen.resolve.definition import entries_read
from dmlgen.schedules import form_of, forms_of
from dmlgen.schedules.attention import Attention
from dmlgen.schedules.contraction import Contraction
from dmlgen.schedules.elementwise import Elementwise
from dmlgen.schedules.rows import Rows
from dmlgen.schedules.schedule import FastForm
from dmlgen.schedules.separable import Separable
from dmlgen.schedules.sliding import Sliding
from dmlgen.schedules.sparse_sum import SparseSum
from dmlgen.schedules.steps import in_step
from dmlgen.schedules.sums import Sums
from dmlgen.schedules.vector_axis import VectorAxis
from dmlgen.text import Text

PASSES: Mapping[type[FastForm], Callable[[ShaderPrinter, Any, int], FormPass]] = {
    Sliding: sliding_pass,
    Rows: rows_pass,
    Elementwise: map_pass,
    Separable: separable_pass,
    SparseSum: sparse_sum_passes,
}
"""The passes of faster forms after those of the definition, made from the form and their first number. The
first form that an operator has is taken."""


@dataclass(frozen=True)
class KeyedPass:
    """The coordinate's name, the tensor with the sizes of its box, and the index of the entry."""

    variable: str
    box: str
    key: str


@dataclass(frozen=True)
class Pass:
    """A pass: the tensors that it writes, each with its value, and the intermediate tensors that it reads.

    `along`: it is part of a recurrence, and one dispatch writes one step. `keyed`: it writes maxima, and
    visits the coordinates of another box, each of which names the entry it counts for. `each`: the array of
    tensors each of which takes a dispatch. `where`: the coordinates that are written; all if empty. `form`:
    it is computed in a faster way, not from the text of a value. `vector`: each thread computes several
    elements.
    """

    values: Mapping[str, str]
    reads: tuple[str, ...]
    along: bool = False
    keyed: KeyedPass | None = None
    each: str = ""
    where: str = ""
    form: FormPass | None = None
    vector: VectorAxis | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.values)


@dataclass(frozen=True)
class HlslDefinition(WithTensors):
    """A definition as HLSL: what its shader prints, and what planners have of it.

    `printer` has printed all values, and has what they need. `form`: a faster way to compute an intermediate
    tensor, as one of the passes, or after them outputs. `epilogue`: how many of the printer's
    functions, from the first, the passes of that form may call; None if they may call any. `precise_kinds`:
    bit mask of the activations that must be computed with `precise`.
    """

    operator: str
    summary: Text
    moves: tuple[str, ...]  # tensors whose elements are treated as raw bits
    known: Mapping[str, HlslType]
    printer: ShaderPrinter
    passes: tuple[Pass, ...]
    form: FormPass | None
    epilogue: int | None
    activations: tuple[ActivationText, ...]
    precise_kinds: int
    functions: FunctionTexts  # of the library

    @property
    def tensors(self) -> tuple[ShaderTensor, ...]:
        return (*self.printer.inputs, *self.printer.outputs)

    @property
    def kept(self) -> tuple[Kept, ...]:
        """The intermediate tensors; rows need none."""
        return tuple(self.printer.kept.values()) if self.passes else ()

    def scattering(self, kept: Kept) -> Pass | None:
        """The pass that scatters to an intermediate tensor, if one does."""
        return next((one for one in self.passes if one.keyed and kept.member in one.values), None)

    @property
    def vector(self) -> VectorAxis | None:
        """Where threads compute several elements, if they do."""
        return next((one.vector for one in self.passes if one.vector is not None), None)

    @property
    def is_precise(self) -> bool:
        """Whether anything that it computes is `precise`."""
        return self.functions.is_precise or any("precise " in text for text in self.printer.texts)

    @property
    def in_double(self) -> str:
        """The condition under which floats are computed in double precision, "" if they never are."""
        return in_double(self.printer.outputs)

    @property
    def writes_vectors(self) -> bool:
        """Whether a thread may write several elements: where all passes follow the definition."""
        is_whole = not self.printer.held and not any(one.where for one in self.passes)
        return self.form is None and self.vector is None and is_whole and len(self.printer.outputs) == 1

    @property
    def forms(self) -> tuple[FormPass, ...]:
        """The passes of the faster way, including those that only some descriptions take."""
        return () if self.form is None else self.form.whole

    @property
    def sections(self) -> tuple[str, ...]:
        """Those of docs/MACROS.md that describe its macros."""
        return ("definition", *(one.template for one in self.forms))

    @property
    def scratch(self) -> str:
        """The type of the entries of the scratch buffer, "" if there is none."""
        own = "" if self.form is None else self.form.scratch
        return own or ("uint" if self.kept else "")

    @property
    def operands(self) -> Mapping[str, ir.Expr]:
        """The operands of faster forms' planners, by the path below `Definition`."""
        return {name: node for one in self.forms for name, node in one.given.items()}

    @property
    def sized(self) -> tuple[ShaderTensor, ...]:
        """The tensors whose sizes are constants: those that are read, to which coordinates are clamped, and
        those whose sizes a value needs."""
        vectors = "" if self.vector is None else self.vector.output
        read = {one.member for one in self.printer.inputs} | {*self.printer.held, vectors}
        used = self.printer.constants.used
        return tuple(
            one for one in self.tensors if (self.passes and one.member in read) or f"{one.local}Sizes" in used
        )

    @property
    def sizes_and_strides(self) -> tuple[str, ...]:
        """The lists that belong to tensors, which precede other lists among the constants. Where there are no
        passes but rows, nothing is accessed by coordinate."""
        lists = (("Sizes", self.sized), ("Strides", self.tensors if self.passes else ()))
        return tuple(f"{one.local}{what}" for one in self.tensors for what, has in lists if one in has)


def text(shader: HlslDefinition, templates: Templates) -> bytes:
    """The file of a shader."""
    plans = package_plans()
    return templates.render(
        "hlsl/definition.hlsl.j2",
        shader=shader,
        params=definition_params(plans, shader),
        params_of={one.field: definition_params(plans, shader, one) for one in shader.forms},
    )


def definition_params(plans: Plans, shader: HlslDefinition, form: FormPass | None = None) -> Params:
    """The constants of the shader's passes, or those of a fast form, which has none for intermediate tensors;
    lists fill two vectors each."""
    kept, constants = shader.kept if form is None else (), shader.printer.constants
    firsts = [Declaration("int", f"{one.name}First") for one in kept]
    own_lists, own_scalars = ((), ()) if shader.form is None else (shader.form.lists, shader.form.scalars)
    divisors = [one.name for one in constants.divisors.values()]
    activations = [Declaration("int4", "activations", "ACTIVATION_COUNT")] if shader.activations else []
    own = {
        "lists": [
            *lists_of(*shader.sizes_and_strides, *(one.name for one in constants.known("ints", "floats"))),
            *lists_of(*divisors, *(f"{one.name}Sizes" for one in kept), *own_lists),
        ],
        "activations": activations,
        "strides": [],
        "elements": [Declaration("uint2", one.name) for one in constants.known("element")],
        "scalars": [
            *firsts,
            *(Declaration("int", name) for name in own_scalars),
            *(Declaration(one.kind, one.name) for one in constants.known("int", "float")),
        ],
    }
    if form is None:
        return params_of(plans, FormPass.params, own)
    return params_of(plans, form.params, own | dict(form.declared or {}))


def shader_of(registry: Registry, operator: Operator, functions: Functions | None = None) -> HlslDefinition:
    """The shader of an operator's definition; without `functions`, only to determine its constants."""
    forms = forms_of(registry, operator)
    attention = form_of(registry, operator, Attention)
    if attention is not None:
        operator = lowered(operator, attention)
    defines = operator.defines
    assert defines is not None
    taken = frozenset() if functions is None else functions.names
    printer = ShaderPrinter(registry, operator, forms, taken)
    contraction = printer.form(Contraction)
    ways: list[FormPass] = []
    if contraction is not None:  # its epilogue is printed first
        count = len(in_step(defines.tensors, ())) + len(_together(operator))
        ways.append(contraction_passes(printer, contraction, count))
    epilogue = len(printer.texts) if ways else None
    is_alone = printer.form(Rows) is not None or printer.form(Elementwise) is not None
    passes = [] if is_alone else _own_passes(printer, operator, defines)
    ways += (one.form for one in passes if one.form is not None)
    ways += (PASSES[type(form)](printer, form, len(passes)) for form in forms if type(form) in PASSES)
    form = next(iter(ways), None)
    reals = printer.reals
    activations = activations_of(registry, operator, reals) if printer.fused else ()
    calls = merged_calls(printer.called, *(one.called for one in activations))
    types = {"float", "int", "int64_t"}.union(*(one.values for one in printer.tensors.values()))
    halves = () if form is None else form.halves
    of_short = types if printer.form(Elementwise) is None else {"float"}
    return HlslDefinition(
        operator=operator.name,
        summary=operator.summary,
        moves=printer.moves,
        known=hlsl_types(registry),
        printer=printer,
        passes=tuple(passes),
        form=form,
        epilogue=epilogue,
        activations=activations,
        precise_kinds=0 if functions is None else _precise_kinds(activations, functions, reals),
        functions=FunctionTexts() if functions is None else functions.closure(calls, types, halves, of_short),
    )


def _own_passes(printer: ShaderPrinter, operator: Operator, defines: OutputDefinitions) -> list[Pass]:
    """The passes that follow the definition, or compute intermediate tensors in a faster way; without those
    that a form has after them."""
    attention, sums = printer.form(Attention), printer.form(Sums)
    alone = () if attention is None else (attention.target, *attention.reads[attention.target])
    steps = in_step(defines.tensors if sums is None else (), alone)
    passes = [_pass(printer, operator, number, tensors) for number, tensors in enumerate(steps)]
    if sums is not None:
        form = sums_passes(printer, sums)
        passes = [
            Pass({kept.member: "" for kept, _, _ in one.values}, one.reads, one.form.along, form=form)
            for one in form["passes"]
        ]
    return [*passes, *(_output_pass(printer, operator, names) for names in _together(operator))]


def _precise_kinds(
    activations: tuple[ActivationText, ...], functions: Functions, reals: Collection[str]
) -> int:
    """The activations that call a `precise` function, as bits by number."""
    found = [functions.closure(one.called, reals).is_precise for one in activations]
    return sum(1 << number for number, is_precise in enumerate(found) if is_precise)


def _one_by_one(operator: Operator, name: str, value: ir.Expr) -> tuple[str, ir.Expr | None, ir.Expr]:
    """The array whose entries an output is computed from, or consists of, one by one; the output coordinates
    that belong to the current entry, None for all; and the value there."""
    match value:
        case ir.Call("concat", (ir.Tensors(name=array), axis)):
            index, number = ir.Local("index", ir.INT), ir.Local("i", ir.INT)
            sizes = ir.Field(ir.Tensor(array, number), "Sizes", ir.INTS)
            before = (ir.Loop(number, ir.ZERO, index),)
            start = ir.Reduce("sum", before, ir.Index(sizes, axis), ir.INT)
            tensor = ir.Tensor(array, index)
            moved = ir.Binary("-", ir.Index(ir.AT, axis), start, ir.INT)
            inner = ir.Call("replace", (ir.AT, axis, moved), ir.INTS)
            where = ir.Call("in_bounds", (inner, ir.Field(tensor, "Sizes", ir.INTS)), ir.BOOL)
            return array, where, ir.Load(tensor, inner, value.type)
    return (name if operator.member[name].count else ""), None, value


def _pass(printer: ShaderPrinter, operator: Operator, number: int, tensors: list[Intermediate]) -> Pass:
    """The pass that writes intermediate tensors."""
    tensor = tensors[0]
    printer.subject = tensor.name
    attention = printer.form(Attention)
    if attention is not None and attention.target == tensor.name:
        way = attention_pass(printer, operator, attention, number)
        return Pass({tensor.name: ""}, tuple(sorted(attention.reads[tensor.name])), form=way)
    read = tuple(sorted(set().union(*(entries_read(one.value) for one in tensors))))
    match keyed(tensor):
        case Keyed(variable, ir.Field(ir.Tensor() as box, "Sizes") as sizes, index, value) if (
            printer.kept[tensor.name].type == "int"  # of one word
        ):
            printer.constants.reciprocals(sizes)
            key = KeyedPass(local(variable.name), box.entry, printer.deciding(index))
            return Pass({tensor.name: printer.deciding(value)}, read, keyed=key)
    values = {one.name: printer.value(one.value, one.decides) for one in tensors}
    return Pass(values, read, tensor.along)


def _output_pass(printer: ShaderPrinter, operator: Operator, names: tuple[str, ...]) -> Pass:
    """The pass that writes outputs; an array of tensors has its own."""
    assert operator.defines is not None
    values: dict[str, str] = {}
    read: set[str] = set()
    vector = printer.form(VectorAxis)
    each = condition = ""
    for name in names:
        printer.subject = printer.tensors[name].function
        each, where, value = _one_by_one(operator, name, operator.defines.outputs[name])
        condition = "" if where is None else printer.deciding(where, ATOM)
        values[name] = printer.stored(name, value) if vector is None else printer.value(value, False)
        read |= entries_read(value)
    return Pass(values, tuple(sorted(read)), each=each, where=condition, vector=vector)


def _together(operator: Operator) -> list[tuple[str, ...]]:
    """The outputs that each pass writes: all in one if they may overwrite inputs that others need."""
    assert operator.defines is not None
    names = tuple(operator.defines.outputs)
    return [names] if operator.in_place else [(name,) for name in names]
