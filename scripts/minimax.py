#!/usr/bin/env python3
"""Derives the coefficients in templates/hlsl/float16, and those in templates/hlsl/functions that say so.

Each function is approximated by the polynomial, or the quotient of two, with the smallest maximum error
relative to the function. Prints that error as a power of two, then the coefficients, constant term first.
Takes a few minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

STEPS = 120

Function = Callable[[Any], Any]


def minimax(f: Function, low: float, high: float, n: int, d: int = 0, scale: Function | None = None) -> str:
    """N(x) / D(x) of degrees n and d, D(0) = 1; its greatest error, over scale(x) or else f(x), is least.

    Lawson's method: least squares with weights that grow where the error is large. For a quotient the error
    is multiplied by the denominator of the step before, which makes it linear.
    """
    count = 12 * (n + d + 2)
    angles = [mp.cos(mp.pi * (i + 0.5) / count) for i in range(count)]
    points = [(low + high) / 2 - angle * (high - low) / 2 for angle in angles]
    if high - low > 4:  # long ranges are those of a tail, which changes near 0
        points = [x * x / high for x in points]
    values = [f(x) for x in points]
    units = [(scale or f)(x) for x in points]
    weights = [mp.mpf(1)] * count
    below = [mp.mpf(1)] * count
    best: tuple[Any, list[Any]] = (mp.inf, [])
    for _ in range(STEPS):
        rows = [
            [*(x**j for j in range(n + 1)), *(-y * x**j for j in range(1, d + 1))]
            for x, y in zip(points, values, strict=True)
        ]
        factors = [w / (unit * b) ** 2 for w, unit, b in zip(weights, units, below, strict=True)]
        matrix = mp.matrix(n + d + 1)
        right = mp.matrix(n + d + 1, 1)
        for row, y, factor in zip(rows, values, factors, strict=True):
            for i, left in enumerate(row):
                right[i] += factor * left * y
                for j in range(i + 1):
                    matrix[i, j] += factor * left * row[j]
        for i in range(n + d + 1):
            for j in range(i):
                matrix[j, i] = matrix[i, j]
        solved = list(mp.lu_solve(matrix, right))
        above, under = solved[: n + 1], [mp.mpf(1), *solved[n + 1 :]]
        below = [mp.polyval(under[::-1], x) for x in points]
        errors = [
            abs((mp.polyval(above[::-1], x) / b - y) / unit)
            for x, y, b, unit in zip(points, values, below, units, strict=True)
        ]
        best = min(best, (max(errors), [above, under][: 1 + (d > 0)]), key=lambda found: found[0])
        weights = [w * error for w, error in zip(weights, errors, strict=True)]
        total = sum(weights)
        weights = [w / total for w in weights]
    texts = [", ".join(mp.nstr(c, 17) for c in part) for part in best[1]]
    return f"2^{mp.nstr(mp.log(best[0], 2), 4)}: " + " / ".join(texts)


def tail(x: Any) -> Any:
    """The normal distribution's function of -x, over e^(-x^2/2)."""
    return mp.erfc(x / mp.sqrt(2)) / 2 * mp.exp(x * x / 2)


def rest(f: Function) -> Function:
    """(f(x) / x - 1) / x for f with f'(0) = 1."""
    return lambda x: (f(x) / x - 1) / x


def odd_rest(f: Function) -> Function:
    """The rest in z = x^2, for odd f: (f(x) / x - 1) / z."""
    return lambda z: rest(f)(mp.sqrt(z)) / mp.sqrt(z)


def relative(g: Function) -> Function:
    """The scale of an error of g, where the result is a multiple of 1 + y g(y)."""
    return lambda y: (1 + y * g(y)) / abs(y)


def logarithm(z: Any) -> Any:
    """log2(m) / s as a function of z = s^2, for s = (m - 1) / (m + 1)."""
    return 2 / mp.log(2) * mp.atanh(mp.sqrt(z)) / mp.sqrt(z)


def logarithm_rest(z: Any) -> Any:
    """The excess of that over its value at 0, over z."""
    return (logarithm(z) - 2 / mp.log(2)) / z


def power_rest(x: Any) -> Any:
    """(2^x - 1) / x"""
    return (mp.mpf(2) ** x - 1) / x


def main() -> None:
    mp.mp.prec = 200
    tiny, root = mp.mpf(2) ** -30, mp.sqrt(2)
    print("tail, half:", minimax(tail, 0, 7, 2, 4))
    print("tail, float:", minimax(tail, 0, 15, 4, 5))
    print("tail, double:", minimax(tail, 0, 39, 10, 11))
    for name, f, end, degree in (
        ("tanh, float", mp.tanh, 0.625, 4),
        ("sinh, half", mp.sinh, 1, 2),
        ("sinh, float", mp.sinh, 1, 3),
        ("sin, half", mp.sin, 0.7856, 1),
    ):
        g = odd_rest(f)
        print(f"{name}:", minimax(g, tiny, end**2, degree, scale=relative(g)))
    print(
        "cos, half:",
        minimax(
            lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, tiny, 0.7856**2, 2, scale=lambda z: mp.cos(mp.sqrt(z)) / z
        ),
    )
    print("tanh, half:", minimax(lambda z: mp.tanh(mp.sqrt(z)) / mp.sqrt(z), tiny, mp.mpf(4.6) ** 2, 2, 3))
    print("erf, half:", minimax(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), tiny, 0.75**2, 3))
    for name, f, low, high, degree in (
        ("log1p, half", mp.log1p, 1 / root - 1, root - 1, 6),
        ("expm1, half", mp.expm1, -0.5, 0.5, 3),
    ):
        g = rest(f)
        print(f"{name}:", minimax(g, low, high, degree, scale=relative(g)))

    print("log next to 1, half:", minimax(rest(mp.log1p), -0.125, 0.125, 3, scale=relative(rest(mp.log1p))))
    print("softplus, half:", minimax(lambda u: mp.log1p(u) / u, tiny, 1, 6))
    for name, low, high, degree in (("half", 0.75, 3, 4), ("float", 0.875, 4, 6)):
        found = minimax(
            lambda x: mp.log(mp.erfc(x), 2),
            low,
            mp.mpf(high),
            degree,
            scale=lambda x: 1 / (mp.erfc(x) * mp.log(2)),
        )
        print(f"erf's complement, {name}:", found)
    farthest = ((root - 1) / (root + 1)) ** 2
    print("pow's logarithm, half:", minimax(logarithm, tiny, farthest, 2))
    print(
        "pow's logarithm, float:",
        minimax(logarithm_rest, tiny, farthest, 3, scale=lambda z: logarithm(z) / z),
    )
    for name, low, high, degree in (("pow's power", -0.4153, 0.5853, 5), ("erf's power", -0.5003, 0.5003, 4)):
        print(
            f"{name}, float:", minimax(power_rest, low, high, degree, scale=lambda x: mp.mpf(2) ** x / abs(x))
        )
    for name, f, end, degree in (
        ("atan, half", mp.atan, 1, 5),
        ("atan, float", mp.atan, 1, 8),
        ("softplus, float", mp.atanh, mp.mpf(1) / 3, 3),
    ):
        g = odd_rest(f)
        print(f"{name}:", minimax(g, tiny, end**2, degree, scale=relative(g)))


if __name__ == "__main__":
    main()
