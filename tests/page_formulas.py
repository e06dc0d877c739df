"""Formulas from the pages of operators with definitions, in plain loops over single elements.

They are written from the pages and, where these are silent, from the ONNX operators that they are based on;
nothing here knows the definitions in specs or how they are evaluated. A formula takes the members of a
description and arrays (floats in double precision, integers of any length) and returns the outputs before
they are stored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import dmlops

Arrays = dict[str, Any]
Place = tuple[int, ...]


class Members(dict[str, Any]):
    """The members of a description by name; absent ones are None."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)

    def sizes(self, name: str) -> Place:
        return tuple(self[name]["Sizes"])


def places(sizes: Sequence[int]) -> Iterator[Place]:
    return itertools.product(*map(range, sizes))


def within(place: Sequence[int], sizes: Sequence[int]) -> bool:
    return all(0 <= c < size for c, size in zip(place, sizes, strict=True))


def each(sizes: Sequence[int], value: Callable[[Place], Any]) -> np.ndarray:
    """An array of Python numbers, each from its place."""
    result = np.empty(tuple(sizes), object)
    for at in places(sizes):
        result[at] = value(at)
    return result


def total(values: Iterator[Any]) -> Any:
    result: Any = 0
    for value in values:
        result = result + value
    return result


def greatest(values: Sequence[Any]) -> int:
    """The number of the first NaN, or else of the first greatest."""
    best = 0
    for number, value in enumerate(values):
        if value != value:
            return number
        if value > values[best]:
            best = number
    return best


def single(value: float) -> float:
    return float(np.float32(value))


def spread(array: np.ndarray, at: Place) -> Any:
    return array[tuple(0 if size == 1 else c for c, size in zip(at, array.shape, strict=True))]


def activate(values: np.ndarray, activation: Any) -> np.ndarray:
    """An activation, itself compared with others elsewhere, applied to a whole array, row by row."""
    if activation is None:
        return values
    array = values.astype(np.float32)
    if "Axes" not in activation.get("desc", {}):
        array = array.reshape(1, 1, -1, array.shape[-1])
    tensor = {"DataType": "FLOAT32", "Sizes": list(array.shape)}
    desc = {**activation.get("desc", {}), "InputTensor": tensor, "OutputTensor": tensor}
    whole = dmlops.from_json({"type": activation["type"], "desc": desc})
    result: np.ndarray = dmlops.reference.run(whole, {"InputTensor": array})["OutputTensor"]
    return result.astype(np.float64).reshape(values.shape)


def half_even(x: float) -> float:
    return x if not math.isfinite(x) else float(round(x))


# Windows.


def window(d: Members) -> Iterator[Place]:
    return places(d.WindowSize or d.WindowSizes)


def under(d: Members, o: Sequence[int], w: Place) -> Place:
    """The element of the input under place `w` of the window that makes result `o`."""
    dilations = d.Dilations or [1] * len(w)
    return tuple(o[i] * d.Strides[i] + w[i] * dilations[i] - d.StartPadding[i] for i in range(len(w)))


def elements_under(d: Members, o: Sequence[int], spatial: Place) -> list[Place]:
    return [place for w in window(d) if within(place := under(d, o, w), spatial)]


def divisor(d: Members, o: Sequence[int], spatial: Place) -> int:
    if not d.IncludePadding:
        return max(len(elements_under(d, o, spatial)), 1)
    ends = [size + pad for size, pad in zip(spatial, d.EndPadding, strict=True)]
    count = 0
    for w in window(d):
        place = under(d, o, w)
        count += all(-s <= p < e for p, s, e in zip(place, d.StartPadding, ends, strict=True))
    return max(count, 1)


def average_pooling(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]

    def value(at: Place) -> Any:
        found = elements_under(d, at[2:], a.shape[2:])
        return total(a[at[:2] + p] for p in found) / divisor(d, at[2:], a.shape[2:])

    return {"OutputTensor": each(d.sizes("OutputTensor"), value)}


def average_pooling_grad(d: Members, x: Arrays) -> Arrays:
    g, sizes = x["InputGradientTensor"], d.sizes("OutputGradientTensor")
    result = np.zeros(sizes)
    for at in places(g.shape):
        for p in elements_under(d, at[2:], sizes[2:]):
            result[at[:2] + p] += g[at] / divisor(d, at[2:], sizes[2:])
    return {"OutputGradientTensor": result}


def lp_pooling(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]

    def value(at: Place) -> Any:
        values = np.array([a[at[:2] + p] for p in elements_under(d, at[2:], a.shape[2:])], np.float64)
        return (np.abs(values) ** float(d.P)).sum() ** (1 / float(d.P))

    return {"OutputTensor": each(d.sizes("OutputTensor"), value)}


def max_pooling(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]
    least = -math.inf
    kind = d.InputTensor["DataType"]
    if not kind.startswith("FLOAT"):
        least = int(np.iinfo(kind.lower()).min)

    def choice(at: Place) -> Place | None:
        found = elements_under(d, at[2:], a.shape[2:])
        return at[:2] + found[greatest([a[at[:2] + p] for p in found])] if found else None

    def value(at: Place) -> Any:
        place = choice(at)
        return least if place is None else a[place]

    def index(at: Place) -> int:
        place = choice(at)
        return 0 if place is None else int(np.ravel_multi_index(place, a.shape))

    sizes = d.sizes("OutputTensor")
    return {"OutputTensor": each(sizes, value), "OutputIndicesTensor": each(sizes, index)}


def max_pooling_grad(d: Members, x: Arrays) -> Arrays:
    a, g = x["InputTensor"], x["InputGradientTensor"]
    result = np.zeros(a.shape)
    for at in places(g.shape):
        found = elements_under(d, at[2:], a.shape[2:])
        if found:
            result[at[:2] + found[greatest([a[at[:2] + p] for p in found])]] += g[at]
    return {"OutputGradientTensor": result}


