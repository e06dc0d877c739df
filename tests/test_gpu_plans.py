"""Plans of all mechanisms: C and Python make the same, devices can run them, and they occupy a large GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import test_attention as attention
import test_schedules_contraction as contraction
import test_schedules_plans as others
from c_plans import Library, expected
from dmlops import gpu
from dmlops.gpu import compiler, detection
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES, Capability
from dmlops.gpu.plans.loops import MULTIPROCESSORS
from product_cases import F, H, byte_product, convolution, of_many_images, product
from random_shapes import described
from recurrent_networks import made, network
from spirv_modules import declared_memory, group_memory, instructions, validate
from tensors import of

HALVES, BYTES, DOTS = (
    Capability.COOPERATIVE_MATRIX,
    Capability.COOPERATIVE_MATRIX_INT8,
    Capability.DOT_PRODUCTS,
)


def products(kind: str, *sizes: tuple[int, int, int]) -> list[Any]:
    """Products of matrices with rows, depth and columns."""
    some = ((of(kind, rows, depth), of(kind, depth, columns)) for rows, depth, columns in sizes)
    return [product(left, right, None) for left, right in some]


def bytes_of(*sizes: tuple[int, int, int]) -> list[Any]:
    """Products of bytes, with zero points of rows and columns; the right factor is contiguous along k."""
    return [
        byte_product(of("UINT8", rows, depth), of("INT8", depth, columns, strides=(1, depth)), "ab")
        for rows, depth, columns in sizes
    ]


def windows(kind: str, *sizes: tuple[int, int, int, int, int]) -> list[Any]:
    """Convolutions by images, channels, their size, filters and the window's size."""
    return [
        convolution(
            of(kind, images, channels, size, size), of(kind, filters, channels, window, window), bias=False,
            StartPadding=window // 2, EndPadding=window // 2,
        )
        for images, channels, size, filters, window in sizes
    ]  # fmt: skip


def attentions() -> list[Any]:
    sizes = [one for some in attention.SIZES.values() for one in some]
    cases = [*attention.CASES, *(one for some in attention.CHOSEN.values() for one in some)]
    sizes += [(32, 1, 1024, 32, 8, 8), (8, 512, 512, 12, 64, 64), (1, 16, 2048, 32, 128, 128)]
    return [
        desc
        for kind in ("FLOAT32", "FLOAT16")
        for desc in (
            *(attention.attention(kind, one) for one in sizes),
            *(one.described(kind) for one in cases),
        )
    ]


def networks(kind: str, *sizes: tuple[int, int]) -> list[Any]:
    """LSTMs of batches and units."""
    return [made(network("LSTM", batch, units, units, data_type=kind), "LSTM") for batch, units in sizes]


def drawn(many: int, *families: str) -> list[Any]:
    return [described(family, seed) for family in families for seed in range(many)]


LARGE = others.channelwise(of("FLOAT32", 32, 128, 56, 56), (128, 1, 3, 3))
MANY = byte_product(of("INT8", 4096, 64), of("UINT8", 64, 4096), "aB")
READ = [make(kind) for _, _, make in contraction.READ for kind in (F, H)]
CASES: dict[str, tuple[Callable[[], list[Any]], tuple[Capability, ...]]] = {
    "attention": (attentions, (NO_CAPABILITIES, HALVES)),
    "bytes": (
        lambda: [*drawn(100, "integer_products", "integer_convolutions"), MANY],
        (NO_CAPABILITIES, BYTES, DOTS, BYTES | DOTS),
    ),
    "contraction": (
        lambda: [
            *drawn(100, "products", "convolutions"),
            *(one for _, one in contraction.PLANNED),
            *(*READ, *contraction.SKINNY, *contraction.FEW),
            *(of_many_images(one) for one in READ if one.OPERATOR == "CONVOLUTION"),
            *products("FLOAT16", *((size, size, size) for size in (1024, 2048, 4096))),
        ],
        (NO_CAPABILITIES, HALVES),
    ),
    "images": (
        lambda: [
            *drawn(100, "resampling", "rescaled", "regions", "windows"),
            LARGE,
            *(one for _, one in others.SLIDES),
        ],
        (NO_CAPABILITIES,),
    ),
    "networks": (
        lambda: [
            *drawn(100, "recurrent"),
            *networks("FLOAT32", *((batch, units) for batch in (1, 32, 100) for units in (512, 1024))),
            *networks("FLOAT16", (32, 256), (32, 512), (32, 1024), (300, 512), (2000, 1024)),
        ],
        (NO_CAPABILITIES, HALVES),
    ),
    "rows": (
        lambda: [*drawn(100, "normalizations", "reductions"), *(one for _, one in others.ROWS)],
        (NO_CAPABILITIES,),
    ),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("plans"))


