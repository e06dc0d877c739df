"""The spelling of specs' names in outputs, and the names that outputs reserve.

A variable that would collide with a reserved name gets a trailing underscore. Other names are public, so
`clashes` reports those that are impossible.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from inspect import isfunction

from dmlgen.diagnostics import Finding, Position
from dmlgen.expr import arithmetic, ir
from dmlgen.registry import Declaration, Definition, Enum, Operator, Registry, Struct


def words(text: str) -> frozenset[str]:
    """Words written with spaces between them."""
    return frozenset(text.split())


# The functions of the package's arithmetic.
ARITHMETIC = tuple(sorted(name for name, one in vars(arithmetic).items() if isfunction(one)))
# Variables and functions of the modules for operators, tensor rules and computations. A test compares them
# with the modules.
PYTHON_NAMES = frozenset(ARITHMETIC) | words(
    """
    above absolute acos acosh activated annotations asin asinh atan
    atan2 atanh below bit_count bit_not both case ceil check_structure check_values cls computation
    convert cos cosh created dataclass desc difference divide divide_exactly either element enums erf
    every exp expm1 final floor given greatest hint inferred inferred_if_given is_infinity is_nan larger
    least load log log1p maximum mean minimum modulus_floor modulus_truncate name_of opposite part path
    prod quantize replace report round_away round_even same_field scaled self sign sin single sinh some
    sqrt structs tan tanh tensor tensor_at trunc uniforms violations where wrap
    """
)
# Classes in an operator's module, where its members are parameters with exactly their own names.
PYTHON_CLASSES = words(
    """
    Any Description FeatureLevel Iterable OperatorType Size2d SupportsFloat SupportsIndex TensorDataType
    TensorDesc TensorFlags Violation
    """
)
_PACKAGE = {"Description", "InvalidDescription", "JsonError", "Support", "Violation"}
_PACKAGE |= {"FeatureLevel", "OperatorType", "Any"}
_FILES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}

# Words that the HLSL compiler rejects as variables, and functions of it that shaders call. A test tries every
# word of the compiler, so the first part is complete.
HLSL_WORDS = words(
    """
    Technique abs acos all any asdouble asfloat asin asint asm asm_fragment asuint atan atan2 auto bool
    break buffer case catch cbuffer ceil centroid char clamp class clip column_major compile const
    const_cast continue cos cosh countbits cross ddx ddy default degrees delete determinant discard
    distance do dot double dst dword dynamic_cast else enum exp exp2 explicit export extern f16tof32
    f32tof16 false firstbithigh firstbitlow fixed float floor fma fmod for frac frexp friend fwidth
    globallycoherent goto groupshared half if in inline inout int interface isfinite isinf isnan ldexp lerp
    line lineadj linear lit log log10 log2 long mad matrix max min modf mul mutable namespace new
    nointerpolation noise noperspective normalize null operator out packoffset pass payload pixelfragment
    pixelshader point pow precise primitives private protected public radians rcp reflect refract register
    reinterpret_cast return reversebits round row_major rsqrt sample sampler sampler_state saturate shared
    short sign signed sin sincos sinh sizeof smoothstep snorm sqrt stateblock static static_cast string
    struct switch tan tanh tbuffer technique technique10 technique11 template texture this throw transpose
    triangle triangleadj true trunc try typedef typeid typename uint uniform union unorm unsigned using
    vector vertexfragment vertexshader vertices virtual void volatile wchar_t while
    """
)
_HLSL_VARIABLES = words(  # of the templates
    """
    at count dimensions group groupColumns inner item outer params place reciprocal rest size thread value
    """
)
_HLSL_NUMBERED = re.compile(
    r"(min\d+)?(bool|int|uint|float|half|double|dword|snorm|unorm)\d*(_t|x\d)?|"
    r"(all|any|sum|product|min|max|chosen|changed|value|reserved|parameter)\d+"
)


@cache
def snake(name: str) -> str:
    """A name of the ABI as a Python variable: InputTensor becomes input_tensor."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return f"{text}_" if keyword.iskeyword(text) or hasattr(builtins, text) else text


def python_variable(name: str) -> str:
    """A Python variable for a name of the ABI, with an underscore if a module reserves it."""
    return f"{snake(name)}_" if snake(name) in PYTHON_NAMES else snake(name)


def pascal(name: str) -> str:
    """Words without underscores: TENSOR_DATA_TYPE becomes TensorDataType, in_bounds InBounds."""
    return "".join(word.capitalize() for word in name.split("_"))


def free(base: str, *taken: Container[str]) -> str:
    """The first of base, base2, base3 and so on that is in none of `taken`."""
    number, name = 2, base
    while any(name in names for names in taken):
        number, name = number + 1, f"{base}{number}"
    return name


def field_local(tensor: str, field: str) -> str:
    """The Python variable that holds a tensor's field."""
    prefix = f"{python_variable(tensor)}_" if tensor else ""
    return prefix + ("rank" if field == "DimensionCount" else python_variable(field))


