"""A compiled graph as pure data: the bytes that it needs, and dispatches over them in order.

Everything that depends on a description is decided here. What runs a program, or ships one, needs to know
nothing about operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ...graph import Graph
from ...tensor import TensorDesc
from .. import plan
from ..errors import Unsupported
from ..memory import buffer_size, overlaps
from ..plans.capabilities import NO_CAPABILITIES, Capability
from ..work import Work
from .arena import Arena, Lifetime, assign
from .chains import chain
from .fusing import fuse
from .merging import merge
from .net import INPUTS, Net, Source, phases
from .once import NOTHING, Fixed, fixed
from .placing import place_parts
from .shaders import Compile, Shader
from .views import alias

SPARE = 0.05  # of the least memory, to save barriers
FEW = 64  # small tensors are smaller than this part of it

Memory = Literal["arena", "weights", "constants"]


class Region(NamedTuple):
    """`size` bytes of one of the three memories, from `offset` on.

    The arena has inputs, outputs and everything in between, weights the contents of constants of the graph,
    and constants the constant buffers of dispatches.
    """

    memory: Memory
    offset: int
    size: int

    def intersects(self, other: Region) -> bool:
        return (
            self.memory == other.memory
            and self.offset < other.offset + other.size
            and other.offset < self.offset + self.size
        )


class Step(NamedTuple):
    """A dispatch of `groups` thread groups, or, without a shader, the clearing of its only region to zeros.

    `regions` are bound in the order of the shader's resources: the first `reads` are read, the others
    written; `constants` are bound after them. `waits`: a barrier comes first. `node` is the position in
    `Program.nodes`.
    """

    node: int
    shader: int | None
    groups: tuple[int, int]
    regions: tuple[Region, ...]
    reads: int
    constants: Region | None
    waits: bool


class End(NamedTuple):
    """An input or output: the layout of its elements, or its bytes as they are if `tensor` is None."""

    name: str
    tensor: TensorDesc | None
    region: Region


class Label(NamedTuple):
    """A node of the graph that takes dispatches, and what it computes; of a chain, the last one, while
    `operators` names all."""

    name: str
    operators: tuple[str, ...]
    desc: Any
    tensors: Mapping[str, Region]


class Weights(NamedTuple):
    """The contents of constants, each with its offset in `size` bytes; they are not copied."""

    pieces: tuple[tuple[int, bytes], ...]
    size: int

    def read(self, start: int, count: int) -> bytearray:
        """`count` bytes from `start` on."""
        found = bytearray(count)
        for offset, data in self.pieces:
            first, last = max(offset, start), min(offset + len(data), start + count)
            if first < last:
                found[first - start : last - start] = memoryview(data)[first - offset : last - offset]
        return found


@dataclass(frozen=True, eq=False)
class Program:
    """Steps over an arena of `arena.size` bytes; those of `once` run a single time before all others, over
    weights only, such as to reorder filters."""

    inputs: tuple[End, ...]
    outputs: tuple[End, ...]
    nodes: tuple[Label, ...]
    shaders: tuple[Shader, ...]
    once: tuple[Step, ...]
    steps: tuple[Step, ...]
    arena: Arena
    weights: Weights = field(repr=False)
    constants: bytes = field(repr=False)


def program(
    graph: Graph,
    alignment: int,
    capabilities: Capability = NO_CAPABILITIES,
    packed: bool = False,
    keep: bool = False,
    compiled: Compile | None = None,
) -> Program:
    """The program of a graph, for regions at multiples of `alignment` bytes.

    `keep`: nothing is fused or left out, and all results stay until the end, to be compared. `packed` is as
    for `Net.of`. `compiled` gives the SPIR-V of shaders, which shows what needs to run only once; without it
    everything runs each time.

    Raises ValueError for an invalid graph, or a constant whose data is unknown, and Unsupported for what the
    shaders cannot do.
    """
    net = Net.of(graph, packed)
    if not keep:
        fuse(net, capabilities)
        net = merge(net, alignment, capabilities)
        alias(net, alignment, capabilities)
        net = place_parts(net, alignment, capabilities)
        chain(net, capabilities)
    works = {
        at: net.chains[at].work if at in net.chains else _planned(net, at, capabilities) for at in net.order
    }
    once = {} if keep or compiled is None else fixed(net, works, compiled)
    found = _Layout(net, works, once, alignment, keep)
    if not keep:
        order = sorted(net.order, key=phases(net).__getitem__)
        wide = _Layout(replace(net, order=order), works, once, alignment, keep)
        if wide.arena.size <= (1 + SPARE) * found.arena.bound:
            found = wide
    return found.program()


@dataclass
class _Storage:
    """Memory of one tensor, or of several of which each replaces the one before."""

    size: int
    first: int
    last: int
    data: bytes | None = None


class _Layout:
    """Assigns memory to tensors, and regions to dispatches."""

    def __init__(
        self, net: Net, works: Mapping[int, Work], once: Mapping[int, Fixed], alignment: int, keep: bool
    ) -> None:
        self.net, self.works, self.once, self.alignment, self.keep = net, works, once, alignment, keep
        self.storages: list[_Storage] = []
        self.of: dict[tuple[int, int], int] = {}  # the storage of what nodes write, and of ports
        self.scratch: dict[tuple[int, str], int] = {}
        self._find_storages()
        self._inside = [at for at, one in enumerate(self.storages) if one.data is None]
        self.arena = self._arena([self.storages[at] for at in self._inside])

    def _find_storages(self) -> None:
        """One storage for each tensor; an output takes over that of an input where that is allowed."""
        net, end = self.net, len(self.net.order)
        sizes: dict[tuple[int, int], int] = {}
        last: dict[tuple[int, int], int] = {}
        for step, at in enumerate(net.order):
            used = [(tensor, source) for *_, tensor, source in net.inputs(at)]
            used += [(tensor, Source(at, number)) for number, _, tensor in net.outputs(at)]
            for tensor, source in used:
                whole = net.located(source)
                sizes[whole[:2]] = max(sizes.get(whole[:2], 0), whole.offset + buffer_size(tensor))
                last[whole[:2]] = step
        for source, tensor in net.ends:
            sizes[source[:2]] = max(sizes.get(source[:2], 0), source.offset + buffer_size(tensor))
            last[source[:2]] = end
        for number, port in enumerate(net.ports):
            key = INPUTS, number
            if key in last:
                self._new(key, max(port.size, sizes[key]), 0, end if self.keep else last[key])
        for key in sorted(last.keys() - self.of.keys()):
            node = net.graph.nodes[key[0]]
            if node.desc is None:
                if node.data is None:
                    raise ValueError(f"the data of the constant {net.labels[key[0]]} is unknown")
                self._new(key, max(node.size, sizes[key]), 0, end, node.data)
        for step, at in enumerate(net.order):
            for number, name, tensor in net.outputs(at):
                key = net.located(Source(at, number))[:2]
                if overlaps(tensor):
                    raise Unsupported(f"{net.labels[at]}: {name} has elements that share memory")
                if key in self.of:  # a part of it was written before
                    continue
                until = end if self.keep else last[key]
                takes_over = not self.keep and key == (at, number)
                shared = self._in_place(at, step, name, tensor, sizes[key]) if takes_over else None
                if shared is None:
                    self._new(key, sizes[key], step, until)
                else:
                    self.of[key] = shared
                    self.storages[shared].last = until
            lasting = self.once.get(at, NOTHING).scratch
            for name, size in self.works[at].scratch.items():
                self.scratch[at, name] = len(self.storages)
                self.storages.append(_Storage(size, step, step, b"" if name in lasting else None))

    def _new(self, key: tuple[int, int], size: int, first: int, last: int, data: bytes | None = None) -> None:
        self.of[key] = len(self.storages)
        self.storages.append(_Storage(-(-size // 8) * 8, first, last, data))

    def _location(self, source: Source) -> tuple[int, int]:
        """The storage of a source, and the offset in it."""
        whole = self.net.located(source)
        return self.of[whole[:2]], whole.offset

    def _in_place(self, at: int, step: int, name: str, tensor: TensorDesc, size: int) -> int | None:
        """The storage of an input that dies here and that the output may overwrite; None if there is none."""
        net, work = self.net, self.works[at]
        works_in_place = net.in_place(at, work)
        if not works_in_place or name in work.zero_initialize:
            return None
        inputs = [(label, given, *self._location(source)) for _, label, given, source in net.inputs(at)]
        users = Counter(place for *_, place, _ in inputs)
        taken = {self.of[at, number] for number, *_ in net.outputs(at) if (at, number) in self.of}
        for label, given, place, offset in inputs:
            storage = self.storages[place]
            alike = (given.DataType, given.Sizes, given.element_strides) == (
                tensor.DataType,
                tensor.Sizes,
                tensor.element_strides,
            )
            if (
                label in works_in_place
                and alike
                and offset == 0
                and storage.data is None
                and storage.last == step
                and storage.size >= size
                and users[place] == 1
                and place not in taken
            ):
                return place
        return None

    def _arena(self, storages: Sequence[_Storage]) -> Arena:
        """One arena. Operators that could overlap do not share memory, if that costs little of it, since that
        would take a barrier: no tensors at all, or else no small ones."""
        begins, ends = self._phases()
        exact = [Lifetime(one.size, one.first, one.last) for one in storages]
        apart = [Lifetime(one.size, begins[one.first], ends[one.last]) for one in exact]
        found = assign(exact, self.alignment)
        small = found.bound // FEW
        some = [two if one.size <= small else one for one, two in zip(exact, apart, strict=True)]
        for lifetimes in (apart, some):
            tried = assign(lifetimes, self.alignment)
            if tried.size <= (1 + SPARE) * found.bound:
                return tried._replace(bound=found.bound, fullest=found.fullest)
        return found

    def _phases(self) -> tuple[list[int], list[int]]:
        """For each operator, and for the end, the first and the last one that it could overlap with: those
        between two barriers that the tensors themselves demand."""
        begins: list[int] = []
        read: set[int] = set()
        written: set[int] = set()
        start = 0
        for step, at in enumerate(self.net.order):
            own = {self._location(source)[0] for *_, source in self.net.inputs(at)}
            made = {self._location(Source(at, number))[0] for number, *_ in self.net.outputs(at)}
            if own & written or made & (read | written):
                start, read, written = step, set(), set()
            begins.append(start)
            read |= own
            written |= made
        last = {start: step for step, start in enumerate(begins)}
        end = len(begins)
        return [*begins, end], [*(last[start] for start in begins), end]

    def program(self) -> Program:
        """Offsets, and steps with the barriers that they need."""
        net = self.net
        offsets = dict(zip(self._inside, self.arena.offsets, strict=True))
        pieces: list[tuple[int, bytes]] = []
        used = 0
        for at, one in enumerate(self.storages):
            if one.data is not None:
                offsets[at] = used
                pieces.append((used, one.data))
                used += -(-max(one.size, len(one.data)) // self.alignment) * self.alignment

        def region(storage: int, offset: int, size: int) -> Region:
            memory: Memory = "arena" if self.storages[storage].data is None else "weights"
            return Region(memory, offsets[storage] + offset, size)

        def end(name: str, tensor: TensorDesc | None, source: Source, size: int) -> End:
            return End(name, tensor, region(*self._location(source), size))

        ports = [(number, port) for number, port in enumerate(net.ports) if (INPUTS, number) in self.of]
        names = [name or f"output{at}" for at, name in enumerate(net.graph.outputs)]
        steps = _Steps(self.alignment)
        once = _Steps(self.alignment, steps)
        nodes: list[Label] = []
        for at in net.order:
            regions = {
                name: region(*self._location(source), buffer_size(tensor))
                for _, name, tensor, source in net.inputs(at)
            }
            regions |= {
                name: region(*self._location(Source(at, number)), buffer_size(tensor))
                for number, name, tensor in net.outputs(at)
            }
            operators = net.chains[at].operators if at in net.chains else (net.descs[at].OPERATOR,)
            nodes.append(Label(net.labels[at], operators, net.descs[at], regions))
            work = self.works[at]
            scratch = {name: region(self.scratch[at, name], 0, size) for name, size in work.scratch.items()}
            given = len(nodes) - 1, net.shaders(at, work), work, {**regions, **scratch}
            apart = self.once.get(at, NOTHING).dispatches
            once.add(*given, apart, ())
            steps.add(*given, frozenset(range(len(work.dispatches))) - apart, work.zero_initialize)
        return Program(
            tuple(end(one.name, one.tensor, Source(INPUTS, number), one.size) for number, one in ports),
            tuple(
                end(name, tensor, source, buffer_size(tensor))
                for name, (source, tensor) in zip(names, net.ends, strict=True)
            ),
            tuple(nodes),
            tuple(steps.shaders),
            tuple(once.steps),
            tuple(steps.steps),
            self.arena,
            Weights(tuple(pieces), used),
            bytes(steps.constants),
        )


def _planned(net: Net, at: int, capabilities: Capability) -> Work:
    """The dispatches of an operator, without those that copy what is in place; an error names the node."""
    placed = net.placed.get(at, frozenset())
    try:
        work = plan(net.descs[at], capabilities)
        return work._replace(
            dispatches=tuple(one for one in work.dispatches if placed.isdisjoint(one.buffers))
        )
    except Unsupported as error:
        raise Unsupported(f"{net.labels[at]}: {error}", error.reason, error.member) from error


class _Steps:
    """Steps in order. One waits if it reads what an earlier one has written since the last barrier, or writes
    what an earlier one has read or written; a plan says which of its own dispatches wait for each other."""

    def __init__(self, alignment: int, shared: _Steps | None = None) -> None:
        """`shared`: other steps that have the same shaders and constants."""
        self.shaders: dict[Shader, int] = shared.shaders if shared else {}
        self.steps: list[Step] = []
        self.constants: bytearray = shared.constants if shared else bytearray()
        self._alignment = alignment
        self._places: dict[bytes, Region] = shared._places if shared else {}
        self._read: list[tuple[int, Region]] = []  # since the last barrier, with their nodes
        self._written: list[tuple[int, Region]] = []

    def add(
        self,
        node: int,
        shaders: Sequence[Shader],
        work: Work,
        regions: Mapping[str, Region],
        chosen: frozenset[int],
        cleared: Sequence[str],
    ) -> None:
        """Adds some of an operator's dispatches, by their numbers, after buffers that are cleared."""
        for name in cleared:
            self._step(Step(node, None, (0, 0), (regions[name],), 0, None, False))
        waits = bool(cleared)
        for place in sorted(chosen):
            dispatch = work.dispatches[place]
            number = self.shaders.setdefault(shaders[place], len(self.shaders))
            bound = tuple(regions[name] for name in dispatch.buffers)
            constants = self._constants(dispatch.constants)
            waits = waits or (dispatch.needs_barrier and place > min(chosen))
            self._step(Step(node, number, dispatch.groups, bound, dispatch.reads, constants, waits))
            waits = False

    def _step(self, step: Step) -> None:
        read, written = step.regions[: step.reads], step.regions[step.reads :]
        if (
            step.waits
            or self._conflicts(step.node, read, self._written)
            or self._conflicts(step.node, written, [*self._read, *self._written])
        ):
            self._read, self._written = [], []
            step = step._replace(waits=bool(self.steps))
        self._read += [(step.node, one) for one in read]
        self._written += [(step.node, one) for one in written]
        self.steps.append(step)

    def _conflicts(self, node: int, used: Sequence[Region], before: Sequence[tuple[int, Region]]) -> bool:
        return any(node != other and one.intersects(was) for other, was in before for one in used)

    def _constants(self, data: bytes) -> Region:
        if data not in self._places:
            self._places[data] = Region("constants", len(self.constants), len(data))
            self.constants += data + bytes(-len(data) % self._alignment)
        return self._places[data]
