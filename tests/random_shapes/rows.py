"""Normalizations, reductions, scans, and other operators on whole rows."""

from __future__ import annotations

from dmlops import Description, TensorDesc, make
from random_shapes.draw import DIRECTIONS, FLOATS, INDICES, NUMBERS, Draw

REDUCTIONS = (
    "AVERAGE", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MAX", "MIN", "MULTIPLY", "SUM", "SUM_SQUARE"
)  # fmt: skip
OF_ANY_RANK = (8, 9, 10)  # ways of batches


def normalizations(draw: Draw) -> Description:
    kind = draw.choice(FLOATS)
    way = draw.randrange(13)
    rank = draw.choice((1, 2, 3, 4, 4, 5, 8)) if way < 5 or way in OF_ANY_RANK else 4
    sizes = draw.sizes(rank, 1000 if way < 5 and rank < 5 else 33)
    axes = sorted(draw.sample(range(rank), draw.randint(1, rank))) if draw.maybe() else [rank - 1]
    kept = (1,) if draw.maybe(0.7) else axes
    channels = draw.tensor(kind, [size if axis in kept else 1 for axis, size in enumerate(sizes)])
    image = draw.tensor(kind, sizes)
    if way < 3:
        if draw.maybe(0.3):
            function = (make.activation_softmax, make.activation_log_softmax, make.activation_hardmax)[way]
            return function(draw.tensor(kind, ([1] * rank + sizes[-2:])[-rank:]))
        function = (make.activation_softmax1, make.activation_log_softmax1, make.activation_hardmax1)[way]
        return function(image, Axes=axes)
    if way == 3:
        power = draw.choice((1, 2))
        return make.lp_normalization(image, Axis=draw.randrange(rank), Epsilon=1e-3, P=power)
    if way == 4:
        factors = [draw.tensor(kind, sizes, [a for a in range(rank) if a not in axes]) for _ in range(2)]
        return make.mean_variance_normalization2(
            image,
            *(factors if draw.maybe() else (None, None)),
            Axes=axes,
            UseMean=draw.maybe(0.8),
            UseVariance=True,
            Epsilon=1e-5,
            FusedActivation=draw.activation(),
        )
    members = {
        "CrossChannel": draw.maybe(), "LocalSize": draw.choice((1, 3, 4, 5)),
        "Alpha": 1e-2, "Beta": 0.75, "Bias": 1.0,
    }  # fmt: skip
    match way:
        case 5:
            return older_mean_variance(draw, image, axes)
        case 6:
            values = [draw.tensor(kind, sizes) for _ in range(4)]
            rates = {"LearningRate": 0.1, "Beta1": 0.9, "Beta2": 0.99, "Epsilon": 1e-3}
            return make.adam_optimizer(*values, TensorDesc("UINT32", [1] * rank), **rates)
        case 7:
            sizes[1] = draw.choice((1, 3))
            biases = [draw.uniform(-1, 1) for _ in range(sizes[1])]
            return make.value_scale_2d(draw.tensor(kind, sizes), Scale=draw.uniform(-2, 2), Bias=biases)
        case 8:
            return make.batch_normalization(
                image,
                *[channels] * 4,
                Spatial=draw.maybe(0.7),
                Epsilon=1e-3,
                FusedActivation=draw.activation(),
            )
        case 9:
            added = image if draw.maybe(0.4) else None
            return make.batch_normalization_training(
                image, channels, channels, added, Epsilon=1e-3, FusedActivation=draw.activation()
            )
        case 10:
            function = draw.choice((make.batch_normalization_grad, make.batch_normalization_training_grad))
            return function(image, image, *[channels] * 3, Epsilon=1e-3)
        case 11:
            return make.local_response_normalization(image, **members)
    return make.local_response_normalization_grad(image, image, **members)


def older_mean_variance(draw: Draw, image: TensorDesc, axes: list[int]) -> Description:
    """The two versions whose scale and bias come together."""
    kind, sizes = image.DataType.name, image.Sizes
    factor = draw.choice(([1, sizes[1], 1, 1], [1, 1, 1, 1], sizes))
    factors = [draw.tensor(kind, factor) for _ in range(2)] if draw.maybe() else [None, None]
    members = {"NormalizeVariance": draw.maybe(0.8), "Epsilon": 1e-5, "FusedActivation": draw.activation()}
    if draw.maybe():
        return make.mean_variance_normalization(image, *factors, CrossChannel=draw.maybe(), **members)
    return make.mean_variance_normalization1(image, *factors, Axes=axes, **members)


def reductions(draw: Draw) -> Description:
    rank = draw.choice((1, 2, 2, 3, 3, 4, 5, 6, 8))
    sizes = draw.sizes(rank, 1000 if rank < 5 else 33)
    axis = sizes.index(max(sizes)) if draw.maybe() else draw.randrange(rank)
    axes = sorted(draw.sample(range(rank), draw.randint(1, rank)))
    image, direction = draw.tensor(draw.choice(FLOATS), sizes), draw.choice(DIRECTIONS)
    if draw.maybe(0.25):
        image = draw.tensor(draw.choice(NUMBERS), sizes)
    match draw.randrange(6):
        case 0:
            function = draw.choice((make.argmax, make.argmin))
            kind = draw.choice(INDICES)
            return function(image, Axes=axes, AxisDirection=direction, OutputTensor=kind)
        case 1:
            wanted = min(sizes[axis], draw.choice((1, 3, 16, 64, 1000, sizes[axis] // 2 + 1, sizes[axis])))
            places = draw.choice(("UINT32", "UINT64"))
            if draw.maybe(0.3):
                return make.top_k(image, Axis=axis, K=wanted, OutputIndexTensor=places)
            return make.top_k1(image, Axis=axis, K=wanted, AxisDirection=direction, OutputIndexTensor=places)
        case 2:
            exclusive = draw.maybe()
            if draw.maybe(0.4):
                return make.cumulative_product(
                    image, Axis=axis, AxisDirection=direction, HasExclusiveProduct=exclusive
                )
            return make.cumulative_summation(
                image, Axis=axis, AxisDirection=direction, HasExclusiveSum=exclusive
            )
    function = draw.choice((*REDUCTIONS, "ARGMAX", "ARGMIN"))
    if function in ("ARGMAX", "ARGMIN"):
        return make.reduce(image, Function=function, Axes=axes, OutputTensor=draw.choice(INDICES))
    return make.reduce(image, Function=function, Axes=axes)
