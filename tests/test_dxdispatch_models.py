"""DxDispatch models: its parser accepts them, and their shaders compile and give the expected results."""

from __future__ import annotations

import csv
import json
import os
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlops
from directx_headers import directx
from dmlgen.cli import ROOT, main
from dmlops.dxdispatch.cases import models_of
from dmlops.gpu import compiler
from dmlops.gpu.direct3d import source
from dxdispatch_reader import Field, Reader, Refused
from gpu_device import device

__all__ = ["device", "directx"]

MATRICES = [path for path in sorted((ROOT / "generated/matrix").glob("*.json")) if "schema" not in path.name]
SHADERS = [  # one dispatch and many, with scratch and without, cleared outputs, arrays of tensors, 4 bits
    *("gather_elements", "dequantize", "gru", "scatter_nd", "top_k1", "join", "split"),
    *("dynamic_quantize_linear", "nonzero_coordinates", "gemm", "fill_value_sequence", "roi_align"),
]


@pytest.fixture(scope="session")
def header(directx: Path) -> str:
    return (directx / "directx/DirectML.h").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def exported(gather_specs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported")
    assert main(["export", "dxdispatch", str(out), "--specs", str(gather_specs)]) == 0
    return out


def cases_of(slug: str) -> list[dict[str, Any]]:
    content = json.loads((ROOT / f"generated/matrix/{slug}.json").read_text(encoding="utf-8"))
    cases: list[dict[str, Any]] = content["cases"]
    return cases


def test_the_parser_takes_every_exported_model(exported: Path, header: str) -> None:
    reader = Reader(header)
    runs = list(csv.DictReader((exported / "runs.csv").read_text(encoding="utf-8").splitlines()))
    models = {path.relative_to(exported / "models").as_posix() for path in exported.rglob("models/*/*.json")}
    assert models == {f"{run['run']}.json" for run in runs} and len(runs) > 100
    for run in runs:
        model = reader.read(exported / f"models/{run['run']}.json")
        kinds = {one["type"] == "hlsl" for one in model["dispatchables"].values()}
        assert kinds == {run["run"].endswith(".shader")}


def test_an_index_tells_what_each_run_should_do(exported: Path) -> None:
    content = json.loads((exported / "cases.json").read_text(encoding="utf-8"))
    runs = {
        run["run"]: run["level"]
        for run in csv.DictReader((exported / "runs.csv").read_text(encoding="utf-8").splitlines())
    }
    named = {run for case in content["cases"] for run in case["runs"].values()}
    assert named == set(runs)
    refused = 0
    for case in content["cases"]:
        operator, desc = (
            case["operator"],
            json.loads((exported / f"models/{case['runs']['directml']}.json").read_text(encoding="utf-8"))[
                "dispatchables"
            ]["operator"],
        )
        level = runs[case["runs"]["directml"]]
        broken = {violation.rule for violation in dmlops.from_json(desc).validate(level)}
        assert case["accepted"] == (not broken) and set(case["rules"]) == broken, case["id"]
        assert desc["type"].removeprefix("DML_OPERATOR_") == operator
        assert ("shader" in case["runs"]) == ("outputs" in case)
        refused += not case["accepted"]
    assert 20 < refused < len(content["cases"])


def test_the_same_specs_give_the_same_bytes(exported: Path, gather_specs: Path, tmp_path: Path) -> None:
    assert main(["export", "dxdispatch", str(tmp_path), "--specs", str(gather_specs)]) == 0
    files = {path.relative_to(exported): path.read_bytes() for path in exported.rglob("*.*")}
    assert {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*")} == files


def test_no_compiler_no_shaders(
    gather_specs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DMLOPS_DXC", str(tmp_path / "none"))
    command = ["export", "dxdispatch", str(tmp_path / "out"), "--specs", str(gather_specs)]
    assert main([*command, "--operators", "gather"]) == 1
    assert "DMLOPS_DXC names no file" in capsys.readouterr().err and not (tmp_path / "out").exists()
    assert main([*command, "--operators", "DML_OPERATOR_GATHER", "--no-shaders"]) == 0
    assert not list((tmp_path / "out").rglob("*.shader.json"))
    assert {path.name for path in (tmp_path / "out/models").iterdir()} == {"gather"}
    assert main([*command, "--operators", "GATHR"]) == 2
    assert "there is no operator 'GATHR'; did you mean GATHER" in capsys.readouterr().err


def test_nothing_is_written_into_the_specs_or_over_files_of_others(
    gather_specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = str(gather_specs / "out")
    assert main(["export", "csv", inside, "--specs", str(gather_specs)]) == 2
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out/cases.csv").symlink_to(tmp_path / "elsewhere/victim")
    assert main(["export", "csv", str(tmp_path / "out"), "--cases", "--specs", str(gather_specs)]) == 1
    assert "passes the symbolic link" in capsys.readouterr().err
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("path", MATRICES, ids=lambda path: path.stem)
def test_the_parser_takes_models_of_every_operator(path: Path, header: str, tmp_path: Path) -> None:
    """A choice of valid cases, all of which have a model, and of invalid ones, of which most have."""
    cases = cases_of(path.stem)
    valid = [case for case in cases if case["expect"]["ok"]][::9]
    invalid = [case for case in cases if not case["expect"]["ok"] and "form" not in case][::9]
    reader, file = Reader(header), tmp_path / "model.json"
    expressed = 0
    for case in [*valid, *invalid]:
        answer = models_of(case, with_shaders=False)
        assert case in invalid or "directml" in answer["models"], answer["why"]
        for model in answer["models"].values():
            file.write_text(json.dumps(model, allow_nan=False), encoding="utf-8")
            reader.read(file)
            read = dmlops.from_json(model["dispatchables"]["operator"])
            assert (read.validate(case["feature_level"]) == []) == case["expect"]["ok"]
            expressed += case in invalid
    assert expressed >= len(invalid) // 2


@pytest.mark.parametrize("slug", SHADERS)
def test_shaders_compile_with_the_arguments_of_the_model(slug: str, header: str, tmp_path: Path) -> None:
    """The root signature that DxDispatch makes counts the resources of a kind from register 0 on."""
    (tmp_path / "models/x").mkdir(parents=True)
    (tmp_path / "shaders").mkdir()
    case = next(case for case in reversed(cases_of(slug)) if "outputs" in case)
    model = models_of(case, with_shaders=True)["models"]["shader"]
    for one in model["dispatchables"].values():
        name = Path(one["sourcePath"]).stem
        (tmp_path / f"shaders/{name}.hlsl").write_text(source(name.upper()), encoding="utf-8")
    file = tmp_path / "models/x/model.json"
    file.write_text(json.dumps(model), encoding="utf-8")
    Reader(header).read(file)
    for command in model["commands"]:
        if command["type"] == "dispatch":
            one = model["dispatchables"][command["dispatchable"]]
            text = (file.parent / one["sourcePath"]).read_text(encoding="utf-8")
            used = registers(compiler.find().compile(text, one["compilerArgs"]))
            assert len(used) == len(command["bindings"])
            for kind in {kind for kind, _ in used}:
                numbers = sorted(number for other, number in used if other == kind)
                assert numbers == list(range(len(numbers)))


def registers(code: bytes) -> list[tuple[str, int]]:
    """The kinds and registers of a DXIL container's resources, from its part PSV0."""
    (count,) = struct.unpack_from("<I", code, 28)
    for offset in struct.unpack_from(f"<{count}I", code, 32):
        if code[offset : offset + 4] == b"PSV0":
            at = offset + 8
            (size,) = struct.unpack_from("<I", code, at)  # of the pipeline's own facts
            resources, each = struct.unpack_from("<II", code, at + 4 + size)
            start = at + 12 + size
            found = [struct.unpack_from("<4I", code, start + each * i) for i in range(resources)]
            kinds = {2: "b", 3: "t", 4: "t", 5: "t", 6: "u", 7: "u", 8: "u", 9: "u"}
            return [(kinds[kind], lower) for kind, _, lower, upper in found if lower == upper]
    raise AssertionError("no PSV0")


@pytest.mark.parametrize("slug", SHADERS)
def test_models_of_shaders_give_what_is_expected(slug: str, header: str, device: Any) -> None:
    """The model is all that is used: its buffers, constants, thread groups, arguments and names."""
    case = next(case for case in reversed(cases_of(slug)) if "outputs" in case and "choices" not in case)
    answer = models_of(case, with_shaders=True)
    written = run_on_vulkan(device, answer["models"]["shader"], Reader(header))
    desc = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
    from matrix_cases import array

    for name, (file, tensor) in dmlops.dxdispatch.models.output_files(desc).items():
        member, bracket, place = name.partition("[")
        elements = case["outputs"][member]
        right = array(tensor, elements[int(place.rstrip("]"))] if bracket else elements)
        given = dmlops.gpu.memory.array_of(tensor, bytearray(written[file]))
        tolerance = case.get("tolerance", {}).get(member, {"absolute": 0, "relative": 0})
        np.testing.assert_allclose(
            given.astype(float),
            right.astype(float),
            atol=tolerance["absolute"],
            rtol=tolerance["relative"],
        )


def run_on_vulkan(device: Any, model: dict[str, Any], reader: Reader) -> dict[str, bytes]:
    """The output of a model of shaders, by file. A resource that is not bound gets its own buffer."""
    from dmlops.gpu.resources import Binding

    content = {name: reader._resource(one) for name, one in model["resources"].items()}
    buffers = {name: device.buffer(len(data)) for name, data in content.items()}
    for name, data in content.items():
        device.upload(buffers[name], data)
    spare = device.buffer(256)
    files: dict[str, bytes] = {}
    for command in model["commands"]:
        if command["type"] == "writeFile":
            files[command["targetPath"]] = device.download(buffers[command["resource"]])
            continue
        one = model["dispatchables"][command["dispatchable"]]
        text = source(Path(one["sourcePath"]).stem.upper())
        defines = dict(text[2:].split("=", 1) for text in one["compilerArgs"] if text.startswith("-D"))
        names = re.findall(r"\[\[vk::binding\(\d+, 0\)\]\] \S+ (\w+)", text)
        bound = command["bindings"]
        places = {name: bound[name]["name"] if name != "Params" else bound[name] for name in bound}
        chosen = [buffers[places[name]] if name in places else spare for name in names]
        kernel = device.pipeline(compiler.compile(text, defines), len(names) - 1)
        with kernel.bind([Binding(buffer, 0, buffer.size) for buffer in chosen]) as ready:
            groups = tuple(command["threadGroupCount"])
            device.submit(lambda commands, ready=ready, groups=groups: ready.record(commands, groups))
    for buffer in (*buffers.values(), spare):
        buffer.close()
    return files


def test_what_a_model_cannot_say_is_said() -> None:
    """Values that DxDispatch's parser replaces or does not know are not passed on as others."""
    tensor = {"DataType": "FLOAT32", "Sizes": [2, 3]}
    relu = {"InputTensor": tensor, "OutputTensor": tensor}
    for changed, says in (
        ({"InputTensor": {**tensor, "TotalTensorSizeInBytes": 0}}, "stands for the size that is implied"),
        ({"InputTensor": {**tensor, "Flags": 2}}, "has no name"),
        ({"InputTensor": {**tensor, "Strides": [1]}}, "C has one count"),
        ({"InputTensor": None}, "InputTensor is absent"),
    ):
        case = {"type": "DML_OPERATOR_ACTIVATION_RELU", "desc": {**relu, **changed}}
        answer = models_of(case, with_shaders=False)
        assert answer["models"] == {} and says in answer["why"]["directml"]


def test_members_are_those_that_the_parser_of_dxdispatch_asks_for(header: str) -> None:
    """What the reader of these tests takes from DirectML.h is what DxDispatch's generated parser demands."""
    folder = os.environ.get("DXDISPATCH_SOURCE")
    if folder is None:
        pytest.skip("DXDISPATCH_SOURCE does not name DxDispatch's folder: its parser's members are not read")
    text = Path(folder, "src/model/JsonParsersGenerated.cpp").read_text(encoding="utf-8-sig")
    functions = re.findall(r"Allocate<DML_(\w+)_OPERATOR_DESC>\(\);(.*?)auto opDesc", text, re.S)
    assert len(functions) > 170
    known = Reader(header).structs
    for name, body in functions:
        fields: list[Field] = known[f"DML_{name}_OPERATOR_DESC"]
        demanded = re.findall(r'Parse\w+Field\(value, "(\w+)"(?:, "\w+"|, true|, false|, allocator)*', body)
        assert demanded == [field.name for field in fields], name
        optional = set(re.findall(r'Field\(value, "(\w+)"(?:, true)?, allocator, false\)', body))
        assert optional == {field.name for field in fields if field.optional}, name


def test_the_reader_of_these_tests_refuses(header: str, tmp_path: Path) -> None:
    case = next(case for case in cases_of("join") if "outputs" in case)
    good = models_of(case, with_shaders=False)["models"]["directml"]
    file = tmp_path / "model.json"
    file.write_text(json.dumps(good), encoding="utf-8")
    Reader(header).read(file)
    for old, new in (
        ('"InputCount"', '"InputCounts"'),
        ('"FLOAT32"', '"FLOAT33"'),
        ('"writeFile"', '"writeFiles"'),
        ('"valueCount": ', '"valueCount": -'),
    ):
        spoiled = json.dumps(good).replace(old, new)
        assert spoiled != json.dumps(good)
        file.write_text(spoiled, encoding="utf-8")
        with pytest.raises(Refused):
            Reader(header).read(file)
