"""Graphs on a GPU, compiled once for a device and run any number of times.

From a graph to a device, each module knows only those before it:

    arena      offsets in one piece of memory, from lifetimes
    shaders    the shaders that dispatches need, before they are compiled
    net        the operators in order, and what each tensor is read from
    fusing     activations go into the operator in front of them
    views      copies whose readers can take strides are left out
    merging    products of one tensor with several constants become one
    placing    what an operator would copy into its output is written there
    chains     element-wise operators become one dispatch, whose shader chain_text makes of theirs
    usage      which of its buffers a compiled shader reads and writes
    once       dispatches that depend only on constants, such as those that reorder filters
    program    dispatches, regions, barriers and constants, as pure data
    execute    programs recorded as one command buffer, and replayed
    traced     ONNX models and WebNN graphs, with host nodes between such programs
    checking, profiling, exporting   what else can be done with a program
"""
