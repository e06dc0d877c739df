"""What the shader of a definition consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from dmlgen.expr import ir
from dmlgen.expr.bounds import MAX_RANK
from dmlgen.outputs.compute import works_on_bits
from dmlgen.outputs.hlsl import Tensor
from dmlgen.outputs.hlsl_activation import Activation, activations_of
from dmlgen.outputs.hlsl_definition.constants import Constant as Known
from dmlgen.outputs.hlsl_definition.functions import type_name
from dmlgen.outputs.hlsl_definition.lowered import lowered
from dmlgen.outputs.hlsl_definition.names import local
from dmlgen.outputs.hlsl_definition.printer import ShaderPrinter
from dmlgen.outputs.hlsl_definition.rows import RowsPass, rows_pass
from dmlgen.outputs.hlsl_definition.sums import SumsPass, sums_passes
from dmlgen.outputs.hlsl_definition.tensors import Kept
from dmlgen.outputs.hlsl_functions import Functions
from dmlgen.outputs.render import Templates
from dmlgen.outputs.uniforms import tensors_read
from dmlgen.plans.model import Plans, plans_of
from dmlgen.plans.params import Constant, Params, params_of
from dmlgen.registry import Intermediate, Operator, OutputDefinitions, Registry
from dmlgen.resolve.definition import entries_read
from dmlgen.schedules.keyed import keyed
from dmlgen.schedules.schedule import Attention, Contraction
from dmlgen.schedules.steps import in_step
from dmlgen.text import Text

AT = ir.Local("at", ir.INTS)
WINDOW = ("windowSizes", "windowFirst", "windowSteps", "windowTaps", "windowLimits", "windowStrides")
TAP = ("channels", "taps", "leftFirst", "leftTapStep")
COUNTED = ("countFirst", "countSteps", "countTaps", "countLimits")
WEIGHTS = ("channels", "channelStep", "groupRows", "weightsFirst", "weightsRowStep", "weightsChannelStep")
"""Constants of a window, as planners give them: of a contraction, and of a fold."""


@dataclass(frozen=True)
class KeyedPass:
    """The coordinate's name, the constant that has the sizes of its box, and the number of the entry."""

    variable: str
    sizes: str
    key: str


@dataclass(frozen=True)
class AttentionPass:
    """What a pass of attention reads, and as texts: the heads of a key and a value for that of a query at
    `at`, a score made of the local `total`, and whether a key counts. `told`: the tensors of the description
    on which scores depend, or which keys count."""

    query: Kept
    key: Kept
    value: Kept
    key_head: str
    value_head: str
    score: str
    counts: str
    told: tuple[Tensor, ...]


@dataclass(frozen=True)
class Pass:
    """A pass: the tensors that it writes, each with its value, and the intermediate tensors that it reads.

    `along`: it is one of a recurrence, and one dispatch writes one step of it. `keyed`: it writes maxima, and
    goes through the coordinates of another box, each of which names the entry that it counts for. `each`: the
    array of tensors each of which takes a dispatch. `where`: the coordinates that are written, all where it
    is empty. `attention`: groups of threads work it out, by rows.
    """

    values: Mapping[str, str]
    reads: tuple[str, ...]
    along: bool = False
    keyed: KeyedPass | None = None
    each: str = ""
    where: str = ""
    attention: AttentionPass | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.values)


@dataclass(frozen=True)
class ContractedPass:
    """The pass that works out an output by its contraction, and after it the one that adds up parts of sums.

    `value` is the text of the element, made of the sum `total`.
    """

    number: int
    left: Tensor
    right: Tensor
    output: Tensor
    value: str
    contraction: Contraction

    @property
    def told(self) -> Mapping[str, ir.Expr]:
        """What the planner is told, by name."""
        told, window = self.contraction, self.contraction.window
        found = {
            "applies": told.when,
            "left": told.left.places,
            "right": told.right.places,
            "depth": told.depth,
        }
        if window is not None:
            found |= {f"window.{one.name}": getattr(window, one.name) for one in fields(window)}
        return found


@dataclass(frozen=True)
class SlidingPass:
    """The pass that works out outputs by a fold under a window of `tensor`.

    `type` and `start` are of the result, `element` is the type of an element that `term` is made of; `turn`
    adds a term to a result. `values` are the texts of outputs, by member. Where there are `weights`, terms
    are multiplied by their elements.
    """

    number: int
    tensor: Tensor
    weights: Tensor | None
    outputs: tuple[Tensor, ...]
    type: str
    start: str
    element: str
    term: str
    turn: str
    values: Mapping[str, str]
    counts: bool
    told: Mapping[str, ir.Expr]  # what the planner is told, by name

    @property
    def output(self) -> Tensor:
        """The output that has the result; others may be absent."""
        return self.outputs[0]


