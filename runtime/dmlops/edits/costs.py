"""The cost of each edit: the order of preference among them."""

from __future__ import annotations

COSTS = {
    # The same, said in another way; or what follows from the rest.
    "output": 1.0,  # sizes, data type and strides of an output
    "count": 1.0,  # a count of the entries that are given
    "axis": 1.0,  # an axis counted from the end, as the one from the front
    "broadcast": 1.0,  # sizes with strides of 0 for dimensions that repeat
    "ones": 1.0,  # leading dimensions of size 1
    "stored": 1.0,  # a total size in bytes, an alignment, strides in bytes, tensors of a fused activation
    "repeat": 5.0,  # strides of 0 for a required tensor, at a size that a rule names: rather a group count
    # The same elements, described differently.
    "strides": 2.0,  # strides of another length
    "split": 2.0,  # a dimension split in several
    "layout": 2.5,  # NHWC for NCHW, with strides
    "filter layout": 2.7,  # HWIO for OIHW; time and batch exchanged
    "transposed layout": 4.0,  # the last two dimensions exchanged
    "outputs first": 4.5,  # OIHW for IOHW
    "list": 2.0,  # entries added to a list or removed from it; ones for zeros
    "heads": 3.0,  # the heads of attention merged into one dimension, which needs a copy
    # What was chosen.
    "output type": 2.0,  # the data type of an output
    "optional type": 1.5,  # the data type of an optional tensor, such as a bias or a zero point
    "transform": 3.0,  # what is done or not, such as transposing a matrix; a flag
    "unset": 3.0,  # an attribute that has its default
    "axes": 3.0,  # an axis more or less
    "type": 3.0,  # the data type of another tensor than the first
    "number": 4.0,  # an attribute
    "entries": 6.0,  # a count, with the entries read
    "choice": 6.0,  # a direction, a mode, a function
    "exchange": 6.0,  # two tensors that were given for each other
    "data type": 5.0,  # the data type of the first tensor
    # What exists already.
    "parameter": 8.0,  # sizes of a tensor other than the first
    "data": 12.0,  # sizes of the first tensor
    "addition": 10.0,  # a tensor or activation that was not given
    "absence": 14.0,  # an optional member left out
    # Added to these.
    "another tensor": 0.1,  # for each tensor after the first that changes likewise
    "another size": 0.75,  # for each size of an output after the first that changes by 1
    "far size": 2.5,  # for a size of an output that changes by more, and is not that of an input
    "another far size": 1.0,  # for each one more
    "first tensor": 1.0,  # where the first tensor is broadcast
    "both broadcast": 3.0,  # where both operands repeat, which is rarely meant
    "other dimension": 0.4,  # where a vector repeats along another dimension than the channels
    "trailing ones": 0.5,
    "inserted ones": 1.5,  # between the first dimension and the others
    "merged": 2.0,  # dimensions in front
    "three dimensions": 6.0,  # where a layout has three, which are often batches of rows
    "dropped": 0.6,  # a field of a tensor left out, rather than mended
    "lost": 0.5,  # for each entry cut from a list that is not the default
    "another step": 0.3,
    "advice": 4.0,  # where advice on the sizes of a tensor remains
}
