"""Planners: how the shaders of this registry compute a description, as a list of dispatches.

Only these modules decide that. This package runs them; the generator translates the same source to C, for
`dmlops_plan` in the header. They are therefore written in a small subset of Python, which
`dmlgen.plans.functions` describes: saturating 64-bit integers, strings, records, lists of bounded capacity,
no floats. A planner gets the facts of a description that it needs (`op`), and writes to a `Planning`.

A class `...Params` is the layout of a shader's constant buffer: its text in the shader and its bytes, here
and in C, follow from it.
"""
