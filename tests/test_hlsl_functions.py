"""The mathematical functions of the shaders, on a Vulkan device, against mpmath and NumPy."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

from dmlgen.outputs.hlsl_functions import written_out
from dmlops.gpu import compiler
from dmlops.gpu.work import Dispatch, Work
from gpu_device import GUARD, device, dispatch_guarded, smallest_compared
from spirv_modules import instructions, validate

__all__ = ["device"]

FUNCTIONS = Path(__file__).parents[1] / "templates" / "hlsl" / "functions"
FLOAT16 = FUNCTIONS.parent / "float16"  # tested by test_hlsl_float16.py
DXIL_PRECISE = (FUNCTIONS.parent / "dxil_precise.hlsl").read_text(encoding="ascii")  # what functions rely on
TYPES: dict[str, Any] = {"float": np.float32, "double": np.float64}
CAPABILITIES = {"float": {1, 11}, "double": {1, 10, 11}}  # Shader, Float64, Int64
GROUP = 64


def exact_gelu(x: Any) -> Any:
    x = max(x, -200)  # far below every number; mpmath takes no larger ones
    return x * mpmath.ncdf(x) if x > 0 else x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def exact_softplus(x: Any) -> Any:
    power = mpmath.exp(-abs(x))
    small = power < 2.0**-1000  # which mpmath would add to 1 at full length
    return max(x, 0) + (power if small else mpmath.log1p(power))


@np.vectorize
def gelu(x: float) -> float:
    weight = math.erfc(-x / math.sqrt(2)) / 2
    return 0.0 if weight == 0 else x * weight


class Approximation(NamedTuple):
    """A function with rounding errors: their bounds in ulp, two oracles, and where its argument may be."""

    float_bound: float
    double_bound: float
    exact: Callable[..., Any]
    special: Callable[..., Any]  # right at infinities, NaN and zeros, and outside the domain
    low: float = -math.inf  # both ends are left to `special`
    high: float = math.inf


APPROXIMATIONS = {
    "Exp": Approximation(1, 1, mpmath.exp, np.exp),
    "Expm1": Approximation(1.75, 1.75, mpmath.expm1, np.expm1),
    "Log": Approximation(1.25, 1.25, mpmath.log, np.log, low=0),
    "Log1p": Approximation(1.25, 1.25, mpmath.log1p, np.log1p, low=-1),
    "Pow": Approximation(1.25, 1.25, mpmath.power, np.power),
    "Sin": Approximation(1, 1, mpmath.sin, np.sin),
    "Cos": Approximation(1, 1, mpmath.cos, np.cos),
    "Tan": Approximation(2.5, 2.5, mpmath.tan, np.tan),
    "Asin": Approximation(2.5, 2.5, mpmath.asin, np.arcsin, -1, 1),
    "Acos": Approximation(1.5, 1.5, mpmath.acos, np.arccos, -1, 1),
    "Atan": Approximation(2, 2, mpmath.atan, np.arctan),
    "Atan2": Approximation(2.5, 2.5, mpmath.atan2, np.arctan2),
    "Sinh": Approximation(2.5, 2.5, mpmath.sinh, np.sinh),
    "Cosh": Approximation(1.5, 1.5, mpmath.cosh, np.cosh),
    "Tanh": Approximation(1.5, 3, mpmath.tanh, np.tanh),
    "Asinh": Approximation(2, 2, mpmath.asinh, np.arcsinh),
    "Acosh": Approximation(3, 3, mpmath.acosh, np.arccosh, low=1),
    "Atanh": Approximation(2.5, 2.5, mpmath.atanh, np.arctanh, -1, 1),
    "Erf": Approximation(1.5, 1.5, mpmath.erf, np.vectorize(math.erf)),
    "Gelu": Approximation(9, 10, exact_gelu, gelu),
    "Softplus": Approximation(2.5, 2.5, exact_softplus, partial(np.logaddexp, 0)),
}
EXACT: dict[str, Callable[..., Any]] = {
    "Sqrt": np.sqrt,
    "Divide": np.divide,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Trunc": np.trunc,
    "RoundEven": np.rint,
    "Fmod": np.fmod,
    "FloorMod": np.mod,
    "Saturate": lambda a: np.where(a <= 0, 0, np.minimum(a, 1)),
    # NumPy does not say which of two zeros it gives; their sum is -0 if both are.
    "Max": lambda a, b: np.where((a == 0) & (b == 0), a + b, np.maximum(a, b)),
    "Min": lambda a, b: np.where((a == 0) & (b == 0), -(-a - b), np.minimum(a, b)),
}
ON_BITS = {"Sqrt", "Divide", "Fmod", "Max", "Min"}  # right for subnormals on any device
PREDICATES: dict[str, Callable[..., Any]] = {"IsNan": np.isnan, "IsInfinity": np.isinf}
PUBLIC = [*APPROXIMATIONS, *EXACT, *PREDICATES]
SHIFTED = "ExpShifted"  # only for floats, which are not above 0
BINARY = {"Pow", "Atan2", "Divide", "Fmod", "FloorMod", "Max", "Min"}


@cache
def function_text(name: str, folder: Path = FUNCTIONS) -> str:
    """The functions of a file; of one that is written once for both types, both."""
    text = (folder / f"{name}.hlsl").read_text(encoding="ascii")
    return written_out(text, (FUNCTIONS.parent / "reals.hlsl").read_text(encoding="ascii"))


def closure(name: str) -> list[str]:
    """The functions that one calls, directly or not, and then itself, each after those it calls."""
    code = re.sub(r"//.*", "", function_text(name))
    known = {path.stem for path in FUNCTIONS.glob("*.hlsl")} - {name}
    called = sorted(known.intersection(re.findall(r"\b(\w+)\(", code)))
    return list(dict.fromkeys([*(inner for one in called for inner in closure(one)), name]))


def shader(functions: str, call: str, inputs: int, type_name: str, output_type: str) -> str:
    """A shader that makes each element of its output from those of a and b, or only a."""
    return f"""{DXIL_PRECISE}
{functions}
[[vk::binding(0, 0)]] StructuredBuffer<{type_name}> aTensor : register(t0);
#if {inputs} == 2
[[vk::binding(1, 0)]] StructuredBuffer<{type_name}> bTensor : register(t1);
#endif
[[vk::binding({inputs}, 0)]] RWStructuredBuffer<{output_type}> outputTensor : register(u0);
[[vk::binding({inputs + 1}, 0)]] cbuffer Params : register(b0)
{{
    uint count;
}};