def shader_variable(name: str) -> str:
    """A name as a variable of a shader."""
    return f"{name}_" if name in HLSL_WORDS | _HLSL_VARIABLES or _HLSL_NUMBERED.fullmatch(name) else name


def clashes(registry: Registry) -> Iterator[Finding]:
    """Names that outputs cannot have together, or at all."""
    yield from _of_header(registry)
    classes = dict.fromkeys(_PACKAGE, "a class of the package dmlops")
    places = {one.name: one for one in registry.declared}
    types: list[Enum | Struct] = [*registry.enums.values(), *registry.structs.values()]
    for type_ in types:
        python, declared = pascal(type_.name), places[type_.c_name]
        if python in classes:
            yield _clash(declared.position, type_.name, python, classes[python])
        classes[python] = declared.owner
    for operator in registry.operators:
        python = pascal(operator.name)
        if python in classes:
            yield _clash(operator.position, operator.name, python, classes[python])
        classes[python] = operator.name
        if keyword.iskeyword(operator.slug) or keyword.iskeyword(python):
            yield _clash(operator.position, operator.name, operator.slug, "a keyword of Python")
        if operator.slug in _FILES:
            yield _clash(operator.position, operator.name, operator.slug, "a device of Windows")
        yield from _of_members(operator, registry)
        yield from _of_variables(operator, registry)


def _of_header(registry: Registry) -> Iterator[Finding]:
    """Two things that the header declares under the same name."""
    named = {
        "DML_OPERATOR_INVALID": "no operator",
        "DML_OPERATOR_TYPE": "the type of operators",
        "DML_FEATURE_LEVEL": "the type of feature levels",
    }
    declared = list(registry.declared)
    for operator in registry.operators:
        own = [operator.c_constant, operator.c_name, *([operator.c_alias] if operator.alias else [])]
        declared += [Declaration(name, operator.name, operator.position) for name in own]
    for one in declared:
        if one.name in named:
            yield _clash(one.position, one.owner, one.name, named[one.name])
        named[one.name] = one.owner


def _of_members(operator: Operator, registry: Registry) -> Iterator[Finding]:
    """Members whose names are those of a class or a keyword."""
    types = {pascal(name) for name in (*registry.enums, *registry.structs)}
    taken = PYTHON_CLASSES | types | {pascal(operator.name)}
    for member in operator.members:
        own = pascal(member.type)  # a member may have the name of its type
        if (
            member.name in taken - {own}
            or keyword.iskeyword(member.name)
            or member.name in ("None", "True", "False")
        ):
            yield _clash(member.position, member.name, member.name, "a class that Python's bindings need")


def _of_variables(operator: Operator, registry: Registry) -> Iterator[Finding]:
    """Members, definitions and loop variables that are the same variable in an output."""
    fields = [field.name for field in registry.structs["BUFFER_TENSOR_DESC"].members]
    named = dict.fromkeys(("at", "is_input", "level"), "a name of the expression language")
    for member in operator.members:
        locals_ = [python_variable(member.name)]
        if member.is_tensor:
            locals_ += [field_local(member.name, field) for field in fields]
            locals_ += [f"{locals_[0]}_{part}" for part in ("ranks", "types")]
        for local in locals_:
            if local in named:
                yield _clash(member.position, member.name, local, named[local])
            named[local] = member.name
    checks = [check for rule in operator.rules for check in rule.checks]
    judged = [node for check in checks for node in (*check.read, *check.shown)]
    inferred = [node for inference in operator.inferences for node in inference.expressions]
    loops = {
        loop.variable.name: rule.position
        for rule in operator.rules
        for check in rule.checks
        for loop in check.loops
    }
    yield from _of_scope(operator, dict(named), operator.definitions, [*judged, *inferred], loops)


def _of_scope(
    operator: Operator,
    named: dict[str, str],
    definitions: Iterable[Definition],
    expressions: Iterable[ir.Expr],
    loops: Mapping[str, Position],
) -> Iterator[Finding]:
    variables = {definition.name for definition in definitions}
    for definition in definitions:
        if python_variable(definition.name) in named:
            local = python_variable(definition.name)
            yield _clash(definition.position or operator.position, definition.name, local, named[local])
        named[python_variable(definition.name)] = definition.name
    places = dict.fromkeys(_loop_names(*expressions), operator.position)
    for definition in definitions:
        places |= dict.fromkeys(_loop_names(definition.value), definition.position or operator.position)
    for name, position in sorted({**places, **loops}.items()):
        if name not in variables and python_variable(name) in named:
            yield _clash(position, name, python_variable(name), named[python_variable(name)])


def _loop_names(*expressions: ir.Expr) -> Iterator[str]:
    nodes = (node for expression in expressions for node in ir.walk(expression))
    return (node.loop.variable.name for node in nodes if isinstance(node, ir.Reduce))


def _clash(position: Position, name: str, spelled: str, other: str) -> Finding:
    message = f"{name} would be {spelled} in an output, and so is {other}; choose another name"
    return Finding(position, "name-clash", message)