def max_unpooling(d: Members, x: Arrays) -> Arrays:
    result = np.zeros(math.prod(d.sizes("OutputTensor")), object)
    for value, index in zip(x["InputTensor"].flat, x["IndicesTensor"].flat, strict=True):
        if 0 <= index < result.size:
            result[int(index)] = value
    return {"OutputTensor": result.reshape(d.sizes("OutputTensor"))}


def clamped(index: Any, size: int) -> int:
    return min(max(int(index) + size if index < 0 else int(index), 0), size - 1)


def scatter_elements(d: Members, x: Arrays) -> Arrays:
    result = x["InputTensor"].copy()
    for at in places(d.sizes("UpdatesTensor")):
        index = clamped(x["IndicesTensor"][at], result.shape[d.Axis])
        result[(*at[: d.Axis], index, *at[d.Axis + 1 :])] = x["UpdatesTensor"][at]
    return {"OutputTensor": result}


def scatter_nd(d: Members, x: Arrays) -> Arrays:
    sizes = d.sizes("OutputTensor")[-d.InputDimensionCount :]
    result = x["InputTensor"].reshape(sizes).copy()
    tuples = x["IndicesTensor"].reshape(-1, d.sizes("IndicesTensor")[-1])
    blocks = x["UpdatesTensor"].reshape(len(tuples), *sizes[tuples.shape[1] :])
    for place, block in zip(tuples, blocks, strict=True):
        result[tuple(map(clamped, place, sizes))] = block
    return {"OutputTensor": result.reshape(d.sizes("OutputTensor"))}


def fold(d: Members, x: Arrays) -> Arrays:
    a, sizes = x["InputTensor"], d.sizes("OutputTensor")
    result = np.zeros(sizes, object)
    blocks = [
        (sizes[i + 2] + d.StartPadding[i] + d.EndPadding[i] - d.Dilations[i] * (w - 1) - 1) // d.Strides[i]
        + 1
        for i, w in enumerate(d.WindowSizes)
    ]
    rows = list(itertools.product(range(sizes[1]), window(d)))
    for n in range(sizes[0]):
        for row, (c, w) in enumerate(rows):
            for column, o in enumerate(places(blocks)):
                place = under(d, o, w)
                if within(place, sizes[2:]):
                    result[(n, c, *place)] += a[n, row, column]
    return {"OutputTensor": result}


def unfold(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]
    result = np.zeros(d.sizes("OutputTensor"), object)
    blocks = [
        (a.shape[i + 2] + d.StartPadding[i] + d.EndPadding[i] - d.Dilations[i] * (w - 1) - 1) // d.Strides[i]
        + 1
        for i, w in enumerate(d.WindowSizes)
    ]
    for n in range(a.shape[0]):
        for row, (c, w) in enumerate(itertools.product(range(a.shape[1]), window(d))):
            for column, o in enumerate(places(blocks)):
                place = under(d, o, w)
                if within(place, a.shape[2:]):
                    result[n, row, column] = a[(n, c, *place)]
    return {"OutputTensor": result}


# Regions.


def roi_pooling(d: Members, x: Arrays) -> Arrays:
    a, regions = x["InputTensor"], x["ROITensor"][0, 0]

    def rounded(v: float) -> int:
        v = single(single(v) * single(d.SpatialScale))
        return math.floor(abs(v) + 0.5) * (-1 if v < 0 else 1)

    def value(at: Place) -> Any:
        batch, *corners = regions[at[0]]
        x1, y1, x2, y2 = map(rounded, corners)
        ranges = []
        for i, first, last, count, size in (
            (at[2], y1, y2, d.PooledSize["Height"], a.shape[2]),
            (at[3], x1, x2, d.PooledSize["Width"], a.shape[3]),
        ):
            length = max(last - first + 1, 1)
            start, end = i * length // count + first, -(-(i + 1) * length // count) + first
            ranges.append(range(min(max(start, 0), size), min(max(end, 0), size)))
        image = a[min(max(int(batch), 0), a.shape[0] - 1), at[1]]
        values = [image[p] for p in itertools.product(*ranges)]
        return values[greatest(values)] if values else 0

    return {"OutputTensor": each(d.sizes("OutputTensor"), value)}


class Regions:
    """Samples of regions as the page of ROI_ALIGN1 loops over them, in single precision."""

    def __init__(self, d: Members, x: Arrays, image: Place, cells: Place) -> None:
        self.image, self.cells = image[2:], cells[2:]
        self.regions = x["ROITensor"].reshape(-1, 4)
        self.batches = [min(max(int(b), 0), image[0] - 1) for b in np.ravel(x["BatchIndicesTensor"])]
        self.scales = (d.SpatialScaleY, d.SpatialScaleX)
        self.least = max(d.MinimumSamplesPerOutput, 1)
        self.most = d.MaximumSamplesPerOutput
        self.inset = d.get("InputPixelOffset", 0.5)
        self.outset = d.get("OutputPixelOffset", -0.5)
        self.corners = bool(d.AlignRegionsToCorners)
        self.linear = d.InterpolationMode == "LINEAR"

    def samples(self, r: int, axis: int) -> int:
        f = np.float32
        first = f(self.regions[r, 1 - axis]) * f(self.scales[axis])
        last = f(self.regions[r, 3 - axis]) * f(self.scales[axis])
        count = float(np.ceil((last - first) / f(self.cells[axis])))
        return int(max(min(0 if math.isnan(count) else count, self.most), self.least))

    def where(self, r: int, axis: int, cell: int, sample: int) -> float:
        f = np.float32
        first = f(self.regions[r, 1 - axis]) * f(self.scales[axis])
        length = f(self.regions[r, 3 - axis]) * f(self.scales[axis]) - first
        lines = self.cells[axis] * self.samples(r, axis)
        gaps = lines - 1 if self.corners else lines
        pace = length / f(gaps) if gaps else f(0)
        number = f(cell * self.samples(r, axis) + sample)
        return float((number - f(self.outset)) * pace + first - f(self.inset))

    def spots(self, r: int, cell: Place) -> Iterator[tuple[float, float] | None]:
        """The positions of a cell's samples in the image, row by row; None is out of bounds."""
        for sample in places((self.samples(r, 0), self.samples(r, 1))):
            spot = [self.where(r, i, cell[i], sample[i]) for i in range(2)]
            if all(-1 <= c <= size for c, size in zip(spot, self.image, strict=True)):
                y, x = (min(max(c, 0), size - 1) for c, size in zip(spot, self.image, strict=True))
                yield y, x
            else:
                yield None

    def parts(self, spot: tuple[float, float]) -> list[tuple[Place, float]]:
        """The elements that make a sample, with their weights."""
        if not self.linear:
            return [(tuple(math.ceil(single(c - 0.5)) for c in spot), 1.0)]
        pairs = []
        for c in spot:
            low, part = math.floor(c), c - math.floor(c)
            pairs.append([(low, 1 - part), (low + 1, part)] if part else [(low, 1.0)])
        return [((i, j), v * w) for (i, v), (j, w) in itertools.product(*pairs)]


