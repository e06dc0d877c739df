"""What pyproject.toml cannot express: wheel and sdist include the shaders, from `../hlsl` in a checkout."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).parent


def take_shaders(target: Path) -> None:
    """Copies the shaders, which lie beside this file in an sdist, and one folder up in a checkout."""
    for folder in (HERE / "hlsl", HERE.parent / "hlsl"):
        if folder.is_dir():
            shutil.copytree(folder, target)
            return
    raise SystemExit(f"dmlops: no shaders in {HERE.parent}; build from a complete checkout or an sdist")


class BuildPy(build_py):
    """Builds from scratch, so that no module of an earlier build remains."""

    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        take_shaders(Path(self.build_lib, "dmlops/hlsl"))


class Sdist(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        take_shaders(Path(base_dir, "hlsl"))


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist})
