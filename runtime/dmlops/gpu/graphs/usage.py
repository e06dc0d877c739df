"""The buffers that a compiled shader reads, and those that it writes, from its SPIR-V.

All passes of an operator bind the same buffers, and each uses some of them: one that reorders filters, for
example, reads no image.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_HEADER = 5  # words before the first instruction
_DECORATE, _VARIABLE, _BINDING = 71, 59, 33
_CHAINS = (65, 66, 67, 70)  # a pointer into what another points to
_READS = {61: 2, 4457: 2}  # OpLoad and the load of a cooperative matrix: the operand that is the pointer
_WRITES = {62: 0, 4458: 0}  # likewise OpStore
# What else can take a pointer to a buffer: calls, copies, choices, and atomic operations.
_OTHERS = frozenset([57, 63, 83, 169, 245, *range(227, 243)])


class Usage(NamedTuple):
    """The bindings of buffers that are read, and of those that are written."""

    read: frozenset[int]
    written: frozenset[int]


def usage(code: bytes) -> Usage:
    """The buffers that SPIR-V uses. Anything but a load or a store is taken for both."""
    bindings: dict[int, int] = {}  # of pointers, by id
    read: set[int] = set()
    written: set[int] = set()
    numbers: dict[int, int] = {}  # of variables that are decorated
    for operation, operands in _instructions(code):
        if operation == _DECORATE and operands[1] == _BINDING:
            numbers[operands[0]] = operands[2]
        elif operation == _VARIABLE and operands[1] in numbers:
            bindings[operands[1]] = numbers[operands[1]]
        elif operation in _CHAINS and operands[2] in bindings:
            bindings[operands[1]] = bindings[operands[2]]
        elif operation in _READS and operands[_READS[operation]] in bindings:
            read.add(bindings[operands[_READS[operation]]])
        elif operation in _WRITES and operands[_WRITES[operation]] in bindings:
            written.add(bindings[operands[_WRITES[operation]]])
        elif operation in _OTHERS:
            found = {bindings[one] for one in operands if one in bindings}
            read |= found
            written |= found
    return Usage(frozenset(read), frozenset(written))


def _instructions(code: bytes) -> Iterator[tuple[int, list[int]]]:
    words = memoryview(code).cast("I").tolist()
    at = _HEADER
    while at < len(words):
        count = words[at] >> 16
        yield words[at] & 0xFFFF, words[at + 1 : at + count]
        at += count
