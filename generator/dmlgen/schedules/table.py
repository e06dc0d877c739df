"""The form in which each operator is computed, with the tensors that have roles in it.

The forms are found in definitions, regardless of the operators' names: this table says what is to be found,
so that a definition that no longer has its form is noticed, not just computed slowly. What is not listed here
may have any form, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from dmlgen.diagnostics import Finding
from dmlgen.memory import Memory
from dmlgen.names import snake
from dmlgen.registry import Operator, Registry
from dmlgen.schedules import forms_of, schedule_of

Roles: TypeAlias = Mapping[str, Mapping[str, str]]
"""Tensors by role, by form."""

_FORMS: tuple[tuple[str, Mapping[str, str], str], ...] = (
    ("map", {}, """
        ELEMENT_WISE_IDENTITY ELEMENT_WISE_ABS ELEMENT_WISE_ACOS ELEMENT_WISE_ADD ELEMENT_WISE_ASIN
        ELEMENT_WISE_ATAN ELEMENT_WISE_CEIL ELEMENT_WISE_CLIP ELEMENT_WISE_COS ELEMENT_WISE_DIVIDE
        ELEMENT_WISE_EXP ELEMENT_WISE_FLOOR ELEMENT_WISE_LOG ELEMENT_WISE_LOGICAL_AND
        ELEMENT_WISE_LOGICAL_EQUALS ELEMENT_WISE_LOGICAL_GREATER_THAN ELEMENT_WISE_LOGICAL_LESS_THAN
        ELEMENT_WISE_LOGICAL_NOT ELEMENT_WISE_LOGICAL_OR ELEMENT_WISE_LOGICAL_XOR ELEMENT_WISE_MAX
        ELEMENT_WISE_MEAN ELEMENT_WISE_MIN ELEMENT_WISE_MULTIPLY ELEMENT_WISE_POW
        ELEMENT_WISE_CONSTANT_POW ELEMENT_WISE_RECIP ELEMENT_WISE_SIN ELEMENT_WISE_SQRT
        ELEMENT_WISE_SUBTRACT ELEMENT_WISE_TAN ELEMENT_WISE_THRESHOLD ELEMENT_WISE_QUANTIZE_LINEAR
        ELEMENT_WISE_DEQUANTIZE_LINEAR ACTIVATION_ELU ACTIVATION_HARD_SIGMOID ACTIVATION_IDENTITY
        ACTIVATION_LEAKY_RELU ACTIVATION_LINEAR ACTIVATION_PARAMETERIZED_RELU
        ACTIVATION_PARAMETRIC_SOFTPLUS ACTIVATION_RELU ACTIVATION_SCALED_ELU ACTIVATION_SCALED_TANH
        ACTIVATION_SIGMOID ACTIVATION_SOFTPLUS ACTIVATION_SOFTSIGN ACTIVATION_TANH
        ACTIVATION_THRESHOLDED_RELU SLICE CAST SPLIT JOIN PADDING VALUE_SCALE_2D SPACE_TO_DEPTH
        DEPTH_TO_SPACE TILE ELEMENT_WISE_SIGN ELEMENT_WISE_IS_NAN ELEMENT_WISE_ERF ELEMENT_WISE_SINH
        ELEMENT_WISE_COSH ELEMENT_WISE_TANH ELEMENT_WISE_ASINH ELEMENT_WISE_ACOSH ELEMENT_WISE_ATANH
        ELEMENT_WISE_IF ELEMENT_WISE_ADD1 ACTIVATION_SHRINK DIAGONAL_MATRIX ONE_HOT
        ELEMENT_WISE_BIT_SHIFT_LEFT ELEMENT_WISE_BIT_SHIFT_RIGHT ELEMENT_WISE_ROUND
        ELEMENT_WISE_IS_INFINITY ELEMENT_WISE_MODULUS_TRUNCATE ELEMENT_WISE_MODULUS_FLOOR
        FILL_VALUE_CONSTANT FILL_VALUE_SEQUENCE REVERSE_SUBSEQUENCES SLICE1 DEPTH_TO_SPACE1
        SPACE_TO_DEPTH1 ELEMENT_WISE_BIT_AND ELEMENT_WISE_BIT_OR ELEMENT_WISE_BIT_XOR
        ELEMENT_WISE_BIT_NOT ELEMENT_WISE_BIT_COUNT ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL
        ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL ACTIVATION_CELU ACTIVATION_RELU_GRAD SLICE_GRAD
        ELEMENT_WISE_ATAN_YX ELEMENT_WISE_CLIP_GRAD ELEMENT_WISE_DIFFERENCE_SQUARE
        ELEMENT_WISE_QUANTIZED_LINEAR_ADD ELEMENT_WISE_CLIP1 ELEMENT_WISE_CLIP_GRAD1 PADDING1
        ELEMENT_WISE_NEGATE ACTIVATION_GELU DIAGONAL_MATRIX1 ACTIVATION_SWISH ACTIVATION_HARD_SWISH
        QUANTIZE DEQUANTIZE GATHER GATHER_ELEMENTS GATHER_ND GATHER_ND1
    """),
    ("scan", {}, "CUMULATIVE_SUMMATION CUMULATIVE_PRODUCT"),
    ("contraction", {"output": "OutputTensor", "left": "FilterTensor", "right": "InputTensor"}, """
        CONVOLUTION CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION
    """),
    ("contraction", {"output": "OutputTensor", "left": "ATensor", "right": "BTensor"}, """
        GEMM MATRIX_MULTIPLY_INTEGER QUANTIZED_LINEAR_MATRIX_MULTIPLY
        MATRIX_MULTIPLY_INTEGER_TO_FLOAT
    """),
    ("sliding", {"output": "OutputTensor", "tensor": "InputTensor"}, """
        AVERAGE_POOLING LP_POOLING MAX_POOLING MAX_POOLING1 MAX_POOLING2 LP_POOLING1 AVERAGE_POOLING1
        QUANTIZED_LINEAR_AVERAGE_POOLING
    """),
    ("vector_axis", {"output": "OutputTensor", "tensor": "InputTensor"}, "ROI_POOLING ROI_ALIGN ROI_ALIGN1"),
    ("separable", {"output": "OutputTensor", "tensor": "InputTensor"}, """
        UPSAMPLE_2D RESAMPLE RESAMPLE1 RESAMPLE2 RESAMPLE3
    """),
    ("separable", {"output": "OutputGradientTensor", "tensor": "InputGradientTensor"}, """
        RESAMPLE_GRAD RESAMPLE_GRAD1
    """),
    ("rows", {"source": "OutputTensor"}, "BATCH_NORMALIZATION"),
    ("rows", {"source": "InputTensor"}, """
        MEAN_VARIANCE_NORMALIZATION LP_NORMALIZATION MEAN_VARIANCE_NORMALIZATION1
        BATCH_NORMALIZATION_GRAD BATCH_NORMALIZATION_TRAINING BATCH_NORMALIZATION_TRAINING_GRAD
        MEAN_VARIANCE_NORMALIZATION2 DYNAMIC_QUANTIZE_LINEAR ACTIVATION_SOFTMAX
        ACTIVATION_LOG_SOFTMAX ACTIVATION_SOFTMAX1 ACTIVATION_LOG_SOFTMAX1 REDUCE ARGMIN ARGMAX
        ACTIVATION_HARDMAX ACTIVATION_HARDMAX1
    """),
    ("rows", {"source": "OutputParametersTensor"}, "ADAM_OPTIMIZER"),
    ("sums", {"InputProjection": "WeightTensor", "Hidden": "RecurrenceTensor"}, "RNN"),
    ("sums", {"InputProjection": "WeightTensor", "Cell": "RecurrenceTensor", "Hidden": "RecurrenceTensor"},
     "LSTM"),
    ("sums", {"InputProjection": "WeightTensor", "Update": "RecurrenceTensor", "Reset": "RecurrenceTensor",
              "Hidden": "RecurrenceTensor"}, "GRU"),
    ("sparse_sum", {"output": "OutputGradientTensor"}, "ROI_ALIGN_GRAD"),
    ("attention", {"target": "Context", "query": "Query", "key": "PresentKey", "value": "PresentValue"},
     "MULTIHEAD_ATTENTION MULTIHEAD_ATTENTION1"),
)  # fmt: skip
FORMS: Mapping[str, Roles] = {name: {form: roles} for form, roles, names in _FORMS for name in names.split()}


def found(registry: Registry, operator: Operator) -> Roles:
    """The forms of a definition."""
    schedule = schedule_of(registry, operator)
    forms = {snake(type(one).__name__): dict(one.roles) for one in forms_of(registry, operator)}
    return forms if schedule is None else {schedule.form: {}}


def misfits(registry: Registry, memory: Memory) -> Iterator[Finding]:
    """The operators whose definitions do not have the forms listed here."""
    known, kept = memory.recall("forms"), dict[str, Roles]()
    for operator in (one for one in registry.operators if one.name in FORMS):
        digest = registry.digest(operator)
        kept[digest] = forms = known[digest] if digest in known else found(registry, operator)
        if forms != FORMS[operator.name]:
            message = f"{operator.name} is no longer {_listed(FORMS[operator.name])}, but {_listed(forms)}"
            yield Finding(operator.places.get("compute", operator.position), "schedule", message, "warning")
    memory.keep("forms", kept)


def _listed(forms: Roles) -> str:
    texts = (
        f"{form} ({', '.join(f'{role} {name}' for role, name in roles.items())})" if roles else form
        for form, roles in forms.items()
    )
    return " and ".join(texts) or "computed by its definition, slowly"
