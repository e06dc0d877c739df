"""What pyproject.toml cannot say: the wheel takes in what a checkout has beside the package."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
# What lies where in the package; project.py finds it there.
PLACES = {"templates": "templates", "runtime": "runtime", "LICENSE": "LICENSE"}


class BuildPy(build_py):
    """Starts from nothing, so that no module of an earlier build stays."""

    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        for source, place in PLACES.items():
            target = Path(self.build_lib, "dmlgen", place)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(ROOT / source, target)


setup(cmdclass={"build_py": BuildPy})
