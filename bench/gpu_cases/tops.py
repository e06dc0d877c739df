"""Top-k: a few elements of a line, and whole lines sorted."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, drawn, tensor

SHAPES = (
    *((1, 50257, 50), (32, 8400, 300), (8192, 64, 2), (4096, 256, 8), (1, 1 << 24, 100)),
    *((4096, 1024, 100), (64, 65536, 50)),
    *((4096, 4096, 4096), (1, 1 << 20, 1 << 20)),
)


def tops() -> Iterator[Case]:
    """Tokens of a vocabulary, boxes of images, experts of tokens, a long line, candidates of searches; then
    lines that are sorted."""
    for data_type in ("float32", "float16"):
        for count, length, wanted in SHAPES:
            yield drawn(
                f"top {wanted} of {count}x{length} {data_type}", "TOP_K1",
                {
                    "InputTensor": tensor((count, length), data_type),
                    "OutputValueTensor": tensor((count, wanted), data_type),
                    "OutputIndexTensor": tensor((count, wanted), "uint32"),
                },
                lambda torch, x, wanted=wanted: torch.topk(x, wanted, 1)[0],
                Axis=1, K=wanted, AxisDirection="DECREASING",
            )  # fmt: skip
