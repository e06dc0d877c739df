"""Digests of shader containers, against containers that Microsoft's tools have signed."""

from __future__ import annotations

import hashlib
import json
import random
from base64 import b64decode
from pathlib import Path

import pytest

from dmlops import gpu
from dmlops.__main__ import main
from dmlops.gpu import compiler, signing

DATA = json.loads(Path(__file__).with_name("data").joinpath("signed_containers.json").read_text())
CONTAINERS = {name: b64decode(text) for name, text in DATA["containers"].items()}
NO_DIGEST = bytes(16)


@pytest.mark.parametrize("name", CONTAINERS)
def test_digests_are_those_of_known_containers(name: str) -> None:
    container = CONTAINERS[name]
    unsigned = container[:4] + NO_DIGEST + container[20:]
    assert gpu.is_signed(container)
    assert not gpu.is_signed(unsigned)
    assert gpu.signed(unsigned) == container


def test_known_containers_end_in_every_way() -> None:
    """The last bytes fill a block, leave room for its padding, or do not; root signatures, and DXIL."""
    ends = {(len(container) - 20) % 64 for container in CONTAINERS.values()}
    assert 0 in ends
    assert any(0 < end < 56 for end in ends)
    assert 56 in ends
    assert any(end > 56 for end in ends)
    assert sum(b"DXIL" in container for container in CONTAINERS.values()) == 2


def test_a_changed_byte_is_noticed() -> None:
    for container in CONTAINERS.values():
        for at in random.Random(4).sample(range(4, len(container)), 20):
            changed = bytearray(container)
            changed[at] ^= 1
            assert not gpu.is_signed(bytes(changed))


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 1000])
def test_blocks_are_digested_as_md5_does(size: int) -> None:
    data = random.Random(size).randbytes(size)
    padding = b"\x80" + bytes((55 - size) % 64) + (8 * size).to_bytes(8, "little")
    assert signing._md5_of_blocks(data + padding) == hashlib.md5(data).digest()


@pytest.mark.parametrize("code", [b"", b"DXBC", b"DXBC" + bytes(27), b"\x03\x02\x23\x07" + bytes(60)])
def test_what_is_no_container_is_refused(code: bytes) -> None:
    for function in (gpu.signed, gpu.is_signed):
        with pytest.raises(ValueError, match="no container"):
            function(code)


def test_what_the_package_compiles_is_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when it comes from the cache."""
    monkeypatch.setenv("DMLOPS_CACHE", str(tmp_path))
    source = "RWStructuredBuffer<uint> to; [numthreads(1, 1, 1)] void CSMain() { to[0] = VALUE; }"
    for _ in range(2):
        code = compiler.compile(source, {"VALUE": 5}, "dxil")
        assert gpu.is_signed(code)
        assert "rawBufferStore" in compiler.find().disassemble(code)


def test_the_command_says_what_is_signed_and_what_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    container = next(content for content in CONTAINERS.values() if b"DXIL" in content)
    good, bad, other = (tmp_path / name for name in ("good.cso", "bad.cso", "other.spv"))
    good.write_bytes(container)
    bad.write_bytes(container[:4] + NO_DIGEST + container[20:])
    other.write_bytes(b"\x03\x02\x23\x07" + bytes(60))
    assert main(["container", "--json", str(good), str(bad)]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["file"], row["signed"]) for row in rows] == [(str(good), True), (str(bad), False)]
    assert main(["container", str(good)]) == 0
    assert capsys.readouterr().out.startswith(f"{good}: signed; needs ")
    assert main(["container", str(other)]) == 2
    assert "no container" in capsys.readouterr().err
    other.write_bytes(container[:40])
    assert main(["container", str(other)]) == 2
    assert "cut off" in capsys.readouterr().err
