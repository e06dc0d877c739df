"""Definitions of outputs as HLSL: one shader per operator, compiled once for each pass.

A pass writes one intermediate tensor or one output. Each name of `let` becomes a function, or two if it is
used both with floats that decide and with others; so does each loop, and each conditional with a branch worth
skipping. Everything that depends only on the description is computed on the host and passed as constants.

`shader` assembles a shader. Expressions are printed by a chain of classes, each of which builds on those
before it: `functions` (scopes, functions), `tensors` (reads, types,
limits), `loops`, `printer` (everything else). `constants` says which parts of them depend only on the
description.
"""

from dmlgen.outputs.hlsl_definition.shader import HlslDefinition, shader_of, text

__all__ = ["HlslDefinition", "shader_of", "text"]
