"""The digest that Direct3D 12 demands of a shader's container.

Windows rejects DXIL whose container has no digest, unless developer mode and experimental shaders are on. DXC
sets it once its validator accepts a shader, but only if dxil.dll is at hand or the compiler is recent. The
algorithm is MD5 with another padding; it is public as ComputeHashRetail in lib/DxilHash/DxilHash.cpp of
DirectXShaderCompiler, and signs nothing in the sense of cryptography.
"""

from __future__ import annotations

import math
import struct

_DIGEST = slice(4, 20)  # behind "DXBC"
_COVERED = slice(20, None)  # the version, the size, and the parts
_BLOCK = 64
_WORD = 2**32 - 1

# For each of 64 steps: the word of the block that it takes, its constant, and the bits that it rotates by.
_SINES = [int(abs(math.sin(step + 1)) * 2**32) for step in range(64)]
_STEPS = [
    [((factor * step + first) % 16, _SINES[16 * number + step], shifts[step % 4]) for step in range(16)]
    for number, (factor, first, shifts) in enumerate(
        [(1, 0, (7, 12, 17, 22)), (5, 1, (5, 9, 14, 20)), (3, 5, (4, 11, 16, 23)), (7, 0, (6, 10, 15, 21))]
    )
]


def signed(container: bytes) -> bytes:
    """The container with its digest. Raises ValueError for what is no DXBC or DXIL container."""
    _check(container)
    return container[: _DIGEST.start] + _digest(container[_COVERED]) + container[_COVERED]


def is_signed(container: bytes) -> bool:
    """Whether the digest is that of the content. Raises ValueError for what is no DXBC or DXIL container."""
    _check(container)
    return container[_DIGEST] == _digest(container[_COVERED])


def _check(container: bytes) -> None:
    if container[:4] != b"DXBC" or len(container) < 32:
        raise ValueError("This is no container of a Direct3D shader: it does not start with DXBC.")


def _digest(data: bytes) -> bytes:
    """Unlike in MD5, the last block starts with the number of bits, and ends with a quarter of it, made
    odd."""
    count, rest = struct.pack("<I", 8 * len(data) & _WORD), data[len(data) // _BLOCK * _BLOCK :]
    end = struct.pack("<I", (2 * len(data) | 1) & _WORD)
    if len(rest) < 56:
        tail = (count + rest + b"\x80").ljust(60, b"\0") + end
    else:
        tail = (rest + b"\x80").ljust(64, b"\0") + count.ljust(60, b"\0") + end
    return _md5_of_blocks(data[: len(data) - len(rest)] + tail)


def _md5_of_blocks(data: bytes) -> bytes:
    """MD5 without its padding: hashlib does not give it without."""
    state = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
    first, second, third, fourth = _STEPS
    for words in struct.iter_unpack("<16I", data):
        a, b, c, d = state
        for word, constant, shift in first:
            mixed = (a + (d ^ b & (c ^ d)) + constant + words[word]) & _WORD
            a, b, c, d = d, b + (mixed << shift | mixed >> 32 - shift) & _WORD, b, c
        for word, constant, shift in second:
            mixed = (a + (c ^ d & (b ^ c)) + constant + words[word]) & _WORD
            a, b, c, d = d, b + (mixed << shift | mixed >> 32 - shift) & _WORD, b, c
        for word, constant, shift in third:
            mixed = (a + (b ^ c ^ d) + constant + words[word]) & _WORD
            a, b, c, d = d, b + (mixed << shift | mixed >> 32 - shift) & _WORD, b, c
        for word, constant, shift in fourth:
            mixed = (a + (c ^ (b | d ^ _WORD)) + constant + words[word]) & _WORD
            a, b, c, d = d, b + (mixed << shift | mixed >> 32 - shift) & _WORD, b, c
        state = (a + state[0] & _WORD, b + state[1] & _WORD, c + state[2] & _WORD, d + state[3] & _WORD)
    return struct.pack("<4I", *state)
