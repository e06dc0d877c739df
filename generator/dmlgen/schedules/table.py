"""The form in which each operator is computed, with the tensors that have roles in it.

The forms are found in definitions, regardless of the operators' names: this table says what is to be found,
so that a definition that no longer has its form is noticed, not just computed slowly. What is not listed here
may have any form, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TypeAlias

from dmlgen.diagnostics import Finding
from dmlgen.memory import Memory
from dmlgen.names import snake
from dmlgen.registry import Operator, Registry
from dmlgen.schedules import forms_of, schedule_of

Roles: TypeAlias = Mapping[str, Mapping[str, str]]
"""Tensors by role, by form."""

_FORMS: tuple[tuple[str, Mapping[str, str], str], ...] = (
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
_ELEMENTWISE = (
    "ELEMENT_WISE_* ACTIVATION_* CAST JOIN FILL_VALUE_CONSTANT GATHER GATHER_ELEMENTS GATHER_ND GATHER_ND1"
)
"""All others of these names work element by element."""


def listed(name: str) -> Roles | None:
    """The form that an operator is to have."""
    is_elementwise = any(fnmatchcase(name, one) for one in _ELEMENTWISE.split())
    return FORMS.get(name, {"elementwise": {}} if is_elementwise else None)


def found(registry: Registry, operator: Operator) -> Roles:
    """The forms of a definition."""
    schedule = schedule_of(registry, operator)
    forms = {snake(type(one).__name__): dict(one.roles) for one in forms_of(registry, operator)}
    return forms if schedule is None else {schedule.form: {}}


def misfits(registry: Registry, memory: Memory) -> Iterator[Finding]:
    """The operators whose definitions do not have the forms listed here."""
    known, kept = memory.recall("forms"), dict[str, Roles]()
    for operator in registry.operators:
        if (wanted := listed(operator.name)) is None:
            continue
        digest = registry.digest(operator)
        kept[digest] = forms = known[digest] if digest in known else found(registry, operator)
        if forms != wanted:
            message = f"{operator.name} is no longer {_text(wanted)}, but {_text(forms)}"
            yield Finding(operator.places.get("compute", operator.position), "schedule", message, "warning")
    memory.keep("forms", kept)


def _text(forms: Roles) -> str:
    texts = (
        f"{form} ({', '.join(f'{role} {name}' for role, name in roles.items())})" if roles else form
        for form, roles in forms.items()
    )
    return " and ".join(texts) or "computed by its definition, slowly"
