"""The dimensions that an Einsum contracts, keeps and sums; everything else is for the mapping to say."""

from __future__ import annotations

from .tensors import Impossible


def dimensions(equation: str, part: str) -> list[int]:
    """Dimensions of an operand, or of the output, in the order that the mapping needs.

    Labels of two operands are of stacks (in both and in the output), of rows (only in the first operand), of
    columns (only in the second), or contracted. `left` has the first operand's stacks, rows and contracted
    dimensions, `right` the second's stacks, contracted ones and columns, `result` the output's stacks, rows
    and columns; `stacks`, `rows` and `columns` are those only of the output. Of one operand, `kept` has its
    dimensions in the order of the output, and `summed` the others.

    Raises Impossible for what comes down to no product of matrices.
    """
    operands, output = _labels(equation)
    for labels in (*operands, output):
        if len(set(labels)) != len(labels):
            raise Impossible(f"{labels!r} names a dimension twice: take the diagonal first")
    if len(operands) > 2:
        raise Impossible(f"{len(operands)} operands: contract them in pairs first")
    first, second = operands[0], operands[-1]
    if unknown := set(output) - set(first) - set(second):
        raise Impossible(f"no operand has the dimension {min(unknown)!r} of the output")
    if part == "kept":
        return [first.index(label) for label in output]
    if part == "summed":
        return [place for place, label in enumerate(first) if label not in output]
    for label in sorted(set(first) ^ set(second)):
        if label not in output:
            raise Impossible(f"the dimension {label!r} of one operand is summed: ReduceSum it first")
    stacks = [label for label in output if label in first and label in second]
    rows = [label for label in output if label in first and label not in second]
    columns = [label for label in output if label not in first]
    inner = [label for label in first if label not in output]
    match part:
        case "left":
            return [first.index(label) for label in (*stacks, *rows, *inner)]
        case "right":
            return [second.index(label) for label in (*stacks, *inner, *columns)]
        case "result":
            return [output.index(label) for label in (*stacks, *rows, *columns)]
    return [output.index(label) for label in {"stacks": stacks, "rows": rows, "columns": columns}[part]]


def _labels(equation: str) -> tuple[list[str], str]:
    """The labels of each operand and of the output: unless given, those that occur once, in their order."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    if "." in equation:
        raise Impossible("an ellipsis: name each dimension")
    operands = inputs.split(",")
    if not arrow:
        every = "".join(operands)
        output = "".join(sorted(label for label in set(every) if every.count(label) == 1))
    return operands, output
