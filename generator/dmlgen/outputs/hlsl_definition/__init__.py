"""Definitions of outputs as HLSL: one shader for an operator, compiled once for each pass.

A pass writes one intermediate tensor or one output. Each name of `let` becomes a function, two where floats
that decide and free ones use it; so does each loop, and each choice that would compute what it does not take.
What the description alone gives is worked out on the host and told as constants.

`shader` says what a shader consists of. The expressions are printed by a chain of classes, each of which
knows those before it: `functions` (scopes, functions), `tensors` (reads, types, limits), `loops`, `printer`
(everything else). `names` and `constants` serve them.
"""

from dmlgen.outputs.hlsl_definition.shader import DefinitionShader, shader_of, text

__all__ = ["DefinitionShader", "shader_of", "text"]