@dataclass(frozen=True)
class DefinitionShader:
    """The shader of a definition."""

    operator: str
    summary: Text
    moves: tuple[str, ...]  # tensors whose elements are taken as bits
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    held: tuple[str, ...]
    limited: tuple[str, ...]  # tensors whose least and greatest values matter
    quantized: frozenset[str]  # those among them to whose type numbers are quantized
    kept: tuple[Kept, ...]
    passes: tuple[Pass, ...]
    sliding: SlidingPass | None
    contracted: ContractedPass | None
    rows: RowsPass | None
    sums: tuple[SumsPass, ...]
    known_lists: tuple[Known, ...]
    known_elements: tuple[Known, ...]
    known_scalars: tuple[Known, ...]
    bounds: tuple[Known, ...]
    texts: tuple[str, ...]
    fused: str  # the member with activations
    activations: tuple[Activation, ...]
    functions: tuple[str, ...]  # of the library
    max_rank: int
    longest: int  # list
    most_listed: int

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def is_precise(self) -> bool:
        """Whether anything that it computes must be rounded as it is written."""
        return any("precise " in text for text in (*self.functions, *self.texts))

    @property
    def attention(self) -> int | None:
        """The number of the pass of attention."""
        return next((number for number, one in enumerate(self.passes) if one.attention is not None), None)

    def box(self, pass_: Pass) -> tuple[str, int] | None:
        """What has the sizes of the box that a keyed pass goes through: "list" or "tensor", and which."""
        if pass_.keyed is None:
            return None
        lists = [one.name for one in self.known_lists]
        if pass_.keyed.sizes in lists:
            return "list", lists.index(pass_.keyed.sizes)
        return "tensor", [f"{one.local}Sizes" for one in self.tensors].index(pass_.keyed.sizes)

    @property
    def bits(self) -> tuple[int, ...]:
        return tuple(sorted({bits for tensor in self.tensors for bits in tensor.bits}))


def text(shader: DefinitionShader, templates: Templates) -> bytes:
    """The file of a shader."""
    plans = plans_of(templates.directory)
    return templates.render(
        "hlsl/definition.hlsl.j2",
        shader=shader,
        params=definition_params(plans, shader),
        contraction_params=definition_params(plans, shader, "ContractionParams"),
        sliding_params=definition_params(plans, shader, "SlidingParams"),
        rows_params=definition_params(plans, shader, "RowsParams"),
    )


def definition_params(plans: Plans, shader: DefinitionShader, record: str = "DefinitionParams") -> Params:
    """The constants of the shader: lists fill two vectors each."""
    tensors = [f"{tensor.local}{what}" for tensor in shader.tensors for what in ("Sizes", "Strides")]
    slid = shader.sliding
    windowed, weighted = slid is not None, slid is not None and slid.weights is not None
    kept = [f"{kept.name}Sizes" for kept in shader.kept]
    firsts = [Constant("int", f"{kept.name}First") for kept in shader.kept]
    lists = [Constant("int4", name, "2", 8) for name in (*tensors, *kept)]
    types = {"ints": "int4", "floats": "float4"}
    lists += [Constant(types[one.kind], one.name, "2", 8) for one in shader.known_lists]
    activations = (
        [Constant("Activation", "activations", "ACTIVATION_COUNT", 32)] if shader.activations else []
    )
    return params_of(
        plans,
        record,
        {
            **{
                name: [Constant("int4", name, "2", 8)]
                for name in ("sizes", "leftSteps", "rightSteps", "planeSteps")
            },
            "window": [Constant("int4", name, "2", 8) for name in WINDOW if windowed],
            "tap": [Constant("uint", name) for name in TAP if windowed],
            "counted": [
                Constant("int4", name, "2", 8) for name in COUNTED if slid is not None and slid.counts
            ],
            "weightsSteps": [Constant("int4", "weightsSteps", "2", 8)] if weighted else [],
            "weights": [Constant("uint", name) for name in WEIGHTS if weighted],
            "lists": lists,
            "activations": activations,
            "steps": [Constant("uint", f"{tensor.local}Step") for tensor in shader.tensors],
            "strides": [
                Constant("uint", f"{tensor.local}Stride")
                for tensor in shader.tensors
                if record == "RowsParams"
            ],
            "elements": [Constant("uint2", one.name) for one in shader.known_elements],
            "scalars": [*firsts, *(Constant(one.kind, one.name) for one in shader.known_scalars)],
        },
    )