def roi_align(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]
    regions = Regions(d, x, a.shape, d.sizes("OutputTensor"))

    def value(at: Place) -> Any:
        image = a[regions.batches[at[0]], at[1]]
        values = [
            d.OutOfBoundsInputValue if spot is None else total(image[p] * w for p, w in regions.parts(spot))
            for spot in regions.spots(at[0], at[2:])
        ]
        return sum(values) / len(values) if d.ReductionFunction == "AVERAGE" else values[greatest(values)]

    return {"OutputTensor": each(d.sizes("OutputTensor"), value)}


def roi_align_grad(d: Members, x: Arrays) -> Arrays:
    g = x["InputGradientTensor"]
    shape = d.sizes("OutputGradientTensor" if d.OutputGradientTensor else "InputTensor")
    regions = Regions(d, x, shape, g.shape)
    result = np.zeros(shape)
    for at in places(g.shape):
        batch = regions.batches[at[0]]
        spots = list(regions.spots(at[0], at[2:]))
        if d.ReductionFunction == "MAX":
            image = x["InputTensor"][batch, at[1]]
            values = [0.0 if s is None else total(image[p] * w for p, w in regions.parts(s)) for s in spots]
            best = greatest(values)
            chosen, share = [spots[best]], 1.0
        else:
            chosen, share = spots, 1 / len(spots)
        for spot in chosen:
            for place, weight in regions.parts(spot) if spot else []:
                result[(batch, at[1], *place)] += g[at] * weight * share
    found = {"OutputGradientTensor": result}
    if d.OutputROIGradientTensor:
        found["OutputROIGradientTensor"] = roi_gradient(d, x, regions).reshape(x["ROITensor"].shape)
    return found


def roi_gradient(d: Members, x: Arrays, regions: Regions) -> np.ndarray:
    """The chain rule, sample by sample: a sample is between the corners by a fraction."""
    g, result = x["InputGradientTensor"], np.zeros((len(regions.regions), 4))
    if not regions.linear:
        return result
    for at in places(g.shape):
        r = at[0]
        image = x["InputTensor"][regions.batches[r], at[1]]
        spots = list(regions.spots(r, at[2:]))
        chosen, share = range(len(spots)), 1 / len(spots)
        if d.ReductionFunction == "MAX":
            values = [0.0 if s is None else total(image[p] * w for p, w in regions.parts(s)) for s in spots]
            chosen, share = range(greatest(values), greatest(values) + 1), 1.0
        counts = regions.samples(r, 0), regions.samples(r, 1)
        for number in chosen:
            spot = spots[number]
            if spot is None:
                continue
            sample = divmod(number, counts[1])
            for axis in range(2):
                c, across = spot[axis], spot[1 - axis]
                if regions.where(r, axis, at[axis + 2], sample[axis]) != c or c == math.floor(c):
                    continue  # clamped, or at an element, where the slope is 0
                slope = 0.0
                pairs = [(math.floor(across), 1 - across % 1), (math.ceil(across), across % 1)]
                for other, weight in pairs:
                    for step, sign in ((math.floor(c), -1), (math.ceil(c), 1)):
                        p = (step, other) if axis == 0 else (other, step)
                        slope += sign * weight * image[p] if weight else 0
                lines = regions.cells[axis] * counts[axis] - (1 if regions.corners else 0)
                position = at[axis + 2] * counts[axis] + sample[axis] - regions.outset
                fraction = position / lines if lines else math.nan
                gain = g[at] * share * slope * regions.scales[axis]
                result[r, 1 - axis] += gain * (1 - fraction)
                result[r, 3 - axis] += gain * fraction
    return result


# Normalization.


def reduced_axes(d: Members) -> list[int]:
    if d.Axes is not None:
        return sorted(set(d.Axes))
    return [1, 2, 3] if d.CrossChannel else [2, 3]


def mean_variance_normalization(d: Members, x: Arrays) -> Arrays:
    a, axes = x["InputTensor"], tuple(reduced_axes(d))
    mean = a.mean(axes, keepdims=True) if d.get("UseMean", 1) else np.zeros((1,) * a.ndim)
    variance = ((a - mean) ** 2).mean(axes, keepdims=True)
    y = a - mean
    if d.get("NormalizeVariance", d.get("UseVariance", 1)):
        y = y / np.sqrt(variance + d.Epsilon)
    y = y * x.get("ScaleTensor", 1) + x.get("BiasTensor", 0)
    return {"OutputTensor": activate(y, d.FusedActivation)}


