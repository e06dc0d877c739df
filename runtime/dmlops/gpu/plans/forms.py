"""What plans of faster forms begin with, of those that need no intermediate tensors."""

from __future__ import annotations

from .definition import Definition, DefinitionShader, Known, space_of, tell_known
from .loops import check_span
from .planning import Planning
from .told import Tensor


def begin_form(out: Planning, told: Definition, shader: DefinitionShader, output: Tensor) -> Known:
    """Refuses tensors that shaders cannot address, and tells all of them and what else the description gives
    alone. The output stands in for tensors that are absent."""
    out.begin()
    for tensor in told.tensors:
        if tensor.is_present:
            check_span(out, tensor)
    return tell_known(out, told, shader, 0, space_of(told, shader, 0), output.buffer)