def shader_of(registry: Registry, operator: Operator, functions: Functions | None = None) -> DefinitionShader:
    """The shader of an operator's definition; without `functions` only to learn its constants."""
    operator = lowered(operator)
    defines = operator.defines
    assert defines is not None
    printer = ShaderPrinter(registry, operator, frozenset() if functions is None else functions.names)
    alone = None if operator.attention is None else operator.attention.target
    passes = [_pass(printer, operator, tensors) for tensors in in_step(defines.tensors, alone)]
    passes += [_output_pass(printer, operator, names) for names in _together(operator)]
    sums = sums_passes(printer, operator.sums, len(passes))
    further = len(passes) + len(sums)
    sliding = _sliding(printer, operator, further)
    contracted = _contracted(printer, operator, further + (sliding is not None))
    rows = None if operator.rows is None else rows_pass(printer, operator.rows, further)
    activations = activations_of(registry, operator, "REAL") if printer.fused else ()
    tensors, inputs = printer.tensors, [member.name for member in operator.inputs]
    called = printer.called.union(*(one.functions for one in activations))
    types = {value for tensor in tensors.values() for value in tensor.values}
    types |= {"float", "int", "int64_t"}
    return DefinitionShader(
        operator=operator.name,
        summary=operator.summary,
        moves=_taken_as_bits(operator, defines),
        inputs=tuple(tensor for name, tensor in tensors.items() if name.partition("[")[0] in inputs),
        outputs=tuple(tensors[name] for name in defines.outputs),
        held=tuple(printer.held),
        limited=tuple(printer.limited),
        quantized=frozenset(printer.quantized),
        kept=tuple(printer.kept.values()),
        passes=tuple(passes),
        sliding=sliding,
        contracted=contracted,
        rows=rows,
        sums=sums,
        known_lists=printer.constants.known("ints", "floats"),
        known_elements=printer.constants.known("element"),
        known_scalars=printer.constants.known("int", "float"),
        bounds=printer.constants.known("bound"),
        texts=tuple(printer.texts),
        fused=printer.fused,
        activations=activations,
        functions=() if functions is None else functions.closure(called, types),
        max_rank=MAX_RANK,
        longest=printer.longest,
        most_listed=printer.most_listed,
    )


def _one_by_one(operator: Operator, name: str, value: ir.Expr) -> tuple[str, ir.Expr | None, ir.Expr]:
    """The array whose entries an output is computed from, or is, one by one; of the one under way, which
    coordinates of the output belong to it, None for all, and the value there."""
    match value:
        case ir.Call("joined", (ir.Tensors(name=array), axis)):
            index, number = ir.Local("index", ir.INT), ir.Local("i", ir.INT)
            sizes = ir.Field(ir.Tensor(array, number), "Sizes", ir.INTS)
            before = (ir.Each(number, None, index),)
            start = ir.Fold("sum", before, None, ir.Index(sizes, axis), ir.INT, unrolled=True)
            at, tensor = ir.Local("at", ir.INTS), ir.Tensor(array, index)
            moved = ir.Binary("-", ir.Index(at, axis), start, ir.INT)
            inner = ir.Call("replace", (at, axis, moved), ir.INTS)
            where = ir.Call("inside", (inner, ir.Field(tensor, "Sizes", ir.INTS)), ir.BOOL)
            return array, where, ir.Load(tensor, inner, value.type)
    return (name if operator.member[name].count else ""), None, value


def _taken_as_bits(operator: Operator, defines: OutputDefinitions) -> tuple[str, ...]:
    """The tensors whose elements are taken as the bits that they are."""
    operations = [node for whole in defines.whole for node in ir.walk(whole) if works_on_bits(node)]
    outputs = [name for name, value in defines.outputs.items() if value in operations]
    return (*tensors_read(operator, operations), *outputs)


