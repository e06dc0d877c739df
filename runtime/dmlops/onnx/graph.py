"""An ONNX graph with what is known of its tensors before it runs: data types, shapes, small constants.

Models are not trusted: nothing but the file itself is read, sizes of constants are bounded, and any exception
of the `onnx` package becomes Unreadable or leaves a tensor unknown.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..counterparts import Signature, data, operation
from ..counterparts.describe import inferred
from ..counterparts.tensors import LARGEST, Impossible, Tensor, Undecided, View
from .package import onnx

ONNX = ("", "ai.onnx")
RUNTIME = "com.microsoft"  # ONNX Runtime's domain
OLDEST = 7  # oldest operator set for which the registry has counterparts
DEEPEST = 4  # functions nested within functions
LARGEST_FILE = 1 << 31  # bytes; the most that protobuf reads

_SHAPES = """
    Abs Add And ArgMax ArgMin Cast CastLike Ceil Compress Concat Constant ConstantOfShape CumSum Div
    Equal Expand Flatten Floor Gather GatherElements GatherND Greater GreaterOrEqual Identity Less
    LessOrEqual Max Min Mod Mul Neg NonZero Not Or Pow Range ReduceMax ReduceMin ReduceProd ReduceSum
    Reshape Round ScatterElements ScatterND Shape Sign Size Slice Split Sqrt Squeeze Sub Sum Tile
    Transpose Unique Unsqueeze Where Xor
"""
_FOLDED = frozenset(_SHAPES.split())
"""The operators with which models compute shapes."""


class Unreadable(Exception):
    """The file is not a model that can be read; the message says why."""


@dataclass(slots=True)
class Value:
    """A tensor of the graph: its ONNX type, and its values if they are known and few."""

    type: Any = None
    array: np.ndarray | None = None


def load(source: Any, data: bool = False) -> Any:
    """The model, given as itself or as a file's path; `data`: with the data in files beside it.

    Raises Unreadable, and OSError if the file cannot be read.
    """
    if not isinstance(source, str | os.PathLike):
        return source
    with open(source, "rb") as file:
        content = file.read(LARGEST_FILE)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception as error:  # protobuf's own exceptions
        raise Unreadable(f"not an ONNX model: {_first_line(error)}") from None
    if data:
        folder = os.path.dirname(os.path.abspath(source))
        try:  # onnx rejects paths that lead out of the folder
            onnx.external_data_helper.load_external_data_for_model(model, folder)
        except Exception as error:  # its own checks, and OSError
            raise Unreadable(f"its data in other files cannot be read: {_first_line(error)}") from None
    return model


def prepared(
    model: Any,
    dims: Mapping[str, int],
    also: Collection[tuple[str, str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Any:
    """The model with local functions inlined, and with some operators expanded as the standard defines them.

    These are the operators without their own form, and those in `also`. Dimensions with the names in
    `dims` are set, and those of inputs in `shapes`. Raises Unreadable.
    """
    if not _is_text(model):
        raise Unreadable("not an ONNX model: a name is not UTF-8")
    version = opset(model)
    if version is None and any(key(node)[0] == "" for node in walk(model.graph)):
        raise Unreadable("not an ONNX model: it names no version of ONNX's operator set")
    if version is not None and version < OLDEST:
        raise Unreadable(
            f"operator set {version} is too old, {OLDEST} is the oldest here; onnx.version_converter helps"
        )
    model = _cleaned(model)
    dims = _sized(model, dims, shapes or {})
    try:
        if not all(output.type.tensor_type.HasField("shape") for output in model.graph.output):
            model = onnx.shape_inference.infer_shapes(model)  # as runtimes do; the checker requires shapes
        onnx.checker.check_model(model, full_check=False)
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
    except Exception as error:  # from the checker, protobuf or the inliner
        raise Unreadable(f"not a valid model: {_first_line(error)}") from None
    model = _written_out(model, version or 1, also)
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in dims:
                dim.dim_value = dims[dim.dim_param]
    return model


def _written_out(model: Any, version: int, also: Collection[tuple[str, str]]) -> Any:
    """The model with such operators expanded, if the inliner can do it: absent inputs may stop it."""
    left: set[tuple[str, str]] = set()
    for _ in range(DEEPEST):
        used = sorted(set(map(key, walk(model.graph))) - left)
        for one in used:
            signature = signature_of(*one, version)
            if one not in also and not (signature and signature.expands and not signature.forms):
                continue
            try:
                typed = onnx.shape_inference.infer_shapes(
                    _with_defaults(model, [one])
                )  # as definitions require
                model = onnx.inliner.inline_selected_functions(typed, [one], inline_schema_functions=True)
            except Exception:  # many kinds; the nodes say what they lack
                left.add(one)
    return model


def _is_text(message: Any) -> bool:
    """Whether all strings of a message are valid text, including nested ones; protobuf accepts bytes."""
    for field, value in message.ListFields():
        values = (value,) if isinstance(value, str | bytes) or hasattr(value, "ListFields") else value
        if field.type == field.TYPE_MESSAGE and not all(map(_is_text, values)):
            return False
        if field.type == field.TYPE_STRING and not all(isinstance(one, str) for one in values):
            return False
    return True


def _cleaned(model: Any) -> Any:
    """A copy in which tensors with data in other files are inputs, so that no other file is looked for.

    ONNX Runtime's operators are moved to its domain: some of them it registers in ONNX's.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    known = {one.name for one in copy.graph.input}
    for one in [one for one in copy.graph.initializer if one.data_location == onnx.TensorProto.EXTERNAL]:
        if one.name not in known:
            copy.graph.input.append(
                onnx.helper.make_tensor_value_info(one.name, one.data_type, list(one.dims))
            )
        copy.graph.initializer.remove(one)
    for node in walk(copy.graph):
        domain, name = key(node)
        if not domain and not onnx.defs.has(name) and operation("onnx", name, RUNTIME):
            node.domain = RUNTIME
    if RUNTIME not in (one.domain for one in copy.opset_import):
        copy.opset_import.append(onnx.helper.make_opsetid(RUNTIME, 1))
    return copy


