"""Random bits: Philox 4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..description import Description
from ..tensor import TensorDesc

WORDS = 4  # of a block: the random bits for one counter
ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_WORD, _COUNTER = 2**32, 2**128


@dataclass(frozen=True)
class Philox:
    """Fills `output` with the blocks for the counters starting at that of `state`.

    `next_state` receives the state after them. A state is four words of counter and two of key, lowest first.
    """

    desc: Description
    output: str
    state: str
    next_state: str

    @property
    def blocks(self) -> int:
        """The number of counters used."""
        tensor: TensorDesc = getattr(self.desc, self.output)
        return int(-(-prod(tensor.Sizes) // WORDS))

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs, shaped as their Sizes."""
        state = [int(word) for word in arrays[self.state].reshape(-1)]
        counter = sum(word * _WORD**place for place, word in enumerate(state[:WORDS]))
        words = random_words(_counters(counter, self.blocks), state[WORDS:])
        sizes = getattr(self.desc, self.output).Sizes
        outputs = {self.output: words.reshape(-1)[: prod(sizes)].reshape(sizes)}
        following = getattr(self.desc, self.next_state)
        if following is not None:
            after = (counter + self.blocks) % _COUNTER
            next_state = [after // _WORD**place % _WORD for place in range(WORDS)] + state[WORDS:]
            outputs[self.next_state] = np.array(next_state, np.uint32).reshape(following.Sizes)
        return outputs


def _counters(first: int, count: int) -> np.ndarray:
    """`count` successive counters, each as a row of words."""
    low = np.arange(count, dtype=np.uint64) + np.uint64(first % 2**64)
    high = np.full(count, first >> 64, np.uint64) + (low < np.uint64(first % 2**64))
    return np.stack([low, low >> np.uint64(32), high, high >> np.uint64(32)], axis=-1) & np.uint64(_WORD - 1)


def random_words(counters: np.ndarray, key: list[int]) -> np.ndarray:
    """The block of each counter: rows of words, as UINT32."""
    a, b, c, d = counters.T
    for number in range(ROUNDS):
        first, second = (
            np.uint64((word + number * step) % _WORD) for word, step in zip(key, KEY_STEPS, strict=True)
        )
        product, other = a * np.uint64(MULTIPLIERS[0]), c * np.uint64(MULTIPLIERS[1])
        a, c = other >> np.uint64(32) ^ b ^ first, product >> np.uint64(32) ^ d ^ second
        b, d = other & np.uint64(_WORD - 1), product & np.uint64(_WORD - 1)
    return np.stack([a, b, c, d], axis=-1).astype(np.uint32)
