"""The beginning of plans for faster forms that need no intermediate tensors."""

from __future__ import annotations

from .common_bindings import CommonConstants, bind_common
from .definition_types import MAX_COUNT, Definition, DefinitionShader
from .loops import Words, check_span, element_count
from .operands import NO_MEMBER, Tensor
from .planning import Planning
from .reasons import Reason


def begin_form(out: Planning, op: Definition, shader: DefinitionShader, output: Tensor) -> CommonConstants:
    """Rejects tensors that shaders cannot address, and an output with more elements than they count; then
    defines all tensors and everything else that depends only on the description."""
    out.begin()
    for tensor in op.tensors:
        if tensor.is_present:
            check_span(out, tensor)
    count = element_count(output.sizes)
    if count >= MAX_COUNT:
        out.refuse(Reason.MANY_ELEMENTS, NO_MEMBER, count)
    firsts: Words = []
    firsts.extend([0] * len(shader.kept))
    return bind_common(out, op, shader, 0, firsts)