@pytest.mark.parametrize("name", CASES)
def test_c_plans_the_same(name: str, library: Library) -> None:
    some, capabilities = CASES[name]
    for desc in some():
        for one in capabilities:
            assert library.plan(desc, one) == expected(desc, one), desc


# Large GPUs.

LARGE_CASES = [
    *((desc, NO_CAPABILITIES, 2 / 3) for desc in (
        *products(
            "FLOAT32", (16, 768, 3072), (32, 768, 768), (512, 3072, 768), (1792, 1792, 1792),
            (2048, 2048, 2048), (256, 4096, 4096),
        ),
        *windows(
            "FLOAT32", (32, 128, 28, 128, 3), (32, 512, 7, 512, 3), (8, 256, 56, 64, 1),
            (1, 256, 14, 1024, 1), (1, 1024, 14, 256, 1),
        ),
    )),
    *((desc, HALVES, 1 / 2) for desc in (
        *products(
            "FLOAT16", (2048, 4096, 2048), (1536, 768, 4096), (512, 4096, 4096), (128, 4096, 4096),
            (512, 3072, 768), (16, 4096, 4096),
        ),
        *windows(
            "FLOAT16", (32, 64, 56, 64, 3), (32, 512, 7, 512, 3), (8, 512, 28, 128, 1), (1, 256, 14, 256, 3),
        ),
    )),
    *((desc, capabilities, 2 / 3) for capabilities in (NO_CAPABILITIES, BYTES | DOTS) for desc in bytes_of(
        (16, 4096, 4096), (64, 4096, 4096), (128, 4096, 4096), (512, 768, 768), (256, 1024, 1024),
        (2048, 2048, 2048), (4096, 64, 4096),
    )),
]  # fmt: skip


def test_groups_fill_the_multiprocessors() -> None:
    for desc, capabilities, share in LARGE_CASES:
        plan = gpu.plan(desc, capabilities)
        (tiles,) = (one for one in plan.dispatches if "TILE_ROWS" in one.defines)
        assert ("COOPERATIVE_MATRIX" in tiles.defines) == bool(capabilities & (HALVES | BYTES))
        assert tiles.groups.columns >= share * MULTIPROCESSORS, desc