def _pass(printer: ShaderPrinter, operator: Operator, tensors: list[Intermediate]) -> Pass:
    """The pass that writes intermediate tensors."""
    tensor, attention = tensors[0], operator.attention
    if attention is not None and tensor.name == attention.target:
        return _attention_pass(printer, attention)
    read = tuple(sorted(set().union(*(entries_read(one.value) for one in tensors))))
    found = keyed(tensor)
    if found is None or printer.kept[tensor.name].type != "int":  # of one word
        values = {one.name: printer.value(one.value, one.decides) for one in tensors}
        return Pass(values, read, tensor.along)
    sizes = printer.constants.of(found.sizes).name
    key = KeyedPass(local(found.variable.name), sizes, printer.deciding(found.key))
    return Pass({tensor.name: printer.deciding(found.value)}, read, keyed=key)


def _attention_pass(printer: ShaderPrinter, attention: Attention) -> Pass:
    counts = ir.Number(True, ir.BOOL) if attention.counts is None else attention.counts
    loads = (part for whole in (attention.score, counts) for part in ir.walk(whole))
    told = dict.fromkeys(part.tensor.entry for part in loads if isinstance(part, ir.Load))
    names = {attention.query, attention.key, attention.value}
    found = AttentionPass(
        query=printer.kept[attention.query],
        key=printer.kept[attention.key],
        value=printer.kept[attention.value],
        key_head=printer.deciding(attention.key_head),
        value_head=printer.deciding(attention.value_head),
        score=printer.value(attention.score, False),
        counts=printer.deciding(counts),
        told=tuple(printer.tensors[name] for name in told),
    )
    return Pass({attention.target: ""}, tuple(sorted(names)), attention=found)


def _output_pass(printer: ShaderPrinter, operator: Operator, names: tuple[str, ...]) -> Pass:
    """The pass that writes outputs; one of an array of tensors stands alone."""
    assert operator.defines is not None
    values: dict[str, str] = {}
    read: set[str] = set()
    each = condition = ""
    for name in names:
        each, where, value = _one_by_one(operator, name, operator.defines.outputs[name])
        condition = "" if where is None else printer.deciding(where)
        values[name] = printer.stored(name, value)
        read |= entries_read(value)
    return Pass(values, tuple(sorted(read)), each=each, where=condition)


def _contracted(printer: ShaderPrinter, operator: Operator, number: int) -> ContractedPass | None:
    """The pass of a contraction, if there is one, by its number."""
    contraction = operator.contraction
    if contraction is None:
        return None
    left, right, output = (
        printer.tensors[name]
        for name in (contraction.left.tensor, contraction.right.tensor, contraction.output)
    )
    value = printer.made(contraction.output, contraction.value)
    return ContractedPass(number, left, right, output, value, contraction)


def _sliding(printer: ShaderPrinter, operator: Operator, number: int) -> SlidingPass | None:
    """The pass of a fold under a window: one of its own, or a contraction's with few rows."""
    sliding, contraction = operator.sliding, operator.contraction
    if sliding is not None:
        fold, tensor = sliding.fold, printer.tensors[sliding.tensor]
        type_, start, term, turn = printer.running(fold, sliding.term)
        frames = {"window": sliding.window} | ({"counted": sliding.counted} if sliding.counted else {})
        return SlidingPass(
            number=number,
            tensor=tensor,
            weights=None,
            outputs=tuple(printer.tensors[name] for name in sliding.values),
            type=type_,
            start=start,
            element=type_name(sliding.element.type),
            term=term,
            turn=turn,
            values={name: printer.made(name, value) for name, value in sliding.values.items()},
            counts=sliding.counted is not None,
            told={name: getattr(sliding, name) for name in ("places", "sizes", "axes")}
            | {
                f"{name}.{one.name}": getattr(frame, one.name)
                for name, frame in frames.items()
                for one in fields(frame)
            },
        )
    if contraction is None or contraction.window is None:
        return None
    return SlidingPass(
        number=number,
        tensor=printer.tensors[contraction.right.tensor],
        weights=printer.tensors[contraction.left.tensor],
        outputs=(printer.tensors[contraction.output],),
        type="float",
        start="0",
        element="float",
        term="element",
        turn="result = mad(weight, term, result);",
        values={contraction.output: printer.made(contraction.output, contraction.value)},
        counts=False,
        told={},
    )


def _together(operator: Operator) -> list[tuple[str, ...]]:
    """The outputs that each pass writes: all in one where they may overwrite inputs that others need."""
    assert operator.defines is not None
    names = tuple(operator.defines.outputs)
    return [names] if operator.in_place else [(name,) for name in names]
