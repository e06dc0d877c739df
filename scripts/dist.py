"""Builds the release in build/dist: wheels and sdists, and an archive of header, shaders and CMake files.

Builds are reproducible: archive members are sorted, have no owner, fixed modes and a single time stamp, that
of SOURCE_DATE_EPOCH or the earliest that a zip file can represent.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from time import gmtime

from dmlgen import __version__

ROOT = Path(__file__).resolve().parents[1]
TIME = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
RELEASED = ("LICENSE", "CMakeLists.txt", "cmake", "generated/include", "generated/hlsl")


def main(target: Path) -> None:
    """Fills the folder again."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, project in {"dmlgen": ROOT, "dmlops": ROOT / "generated/python"}.items():
        with TemporaryDirectory() as folder:
            print(f"building {name}", flush=True)
            build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, str(project)]
            result = subprocess.run(build, capture_output=True, text=True, check=False)
            if result.returncode:
                sys.exit(result.stdout + result.stderr)
            for path in Path(folder).iterdir():
                if path.suffix == ".whl":
                    (target / path.name).write_bytes(zip_of(zip_members(path)))
                else:
                    (target / path.name).write_bytes(tar_of(tar_members(path)))
    name = f"dmlops-c-{__version__}"
    members = {f"{name}/{path}": data for path, data in released().items()}
    (target / f"{name}.tar.gz").write_bytes(tar_of(members))
    for path in sorted(target.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def released() -> dict[str, bytes]:
    """The files that a C or C++ project takes, a tree that CMake installs or adds."""
    paths = [ROOT / name for name in RELEASED]
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
    return {file.relative_to(ROOT).as_posix(): file.read_bytes() for file in files if file.is_file()}


def tar_members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        files = [member for member in archive if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in files}  # type: ignore[union-attr]


def zip_members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def tar_of(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=stream, mode="wb", mtime=TIME, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, data in sorted(members.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(data), TIME, 0o644
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():  # the metadata come last
            member = zipfile.ZipInfo(name, gmtime(TIME)[:6])
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(member, data)
    return stream.getvalue()


if __name__ == "__main__":
    main(ROOT / "build/dist")
