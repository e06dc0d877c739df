"""The beginning of plans for faster forms that need no intermediate tensors."""

from __future__ import annotations

from .defined import MAX_COUNT, Definition, DefinitionShader
from .known import Known, tell_known
from .loops import check_span, element_count
from .planning import Planning
from .reasons import Reason
from .scratch import space_of
from .told import NO_MEMBER, Tensor


def begin_form(out: Planning, told: Definition, shader: DefinitionShader, output: Tensor) -> Known:
    """Refuses tensors that shaders cannot address, and an output with more elements than they count; then
    tells all tensors and whatever else depends on the description alone."""
    out.begin()
    for tensor in told.tensors:
        if tensor.is_present:
            check_span(out, tensor)
    count = element_count(output.sizes)
    if count >= MAX_COUNT:
        out.refuse(Reason.MANY_ELEMENTS, NO_MEMBER, count)
    return tell_known(out, told, shader, 0, space_of(told, shader, 0).firsts)
