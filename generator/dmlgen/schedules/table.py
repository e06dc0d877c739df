"""The form in which each operator is computed, with the tensors that have roles in it.

The forms are found in definitions, regardless of the operators' names: this table says what is to be found,
so that a definition that no longer has its form is noticed, not just computed slowly. What is not listed here
may have any form, or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from dmlgen.diagnostics import Finding
from dmlgen.memory import Memory
from dmlgen.names import snake
from dmlgen.registry import Operator, Registry
from dmlgen.schedules import forms_of, schedule_of

_FORMS = {
    "scan": "CUMULATIVE_SUMMATION CUMULATIVE_PRODUCT",
    "contraction (output OutputTensor, left FilterTensor, right InputTensor)": """
        CONVOLUTION CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION
    """,
    "contraction (output OutputTensor, left ATensor, right BTensor)": """
        GEMM MATRIX_MULTIPLY_INTEGER QUANTIZED_LINEAR_MATRIX_MULTIPLY MATRIX_MULTIPLY_INTEGER_TO_FLOAT
    """,
    "sliding (output OutputTensor, tensor InputTensor)": """
        AVERAGE_POOLING LP_POOLING MAX_POOLING MAX_POOLING1 MAX_POOLING2 LP_POOLING1 AVERAGE_POOLING1
        QUANTIZED_LINEAR_AVERAGE_POOLING
    """,
    "vector_axis (output OutputTensor, tensor InputTensor)": "ROI_POOLING ROI_ALIGN ROI_ALIGN1",
    "separable (output OutputTensor, tensor InputTensor)": """
        UPSAMPLE_2D RESAMPLE RESAMPLE1 RESAMPLE2 RESAMPLE3
    """,
    "separable (output OutputGradientTensor, tensor InputGradientTensor)": "RESAMPLE_GRAD RESAMPLE_GRAD1",
    "rows (source OutputTensor)": "BATCH_NORMALIZATION",
    "rows (source InputTensor)": """
        MEAN_VARIANCE_NORMALIZATION LP_NORMALIZATION MEAN_VARIANCE_NORMALIZATION1
        BATCH_NORMALIZATION_GRAD BATCH_NORMALIZATION_TRAINING BATCH_NORMALIZATION_TRAINING_GRAD
        MEAN_VARIANCE_NORMALIZATION2 DYNAMIC_QUANTIZE_LINEAR ACTIVATION_SOFTMAX
        ACTIVATION_LOG_SOFTMAX ACTIVATION_SOFTMAX1 ACTIVATION_LOG_SOFTMAX1 REDUCE ARGMIN ARGMAX
        ACTIVATION_HARDMAX ACTIVATION_HARDMAX1
    """,
    "rows (source OutputParametersTensor)": "ADAM_OPTIMIZER",
    "sums (InputProjection WeightTensor, Hidden RecurrenceTensor)": "RNN",
    "sums (InputProjection WeightTensor, Cell RecurrenceTensor, Hidden RecurrenceTensor)": "LSTM",
    "sums (InputProjection WeightTensor, Update RecurrenceTensor, Reset RecurrenceTensor,"
    " Hidden RecurrenceTensor)": "GRU",
    "sparse_sum (output OutputGradientTensor)": "ROI_ALIGN_GRAD",
    "attention (target Context, query Query, key PresentKey, value PresentValue)": """
        MULTIHEAD_ATTENTION MULTIHEAD_ATTENTION1
    """,
}
_LISTED = {name: form for form, names in _FORMS.items() for name in names.split()}
_ELEMENTWISE = """
    ELEMENT_WISE_* ACTIVATION_* CAST JOIN FILL_VALUE_CONSTANT GATHER GATHER_ELEMENTS GATHER_ND GATHER_ND1
"""
"""All others of these names work element by element."""


def listed(name: str) -> str | None:
    """The form that an operator is to have."""
    is_elementwise = any(fnmatchcase(name, one) for one in _ELEMENTWISE.split())
    return _LISTED.get(name, "elementwise" if is_elementwise else None)


def found(registry: Registry, operator: Operator) -> str:
    """The forms of a definition, with their roles."""
    if (schedule := schedule_of(registry, operator)) is not None:
        return schedule.name
    roles = {snake(type(one).__name__): one.roles.items() for one in forms_of(registry, operator)}
    texts = {form: ", ".join(map(" ".join, of_form)) for form, of_form in roles.items()}
    return " and ".join(f"{form} ({text})" if text else form for form, text in texts.items())


def misfits(registry: Registry, memory: Memory) -> Iterator[Finding]:
    """The operators whose definitions do not have the forms listed here."""
    known, kept = memory.recall("forms"), dict[str, str]()
    for operator in registry.operators:
        if (wanted := listed(operator.name)) is None:
            continue
        digest = registry.digest(operator)
        kept[digest] = forms = known[digest] if digest in known else found(registry, operator)
        if forms != wanted:
            now = forms or "computed by its definition, slowly"
            message = f"{operator.name} is no longer {wanted}, but {now}"
            yield Finding(operator.places.get("compute", operator.position), "schedule", message, "warning")
    memory.keep("forms", kept)