def batch_normalization(d: Members, x: Arrays) -> Arrays:
    a, mean, variance, scale, bias = (
        x[f"{name}Tensor"] for name in ("Input", "Mean", "Variance", "Scale", "Bias")
    )
    y = scale * ((a - mean) / np.sqrt(variance + d.Epsilon)) + bias
    return {"OutputTensor": activate(np.broadcast_to(y, a.shape), d.FusedActivation)}


def batch_normalization_training(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]
    axes = tuple(i for i, size in enumerate(x["ScaleTensor"].shape) if size == 1)
    mean = a.mean(axes, keepdims=True)
    variance = ((a - mean) ** 2).mean(axes, keepdims=True)
    y = x["ScaleTensor"] * (a - mean) / np.sqrt(variance + d.Epsilon) + x["BiasTensor"]
    y = np.broadcast_to(y + x.get("FusedAddTensor", 0), a.shape)
    return {
        "OutputTensor": activate(y, d.FusedActivation),
        "OutputMeanTensor": mean,
        "OutputVarianceTensor": variance,
    }


def batch_normalization_grads(d: Members, x: Arrays) -> tuple[Any, tuple[int, ...], Arrays]:
    a, g = x["InputTensor"], x["InputGradientTensor"]
    axes = tuple(i for i, size in enumerate(x["MeanTensor"].shape) if size == 1)
    rate = 1 / np.sqrt(x["VarianceTensor"] + d.Epsilon)
    return (
        rate,
        axes,
        {
            "OutputScaleGradientTensor": (g * (a - x["MeanTensor"]) * rate).sum(axes, keepdims=True),
            "OutputBiasGradientTensor": g.sum(axes, keepdims=True),
        },
    )


def batch_normalization_grad(d: Members, x: Arrays) -> Arrays:
    rate, _, results = batch_normalization_grads(d, x)
    return {"OutputGradientTensor": x["InputGradientTensor"] * (x["ScaleTensor"] * rate), **results}


def batch_normalization_training_grad(d: Members, x: Arrays) -> Arrays:
    rate, axes, results = batch_normalization_grads(d, x)
    a, g = x["InputTensor"], x["InputGradientTensor"]
    centerd = a - x["MeanTensor"]
    tilt = (g * centerd).mean(axes, keepdims=True)
    y = (g - g.mean(axes, keepdims=True)) - centerd * tilt / (x["VarianceTensor"] + d.Epsilon)
    return {"OutputGradientTensor": x["ScaleTensor"] * rate * y, **results}


