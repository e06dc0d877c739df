"""Recurrent networks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import SMALL, Case, size_of, tensor, uniform


def recurrents() -> Iterator[Case]:
    """Recurrent networks of one layer, with as many inputs as units."""

    def network(operator: str, units: int, batch: int, steps: int, data_type: str) -> Case:
        order = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}[operator]  # torch's gates in our order
        rows = len(order) * units
        tensors = {
            "InputTensor": tensor((1, steps, batch, units), data_type),
            "WeightTensor": tensor((1, 1, rows, units), data_type),
            "RecurrenceTensor": tensor((1, 1, rows, units), data_type),
            "BiasTensor": tensor((1, 1, 1, 2 * rows), data_type),
            "OutputSequenceTensor": tensor((steps, 1, batch, units), data_type),
        }
        functions = {"RNN": ["TANH"], "GRU": ["SIGMOID", "TANH"], "LSTM": ["SIGMOID", "TANH", "TANH"]}[
            operator
        ]
        members = {
            "LSTM": {"ClipThreshold": 0.0, "UseClipThreshold": False, "CoupleInputForget": False},
            "GRU": {"LinearBeforeReset": True},
        }.get(operator, {})
        networks: dict[int, Any] = {}  # by the address of their weights

        def arrays() -> dict[str, np.ndarray]:
            names = [name for name in tensors if name != "OutputSequenceTensor"]
            found = {
                name: uniform(tensors[name]["Sizes"], data_type, seed) for seed, name in enumerate(names)
            }
            small = np.asarray(units**-0.5 / 4, data_type)
            return {name: one if name == "InputTensor" else one * small for name, one in found.items()}

        def on_torch(torch: Any, x: Any, w: Any, r: Any, b: Any) -> Any:
            if w.data_ptr() not in networks:
                made = getattr(torch.nn, operator)(units, units, device=x.device, dtype=x.dtype).eval()
                parts = {"weight_ih": w[0, 0], "weight_hh": r[0, 0]}
                parts |= {"bias_ih": b[0, 0, 0, :rows], "bias_hh": b[0, 0, 0, rows:]}
                for name, part in parts.items():
                    gates = part.chunk(len(order))
                    getattr(made, f"{name}_l0").data.copy_(torch.cat([gates[place] for place in order]))
                networks[w.data_ptr()] = made
            with torch.no_grad():
                return networks[w.data_ptr()](x[0])[0].unsqueeze(1)

        return Case(
            f"{operator.lower()} {units} {batch}x{steps} {data_type}",
            operator,
            tensors
            | {
                "ActivationDescCount": len(functions),
                "ActivationDescs": [{"type": f"ACTIVATION_{one}"} for one in functions],
                "Direction": "FORWARD",
            }
            | members,
            arrays,
            on_torch,
            size_of(*tensors.values()),
            4 * steps * batch * rows * units,
        )

    for data_type in ("float32", "float16"):
        yield network("LSTM", SMALL, 1, 4, data_type)
        for operator in ("LSTM", "GRU"):
            for units, batch in itertools.product((256, 512, 1024), (1, 32)):
                yield network(operator, units, batch, 64, data_type)
        yield network("RNN", 512, 32, 64, data_type)
        yield network("LSTM", 512, 32, 128, data_type)
