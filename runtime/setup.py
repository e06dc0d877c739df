"""The build steps that pyproject.toml cannot express: wheel and sdist include data that is one folder up in
a checkout."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).parent


def take_data(target: Path) -> None:
    """Copies shaders and registry, beside this file in an sdist, and one folder up in a checkout."""
    for folder in (HERE, HERE.parent):
        if (folder / "hlsl").is_dir() and (folder / "registry.json").is_file():
            shutil.copytree(folder / "hlsl", target / "hlsl")
            shutil.copy(folder / "registry.json", target)
            return
    where = f"in {HERE.parent}, or no registry.json"
    raise SystemExit(f"dmlops: no shaders {where}; build from a complete checkout or an sdist")


class BuildPy(build_py):
    """Builds from scratch, so that no module of an earlier build remains."""

    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        take_data(Path(self.build_lib, "dmlops"))


class Sdist(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        take_data(Path(base_dir))


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist})
