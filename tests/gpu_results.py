"""Results of shaders, compared with those of the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from cooperative_matrix_apart import taken_apart
from dmlops import gpu, reference
from dmlops.gpu import shader
from dmlops.gpu.plans.capabilities import Capability
from dmlops.gpu.work import Work
from gpu_device import run_in_guard_zones
from tensors import filled

COOPERATIVE = Capability.COOPERATIVE_MATRIX | Capability.COOPERATIVE_MATRIX_INT8
TOLERANCES = {"float64": 1e-13, "float32": 4e-6, "float16": 2e-3}


def by_tensor(results: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Results by the names that tensors have as buffers."""
    for name, found in results.items():
        if isinstance(found, np.ndarray):
            yield name, found
        else:
            yield from ((f"{name}[{number}]", one) for number, one in enumerate(found))


def inputs_of(desc: Any, share: float = 0.01, **special: float) -> dict[str, np.ndarray]:
    """Numbers for all inputs; `special` replaces a share of an input's elements."""
    rng = np.random.default_rng(5)
    tensors = {one.name: getattr(desc, one.name) for one in desc.MEMBERS if one.role == "input"}
    inputs = {name: filled(one, rng) for name, one in tensors.items() if one is not None}
    for name, value in special.items():
        own = inputs[name]
        inputs[name] = np.where(rng.random(own.shape) < share, own.dtype.type(value), own)
    return inputs


def check_results(
    device: Any,
    desc: Any,
    inputs: dict[str, Any],
    work: Work | None = None,
    text_of: Callable[[str], str] = shader,
    absolute: float | None = None,
    exact: bool = False,
    sums: bool = True,
) -> dict[str, np.ndarray]:
    """Outputs between guard zones: near the reference's, and the same a second time.

    Integers are equal, and so is all that must be exact. Of floats that differ by more than an absolute
    tolerance, the relative one decides; unless the absolute one is given, it is relative to the greatest
    element for sums, whose terms may cancel, else for subnormals, which may be flushed.
    """
    found: dict[str, np.ndarray] = run_in_guard_zones(device, desc, inputs, work, text_of)
    again = (
        gpu.run(desc, inputs, device)
        if work is None
        else run_in_guard_zones(device, desc, inputs, work, text_of)
    )
    with np.errstate(all="ignore"):
        wanted = reference.run(desc, inputs)
    second = dict(by_tensor(again))
    for name, array in by_tensor(wanted):
        relative = TOLERANCES.get(array.dtype.name)
        if exact or relative is None:
            np.testing.assert_array_equal(found[name], array, name)
        else:
            most = relative * float(np.abs(array[np.isfinite(array)]).max(initial=0))
            smallest = 4 * float(np.finfo(array.dtype).smallest_normal)
            near = absolute if absolute is not None else max(most, smallest) if sums else smallest
            np.testing.assert_allclose(found[name], array, relative, near, err_msg=name)
        assert found[name].tobytes() == second[name].tobytes(), f"another {name} the second time"
    return found


def apart(device: Any, is_alike: bool = True) -> Callable[[str], str]:
    """Shaders by operator, their cooperative matrices taken apart where the device has none, `is_alike` or
    not."""
    has_them = COOPERATIVE in device.capabilities
    return shader if has_them else lambda operator: taken_apart(shader(operator), is_alike)


def check_cooperative(
    device: Any, desc: Any, inputs: dict[str, Any], is_alike: bool = True
) -> dict[str, np.ndarray]:
    """Checks the results by cooperative matrices."""
    work = gpu.plan(desc, COOPERATIVE)
    assert any("COOPERATIVE_MATRIX" in one.defines for one in work.dispatches)
    return check_results(device, desc, inputs, work, apart(device, is_alike))