@pytest.mark.parametrize(
    ("kind", "capabilities"), [("FLOAT32", NO_CAPABILITIES), ("FLOAT16", HALVES)], ids=["float32", "halves"]
)
def test_k_is_split_only_where_tiles_are_few(kind: str, capabilities: Capability) -> None:
    """Where tiles are many, they are large."""
    for rows, depth, columns, parts in (
        (4096, 4096, 4096, 1), (4096, 64, 4096, 1), (4096, 64, 64, 1), (128, 11008, 128, 4),
        (16, 8192, 1024, 4),
    ):  # fmt: skip
        (desc,) = products(kind, (rows, depth, columns))
        first = gpu.plan(desc, capabilities).dispatches[0]
        tile = [int(first.defines[f"TILE_{side}"]) for side in ("ROWS", "COLUMNS")]
        tiles = -(-rows // tile[0]) * -(-columns // tile[1])
        found = first.groups.columns // tiles
        assert found == 1 if parts == 1 else found >= parts, desc
        assert min(rows, columns) < 4096 or tile[0] * tile[1] >= 128 * 128


# What devices have.

TURNED = [
    product(
        of("FLOAT16", *((rows, 4096) if turns[0] == "N" else (4096, rows))),
        of("FLOAT16", *((4096, columns) if turns[1] == "N" else (columns, 4096))), None, turns,
    )
    for rows, columns in ((4096, 4096), (1024, 1024), (32, 4096), (16, 4096))
    for turns in ("NN", "NT", "TN", "TT")
]  # fmt: skip
DEEP = [
    attention.attention("FLOAT16", (*one, depth, depth))
    for one in ((1, 512, 512, 4), (8, 2048, 2048, 12))
    for depth in (64, 80, 128, 256, 512)
]
ONE_BY_ONE = products("FLOAT16", (4096, 4096, 4095))
SQUARES = bytes_of(*((size, size, size) for size in (64, 256, 1024, 4096)))


def threads(defines: Mapping[str, Any]) -> int:
    """The threads of a group."""
    if "NUM_THREADS" in defines:
        return int(defines["NUM_THREADS"])
    rows, columns = (
        int(defines[f"TILE_{side}"]) // int(defines[f"WAVE_{side}"]) for side in ("ROWS", "COLUMNS")
    )
    return rows * columns * 32


@pytest.mark.parametrize(
    ("some", "capabilities", "most"),
    [
        (TURNED, HALVES, detection.GROUP_MEMORY), (ONE_BY_ONE, HALVES, detection.GROUP_MEMORY),
        (DEEP, HALVES, detection.GROUP_MEMORY), (SQUARES, NO_CAPABILITIES, 32 << 10),
        (SQUARES, BYTES | DOTS, detection.GROUP_MEMORY),
    ],
    ids=["turned", "stored one by one", "attention", "bytes", "bytes in matrices"],
)  # fmt: skip
def test_groups_have_no_more_threads_and_memory_than_devices(
    some: list[Any], capabilities: Capability, most: int
) -> None:
    tiles = {
        (desc.OPERATOR, tuple(one.defines.items()))
        for desc in some
        for one in gpu.plan(desc, capabilities).dispatches
        if "TILE_ROWS" in one.defines or "COOPERATIVE_MATRIX" in one.defines
    }
    for operator, defines in tiles:
        assert threads(dict(defines)) <= detection.LARGEST_GROUP
        assert 0 < declared_memory(operator, dict(defines)) <= most


NETWORKS = networks("FLOAT16", (12, 64), (32, 512), (32, 1024), (300, 512), (2000, 1024))
VALID: dict[str, tuple[Callable[[], list[Any]], Capability]] = {
    "bytes": (lambda: drawn(24, "integer_products", "integer_convolutions"), BYTES | DOTS),
    "halves": (lambda: [*READ, *drawn(24, "products", "convolutions")], HALVES),
    "attention": (
        lambda: [attention.attention("FLOAT16", sizes) for sizes in attention.SIZES["matrices"]],
        HALVES,
    ),
    "networks": (
        lambda: networks("FLOAT16", (12, 64), (32, 512), (32, 1024), (300, 512), (2000, 1024)),
        HALVES,
    ),
}
CAPABILITIES = {1, 9, 11, 22, 39, 61, 62, 64, 65, 4433, 5345, 6018, 6019, 6022}
MEMORY_MODEL = 14


@pytest.mark.parametrize("name", VALID)
def test_spirv_is_valid(name: str, tmp_path: Path) -> None:
    """Modules with cooperative matrices use Vulkan's memory model; only they need its features."""
    some, capabilities = VALID[name]
    shaders = {
        (one.shader or desc.OPERATOR, *one.defines.items()): one.defines
        for desc in some()
        for one in gpu.plan(desc, capabilities).dispatches
    }
    for (shader, *_), defines in shaders.items():
        code = compiler.compile(gpu.shader(shader), defines)
        validate(code, tmp_path, name)
        parsed = list(instructions(code))
        has_matrices = "COOPERATIVE_MATRIX" in defines
        assert {operands[0] for opcode, operands in parsed if opcode == 17} <= CAPABILITIES
        (model,) = (operands[1] for opcode, operands in parsed if opcode == MEMORY_MODEL)
        assert model == (3 if has_matrices else 1)
        needed = {"cooperativeMatrix", "vulkanMemoryModel"}
        of_bytes_ = capabilities & BYTES
        widths = {operands[1] for opcode, operands in parsed if opcode == 21}
        if of_bytes_:
            needed.add("shaderInt8")
            assert (8 in widths) == has_matrices
        assert (needed <= set(compiler.optional_features(code))) == has_matrices
        assert group_memory(code) <= detection.GROUP_MEMORY
