"""Processes units on a Ray cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from importlib import import_module
from logging import ERROR
from typing import Any

from .judging import judge
from .results import Result, Stopped
from .units import PACKAGE, TRIES, Unit


def done_on(address: str, units: Iterable[Unit]) -> Iterator[tuple[Unit, Result | None]]:
    """Yields each unit once, as soon as it is done; None if every worker that tried it died.

    `address` is that of a cluster, or "local" for Ray on this machine only. Its machines need Python with
    NumPy and, for shaders, the extra `gpu`; this package is sent to them. Raises Stopped.
    """
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise Stopped("--address needs Ray: pip install 'dmlgen[sweep]'") from None
    try:
        ray.init(
            address=address,
            runtime_env={"working_dir": str(PACKAGE.parent)},
            log_to_driver=False,
            logging_level=ERROR,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise Stopped(f"no Ray cluster at {address}: {error}") from None
    try:
        task = ray.remote(max_retries=TRIES - 1, num_cpus=1, num_gpus=_share(ray.cluster_resources()))(_judge)
        pending = {task.remote(unit): unit for unit in units}
        while pending:
            for reference in ray.wait(list(pending))[0]:
                unit = pending.pop(reference)
                try:
                    yield unit, ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    raise (error.cause if isinstance(error.cause, Stopped) else error) from None
                except ray.exceptions.RayError:  # Ray's own: a worker or a machine is gone
                    yield unit, None
    finally:
        ray.shutdown()


def _judge(unit: Unit) -> Result:
    """Runs `judge` on the GPU that Ray assigns."""
    gpus = import_module("ray").get_gpu_ids()
    return judge(unit, int(gpus[0]) if gpus else 0)


def _share(resources: dict[str, Any]) -> float:
    """The fraction of a GPU to reserve for a unit, so that all processors have work; 0 without GPUs."""
    gpus = resources.get("GPU", 0)
    return 1 / math.ceil(resources["CPU"] / gpus) if gpus else 0
