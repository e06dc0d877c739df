"""What pyproject.toml cannot express: the wheel includes files that a checkout has next to the package."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
# Paths in a checkout, and below the package, where project.py looks for them.
FILES = ("templates", "runtime", "LICENSE", "docs/CONCEPTS.md")


class BuildPy(build_py):
    """Builds from scratch, so that no module of an earlier build remains."""

    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        for source in FILES:
            target = Path(self.build_lib, "dmlgen", source)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(ROOT / source, target)


setup(cmdclass={"build_py": BuildPy})
