"""Element-wise functions of large tensors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import LARGE, Case, Torch, size_of, tensor, uniform

# Functions of one tensor, of one tensor of positive numbers, and of two tensors
ONE: dict[str, Torch] = {
    "ELEMENT_WISE_SIN": lambda torch, x: torch.sin(x),
    "ELEMENT_WISE_TAN": lambda torch, x: torch.tan(x),
    "ELEMENT_WISE_SINH": lambda torch, x: torch.sinh(x),
    "ELEMENT_WISE_CONSTANT_POW": lambda torch, x: torch.pow(x, 3),
    "ELEMENT_WISE_ERF": lambda torch, x: torch.erf(x),
    "ELEMENT_WISE_ROUND": lambda torch, x: torch.round(x),
    "ACTIVATION_HARD_SWISH": lambda torch, x: torch.nn.functional.hardswish(x),
    "ACTIVATION_SIGMOID": lambda torch, x: torch.sigmoid(x),
    "ACTIVATION_SOFTPLUS": lambda torch, x: torch.nn.functional.softplus(x),
}
POSITIVE: dict[str, Torch] = {
    "ELEMENT_WISE_LOG": lambda torch, x: torch.log(x),
    "ELEMENT_WISE_SQRT": lambda torch, x: torch.sqrt(x),
}
TWO: dict[str, Torch] = {
    "ELEMENT_WISE_DIVIDE": lambda torch, a, b: a / b,
    "ELEMENT_WISE_ATAN_YX": lambda torch, a, b: torch.atan2(a, b),
    "ELEMENT_WISE_MODULUS_TRUNCATE": lambda torch, a, b: torch.fmod(a, b),
    "ELEMENT_WISE_MODULUS_FLOOR": lambda torch, a, b: torch.remainder(a, b),
    "ELEMENT_WISE_POW": lambda torch, a, b: torch.pow(a, b),
}
MEMBERS = {
    "ELEMENT_WISE_CONSTANT_POW": {"Exponent": 3.0},
    "ACTIVATION_HARD_SWISH": {"Alpha": 1 / 6, "Beta": 0.5},
    "ELEMENT_WISE_ROUND": {"RoundingMode": "HALVES_TO_NEAREST_EVEN"},
    "ACTIVATION_SOFTPLUS": {"Steepness": 1.0},
}


def functions() -> Iterator[Case]:
    def case(operator: str, torch: Torch, data_type: str) -> Case:
        whole = tensor((LARGE, LARGE), data_type)
        names = ["InputTensor"]
        if operator in TWO:
            names = (
                ["InputTensor", "ExponentTensor"]
                if operator == "ELEMENT_WISE_POW"
                else ["ATensor", "BTensor"]
            )

        def arrays() -> dict[str, np.ndarray]:
            found = {name: uniform(whole["Sizes"], data_type, seed) for seed, name in enumerate(names)}
            if operator in POSITIVE or operator in TWO:  # no power of a negative number, no division by 0
                found = {name: abs(array) + np.array(0.25, data_type) for name, array in found.items()}
            return found

        tensors = dict.fromkeys((*names, "OutputTensor"), whole)
        shown = operator.removeprefix("ELEMENT_WISE_").removeprefix("ACTIVATION_").lower().replace("_", " ")
        return Case(
            f"{shown} {data_type}",
            operator,
            tensors | MEMBERS.get(operator, {}),
            arrays,
            torch,
            size_of(*tensors.values()),
        )

    for data_type in ("float32", "float16"):
        for operator, torch in {**ONE, **POSITIVE, **TWO}.items():
            yield case(operator, torch, data_type)
