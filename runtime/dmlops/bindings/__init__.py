"""The bindings of an operator, a graph or an initializer: ranges of buffers.

A range is a `Range`; a binding is None for NONE, a Range for a BUFFER, or a sequence for a BUFFER_ARRAY:

    found = Bindings(
        "execute",
        [Target(gemm, persistent_size=256)],
        inputs=[Range("a", 0, 64, width=4096), None, None],
        outputs=[Range("a", 64, 64, width=4096)],
        persistent=Range("weights", 0, 256),
    ).validate()
"""

from .model import Binding, Bindings, Range, Target

__all__ = ["Binding", "Bindings", "Range", "Target"]
