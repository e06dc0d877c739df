"""Double entry: the kernels of ONNX Runtime's DirectML provider, against the registry."""

from __future__ import annotations

from dmlgen.registry import Registry
from facts_data import rows

NAMES = {"float": "FLOAT32", "double": "FLOAT64", "bool": "UINT8"}


def test_registrations(registry: Registry) -> None:
    """Their versions, and the data types of one of their type parameters."""
    known = {entry.name for entry in registry.enums["TENSOR_DATA_TYPE"].entries}
    kernels = {name: (versions, parameters) for name, versions, *parameters in rows("onnxruntime.tsv")}
    ours = {f"{one.domain}.{one.name}".lstrip("."): one for one in registry.counterparts.registrations}
    assert ours.keys() == kernels.keys()
    for name, (versions, parameters) in kernels.items():
        types = [
            {NAMES.get(one, one.upper()) for one in parameter.partition("=")[2].split(",")} & known
            for parameter in parameters
        ]
        assert ",".join(map(str, ours[name].versions)) == versions, name
        assert set(ours[name].types or ()) in types, name
