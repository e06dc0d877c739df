"""Attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .case import Case, drawn, size_of, tensor, uniform


def attentions() -> Iterator[Case]:
    """Attention over as many tokens as language models process at once, most of it with 64 elements per head,
    that of Stable Diffusion, to its image and to its text, and decoding, also of several drafted tokens and
    with keys that heads share."""

    def attention(
        batches: int, tokens: int, heads: int, data_type: str, queries: int | None = None, depth: int = 64
    ) -> Case:
        """Attention with as many queries as keys, or any other number of queries."""
        keys = tensor((batches, tokens, heads * depth), data_type)
        asking = keys if queries is None else tensor((batches, queries, heads * depth), data_type)
        shown = f"{batches}x{tokens}" if queries is None else f"{batches}x{queries} of {tokens}"
        wide = "" if depth == 64 else f", {depth} wide"

        def on_torch(torch: Any, *parts: Any) -> Any:
            split = (part.reshape(batches, -1, heads, depth).transpose(1, 2) for part in parts)
            found = torch.nn.functional.scaled_dot_product_attention(*split)
            return found.transpose(1, 2).reshape(batches, -1, heads * depth)

        tensors = {"QueryTensor": asking, "KeyTensor": keys, "ValueTensor": keys, "OutputTensor": asking}
        return drawn(
            f"attention {shown} {heads} heads{wide} {data_type}", "MULTIHEAD_ATTENTION", tensors, on_torch,
            4 * batches * heads * (queries or tokens) * tokens * depth,
            Scale=depth**-0.5, MaskFilterValue=-1e4, HeadCount=heads, MaskType="NONE",
        )  # fmt: skip

    def grouped(batches: int, tokens: int, heads: int, data_type: str) -> Case:
        """Decoding of one token with 8 heads of keys, 128 elements each."""
        groups, depth = 8, 128
        keys = tensor((batches, tokens, groups * depth), data_type)
        asking = tensor((batches, 1, heads * depth), data_type)

        def on_torch(torch: Any, *parts: Any) -> Any:
            split = (part.reshape(batches, part.shape[1], -1, depth).transpose(1, 2) for part in parts)
            found = torch.nn.functional.scaled_dot_product_attention(*split, enable_gqa=True)
            return found.transpose(1, 2).reshape(batches, 1, heads * depth)

        tensors = {"QueryTensor": asking, "KeyTensor": keys, "ValueTensor": keys, "OutputTensor": asking}
        return drawn(
            f"attention {batches}x1 of {tokens} {heads} heads sharing {groups} {data_type}",
            "MULTIHEAD_ATTENTION1", tensors, on_torch, 4 * batches * heads * tokens * depth,
            Scale=depth**-0.5, MaskFilterValue=-1e4, QueryHeadCount=heads, KeyValueHeadCount=groups,
            MaskType="NONE",
        )  # fmt: skip

    def decoding(batches: int, past: int, depth: int, data_type: str, presents: bool) -> Case:
        """Decoding of one token: its query, key and value, after the keys and values of earlier calls. torch
        has these in one tensor; with `presents` it has to append to them, as the outputs do here."""
        heads = 32
        new = tensor((batches, 1, heads * depth), data_type)
        old = tensor((batches, heads, past, depth), data_type)
        whole = tensor((batches, heads, past + 1, depth), data_type)
        names = ("QueryTensor", "KeyTensor", "ValueTensor")
        tensors = {**dict.fromkeys(names, new), "PastKeyTensor": old, "PastValueTensor": old}
        kept: dict[int, tuple[Any, Any]] = {}  # by the address of the old ones

        def joined(torch: Any, key: Any, value: Any, old_key: Any, old_value: Any) -> tuple[Any, Any]:
            split = (part.reshape(batches, 1, heads, depth).transpose(1, 2) for part in (key, value))
            first, second = (torch.cat(pair, 2) for pair in zip((old_key, old_value), split, strict=True))
            return first, second

        def on_torch(torch: Any, query: Any, *rest: Any) -> Any:
            split = query.reshape(batches, 1, heads, depth).transpose(1, 2)
            place = rest[2].data_ptr()
            if not presents and place not in kept:
                kept[place] = joined(torch, *rest)
            found = torch.nn.functional.scaled_dot_product_attention(
                split, *(joined(torch, *rest) if presents else kept[place])
            )
            return found.transpose(1, 2).reshape(batches, 1, heads * depth)

        outputs = {"OutputTensor": new}
        if presents:
            outputs |= {"OutputPresentKeyTensor": whole, "OutputPresentValueTensor": whole}
        found = (
            f"{'decoding with presents' if presents else 'decoding'} {batches}x1 after {past}, {depth} wide"
        )
        return Case(
            f"{found} {data_type}", "MULTIHEAD_ATTENTION",
            tensors | outputs
            | {"Scale": depth**-0.5, "MaskFilterValue": -1e4, "HeadCount": heads, "MaskType": "NONE"},
            lambda: {
                key: uniform(one["Sizes"], data_type, seed) for seed, (key, one) in enumerate(tensors.items())
            },
            on_torch, size_of(*tensors.values(), *outputs.values()), 4 * batches * heads * (past + 1) * depth,
        )  # fmt: skip

    for data_type in ("float32", "float16"):
        yield attention(1, 65, 2, data_type)
        for batches, tokens in ((1, 128), (1, 512), (1, 2048), (8, 128), (8, 512), (8, 2048)):
            yield attention(batches, tokens, 12, data_type)
        yield attention(1, 2048, 32, data_type, depth=128)
        yield attention(2, 77, 8, data_type, queries=4096, depth=40)
        yield attention(2, 256, 8, data_type, depth=160)
        yield attention(1, 4096, 1, data_type, depth=512)
        for queries in (8, 16):
            yield attention(1, 2048, 32, data_type, queries=queries, depth=128)
        yield attention(1, 4096, 8, data_type, queries=64, depth=128)
        for batches, tokens, heads in ((1, 8192, 32), (1, 8192, 64), (16, 2048, 32)):
            yield grouped(batches, tokens, heads, data_type)
        for batches in (1, 32):
            yield attention(batches, 4096, 32, data_type, queries=1)
            for depth in (64, 128):
                yield decoding(batches, 4096, depth, data_type, False)
                yield decoding(batches, 4096, depth, data_type, True)