[numthreads({GROUP}, 1, 1)]
void CSMain(uint3 id : SV_DispatchThreadID)
{{
    if (id.x >= count)
        return;
    const {type_name} a = aTensor[id.x];
#if {inputs} == 2
    const {type_name} b = bTensor[id.x];
#endif
    outputTensor[id.x] = ({output_type})({call});
}}
"""


def function_shader(name: str, type_name: str) -> str:
    functions = "\n".join(map(function_text, closure(name)))
    inputs = 2 if name in BINARY else 1
    output_type = "uint" if name in PREDICATES else type_name
    return shader(functions, f"{name}({'a, b' if inputs == 2 else 'a'})", inputs, type_name, output_type)


def run(device: Any, text: str, output_type: Any, *arguments: Any) -> Any:
    """The output of a shader as an array; `arguments` are arrays of one type and length."""
    count = len(arguments[0])
    contents = {f"{place}": np.ascontiguousarray(one).view(np.uint8) for place, one in enumerate(arguments)}
    contents["output"] = np.zeros(count * np.dtype(output_type).itemsize, np.uint8)
    constants, groups = np.uint32([count, 0, 0, 0]).tobytes(), (-(-count // GROUP), 1)
    dispatch = Dispatch({}, tuple(contents), len(arguments), constants, groups)
    after = dispatch_guarded(device, "", Work((dispatch,)), contents, lambda _: text)
    return after["output"][GUARD:-GUARD].view(output_type)


def evaluate(device: Any, name: str, *arguments: Any) -> Any:
    """The values of a function on the device."""
    dtype = arguments[0].dtype
    type_name = next(key for key, value in TYPES.items() if dtype == value)
    return run(
        device, function_shader(name, type_name), np.uint32 if name in PREDICATES else dtype, *arguments
    )


def comparable(smallest: float, arrays: tuple[Any, ...]) -> Any:
    """A mask of where no array has a number between 0 and the smallest to be compared."""
    return np.all([(array == 0) | ~(np.abs(array) < smallest) for array in arrays], axis=0)


def special_values(dtype: Any) -> Any:
    info = np.finfo(dtype)
    sizes = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 1000.0, 1e30, math.inf, math.nan]
    positive = [*sizes, *map(float, (info.smallest_subnormal, info.tiny, info.max))]
    return np.array([*positive, *(-x for x in positive)], dtype)


def values(rng: np.random.Generator, dtype: Any, size: int = 300) -> Any:
    """Numbers of every size, and the neighbors of those where functions change their course."""
    bits = np.uint32 if dtype == np.float32 else np.uint64
    edges = np.array([math.log(2) / 2, 0.29, math.tan(math.pi / 8), 0.5, math.pi / 4, 1, 4], dtype)
    turns = np.arange(1, 9) * (math.pi / 4)
    edges = np.concatenate(
        [edges, 1 / edges, turns.astype(dtype), dtype(math.log(np.finfo(dtype).max)).reshape(1)]
    )
    edges = np.concatenate([edges, np.nextafter(edges, dtype(0)), np.nextafter(edges, dtype(math.inf))])
    spread = np.exp2(rng.uniform(-40, 12, size)).astype(dtype)
    return np.concatenate(
        [
            special_values(dtype),
            edges,
            -edges,
            spread,
            -spread,
            1 + spread,
            1 - spread,
            rng.integers(0, np.iinfo(bits).max, size, bits, endpoint=True).view(dtype),
            *(rng.uniform(-limit, limit, size).astype(dtype) for limit in (1, 3, 30, 800)),
        ]
    )


def arguments(name: str, dtype: Any) -> tuple[Any, ...]:
    rng = np.random.default_rng(PUBLIC.index(name))
    first = values(rng, dtype)
    if name not in BINARY:
        return (first,)
    second = rng.permutation(values(rng, dtype))
    specials = special_values(dtype)
    pairs = np.array(list(itertools.product(specials, specials)), dtype)
    first, second = np.concatenate([first, first, pairs[:, 0]]), np.concatenate([second, first, pairs[:, 1]])
    if name == "Pow":
        bases = np.exp2(rng.uniform(-8, 8, 900)).astype(dtype)
        bases = np.concatenate([bases, 1 + bases[:300] / 2**12])
        reach = math.log(np.finfo(dtype).max) * 1.03
        powers = (rng.uniform(-reach, reach, len(bases)) / np.log(bases.astype(np.float64))).astype(dtype)
        first, second = (
            np.concatenate([first, bases, -bases]),
            np.concatenate([second, powers, np.rint(powers)]),
        )
    return first, second


def error_in_ulps(result: float, exact: Any, dtype: Any) -> float:
    """The error of a result, in units in the last place.

    Infinity is treated as the power of two that follows all numbers; an exact value of that size or more has
    to give it.
    """
    info = np.finfo(dtype)
    beyond = mpmath.ldexp(1, int(info.maxexp))
    if abs(exact) >= beyond:
        return 0 if result == mpmath.sign(exact) * math.inf else math.inf
    if math.isnan(result) or (result != 0 and exact != 0 and math.copysign(1, result) != mpmath.sign(exact)):
        return math.inf
    exponent = max(int(mpmath.frexp(exact)[1]) - 1, int(info.minexp))
    value = math.copysign(1, result) * beyond if math.isinf(result) else mpmath.mpf(result)
    return float(abs(value - exact) / mpmath.ldexp(1, exponent - int(info.nmant)))


def check_errors(device: Any, name: str, type_name: str, *arrays: Any) -> None:
    function, dtype = APPROXIMATIONS[name], TYPES[type_name]
    smallest = smallest_compared(device, TYPES[type_name])
    usable = comparable(smallest, arrays)
    arrays = tuple(array[usable] for array in arrays)
    results = evaluate(device, name, *arrays)
    worst = (-1.0, "nothing was compared")
    with mpmath.workprec(160):
        for *given, result in zip(*(array.tolist() for array in (*arrays, results)), strict=True):
            exact = function.exact(*map(mpmath.mpf, given))
            if exact == 0 or abs(exact) >= smallest:
                error = error_in_ulps(result, exact, dtype)
                worst = max(worst, (error, f"{name}{tuple(given)} is {result}, not {mpmath.nstr(exact, 20)}"))
    assert 0 <= worst[0] <= getattr(function, f"{type_name}_bound"), worst


def same(result: float, want: float) -> bool:
    """Equal, the signs of zeros too; a NaN is like any other."""
    if math.isnan(want):
        return math.isnan(result)
    return (result, math.copysign(1, result)) == (want, math.copysign(1, want))


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_errors_are_bounded(device: Any, name: str, type_name: str) -> None:
    function = APPROXIMATIONS[name]
    arrays = arguments(name, TYPES[type_name])
    usable = np.all([np.isfinite(array) for array in arrays], axis=0)
    usable &= (arrays[0] > function.low) & (arrays[0] < function.high)
    if name in BINARY:
        usable &= (arrays[0] != 0) & (arrays[1] != 0)
    if name == "Pow":
        usable[usable] &= (arrays[0][usable] > 0) | (np.trunc(arrays[1][usable]) == arrays[1][usable])
        usable &= np.abs(arrays[1]) < 2.0**64  # mpmath has no end to its exponents, but memory has
    check_errors(device, name, type_name, *(array[usable] for array in arrays))


def near_quarter_turns(dtype: Any) -> Iterator[float]:
    """For each exponent, the numbers that come nearest to multiples of pi / 2.

    An integer M with M 2^e near k pi / 2 is the numerator of a convergent M / k of pi / 2^(e + 1).
    """
    info = np.finfo(dtype)
    digits = int(info.nmant) + 1
    with mpmath.workprec(2600):
        half_pi = int(mpmath.floor(mpmath.ldexp(mpmath.pi / 2, 2400)))
    for exponent in range(1 - digits, int(info.maxexp) - digits + 1):
        numerator, denominator = half_pi << max(-exponent, 0), 1 << 2400 + max(exponent, 0)
        previous, convergent = 0, 1
        while denominator:
            quotient, rest = divmod(numerator, denominator)
            following = quotient * convergent + previous
            if following >> digits:
                break
            previous, convergent = convergent, following
            numerator, denominator = denominator, rest
            yield math.ldexp(convergent, exponent)


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("name", ["Sin", "Cos", "Tan"])
def test_angles_next_to_quarter_turns(device: Any, name: str, type_name: str) -> None:
    found = np.array(sorted({x for x in near_quarter_turns(TYPES[type_name]) if x > 0.5}), TYPES[type_name])
    chosen = np.random.default_rng(0).permutation(found)[:2000]
    # The hardest one: Muller, "Elementary Functions" (double); float by the same method.
    hardest = {"float": 16367173.0 * 2.0**72, "double": 6381956970095103.0 * 2.0**797}[type_name]
    assert hardest in found
    check_errors(device, name, type_name, np.append(chosen, [hardest, -hardest]).astype(TYPES[type_name]))


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_special_values(device: Any, name: str, type_name: str) -> None:
    dtype = TYPES[type_name]
    arrays: tuple[Any, ...] = (special_values(dtype),)
    if name in BINARY:
        arrays = tuple(np.array(list(itertools.product(*arrays, *arrays)), dtype).T.copy())
    usable = comparable(smallest_compared(device, TYPES[type_name]), arrays)
    arrays = tuple(array[usable] for array in arrays)
    results = evaluate(device, name, *arrays)
    with np.errstate(all="ignore"):
        expected = APPROXIMATIONS[name].special(*(array.astype(np.float64) for array in arrays)).astype(dtype)
    for *given, result, want in zip(*(array.tolist() for array in (*arrays, results, expected)), strict=True):
        # Half of a subnormal number may be rounded to it or to 0.
        halved = name == "Gelu" and 0 < abs(given[0]) < np.finfo(dtype).tiny
        if math.isfinite(want) and (want != 0 or halved):  # its error is another test's concern
            alike = math.isclose(result, want, rel_tol=1e-6, abs_tol=2.0**26 * float(np.finfo(dtype).tiny))
        else:
            alike = same(result, want)
        assert alike, f"{name}{tuple(given)} is {result}, not {want}"


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions_bit_for_bit(device: Any, name: str, type_name: str) -> None:
    dtype = TYPES[type_name]
    arrays = arguments(name, dtype)
    if name not in BINARY:
        halves = np.arange(-40, 40).astype(dtype) / 2
        more = (
            np.nextafter(halves, dtype(0)),
            np.nextafter(halves, dtype(99)),
            halves + dtype(0.5) / np.finfo(dtype).eps,
        )
        arrays = (np.concatenate([*arrays, halves, *more]),)
    if name not in ON_BITS:
        usable = comparable(smallest_compared(device, TYPES[type_name]), arrays)
        arrays = tuple(array[usable] for array in arrays)
    results = evaluate(device, name, *arrays)
    with np.errstate(all="ignore"):
        expected = EXACT[name](*arrays)
    assert expected.dtype == dtype
    for *given, result, want in zip(*(array.tolist() for array in (*arrays, results, expected)), strict=True):
        assert same(result, want), f"{name}{tuple(given)} is {result}, not {want}"


@pytest.mark.parametrize("type_name", TYPES)
def test_rounding_of_quotients_and_roots_next_to_ties(device: Any, type_name: str) -> None:
    dtype = TYPES[type_name]
    rng = np.random.default_rng(1)
    one = np.finfo(dtype).eps
    divisors = (1 + rng.integers(0, 2**20, 4000) * one).astype(dtype)
    ties = ((1 + rng.integers(0, 2**20, 4000) * one) * divisors).astype(dtype)
    scale = dtype(np.finfo(dtype).tiny)  # with it, quotients are subnormal
    for numerators in (ties, np.nextafter(ties, dtype(0)), ties * scale * dtype(0.75)):
        assert np.array_equal(evaluate(device, "Divide", numerators, divisors), numerators / divisors)
    squares = divisors * divisors
    for radicands in (
        squares,
        np.nextafter(squares, dtype(0)),
        np.nextafter(squares, dtype(4)),
        squares * scale / 4,
    ):
        assert np.array_equal(evaluate(device, "Sqrt", radicands), np.sqrt(radicands))


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("name", PREDICATES)
def test_predicates(device: Any, name: str, type_name: str) -> None:
    dtype = TYPES[type_name]
    bits = np.uint32 if dtype == np.float32 else np.uint64
    infinity = np.array([np.inf], dtype).view(bits)[0]
    around = np.array([infinity - 1, infinity, infinity + 1, infinity + bits(2) ** 20], bits).view(dtype)
    given = np.concatenate([around, -around, arguments(name, dtype)[0]])
    assert np.array_equal(evaluate(device, name, given), PREDICATES[name](given))
    assert PREDICATES[name](given).any()


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_compiles(name: str, type_name: str, tmp_path: Path) -> None:
    code = compiler.compile(function_shader(name, type_name), {})
    validate(code, tmp_path, name)
    used = {operands[0] for opcode, operands in instructions(code) if opcode == 17}
    assert used <= CAPABILITIES[type_name]  # float without double-precision hardware
    assert compiler.compile(function_shader(name, type_name), {}, "dxil")[:4] == b"DXBC"


def test_shifted_exponential(device: Any) -> None:
    """Evenly over all bit patterns of numbers up to 0, and what is not finite."""
    patterns = np.linspace(0x80000000, 0xFF800000, 1 << 18).astype(np.uint32)
    x = np.append(patterns.view(np.float32), np.float32([0, -np.inf, np.inf, np.nan]))
    found = evaluate(device, SHIFTED, x)
    assert np.array_equal(found[-4:], np.float32([1, 0, np.inf, np.nan]), equal_nan=True)
    x, found = x[:-4], found[:-4]
    exact = np.exp(x.astype(np.float64))
    compared = exact >= max(smallest_compared(device, np.float32), float(np.finfo(np.float32).tiny))
    _, exponents = np.frexp(exact[compared])
    assert np.max(np.abs(found[compared] - exact[compared]) / np.exp2(exponents - 24.0)) <= 1
    assert np.all(found[~compared] <= 1e-30)


CONVENTIONAL = [
    (folder, path.stem) for folder in (FUNCTIONS, FLOAT16) for path in sorted(folder.glob("*.hlsl"))
]


@pytest.mark.parametrize(("folder", "name"), CONVENTIONAL, ids=lambda value: getattr(value, "stem", value))
def test_conventions(folder: Path, name: str) -> None:
    text = function_text(name, folder)
    head, _, body = text.partition("\n\n")
    assert all(line.startswith("// ") for line in head.splitlines())
    assert text.endswith("}\n")
    assert not re.search(r"#include|\btemplate\b|[ \t]+$|\{[{%]|.{121}", text, re.MULTILINE)
    code = re.sub(r"//.*", "", body)
    assert any(name in closure(public) for public in (*PUBLIC, SHIFTED)), "no tested function needs it"
    if folder == FLOAT16:
        assert not re.search(r"\b(double|if|for|precise)\b", code)
    elif name in PUBLIC:
        results = ["bool", "bool"] if name in PREDICATES else list(TYPES)
        assert re.findall(rf"^(\w+) {name}\((\w+) \w+", body, re.MULTILINE) == list(
            zip(results, TYPES, strict=True)
        )