def _with_defaults(model: Any, operators: Collection[tuple[str, str]]) -> Any:
    """A copy in which nodes of these operators have all default attributes, which the inliner drops."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    versions = {one.domain: one.version for one in copy.opset_import}
    for node in walk(copy.graph):
        if key(node) in operators:
            schema = onnx.defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
            given = {one.name for one in node.attribute}
            for name, attribute_ in schema.attributes.items():
                if name not in given and attribute_.default_value.type:
                    node.attribute.append(attribute_.default_value)
    return copy


def key(node: Any) -> tuple[str, str]:
    """Domain and name of a node's operator; ONNX's own domain is ""."""
    return node.domain if node.domain not in ONNX else "", node.op_type


def signature_of(domain: str, operator: str, version: int) -> Signature | None:
    """The registry's signature of an operator in a version of its operator set; None if it is unknown."""
    known = operation("onnx", operator, domain)
    return known.signature(version) if known else None


def opset(model: Any) -> int | None:
    """The version of ONNX's operator set that a model imports; None if it imports none."""
    return next((one.version for one in model.opset_import if one.domain in ONNX), None)


def walk(graph: Any) -> Iterator[Any]:
    """The nodes of a graph and of its subgraphs."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from walk(attribute.g)


def _sized(model: Any, dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> Mapping[str, int]:
    """Sets the shapes of inputs; returns the sizes of named dimensions, also of those that follow from that.

    Dimensions of -1 are unknown ones. Raises Unreadable for a shape that contradicts the model.
    """
    found = dict(dims)
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value < 0 or dim.dim_param in ("?", "-1"):
                dim.Clear()
    for value in model.graph.input:
        if value.name not in shapes:
            continue
        sizes, shape = tuple(shapes[value.name]), value.type.tensor_type.shape
        if not value.type.tensor_type.HasField("shape"):
            shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in sizes)
        declared = [dim.dim_value or dim.dim_param or "?" for dim in shape.dim]
        if len(sizes) != len(declared) or any(
            dim.HasField("dim_value") and dim.dim_value != size
            for dim, size in zip(shape.dim, sizes, strict=True)
        ):
            raise Unreadable(f"{value.name} has the shape {declared}, not {list(sizes)}")
        for dim, size in zip(shape.dim, sizes, strict=True):
            if dim.dim_param:
                found.setdefault(dim.dim_param, size)
            dim.dim_value = size
    return found


def symbols(model: Any) -> list[str]:
    """The open dimensions of inputs: their names, or INPUT[INDEX] for those without one."""
    given = {one.name for one in model.graph.initializer}
    found = {
        dim.dim_param or f"{value.name}[{index}]"
        for value in model.graph.input
        if value.name not in given
        for index, dim in enumerate(value.type.tensor_type.shape.dim)
        if not dim.HasField("dim_value")
    }
    return sorted(found)


def is_op(node: Any, name: str) -> bool:
    """Whether a node has this operator of ONNX's own."""
    return bool(node.op_type == name and node.domain in ONNX)


