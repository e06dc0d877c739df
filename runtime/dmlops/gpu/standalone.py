"""The shaders of one description as a file of HLSL that needs nothing else: no macros, and in its head the
buffers, and what is dispatched over them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence

from ..description import Description
from . import compiler, plan, shader
from .folding import folded
from .memory import buffer_size
from .plans.capabilities import NO_CAPABILITIES, Capability
from .preprocessing import resolved
from .work import Dispatch, Work, tensor_names

WIDTH = 120


def standalone(desc: Description, capabilities: Capability = NO_CAPABILITIES) -> str:
    """A file for dxc with every variant that the plan dispatches; VARIANT chooses one, 0 by default.

    Raises what `plan` raises.
    """
    work = plan(desc, capabilities)
    keys: dict[tuple[object, ...], int] = {}
    variants: list[str] = []
    numbers: list[int] = []
    for dispatch in work.dispatches:
        operator = dispatch.shader or desc.OPERATOR
        key = (operator, *dispatch.defines.items())
        if key not in keys:
            keys[key] = len(variants)
            variants.append(folded(resolved(shader(operator), dispatch.defines)))
        numbers.append(keys[key])
    head = [*_about(desc, work, variants), *_buffers(desc, work), *_dispatches(work, numbers)]
    lines = "\n".join(f"// {line}".rstrip() for line in head)
    if len(variants) <= 1:
        return f"{lines}\n\n{''.join(variants)}"
    conditions = (f"#{'elif' if number else 'if'} VARIANT == {number}" for number in range(len(variants)))
    parts = (f"{condition}\n\n{text}\n" for condition, text in zip(conditions, variants, strict=True))
    default = "#ifndef VARIANT\n#define VARIANT 0\n#endif"
    return f"{lines}\n\n{default}\n\n{''.join(parts)}#endif\n"


def _about(desc: Description, work: Work, variants: Sequence[str]) -> Iterator[str]:
    summary = " ".join((desc.__doc__ or "").partition("\n\n")[0].split())
    yield from textwrap.wrap(f"DML_OPERATOR_{desc.OPERATOR}: {summary}", WIDTH - 3)
    yield json.dumps(desc.to_json())
    yield ""
    choice = f" -D VARIANT=0 (to {len(variants) - 1})" if len(variants) > 1 else ""
    profile = max((compiler.profile(one.defines) for one in work.dispatches), default=compiler.PROFILES[0])
    yield f"dxc -T {profile} -E CSMain -enable-16bit-types -O3{choice} FILE"
    yield "for Vulkan also: -spirv -fspv-target-env=vulkan1.2 -fvk-use-dx-layout -fspv-extension=KHR"


def _buffers(desc: Description, work: Work) -> Iterator[str]:
    yield ""
    yield "Buffers, with the bytes that they take at least:"
    for role in ("input", "output"):
        for name, tensor in tensor_names(desc, role):
            kind = f"{tensor.DataType.name} {list(tensor.Sizes)}"
            strides = "" if tensor.Strides is None else f", strides {list(tensor.Strides)}"
            zeros = ", zeros at first" if name in work.zero_initialize else ""
            yield f"  {name}: {buffer_size(tensor)}, {role}, {kind}{strides}{zeros}"
    for name, size in work.scratch.items():
        yield f"  {name}: {size}, scratch{', zeros at first' if name in work.zero_initialize else ''}"


def _dispatches(work: Work, variants: list[int]) -> Iterator[str]:
    yield ""
    yield "Dispatches, in order: variant, thread groups, resources, and the words of Params, b0:"
    for dispatch, variant in zip(work.dispatches, variants, strict=True):
        columns, rows = dispatch.groups
        waits = ", after a barrier" if dispatch.needs_barrier else ""
        yield f"  {variant}: {columns} x {rows} x 1 groups{waits}; {', '.join(_resources(dispatch))}"
        constants = memoryview(dispatch.constants).cast("I").tolist()
        yield from (f"     {line}" for line in textwrap.wrap(", ".join(map(str, constants)), WIDTH - 8))


def _resources(dispatch: Dispatch) -> Iterator[str]:
    for place, name in enumerate(dispatch.buffers):
        is_read = place < dispatch.reads
        yield f"{'t' if is_read else 'u'}{place if is_read else place - dispatch.reads} {name}"
