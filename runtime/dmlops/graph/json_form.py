"""The JSON forms of graphs.

By names, `{"inputs": ["x"], "outputs": ["y"], "nodes": [...]}`: each node is a description as DxDispatch
reads it, `{"name": ..., "type": ..., "desc": ..., "bindings": {"InputTensor": "x", "OutputTensor": "y"}}`.
Bindings give each tensor the name of a value; an array has a list of them, with null for none. An output of
the description that is left out is inferred; one that is null stays absent. A constant is
`{"constant": 4, "bindings": {"Data": "k"}}`: its size in bytes, or its contents in base64, or a list of
elements of the type that its first reader has.

By indices, as in the ABI: `{"InputCount": 1, "OutputCount": 1, "Nodes": [...], "InputEdges": [...], ...}`;
nodes are the same, without bindings.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ..description import Description
from ..enums import TensorDataType
from ..errors import InvalidDescription, JsonError
from ..json_form import from_json as read_description
from ..json_values import a_list, a_text, an_integer, an_object, with_known_keys
from ..safe_text import shown
from ..value import plain
from .model import Edge, Graph, InputEdge, IntermediateEdge, Node, OutputEdge
from .slots import Slot

DATA = "Data"  # how bindings call the output of a constant

_BY_NAMES = ("inputs", "outputs", "nodes")
_BY_INDICES = ("InputCount", "OutputCount", "Nodes", "InputEdges", "OutputEdges", "IntermediateEdges")
_IGNORED = ("id", "$schema")
_MOST = 1 << 20  # most inputs or outputs of a graph by indices: a number alone must not take all memory

Made = TypeVar("Made", bound=Edge)


def from_json(value: Any) -> Graph:
    """The graph in a parsed JSON value. Raises JsonError for anything else."""
    given = an_object(value, "")
    if "Nodes" in given:
        return _by_indices(with_known_keys(given, "", (*_BY_INDICES, *_IGNORED)))
    return _by_names(with_known_keys(given, "", (*_BY_NAMES, *_IGNORED)))


# Nodes.


def _nodes(value: Any, path: str) -> Iterator[tuple[Node, dict[str, Any]]]:
    """The nodes in a list, each with its bindings."""
    for at, one in enumerate(a_list(value, path)):
        where = f"{path}[{at}]"
        given = an_object(one, where)
        name = a_text(given.get("name", ""), f"{where}.name")
        bindings = an_object(given.get("bindings", {}), f"{where}.bindings")
        if "constant" in given:
            with_known_keys(given, where, ("name", "constant", "bindings"))
            yield _constant(given["constant"], name, f"{where}.constant"), bindings
        else:
            try:
                desc = read_description({key: part for key, part in given.items() if key != "name"})
            except JsonError as error:
                raise JsonError(f"{where}.{error.path}" if error.path else where, error.reason) from None
            yield Node(with_outputs(desc, given), name), bindings


def with_outputs(desc: Description, given: Mapping[str, Any]) -> Description:
    """The description with the outputs that are left out, as far as they can be inferred."""
    members = given.get("desc", given.get("Desc", given))
    needed = [one.name for one in desc.MEMBERS if one.role == "output" and not one.optional]
    if all(name in members for name in needed):
        return desc
    try:
        return desc.infer()
    except InvalidDescription as error:
        return error.desc  # `validate` reports what is wrong with it
    except ValueError:
        return desc


def _constant(value: Any, name: str, path: str) -> Node:
    """A constant; that of a list has no bytes before its reader is known."""
    value = plain(value)
    if type(value) is int:
        return Node(None, name, an_integer(value, path, "SIZE_T"))
    if type(value) is str:
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise JsonError(path, "not valid base64") from None
        return Node(None, name, len(data), data)
    if isinstance(value, list):
        return Node(None, name)
    raise JsonError(path, f"found {shown(value)}; expected a size in bytes, base64, or a list of elements")


def _with_elements(graph: Graph, nodes: Any, path: str) -> Graph:
    """The graph with the bytes of constants that are lists of elements."""
    lists = {at: one["constant"] for at, one in enumerate(nodes) if isinstance(one.get("constant"), list)}
    readers: dict[int, Slot] = {}
    for edge in graph.intermediate_edges if lists else ():
        slot = graph.reader(edge)
        if slot is not None:
            readers.setdefault(edge.FromNodeIndex, slot)
    made = list(graph.nodes)
    for at, elements in lists.items():
        tensor = readers[at].tensor if at in readers else None
        data = _elements(elements, None if tensor is None else tensor.DataType, f"{path}[{at}].constant")
        made[at] = replace(made[at], size=len(data), data=data)
    return replace(graph, nodes=tuple(made)) if lists else graph


def _elements(elements: Sequence[Any], type_: TensorDataType | None, path: str) -> bytes:
    """The bytes of elements, in whole words of 4 bytes like the size of every tensor."""
    from ..elements import elements_of  # only needed here

    if not isinstance(type_, TensorDataType) or not type_.bits:
        raise JsonError(
            path, "nothing reads it, so its elements have no type; give its size in bytes, or base64"
        )
    if type_.bits < 8:
        raise JsonError(path, "elements of less than 8 bits are given in base64")
    try:
        data = elements_of(elements, type_).tobytes()
    except (ValueError, TypeError, OverflowError):
        raise JsonError(path, f"not a list of elements of type {type_.name}") from None
    return data + bytes(-len(data) % 4)


# By names.


def _by_names(given: Mapping[str, Any]) -> Graph:
    inputs, outputs = (_value_names(given.get(key, []), key) for key in ("inputs", "outputs"))
    numbers = {name: number for number, name in enumerate(inputs)}
    if len(numbers) < len(inputs):
        raise JsonError("inputs", "the same name stands there twice")
    if "nodes" not in given:
        raise JsonError("nodes", "missing; a graph has a list of nodes")
    read = list(_nodes(given["nodes"], "nodes"))
    graph = Graph(tuple(node for node, _ in read), inputs, outputs)
    writers: dict[str, tuple[int, int]] = {}
    readers: list[tuple[str, tuple[int, int]]] = []
    for at, (_, bindings) in enumerate(read):
        for path, name, slot, is_input in _bound(graph, at, bindings, f"nodes[{at}].bindings"):
            if is_input:
                readers.append((name, (at, slot)))
            elif name in numbers or name in writers:
                other = graph.nodes[writers[name][0]].label(writers[name][0]) if name in writers else ""
                what = f"{other} writes it" if other else "it is an input of the graph"
                raise JsonError(path, f"{shown(name)} is taken: {what}; every value has one writer")
            else:
                writers[name] = (at, slot)
    outer = [(numbers[name], to) for name, to in readers if name in numbers]
    inner = [(writers[name], to) for name, to in readers if name in writers]
    ends = [(writers[name], number) for number, name in enumerate(outputs) if name in writers]
    graph = replace(
        graph,
        input_edges=tuple(InputEdge(number, *to) for number, to in outer),
        output_edges=tuple(OutputEdge(*writer, number) for writer, number in ends),
        intermediate_edges=tuple(IntermediateEdge(*writer, *to) for writer, to in inner),
        values={place: name for name, place in writers.items()},
        unwritten={to: name for name, to in readers if name not in numbers and name not in writers},
    )
    return _with_elements(graph, given["nodes"], "nodes")


def _bound(
    graph: Graph, at: int, bindings: dict[str, Any], path: str
) -> Iterator[tuple[str, str, int, bool]]:
    """For each name in a node's bindings: its path, the name, the slot, and whether it is an input.

    An entry beyond the end of an array gets a slot that the node does not have.
    """
    of_node = graph.slots[at]
    if of_node is None:
        return
    desc = graph.nodes[at].desc
    members = [(DATA, False, False)]
    if desc is not None:
        members = [(one.name, one.role == "input", one.count is not None) for one in desc.TENSORS]
    with_known_keys(bindings, path, [member for member, *_ in members])
    for member, is_input, is_array in sorted(members, key=lambda one: not one[1]):
        given, where = bindings.get(member), f"{path}.{member}"
        of_role = of_node.inputs if is_input else of_node.outputs
        numbers = {slot.name or DATA: number for number, slot in enumerate(of_role)}
        if given is not None and not is_array:
            yield where, a_text(given, where), numbers[member], is_input
        for entry, name in enumerate(a_list(given, where)) if given is not None and is_array else ():
            if name is not None:
                number = numbers.get(f"{member}[{entry}]", len(of_role) + entry)
                yield f"{where}[{entry}]", a_text(name, f"{where}[{entry}]"), number, is_input


def _value_names(value: Any, path: str) -> tuple[str, ...]:
    names = tuple(a_text(name, f"{path}[{at}]") for at, name in enumerate(a_list(value, path)))
    if "" in names:
        raise JsonError(f"{path}[{names.index('')}]", "a value needs a name")
    return names


# By indices.


def _by_indices(given: Mapping[str, Any]) -> Graph:
    counts = []
    for key in ("InputCount", "OutputCount"):
        counts.append(an_integer(given.get(key), key, "UINT"))
        if counts[-1] > _MOST:
            raise JsonError(key, f"{counts[-1]}; a graph in JSON has at most {_MOST}")
    nodes = tuple(node for node, _ in _nodes(given["Nodes"], "Nodes"))
    graph = Graph(
        nodes,
        ("",) * counts[0],
        ("",) * counts[1],
        tuple(_edges(given, "InputEdges", InputEdge)),
        tuple(_edges(given, "OutputEdges", OutputEdge)),
        tuple(_edges(given, "IntermediateEdges", IntermediateEdge)),
    )
    return _with_elements(graph, given["Nodes"], "Nodes")


def _edges(given: Mapping[str, Any], key: str, kind: type[Made]) -> Iterator[Made]:
    for at, one in enumerate(a_list(given.get(key, []), key)):
        path = f"{key}[{at}]"
        edge = with_known_keys(an_object(one, path), path, (*kind._fields, "Name"))
        yield kind(*(an_integer(edge.get(name), f"{path}.{name}", "UINT") for name in kind._fields))


# Writing.


def to_json(graph: Graph) -> dict[str, Any]:
    """The graph by names, or by indices if names cannot express it."""
    names = names_of(graph)
    return _to_indices(graph) if names is None else _to_names(graph, names)


class Names(NamedTuple):
    """The names of inputs, outputs, and the tensors that nodes write and read, by node and slot."""

    inputs: list[str]
    outputs: list[str]
    written: dict[tuple[int, int], str]
    read: dict[tuple[int, int], str]


def names_of(graph: Graph) -> Names | None:
    """The names of everything in a graph; None if there are none.

    That is so if an index is out of range, two edges lead to one tensor or output, or one tensor is two
    outputs of different names.
    """
    taken = {name for name in (*graph.inputs, *graph.outputs, *graph.values.values()) if name}

    def fresh(name: str) -> str:
        candidate, number = name, 2
        while candidate in taken:
            candidate, number = f"{name}_{number}", number + 1
        taken.add(candidate)
        return candidate

    inputs = [name or fresh(f"input{at}") for at, name in enumerate(graph.inputs)]
    outputs = list(graph.outputs)
    written = dict(graph.values)
    if len(set(inputs)) < len(inputs):
        return None
    fed: set[int] = set()
    for end in graph.output_edges:
        at, number = (end.FromNodeIndex, end.FromNodeOutputIndex), end.GraphOutputIndex
        if graph.writer(end) is None or not 0 <= number < len(outputs) or number in fed:
            return None
        fed.add(number)
        outputs[number] = outputs[number] or written.get(at) or fresh(f"output{number}")
        if written.setdefault(at, outputs[number]) != outputs[number]:
            return None
    outputs = [name or fresh(f"output{number}") for number, name in enumerate(outputs)]
    read = dict(graph.unwritten)
    for start in graph.input_edges:
        to = (start.ToNodeIndex, start.ToNodeInputIndex)
        if graph.reader(start) is None or not 0 <= start.GraphInputIndex < len(inputs) or to in read:
            return None
        read[to] = inputs[start.GraphInputIndex]
    for edge in graph.intermediate_edges:
        at, to = (edge.FromNodeIndex, edge.FromNodeOutputIndex), (edge.ToNodeIndex, edge.ToNodeInputIndex)
        if graph.writer(edge) is None or graph.reader(edge) is None or to in read:
            return None
        if at not in written:
            written[at] = fresh(graph.nodes[at[0]].name or f"value{at[0]}")
        read[to] = written[at]
    return Names(inputs, outputs, written, read)


def _to_names(graph: Graph, names: Names) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = []
    for at, of_node in enumerate(graph.slots):
        bindings: dict[str, Any] = {}
        for slot in (*of_node.inputs, *of_node.outputs) if of_node else ():
            name = (names.read if slot.is_input else names.written).get(slot.place)
            if slot.entry is not None:
                bindings.setdefault(slot.member, []).append(name)
            elif name is not None:
                bindings[slot.member or DATA] = name
        nodes.append({**_node_to_json(graph.nodes[at]), "bindings": bindings})
    return {"inputs": names.inputs, "outputs": names.outputs, "nodes": nodes}


def _to_indices(graph: Graph) -> dict[str, Any]:
    return {
        "InputCount": len(graph.inputs),
        "OutputCount": len(graph.outputs),
        "Nodes": [_node_to_json(node) for node in graph.nodes],
        **{kind: [edge._asdict() for edge in edges] for kind, edges in graph.edges.items()},
    }


def _node_to_json(node: Node) -> dict[str, Any]:
    name = {"name": node.name} if node.name else {}
    if node.desc is not None:
        return {**name, **node.desc.to_json()}
    contents = node.size if node.data is None else base64.b64encode(node.data).decode()
    return {**name, "constant": contents}