def subgraph(node: Any, name: str) -> Any:
    """The graph in one of a node's attributes."""
    return next(one.g for one in node.attribute if one.name == name)


def branches(node: Any) -> tuple[Any, Any]:
    """The graphs of an If: what runs if its condition holds, and what runs otherwise."""
    return subgraph(node, "then_branch"), subgraph(node, "else_branch")


def read_names(node: Any) -> Iterator[str]:
    """The names of what a node reads; also in its subgraphs, some of whose names are their own."""
    yield from node.input
    for one in node.attribute:
        if one.HasField("g"):
            yield from (output.name for output in one.g.output)
            for inner in one.g.node:
                yield from read_names(inner)


def constant(node: Any) -> np.ndarray:
    """The value of a Constant, of any size. Raises ValueError if it is a sparse tensor or text."""
    (one,) = node.attribute
    if one.type == onnx.AttributeProto.TENSOR:
        array: np.ndarray = onnx.numpy_helper.to_array(one.t)
        return array
    if one.name not in ("value_float", "value_floats", "value_int", "value_ints"):
        raise ValueError(f"{node.output[0]} is a constant of another kind than numbers")
    value = onnx.helper.get_attribute_value(one)
    return np.array(value, np.float32 if "float" in one.name else np.int64)


class Graph:
    """The known facts about the tensors of a graph; nodes must be `entered` in order."""

    def __init__(self, model: Any, graph: Any, outer: Graph | None = None) -> None:
        self.model = model
        self.versions = {
            one.domain if one.domain not in ONNX else "": one.version for one in model.opset_import
        }
        self.values: dict[str, Value] = dict(outer.values) if outer else {}
        for info in (*graph.value_info, *graph.output, *graph.input):
            self.values[info.name] = Value(info.type)
        for tensor in graph.initializer:
            self.values[tensor.name] = Value(
                onnx.helper.make_tensor_type_proto(tensor.data_type, tuple(tensor.dims)), _array(tensor)
            )
        for sparse in graph.sparse_initializer:
            self.values[sparse.values.name] = Value(
                onnx.helper.make_tensor_type_proto(sparse.values.data_type, tuple(sparse.dims))
            )

    def tensor(self, name: str) -> Tensor:
        """A tensor in the form that descriptions need."""
        value = self.values.get(name) or Value()
        kind = None if value.type is None else value.type.WhichOneof("value")
        if kind != "tensor_type":
            return Tensor(name, kind and kind.removesuffix("_type"), None)
        of_tensor, array = value.type.tensor_type, value.array
        number = of_tensor.elem_type
        truth = number == onnx.TensorProto.BOOL
        types = {"0": None, "9": "UINT8", **data()["data_types"]}
        known = types[str(number)] if str(number) in types else _type_name(number)
        if array is not None and truth:
            array = array.astype(np.uint8)
        if not of_tensor.HasField("shape"):
            return Tensor(name, known, None, array, truth)
        sizes = tuple(
            dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
            for dim in of_tensor.shape.dim
        )
        return Tensor(name, known, sizes or (1,), array, truth, scalar=not sizes)

    def value(self, name: str) -> np.ndarray | None:
        """The values of a tensor, None if they are not known; those of a tensor without elements are."""
        value = self.values.get(name) or Value()
        if value.array is None and value.type is not None and value.type.tensor_type.HasField("shape"):
            dims = value.type.tensor_type.shape.dim
            if all(dim.HasField("dim_value") for dim in dims) and 0 in (dim.dim_value for dim in dims):
                type_ = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
                return np.empty([dim.dim_value for dim in dims], type_)
        return value.array

    def put(self, name: str, array: np.ndarray) -> None:
        """Records the shape of a tensor's array, and its data type if that is not known."""
        value = self.values.setdefault(name, Value())
        number = value.type.tensor_type.elem_type if value.type is not None else 0
        number = number or onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        value.type = onnx.helper.make_tensor_type_proto(number, array.shape)

    def enter(self, node: Any) -> None:
        """Records what the inputs of a node imply for its outputs."""
        found = self._inferred(node)
        for name, kind in found.items():
            if name and kind.WhichOneof("value"):
                self.values[name] = Value(kind, self.values.get(name, Value()).array)
        if node.domain in ONNX and node.op_type in _FOLDED:
            self._fold(node)

    def _inferred(self, node: Any) -> dict[str, Any]:
        """Types of the outputs: inferred by ONNX and merged with those in the model, or from the registry."""
        domain, operator = key(node)
        version = self.versions.get(domain, 1)
        signature = signature_of(domain, operator, version)
        if signature and signature.infers:
            return self._signature_facts(node, signature)
        try:
            schema = onnx.defs.get_schema(operator, version, domain)
            names = [name for name in node.input if name]
            types = {name: self.values[name].type for name in names if name in self.values}
            arrays = {name: self.values[name].array for name in types}
            constants = {n: onnx.numpy_helper.from_array(a, n) for n, a in arrays.items() if a is not None}
            found: dict[str, Any] = onnx.shape_inference.infer_node_outputs(
                schema, node, types, constants, opset_imports=list(self.model.opset_import)
            )
        except Exception:  # many kinds; the outputs stay as in the model
            return {}
        return {name: self._merged(name, kind) for name, kind in found.items()}

    def _signature_facts(self, node: Any, signature: Signature) -> dict[str, Any]:
        """Types of the outputs according to the registry; unknown ones are left out."""
        found: dict[str, Any] = {}
        numbers = {name: int(number) for number, name in data()["data_types"].items()}
        try:
            values = self.named(node, signature)
            for formal, actual in zip(signature.outputs, node.output, strict=False):
                if actual and formal.rstrip("?*") in signature.infers:
                    type_, sizes = inferred(signature, formal.rstrip("?*"), values)
                    found[actual] = onnx.helper.make_tensor_type_proto(numbers[type_], sizes)
        except (Undecided, Impossible):
            pass
        return found

    def named(self, node: Any, signature: Signature) -> dict[str, Any]:
        """The values of a signature's names for this node: views, attributes, None for what is absent."""
        values: dict[str, Any] = dict(signature.attributes)
        for one in node.attribute:
            if one.name not in signature.attributes:
                raise Impossible(f"{one.name} is not known as an attribute of {node.op_type}")
            value = attribute(one)
            if isinstance(value, np.ndarray):
                value = View(Tensor("", None, tuple(value.shape) or (1,), value))
            values[one.name] = value
        for formal, actual in ((signature.inputs, node.input), (signature.outputs, node.output)):
            left = list(actual)
            for parameter in formal:
                plain = parameter.rstrip("?*")
                if parameter.endswith("*"):
                    several = [self.tensor(one) for one in left if one]
                    values[plain] = [View(one) for one in several if 0 not in (one.sizes or ())]
                    left = []
                else:
                    given = left.pop(0) if left else ""
                    values[plain] = View(self.tensor(given)) if given else None
                    if not given and not parameter.endswith("?"):
                        raise Impossible(f"{plain} is absent, which {node.op_type} needs")
            if any(left):
                raise Impossible(f"{node.op_type} is not known to have so many inputs or outputs")
        return values

    def _merged(self, name: str, found: Any) -> Any:
        """An inferred type; a dimension that it leaves open is taken from the model."""
        old = self.values.get(name)
        if old is None or old.type is None or not found.HasField("tensor_type"):
            return found
        said, shape = old.type.tensor_type.shape.dim, found.tensor_type.shape.dim
        if not found.tensor_type.HasField("shape") and old.type.tensor_type.HasField("shape"):
            return old.type
        if len(said) == len(shape):
            for dim, other in zip(shape, said, strict=True):
                if not dim.HasField("dim_value") and other.HasField("dim_value"):
                    dim.dim_value = other.dim_value
        return found

    def _fold(self, node: Any) -> None:
        """The values of a node's outputs, if they depend on few numbers."""
        output = self.tensor(node.output[0]) if node.output else None
        if output is None:
            return
        if node.op_type not in ("Compress", "NonZero", "Unique"):  # whose results are as few as the inputs
            if output.sizes is None or not all(isinstance(size, int) for size in output.sizes):
                return
            if prod(size for size in output.sizes if isinstance(size, int)) > LARGEST:
                return
        names = [name for name in node.input if name]
        if node.op_type in ("Shape", "Size"):
            sizes = self.tensor(names[0]).sizes if names else None
            if sizes is None or not all(isinstance(size, int) for size in sizes):
                return
            shape = self.values[names[0]].type.tensor_type.shape.dim
            given = {names[0]: np.broadcast_to(np.int8(0), [dim.dim_value for dim in shape])}  # no memory
        else:
            arrays = {name: self.values[name].array for name in names if name in self.values}
            given = {name: array for name, array in arrays.items() if array is not None}
            if len(given) != len(set(names)):
                return
        try:
            if node.op_type == "Constant":
                results = [constant(node)]  # evaluators take long to make
            elif node.op_type == "Unsqueeze" and node.attribute:  # up to 12, which the evaluator lacks
                results = [np.expand_dims(given[names[0]], tuple(node.attribute[0].ints))]
            else:
                results = onnx.reference.ReferenceEvaluator(node, opsets=dict(self.versions)).run(None, given)
        except Exception:  # the node is malformed
            return
        for name, result in zip(node.output, results, strict=False):
            if isinstance(result, np.ndarray | np.generic) and np.asarray(result).dtype.kind in "biuf":
                self.put(name, np.asarray(result))
                self.values[name].array = np.asarray(result)


