"""Attention and recurrent networks."""

from __future__ import annotations

from math import sqrt
from typing import Any

from dmlops import Description, TensorDesc, make
from random_shapes.draw import FLOATS, Draw


def attention(draw: Draw) -> Description:
    kind, batch = draw.choice(FLOATS), draw.choice((1, 1, 2, 3))
    heads, queries = draw.choice((1, 2, 3, 4, 8)), draw.choice((1, 1, 2, 5, 8, 9, 16, 31, 64, 65, 130))
    depth = draw.choice((8, 16, 24, 32, 40, 64, 64, 80, 96, 128, 160, 264))
    form = draw.choice(("apart", "apart", "apart", "all", "keys and values", "queries and keys"))
    width = draw.choice((depth, depth, 8, 32, 64)) if form == "apart" else depth
    keys = queries if form in ("all", "queries and keys") else draw.choice((1, 7, 16, 65, 128, 129, 300, 513))
    has_shared_keys = form == "apart" and draw.maybe()
    groups = draw.choice([one for one in (1, 2, 3, 4, 8) if heads % one == 0]) if has_shared_keys else heads
    past, members = 0, {}

    def tensor(*sizes: int) -> TensorDesc:
        return draw.tensor(kind, sizes)

    if form == "apart":
        members = {
            "QueryTensor": tensor(batch, queries, heads * depth),
            "KeyTensor": tensor(batch, keys, groups * depth),
            "ValueTensor": tensor(batch, keys, groups * width),
        }
        if draw.maybe(0.35):
            past = draw.choice((1, 5, 33, 100, 300))
            members["PastKeyTensor"] = tensor(batch, groups, past, depth)
            members["PastValueTensor"] = tensor(batch, groups, past, width)
            if not has_shared_keys:
                members["OutputPresentKeyTensor"] = tensor(batch, groups, past + keys, depth)
                members["OutputPresentValueTensor"] = tensor(batch, groups, past + keys, width)
        elif draw.maybe(0.3) and not has_shared_keys:
            members["BiasTensor"] = tensor(heads * (2 * depth + width))
    elif form == "all":
        members["StackedQueryKeyValueTensor"] = tensor(batch, queries, heads, 3, depth)
    elif form == "keys and values":
        members["QueryTensor"] = tensor(batch, queries, heads * depth)
        members["StackedKeyValueTensor"] = tensor(batch, keys, heads, 2, depth)
    else:
        members["StackedQueryKeyTensor"] = tensor(batch, queries, heads, 2, depth)
        members["ValueTensor"] = tensor(batch, keys, heads * width)

    scores = [batch, heads, queries, past + keys]
    mask = draw.choice(
        ("NONE", "NONE", "BOOLEAN", "BOOLEAN", "KEY_SEQUENCE_LENGTH", "KEY_SEQUENCE_END_START")
    )
    if mask == "BOOLEAN":
        members["MaskTensor"] = draw.tensor("INT32", scores, [axis for axis in range(3) if draw.maybe(0.3)])
    elif mask != "NONE":
        members["MaskTensor"] = TensorDesc("INT32", (1 if mask == "KEY_SEQUENCE_LENGTH" else 2, batch))
    if draw.maybe(0.3):
        members["RelativePositionBiasTensor"] = draw.tensor(kind, scores)
    filtered = -1e4 if mask == "BOOLEAN" else -8.0  # lengths mask whole rows, whose scores need their bits
    members |= {"Scale": 1 / sqrt(depth), "MaskFilterValue": filtered, "MaskType": mask}
    members["OutputTensor"] = tensor(batch, queries, heads * width)
    if has_shared_keys:
        return make.multihead_attention1(QueryHeadCount=heads, KeyValueHeadCount=groups, **members)
    return make.multihead_attention(HeadCount=heads, **members)


def recurrent(draw: Draw) -> Description:
    """Networks with the usual functions: with others states overflow, or the last bit soon decides."""
    kind = draw.choice(FLOATS)
    operator, gates, functions = draw.choice(
        (("lstm", 4, ("sigmoid", "tanh", "tanh")), ("gru", 3, ("sigmoid", "tanh")), ("rnn", 1, ("tanh",)))
    )
    ways = draw.choice((1, 1, 1, 2))
    steps, batch, entries = draw.choice((1, 2, 3, 5, 9)), draw.size(40), draw.size(130)
    units = draw.choice((1, 3, 8, 16, 17, 32, 33, 64, 64, 96, 128, 256))
    states = [1, ways, batch, units]
    members: dict[str, Any] = {
        "BiasTensor": draw.tensor(kind, [1, 1, ways, 2 * gates * units]) if draw.maybe(0.7) else None,
        "HiddenInitTensor": draw.tensor(kind, states) if draw.maybe() else None,
        "SequenceLengthsTensor": TensorDesc("UINT32", [1, 1, 1, batch]) if draw.maybe(0.3) else None,
        "ActivationDescs": [getattr(make, f"activation_{name}")() for name in functions] * ways,
        "Direction": "BIDIRECTIONAL" if ways == 2 else draw.choice(("FORWARD", "BACKWARD")),
        "OutputSequenceTensor": draw.tensor(kind, [steps, *states[1:]]) if draw.maybe(0.8) else None,
        "OutputSingleTensor": draw.tensor(kind, states),
    }
    if operator == "gru":
        members["LinearBeforeReset"] = draw.maybe()
    if operator == "lstm":
        members |= {
            "CellMemInitTensor": draw.tensor(kind, states) if draw.maybe() else None,
            "PeepholeTensor": draw.tensor(kind, [1, 1, ways, 3 * units]) if draw.maybe(0.25) else None,
            "OutputCellSingleTensor": draw.tensor(kind, states) if draw.maybe() else None,
            "UseClipThreshold": draw.maybe(0.25),
            "ClipThreshold": 0.7,
            "CoupleInputForget": draw.maybe(0.2),
        }
    made: Description = getattr(make, operator)(
        draw.tensor(kind, [1, steps, batch, entries]),
        draw.tensor(kind, [1, ways, gates * units, entries]),
        draw.tensor(kind, [1, ways, gates * units, units]),
        **members,
    )
    return made
