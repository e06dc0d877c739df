"""Elements selected by indices, and elements that depend only on their position."""

from __future__ import annotations

from math import prod

from dmlops import Description, TensorDesc, make
from random_shapes.draw import ANY, INDICES, NUMBERS, Draw


def tuples(draw: Draw) -> Description:
    """Blocks that tuples of coordinates name."""
    kind, of_indices = draw.choice(ANY), draw.choice(INDICES)
    sizes = draw.sizes(draw.randint(1, 5), 40)
    batches = draw.randrange(len(sizes)) if draw.maybe(0.4) else 0
    coordinates = draw.randint(1, len(sizes) - batches)
    count = [draw.size(40) for _ in range(draw.randint(0, 2))]
    named = sizes[batches + coordinates :]
    indices = [*sizes[:batches], *count, coordinates]
    chosen = [*sizes[:batches], *count, *named]
    rank = draw.randint(max(len(sizes), len(indices), len(chosen)), 8)
    image = draw.tensor(kind, of_rank(sizes, rank))
    tensor = draw.tensor(of_indices, of_rank(indices, rank))
    members = {"InputDimensionCount": len(sizes), "IndicesDimensionCount": len(indices)}
    if batches:
        return make.gather_nd1(image, tensor, BatchDimensionCount=batches, **members)
    match draw.randrange(3):
        case 0:
            return make.gather_nd(image, tensor, **members)
        case 1:
            return make.gather_nd1(image, tensor, BatchDimensionCount=0, **members)
    updates = draw.tensor(kind, of_rank(chosen, rank))
    return make.scatter_nd(image, tensor, updates, OutputTensor=draw.tensor(kind, image.Sizes), **members)


def of_rank(sizes: list[int], rank: int) -> list[int]:
    """The sizes after as many 1s as make so many dimensions."""
    return [1] * (rank - len(sizes)) + sizes


def selections(draw: Draw) -> Description:
    """Coordinates of what is not zero, sequences with one element switched on, beginnings turned round."""
    sizes = draw.sizes(draw.randint(1, 8), 65)
    rank, axis, kind = len(sizes), draw.randrange(len(sizes)), draw.choice(ANY)
    lines = [1 if number == axis else size for number, size in enumerate(sizes)]
    match draw.randrange(3):
        case 0:
            counts = next((rank - number for number, size in enumerate(sizes) if size > 1), 0)
            while len(sizes) * prod(sizes) > 1 << 18:
                sizes = [-(-size // 2) for size in sizes]
            columns = draw.randint(max(counts, 1), rank)
            of = draw.choice(("FLOAT32", "FLOAT16", "INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"))
            return make.nonzero_coordinates(
                draw.tensor(of, sizes),
                OutputCountTensor=TensorDesc("UINT32", [1] * draw.randint(1, 4)),
                OutputCoordinatesTensor=draw.tensor("UINT32", [prod(sizes), columns]),
            )
        case 1:
            values = [1] * (rank - 1) + [draw.choice((2, 3))]
            draw.shuffle(values)
            indices = draw.tensor(draw.choice(INDICES), lines)
            output = draw.tensor(kind, sizes)
            return make.one_hot(indices, draw.tensor(kind, values), Axis=axis, OutputTensor=output)
    lengths = draw.tensor(draw.choice(("UINT32", "UINT64")), lines)
    return make.reverse_subsequences(draw.tensor(kind, sizes), lengths, Axis=axis)


def generators(draw: Draw) -> Description:
    """Diagonals, constants, sequences and random words."""
    rank, kind = draw.randint(1, 8), draw.choice(ANY)
    sizes = draw.sizes(rank, 513 if rank < 4 else 33)
    offset = draw.choice((0, 1, -1, 5, -9, draw.randint(-513, 513)))
    number = draw.choice(NUMBERS)
    match draw.randrange(5):
        case 0:
            square = draw.tensor(kind, draw.sizes(draw.randint(2, 4), 513))
            return make.diagonal_matrix(Offset=offset, Value=draw.choice((1, 0, 2.5)), OutputTensor=square)
        case 1:
            square = draw.tensor(kind, draw.sizes(draw.randint(2, 4), 513))
            return make.diagonal_matrix1(
                draw.tensor(kind, square.Sizes) if draw.maybe() else None,
                ValueDataType=kind,
                Value=draw.scalar(kind),
                DiagonalFillBegin=offset,
                DiagonalFillEnd=offset + draw.choice((1, 2, 20, 600)),
                OutputTensor=square,
            )
        case 2:
            value = draw.scalar(kind)
            return make.fill_value_constant(
                ValueDataType=kind, Value=value, OutputTensor=draw.tensor(kind, sizes)
            )
        case 3:
            start, delta = draw.scalar(number), draw.scalar(number)
            return make.fill_value_sequence(
                ValueDataType=number,
                ValueStart=start,
                ValueDelta=delta,
                OutputTensor=draw.tensor(number, sizes),
            )
    state = TensorDesc("UINT32", [1] * (rank - 1) + [6])
    return make.random_generator(
        state,
        OutputTensor=draw.tensor("UINT32", sizes),
        OutputStateTensor=draw.tensor("UINT32", state.Sizes) if draw.maybe() else None,
    )
