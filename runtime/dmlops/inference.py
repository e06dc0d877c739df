"""Tensors that are absent, and outputs that follow from the rest of a description."""

from __future__ import annotations

from .enums import TensorDataType
from .tensor import TensorDesc

ABSENT = TensorDesc(TensorDataType.UNKNOWN, ())  # what rules read for an absent tensor


def tensor_at(tensors: tuple[TensorDesc, ...], index: int) -> TensorDesc:
    """A tensor of an array; ABSENT if the index is out of range."""
    return tensors[index] if 0 <= index < len(tensors) else ABSENT


def inferred_if_given(
    name: str,
    tensor: TensorDesc | None,
    DataType: TensorDataType | None = None,
    Sizes: tuple[int, ...] | None = None,
    defaults: tuple[str, ...] = (),
) -> TensorDesc | None:
    """An optional output with what is inferred; absent if it is not given."""
    return None if tensor is None else inferred(name, tensor, DataType, Sizes, defaults)


def inferred(
    name: str,
    tensor: TensorDesc | None,
    DataType: TensorDataType | None = None,
    Sizes: tuple[int, ...] | None = None,
    defaults: tuple[str, ...] = (),
) -> TensorDesc:
    """An output with its data type and sizes inferred from the rest of a description, as far as possible.

    Other given fields are kept, and so are those named in `defaults`, which no rule requires; strides are
    kept only if the sizes are, and a total size only if both are, unless it is 0. Raises ValueError if the
    data type or the sizes can neither be inferred nor are given. If the rest breaks rules, the sizes can be
    impossible for a tensor.
    """
    given = TensorDesc(TensorDataType.UNKNOWN, ()) if tensor is None else tensor
    if "DataType" in defaults and given.DataType != TensorDataType.UNKNOWN:
        DataType = None
    if "Sizes" in defaults and given.Sizes:
        Sizes = None
    DataType = given.DataType if DataType is None else DataType
    if DataType == TensorDataType.UNKNOWN:
        raise ValueError(f"{name}.DataType does not follow from the other members; give {name} one")
    if Sizes is None and not given.Sizes:
        raise ValueError(f"{name}.Sizes does not follow from the other members; give {name} some")
    Sizes = given.Sizes if Sizes is None else Sizes
    if tensor is None:
        return TensorDesc(DataType, Sizes)
    same_sizes = tensor.Sizes == Sizes
    return TensorDesc(
        DataType,
        Sizes,
        Strides=tensor.Strides if same_sizes else None,
        Flags=tensor.Flags,
        TotalTensorSizeInBytes=(
            tensor.TotalTensorSizeInBytes or None if same_sizes and tensor.DataType == DataType else None
        ),
        GuaranteedBaseOffsetAlignment=tensor.GuaranteedBaseOffsetAlignment,
    )
