"""Planners: how the shaders of this registry compute what is described, as dispatches.

These modules are the only place where that is decided. This package runs them; the generator translates the
very same text to C, for `dmlops_plan` of the header, so they are written in a small part of Python that
`dmlgen.outputs.plans` describes: integers of 64 bits that saturate, texts, records, lists with a capacity, no
floats. A planner is told what it needs of a description (`told`), and tells a `Planning` what to do.

A class `...Params` is the layout of a shader's constant buffer: from it come the text in the shader, and the
bytes here and in C.
"""