def _array(tensor: Any) -> np.ndarray | None:
    """The values of an initializer, if it is small and stored in the file itself."""
    if (
        tensor.data_location == onnx.TensorProto.EXTERNAL
        or prod(tensor.dims) > LARGEST
        or min(tensor.dims, default=0) < 0
    ):
        return None
    try:
        array: np.ndarray = onnx.numpy_helper.to_array(tensor)
    except Exception:  # many kinds: too few bytes, an unknown type
        return None
    return array if array.dtype.kind in "biuf" else None


def attribute(one: Any) -> Any:
    """The value of an attribute: a number, a string, a list of them, an array; None for anything else."""
    value = None
    match one.type:
        case onnx.AttributeProto.STRING:
            value = one.s.decode("utf-8", "replace")
        case onnx.AttributeProto.STRINGS:
            value = [text.decode("utf-8", "replace") for text in one.strings]
        case onnx.AttributeProto.FLOAT:
            value = _shortest(one.f)
        case onnx.AttributeProto.FLOATS:
            value = [_shortest(number) for number in one.floats]
        case onnx.AttributeProto.INT:
            value = one.i
        case onnx.AttributeProto.INTS:
            value = list(one.ints)
        case onnx.AttributeProto.TENSOR:
            value = _array(one.t)
    return value


def _shortest(number: float) -> float:
    """The shortest decimal that is this number in single precision: 0.2, not 0.20000000298."""
    return float(str(np.float32(number)))


def _type_name(number: int) -> str:
    try:
        return str(onnx.TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"number {number}"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
