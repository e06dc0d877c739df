"""Cases for a Direct3D 12 device: the program compiles, and results come back as they were packed."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import direct3d_cases
from c_runner import SOURCES
from directx_headers import PLATFORMS, compiles, directx
from dmlops import TensorDesc, gpu, reference
from dmlops.gpu.memory import buffer_size
from dmlops.gpu.plans.capabilities import NO_CAPABILITIES
from dmlops.gpu.work import tensor_names
from dxil.execute import Buffer, Shaders
from gpu_device import fill_of
from gpu_fuzz import by_tensor
from test_guides import HEADER, build

__all__ = ["directx"]

PROGRAM = SOURCES / "direct3d_cases.cpp"
OPERATORS = ("element_wise_add", "gemm", "split", "top_k1")
RANDOM = ("random/moves/1", "random/elements/2", "random/selections/1")


def test_the_program_links_with_mingw(tmp_path: Path) -> None:
    libraries = ("-ld3d12", "-ldxgi")
    build(tmp_path / "cases.exe", "x86_64-w64-mingw32-g++", str(PROGRAM), *libraries)


@pytest.mark.parametrize("name", ["g++", "clang++"])
def test_the_program_compiles_with_the_genuine_headers(name: str, directx: Path) -> None:
    text = PROGRAM.read_text(encoding="utf-8")
    result = compiles(name, PLATFORMS["linux"], directx, HEADER, text, "-std=c++17", "-fsyntax-only")
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("direct3d") / "pack"
    direct3d_cases.pack(path, (*direct3d_cases.names(OPERATORS, 0), *RANDOM), NO_CAPABILITIES)
    return path


def names(pack: Path) -> list[str]:
    return list(json.loads(Path(f"{pack}.json").read_text())["cases"])


def laid_out(tensor: TensorDesc, array: np.ndarray, fill: int) -> np.ndarray:
    """An output's buffer after an array was written to it."""
    buffer = np.full(buffer_size(tensor), fill, np.uint8)
    strides = [stride * array.itemsize for stride in tensor.element_strides]
    as_strided(buffer.view(array.dtype), tensor.Sizes, strides)[...] = array
    return buffer


def results(pack: Path) -> list[list[np.ndarray]]:
    """The buffers of outputs if the device computed what the reference does."""
    found = []
    for name in names(pack):
        case = direct3d_cases.named(name)
        work, arrays = gpu.plan(case.desc), dict(by_tensor(reference.run(case.desc, case.arrays)))
        outputs = tensor_names(case.desc, "output")
        found.append([laid_out(one, arrays[name], fill_of(name, work)) for name, one in outputs])
    return found


def written(messages: list[str], outputs: list[list[np.ndarray]]) -> bytes:
    """A file of results, as the program writes it."""

    def content(data: bytes) -> bytes:
        return struct.pack("<I", len(data)) + data + bytes(-len(data) % 4)

    data = b""
    for message, each in zip(messages, outputs, strict=True):
        data += content(message.encode()) + struct.pack("<I", len(each))
        data += b"".join(content(one.tobytes()) for one in each)
    return data


def checked(pack: Path, data: bytes) -> int:
    results = pack.with_name("results")
    results.write_bytes(data)
    return direct3d_cases.main(["check", str(pack), str(results)])


def test_right_results_agree(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = results(pack)
    count = len(outputs)
    assert count > 30
    assert checked(pack, written([""] * count, outputs)) == 0
    assert capsys.readouterr().out == f"{count} of {count} cases agree\n"


def executed(pack: Path) -> list[list[np.ndarray]]:
    """The buffers of outputs after what is in a pack, read as the program reads it, has run on the CPU."""
    data, at = pack.read_bytes(), 0

    def content(size: int) -> bytes:
        nonlocal at
        at += size + -size % 4
        return data[at - size - -size % 4 :][:size]

    def words(count: int) -> list[int]:
        return list(struct.unpack(f"<{count}I", content(4 * count)))

    def word() -> int:
        return words(1)[0]

    shaders, found = Shaders([content(word()) for _ in range(word())]), []
    for _ in range(word()):
        buffers, outputs = [], []
        for _ in range(word()):
            is_output, is_filled, size = words(3)
            part = bytes([word()]) * size if is_filled else content(size)
            buffers.append(Buffer(np.frombuffer(part, np.uint8).copy()))
            if is_output:
                outputs.append(buffers[-1].content)
        for _ in range(word()):
            code, reads, _, columns, rows = words(5)
            bound = [buffers[place] for place in words(word())]
            constants = content(4 * word())
            shaders.run(code, constants, bound[:reads], bound[reads:], (columns, rows))
        found.append(outputs)
    assert at == len(data)
    return found


def test_what_is_packed_computes_what_is_expected(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = executed(pack)
    assert checked(pack, written([""] * len(outputs), outputs)) == 0, capsys.readouterr().out


def test_what_is_wrong_is_named(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known, outputs = names(pack), results(pack)
    messages = [""] * len(known)
    add, last = known.index(next(one for one in known if one.startswith("ELEMENT_WISE_ADD"))), len(known) - 1
    outputs[add][0][0] ^= 0x40
    gapped = next(
        at
        for at, name in enumerate(known)
        if at != add and any(bytes([0xC3] * 4) in one.tobytes() for one in outputs[at])
    )
    part = next(one for one in outputs[gapped] if bytes([0xC3] * 4) in one.tobytes())
    part[part.tobytes().index(bytes([0xC3] * 4))] = 0
    messages[last], outputs[last] = "CreateComputePipelineState 80070057", []
    assert checked(pack, written(messages, outputs)) == 1
    *lines, summary = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [known[at] for at in sorted({add, gapped, last})]
    assert "bytes between the elements" in "".join(lines)
    assert messages[last] in lines[-1]
    assert lines[0].endswith("(needs no option)")
    assert "(needs Int64ShaderOps" in "".join(lines)
    assert summary == f"{len(known) - 3} of {len(known)} cases agree"


def test_cases_after_the_end_were_not_run(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written([""] * len(names(pack)), results(pack))
    assert checked(pack, data[: len(data) // 2] + b"?") == 1
    assert f"{names(pack)[-1]}: was not run" in capsys.readouterr().out


def test_packs_contain_signed_shaders(pack: Path) -> None:
    data = pack.read_bytes()
    (count,) = struct.unpack_from("<I", data)
    at, seen = 4, set()
    for _ in range(count):
        (size,) = struct.unpack_from("<I", data, at)
        code = data[at + 4 : at + 4 + size]
        assert gpu.is_signed(code)
        seen.add(code)
        at += 4 + size + -size % 4
    assert len(seen) > 30