def exponentials(d: Members, x: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Elements without the largest one of their row, if that is finite, and the sum of their exponentials."""
    a = x["InputTensor"]
    axes = (a.ndim - 1,) if d.Axes is None else tuple(set(d.Axes))
    peak = a.max(axes, keepdims=True)
    a = a - np.where(np.isfinite(peak), peak, 0)
    return a, np.exp(a).sum(axes, keepdims=True)


def activation_softmax(d: Members, x: Arrays) -> Arrays:
    a, total_ = exponentials(d, x)
    return {"OutputTensor": np.exp(a) / total_}


def activation_log_softmax(d: Members, x: Arrays) -> Arrays:
    a, total_ = exponentials(d, x)
    return {"OutputTensor": a - np.log(total_)}


def rows(array: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The elements along some axes, as a last axis in place of these."""
    kept = [d for d in range(array.ndim) if d not in axes]
    return array.transpose(*kept, *sorted({*axes})).reshape(*(array.shape[d] for d in kept), -1)


def reduce(d: Members, x: Arrays) -> Arrays:
    a = rows(x["InputTensor"], d.Axes)
    functions: dict[str, Callable[[], np.ndarray]] = {
        "ARGMAX": lambda: a.argmax(-1),
        "ARGMIN": lambda: a.argmin(-1),
        "AVERAGE": lambda: a.mean(-1),
        "L1": lambda: np.abs(a).sum(-1),
        "L2": lambda: np.sqrt((a * a).sum(-1)),
        "LOG_SUM": lambda: np.log(a.sum(-1)),
        "LOG_SUM_EXP": lambda: np.log(np.exp(a).sum(-1)),
        "MAX": lambda: a.max(-1),
        "MIN": lambda: a.min(-1),
        "MULTIPLY": lambda: a.prod(-1),
        "SUM": lambda: a.sum(-1),
        "SUM_SQUARE": lambda: (a * a).sum(-1),
    }
    return {"OutputTensor": np.asarray(functions[d.Function]()).reshape(d.sizes("OutputTensor"))}


def chosen(d: Members, x: Arrays, find: Callable[..., Any]) -> Arrays:
    """The first element that `find` finds in each row, or the last one."""
    a = rows(x["InputTensor"], d.Axes)
    found = find(a, -1)
    if d.AxisDirection == "DECREASING":
        found = a.shape[-1] - 1 - find(a[..., ::-1], -1)
    return {"OutputTensor": np.asarray(found).reshape(d.sizes("OutputTensor"))}


def argmax(d: Members, x: Arrays) -> Arrays:
    return chosen(d, x, np.argmax)


def argmin(d: Members, x: Arrays) -> Arrays:
    return chosen(d, x, np.argmin)


def activation_hardmax(d: Members, x: Arrays) -> Arrays:
    """1 at the first greatest element of each row, 0 elsewhere."""
    a = x["InputTensor"]
    axes = [a.ndim - 1] if d.Axes is None else d.Axes
    numbers = np.arange(a.size).reshape(a.shape)
    first = rows(a, axes).argmax(-1)[..., None]
    marked = np.isin(numbers, np.take_along_axis(rows(numbers, axes), first, -1))
    return {"OutputTensor": marked.astype(float)}


def lp_normalization(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]
    norm = (np.abs(a) ** d.P).sum(d.Axis, keepdims=True) ** (1 / d.P)
    return {"OutputTensor": a / np.maximum(norm, d.Epsilon)}


def neighbors(d: Members, at: Place, sizes: Place) -> Iterator[Place]:
    before, after = (d.LocalSize - 1) // 2, math.ceil((d.LocalSize - 1) / 2)
    axes = [1] if d.CrossChannel else [2, 3]
    spans = [
        range(max(at[i] - before, 0), min(at[i] + after + 1, size)) if i in axes else [at[i]]
        for i, size in enumerate(sizes)
    ]
    return itertools.product(*spans)


def local_bases(d: Members, a: np.ndarray) -> np.ndarray:
    base = each(
        a.shape,
        lambda at: d.Bias + d.Alpha / d.LocalSize * total(a[p] * a[p] for p in neighbors(d, at, a.shape)),
    )
    return base.astype(np.float64)


def local_response_normalization(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]
    return {"OutputTensor": a / local_bases(d, a) ** d.Beta}


def local_response_normalization_grad(d: Members, x: Arrays) -> Arrays:
    a, g = x["InputTensor"], x["InputGradientTensor"]
    base = local_bases(d, a)
    shares = np.zeros(a.shape)
    for at in places(a.shape):  # each result scatters to the elements that it is made of
        for p in neighbors(d, at, a.shape):
            shares[p] += g[at] * a[at] * base[at] ** (-d.Beta - 1)
    return {"OutputGradientTensor": g * base**-d.Beta - 2 * d.Alpha * d.Beta / d.LocalSize * a * shares}


def adam_optimizer(d: Members, x: Arrays) -> Arrays:
    g, t = x["GradientTensor"], float(np.ravel(x["TrainingStepTensor"])[0])
    m = d.Beta1 * x["InputFirstMomentTensor"] + (1 - d.Beta1) * g
    v = d.Beta2 * x["InputSecondMomentTensor"] + (1 - d.Beta2) * g * g
    alpha = np.sqrt(np.float64(1 - d.Beta2**t)) / np.float64(1 - d.Beta1**t)
    y = x["InputParametersTensor"] - d.LearningRate * alpha * m / (np.sqrt(v) + d.Epsilon)
    return {"OutputParametersTensor": y, "OutputFirstMomentTensor": m, "OutputSecondMomentTensor": v}


# Products.


def gemm(d: Members, x: Arrays) -> Arrays:
    a = x["ATensor"].swapaxes(-1, -2) if d.TransA == "TRANSPOSE" else x["ATensor"]
    b = x["BTensor"].swapaxes(-1, -2) if d.TransB == "TRANSPOSE" else x["BTensor"]
    y = d.Alpha * (a[..., :, :, None] * b[..., None, :, :]).sum(-2)
    if "CTensor" in x:
        y = y + d.Beta * x["CTensor"]
    return {"OutputTensor": activate(y, d.FusedActivation)}


def convolved(d: Members, a: np.ndarray, f: np.ndarray, sizes: Place) -> np.ndarray:
    """Forward: each result gathers. Backward: each element of the input scatters."""
    dims, groups = a.ndim - 2, d.get("GroupCount", 1)
    result = np.zeros(sizes, object)
    mirrored = d.Mode == "CONVOLUTION"
    forward = d.get("Direction", "FORWARD") == "FORWARD"
    per_group = sizes[1] // groups
    inputs = a.shape[1] // groups
    for n in range(sizes[0]):
        for group, j, k in itertools.product(range(groups), range(per_group), range(inputs)):
            out, source = group * per_group + j, group * inputs + k
            for w in places(f.shape[2:]):
                tap = tuple(f.shape[i + 2] - 1 - w[i] if mirrored else w[i] for i in range(dims))
                weight = f[(out, k, *tap)] if forward else f[(source, j, *tap)]
                for o in places(sizes[2:] if forward else a.shape[2:]):
                    moved = tuple(
                        o[i] * d.Strides[i] + w[i] * d.Dilations[i] - d.StartPadding[i] for i in range(dims)
                    )
                    if forward and within(moved, a.shape[2:]):
                        result[(n, out, *o)] += a[(n, source, *moved)] * weight
                    if not forward and within(moved, sizes[2:]):
                        result[(n, out, *moved)] += a[(n, source, *o)] * weight
    return result


def convolution(d: Members, x: Arrays) -> Arrays:
    sizes = d.sizes("OutputTensor")
    y = convolved(d, x["InputTensor"], x["FilterTensor"], sizes).astype(np.float64)
    for axis, extra in enumerate(d.OutputPadding):
        if extra:
            y[(slice(None),) * (axis + 2) + (slice(max(sizes[axis + 2] - extra, 0), None),)] = 0
    if "BiasTensor" in x:
        y = y + x["BiasTensor"]
    return {"OutputTensor": activate(y, d.FusedActivation)}


def along(array: Any, axis: int, rank: int, absent: Any = 0) -> Any:
    """One value, or one for each index of an axis, of a tensor of any dimension count."""
    if array is None:
        return absent
    if array.size == 1:
        return array.reshape((1,) * rank)
    return array.reshape([-1 if i == axis else 1 for i in range(rank)])


def integer_product(d: Members, x: Arrays) -> np.ndarray:
    r = len(d.sizes("OutputTensor"))
    a = x["ATensor"] - along(x.get("AZeroPointTensor"), r - 2, r)
    b = x["BTensor"] - along(x.get("BZeroPointTensor"), r - 1, r)
    return (a[..., :, :, None] * b[..., None, :, :]).sum(-2)


def matrix_multiply_integer(d: Members, x: Arrays) -> Arrays:
    return {"OutputTensor": integer_product(d, x)}


def matrix_multiply_integer_to_float(d: Members, x: Arrays) -> Arrays:
    r = len(d.sizes("OutputTensor"))
    scale = along(x["AScaleTensor"], r - 2, r) * along(x["BScaleTensor"], r - 1, r)
    y = integer_product(d, x).astype(np.float64) * scale
    return {"OutputTensor": y + x.get("BiasTensor", 0)}


def coded(value: Any, scale: Any, zero: Any, data_type: str) -> np.ndarray:
    """Quantized results; the quotient, which decides, in single precision."""
    value, scale, zero = np.broadcast_arrays(np.asarray(value, np.float64), scale, zero)
    limits = np.iinfo(data_type.lower())

    def one(at: Place) -> int:
        number = np.float32(value[at]) / np.float32(scale[at])
        return int(min(max(half_even(float(number)) + int(zero[at]), limits.min), limits.max))

    return each(value.shape, one)


def quantized_linear_matrix_multiply(d: Members, x: Arrays) -> Arrays:
    r = len(d.sizes("OutputTensor"))
    scale = along(x["AScaleTensor"], r - 2, r) * along(x["BScaleTensor"], r - 1, r)
    y = integer_product(d, x).astype(np.float64) * scale
    out = along(x["OutputScaleTensor"], r - 2, r)
    zero = along(x.get("OutputZeroPointTensor"), r - 2, r)
    return {"OutputTensor": coded(y, out, zero, d.OutputTensor["DataType"])}


def integer_convolution(d: Members, x: Arrays) -> np.ndarray:
    a, f = x["InputTensor"], x["FilterTensor"]
    zero = x.get("FilterZeroPointTensor")
    a = a - along(x.get("InputZeroPointTensor"), 0, a.ndim)
    f = f - (0 if zero is None else along(zero, 0, f.ndim))
    return convolved(d, a, f, d.sizes("OutputTensor"))


def convolution_integer(d: Members, x: Arrays) -> Arrays:
    return {"OutputTensor": integer_convolution(d, x)}


def quantized_linear_convolution(d: Members, x: Arrays) -> Arrays:
    r = len(d.sizes("OutputTensor"))
    y = integer_convolution(d, x) + along(x.get("BiasTensor"), 1, r)
    y = y.astype(np.float64) * along(x["InputScaleTensor"], 1, r) * along(x["FilterScaleTensor"], 1, r)
    out, zero = along(x["OutputScaleTensor"], 1, r), along(x.get("OutputZeroPointTensor"), 1, r)
    return {"OutputTensor": coded(y, out, zero, d.OutputTensor["DataType"])}


def quantized_linear_average_pooling(d: Members, x: Arrays) -> Arrays:
    r = len(d.sizes("OutputTensor"))
    real = (x["InputTensor"] - along(x.get("InputZeroPointTensor"), 1, r)).astype(np.float64)
    y = average_pooling(d, {"InputTensor": real})["OutputTensor"].astype(np.float64)
    y = y * along(x["InputScaleTensor"], 1, r)
    out, zero = along(x["OutputScaleTensor"], 1, r), along(x.get("OutputZeroPointTensor"), 1, r)
    return {"OutputTensor": coded(y, out, zero, d.OutputTensor["DataType"])}


def element_wise_quantized_linear_add(d: Members, x: Arrays) -> Arrays:
    r = len(d.sizes("OutputTensor"))
    real = [
        (x[f"{n}Tensor"] - along(x.get(f"{n}ZeroPointTensor"), 0, r)).astype(np.float64)
        * along(x[f"{n}ScaleTensor"], 0, r)
        for n in "AB"
    ]
    out, zero = along(x["OutputScaleTensor"], 0, r), along(x.get("OutputZeroPointTensor"), 0, r)
    return {"OutputTensor": coded(real[0] + real[1], out, zero, d.OutputTensor["DataType"])}


def dynamic_quantize_linear(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"].astype(np.float32)
    low, high = np.float32(min(a.min(), 0)), np.float32(max(a.max(), 0))
    limits = np.iinfo(d.OutputTensor["DataType"].lower())
    scale = (high - low) / np.float32(limits.max - limits.min) if high > low else np.float32(1)
    zero = half_even(float(np.float32(limits.min) - low / scale))
    zero = int(min(max(zero, limits.min), limits.max))
    return {
        "OutputTensor": coded(a * (np.float32(1) / scale), 1, zero, d.OutputTensor["DataType"]),
        "OutputScaleTensor": np.full(d.sizes("OutputScaleTensor"), scale),
        "OutputZeroPointTensor": np.full(d.sizes("OutputZeroPointTensor"), zero),
    }


# Resampling.


def coordinate(d: Members, axis: int, o: int) -> np.float32:
    f = np.float32
    scale = f(d.Scales[axis])
    inset = f(d.InputPixelOffsets[axis] if d.InputPixelOffsets is not None else 0.5)
    outset = f(d.OutputPixelOffsets[axis] if d.OutputPixelOffsets is not None else -0.5)
    return f(((f(o) - outset) / scale if scale else f(0)) - inset)


def taps(d: Members, axis: int, o: int, size: int) -> list[tuple[int, float]]:
    """The elements along an axis that make a result, and their weights."""
    x = coordinate(d, axis, o)
    if d.InterpolationMode == "NEAREST_NEIGHBOR":
        if d.RoundingDirection is None:
            i = math.floor(np.float32(x + np.float32(0.5)))  # ties go up, as was seen
        else:
            i = math.floor(x) if d.RoundingDirection == "DECREASING" else math.ceil(x)
        return [(min(max(i, 0), size - 1), 1.0)]
    scale = d.Scales[axis]
    if d.Antialiased and 0 < scale < 0.5:
        reach = 1 / single(scale)
        found = [(i, 1 - abs(i - float(x)) / reach) for i in range(size)]
        found = [(i, w) for i, w in found if w > 0]
        if not found:  # the edges are repeated
            return [(0 if x < 0 else size - 1, 1.0)]
        return [(i, w / sum(v for _, v in found)) for i, w in found]
    c = min(max(float(x), 0), size - 1)
    low, part = math.floor(c), c - math.floor(c)
    return [(low, 1 - part), (low + 1, part)] if part else [(low, 1.0)]


def crossed(d: Members, at: Place, sizes: Place) -> Iterator[tuple[Place, float]]:
    for chosen in itertools.product(*(taps(d, i, at[i], size) for i, size in enumerate(sizes))):
        yield tuple(i for i, _ in chosen), math.prod(w for _, w in chosen)


def resample(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]

    def value(at: Place) -> Any:
        found = list(crossed(d, at, a.shape))
        if d.InterpolationMode == "NEAREST_NEIGHBOR":
            return a[found[0][0]]
        return total(a[p] * w for p, w in found)

    return {"OutputTensor": each(d.sizes("OutputTensor"), value)}


def resample_grad(d: Members, x: Arrays) -> Arrays:
    g, sizes = x["InputGradientTensor"], d.sizes("OutputGradientTensor")
    result = np.zeros(sizes)
    for at in places(g.shape):
        for p, w in crossed(d, at, sizes):
            result[p] += g[at] * w
    return {"OutputGradientTensor": result}


def upsample_2d(d: Members, x: Arrays) -> Arrays:
    a = x["InputTensor"]
    factors = [1] * (a.ndim - 2) + [d.ScaleSize["Height"], d.ScaleSize["Width"]]

    def along(o: int, factor: int, size: int) -> list[tuple[int, float]]:
        if d.InterpolationMode == "NEAREST_NEIGHBOR":
            return [(o // factor, 1.0)]
        middle = min(max(Fraction(2 * o + 1, 2 * factor) - Fraction(1, 2), Fraction(0)), Fraction(size - 1))
        low, part = math.floor(middle), middle - math.floor(middle)
        return [(low, float(1 - part)), (low + 1, float(part))] if part else [(low, 1.0)]

    def value(at: Place) -> Any:
        chosen = itertools.product(*map(along, at, factors, a.shape))
        return total(a[tuple(i for i, _ in one)] * math.prod(w for _, w in one) for one in chosen)

    return {"OutputTensor": each(d.sizes("OutputTensor"), value)}


# Recurrent networks: ONNX's equations, one batch and direction after the other.


def recurrent(d: Members, x: Arrays, gates: int, cell: bool) -> Arrays:
    steps, batches, _ = x["InputTensor"].shape[1:]
    directions, hidden = x["RecurrenceTensor"].shape[1], x["RecurrenceTensor"].shape[3]
    states = np.zeros((steps, directions, batches, hidden))
    finals = np.zeros((1, directions, batches, hidden))
    cells = np.zeros((1, directions, batches, hidden))
    functions = len(d.ActivationDescs) // directions
    for way, batch in itertools.product(range(directions), range(batches)):
        w, r = x["WeightTensor"][0, way], x["RecurrenceTensor"][0, way]
        bias = x["BiasTensor"][0, 0, way] if "BiasTensor" in x else np.zeros(2 * gates * hidden)
        wb, rb = bias[: gates * hidden], bias[gates * hidden :]
        p = x["PeepholeTensor"][0, 0, way] if "PeepholeTensor" in x else np.zeros(3 * hidden)
        h = x["HiddenInitTensor"][0, way, batch] if "HiddenInitTensor" in x else np.zeros(hidden)
        c = x["CellMemInitTensor"][0, way, batch] if "CellMemInitTensor" in x else np.zeros(hidden)
        length = steps
        if "SequenceLengthsTensor" in x:
            length = min(int(x["SequenceLengthsTensor"][0, 0, 0, batch]), steps)
        times = range(length)
        if d.Direction == "BACKWARD" or way == 1:
            times = range(length - 1, -1, -1)

        def act(values: Any, number: int, way: int = way) -> Any:
            if cell and d.UseClipThreshold:
                values = np.maximum(np.minimum(values, d.ClipThreshold), -d.ClipThreshold)
            return activate(values, d.ActivationDescs[way * functions + number])

        for t in times:
            fed = (w * x["InputTensor"][0, t, batch]).sum(1) + wb

            def part(array: Any, gate: int) -> Any:
                return array[gate * hidden : (gate + 1) * hidden]

            back = (r * h).sum(1)
            if gates == 1:
                h = act(fed + back + rb, 0)
            elif gates == 3:
                z = act(part(fed, 0) + part(back + rb, 0), 0)
                reset = act(part(fed, 1) + part(back + rb, 1), 0)
                if d.LinearBeforeReset:
                    new = act(part(fed, 2) + reset * part(back + rb, 2), 1)
                else:
                    new = act(part(fed, 2) + (part(r, 2) * (reset * h)).sum(1) + part(rb, 2), 1)
                h = (1 - z) * new + z * h
            else:
                peep = [part(p, 0) * c, part(p, 2) * c] if "PeepholeTensor" in x else [0, 0]
                i = act(part(fed + back + rb, 0) + peep[0], 0)
                f = 1 - i if d.CoupleInputForget else act(part(fed + back + rb, 2) + peep[1], 0)
                new = act(part(fed + back + rb, 3), 1)
                c = f * c + i * new
                late = part(p, 1) * c if "PeepholeTensor" in x else 0
                o = act(part(fed + back + rb, 1) + late, 0)
                h = o * act(c, 2)
            states[t, way, batch] = h
        finals[0, way, batch], cells[0, way, batch] = h, c
    return {"OutputSequenceTensor": states, "OutputSingleTensor": finals, "OutputCellSingleTensor": cells}


# Attention: one query after the other.


def multihead_attention(d: Members, x: Arrays) -> Arrays:
    heads = d.QueryHeadCount or d.HeadCount
    groups = d.KeyValueHeadCount or heads

    def three(array: np.ndarray) -> np.ndarray:
        return array.reshape(array.shape[-3:]) if array.ndim >= 3 else array[None]

    def four(array: np.ndarray) -> np.ndarray:
        """Leading dimensions of size 1 are cut, or added."""
        return array.reshape(((1,) * 4 + array.shape)[-4:])

    def split(name: str, count: int) -> Any:
        """An unstacked tensor as batch, step, head, element."""
        if name not in x:
            return None
        a = three(x[name])
        return a.reshape(*a.shape[:2], count, a.shape[2] // count)

    q, k, v = split("QueryTensor", heads), split("KeyTensor", groups), split("ValueTensor", groups)
    if "StackedQueryKeyTensor" in x:
        q, k = (x["StackedQueryKeyTensor"][:, :, :, i] for i in range(2))
    if "StackedKeyValueTensor" in x:
        k, v = (x["StackedKeyValueTensor"][:, :, :, i] for i in range(2))
    if "StackedQueryKeyValueTensor" in x:
        q, k, v = (x["StackedQueryKeyValueTensor"][:, :, :, i] for i in range(3))
    batches, steps, _, width = q.shape
    pk, pv = x.get("PastKeyTensor"), x.get("PastValueTensor")
    if pk is not None:
        pk, pv = four(pk), four(pv)
    value_width = v.shape[3] if v is not None else pv.shape[3]
    if "BiasTensor" in x:
        bias = x["BiasTensor"].ravel()
        cut = heads * width, heads * width + groups * width
        q = q + bias[: cut[0]].reshape(heads, width)
        if k is not None:
            k = k + bias[cut[0] : cut[1]].reshape(groups, width)
        if v is not None:
            v = v + bias[cut[1] :].reshape(groups, value_width)
    new = 0 if k is None else k.shape[1]
    held = 0 if pk is None else pk.shape[2]
    lengths = x.get("PastSequenceLengthsTensor")
    whole = held + new
    for name in ("OutputPresentKeyTensor", "OutputPresentValueTensor"):
        if d.get(name) and lengths is not None:
            whole = d.sizes(name)[-2]
    keys = np.zeros((batches, groups, whole, width))
    values = np.zeros((batches, groups, whole, value_width))
    starts = [held] * batches if lengths is None else [int(n) for n in np.ravel(lengths)]
    starts = [min(max(n, 0), whole - new) for n in starts]
    for b in range(batches):
        old = min(starts[b], held)
        if pk is not None:
            keys[b, :, :old], values[b, :, :old] = pk[b, :, :old], pv[b, :, :old]
        if new:
            keys[b, :, starts[b] : starts[b] + new] = k[b].swapaxes(0, 1)
            values[b, :, starts[b] : starts[b] + new] = v[b].swapaxes(0, 1)
    mask, kind = x.get("MaskTensor"), d.MaskType
    output = np.zeros((batches, steps, heads, value_width))
    for b, h, s in places((batches, heads, steps)):
        group = h // (heads // groups)
        limit = starts[b] + new if lengths is None else min(starts[b] + s + 1, starts[b] + new)
        scores = (keys[b, group, :limit] * q[b, s, h]).sum(1) * d.Scale
        relative = x.get("RelativePositionBiasTensor")
        if relative is not None:
            scores = scores + four(relative)[b, h, s, :limit]
        for t in range(limit):
            if mask is None:
                continue
            if kind == "BOOLEAN":
                m = four(mask)
                column = t - (whole - m.shape[3])
                if column >= 0 and m[b, h, s, column] == 0:
                    scores[t] += d.MaskFilterValue
            elif kind == "KEY_SEQUENCE_LENGTH":
                if t >= mask.reshape(-1, batches)[0, b]:
                    scores[t] += d.MaskFilterValue
            elif kind == "KEY_SEQUENCE_END_START":
                end, start = mask.reshape(-1, batches)[:, b]
                if not start <= t < end:
                    scores[t] += d.MaskFilterValue
            elif kind == "KEY_QUERY_SEQUENCE_LENGTH_START_END" and t >= mask.ravel()[b]:
                scores[t] += d.MaskFilterValue
        powers = np.exp(scores - scores.max(initial=-np.inf))
        output[b, s, h] = ((powers / powers.sum())[:, None] * values[b, group, :limit]).sum(0)
    sizes = {
        n: d.sizes(n)
        for n in ("OutputTensor", "OutputPresentKeyTensor", "OutputPresentValueTensor")
        if d.get(n)
    }
    found = {"OutputTensor": output, "OutputPresentKeyTensor": keys, "OutputPresentValueTensor": values}
    return {name: found[name].reshape(shape) for name, shape in sizes.items()}


FORMULAS: dict[str, Callable[[Members, Arrays], Arrays]] = {
    **{
        name.upper(): function
        for name, function in list(globals().items())
        if callable(function) and getattr(function, "__module__", "") == __name__
    },
    "ACTIVATION_HARDMAX1": activation_hardmax,
    "ACTIVATION_SOFTMAX1": activation_softmax,
    "ACTIVATION_LOG_SOFTMAX1": activation_log_softmax,
    "AVERAGE_POOLING1": average_pooling,
    "LP_POOLING1": lp_pooling,
    "MAX_POOLING1": max_pooling,
    "MAX_POOLING2": max_pooling,
    "ROI_ALIGN1": roi_align,
    "MEAN_VARIANCE_NORMALIZATION1": mean_variance_normalization,
    "MEAN_VARIANCE_NORMALIZATION2": mean_variance_normalization,
    "RESAMPLE1": resample,
    "RESAMPLE2": resample,
    "RESAMPLE3": resample,
    "RESAMPLE_GRAD1": resample_grad,
    "RNN": lambda d, x: recurrent(d, x, 1, cell=False),
    "GRU": lambda d, x: recurrent(d, x, 3, cell=False),
    "LSTM": lambda d, x: recurrent(d, x, 4, cell=True),
    "MULTIHEAD_ATTENTION1": multihead_attention,
}
