"""The GitHub Action and the pre-commit hooks are well-formed, and their commands do what they say.

Neither GitHub nor pre-commit is involved: commands run in a fresh clone, as these would run them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dmlgen.cli import ROOT, main
from git_repository import git

ELEMENTS = "data/specs/operators/gather/gather_elements.yaml"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
STEPS: dict[str, dict[str, Any]] = {step.get("name", "python"): step for step in ACTION["runs"]["steps"]}


@pytest.fixture(scope="module")
def origin(gather_specs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with specs and what is generated from them, on two branches: `change` breaks somebody."""
    root = tmp_path_factory.mktemp("ci") / "origin"
    shutil.copytree(gather_specs, root / "data/specs")
    specs, out = root / "data/specs", root / "data/generated"
    assert main(["generate", "--specs", str(specs), "--out", str(out)]) == 0
    git(root.parent, "init", "-q", "-b", "main", str(root))
    git(root, "config", "uploadpack.allowAnySHA1InWant", "true")  # as GitHub's servers have it
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    git(root, "checkout", "-qb", "change")
    path = root / ELEMENTS
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("[FLOAT64, FLOAT32, FLOAT16, INT64", "[FLOAT64, FLOAT32, FLOAT16"), encoding="utf-8"
    )
    git(root, "commit", "-qam", "second")
    return root


@pytest.fixture
def clone(origin: Path, tmp_path: Path) -> Path:
    """The result of actions/checkout for a branch: its last commit."""
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=change", f"file://{origin}", "clone")
    return tmp_path / "clone"


def given(value: str, inputs: dict[str, str]) -> str:
    """A step's text with the expressions that GitHub replaces."""
    return re.sub(r"\$\{\{\s*inputs\.(\w+)\s*\}\}", lambda found: inputs[found[1]], value)


def run_step(name: str, clone: Path, inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A step of the action with the environment that GitHub sets, by what `shell: bash` means."""
    step = STEPS[name]
    scripts = Path(sys.executable).parent
    environment = {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(clone.parent),
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(clone),
        "GITHUB_STEP_SUMMARY": str(clone.parent / "summary.md"),
        "GITHUB_PATH": str(clone.parent / "path"),
        "RUNNER_TEMP": str(clone.parent),
        **{key: given(value, inputs) for key, value in step["env"].items()},
    }
    script = clone.parent / "step.sh"
    script.write_text(step["run"], encoding="utf-8")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    return subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)


def inputs(origin: Path, **other: str) -> dict[str, str]:
    base = git(origin, "rev-parse", "main")
    return {"specs": "data/specs", "generated": "data/generated", "against": base, "allow": "", **other}


def test_the_action_is_one_by_githubs_schema() -> None:
    """Its inputs are texts with a default; what others write goes to a shell only by its environment."""
    tool = str(Path(sys.executable).parent / "check-jsonschema")
    command = [tool, "--builtin-schema", "vendor.github-actions", str(ROOT / "action.yml")]
    subprocess.run(command, check=True, capture_output=True)
    for entry in ACTION["inputs"].values():
        assert set(entry) == {"description", "default"} and isinstance(entry["default"], str)
    assert not [step for step in STEPS.values() if "${{" in step.get("run", "")]
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(ACTION["inputs"])


def test_the_action_finds_nothing_where_nothing_is_wrong(origin: Path, clone: Path) -> None:
    given_inputs = inputs(origin, against=git(origin, "rev-parse", "change"))
    for name in ("Lint", "Breaking changes"):
        result = run_step(name, clone, given_inputs)
        assert (result.returncode, result.stdout) == (0, ""), result.stderr
    assert not (clone.parent / "summary.md").exists()


def test_the_action_shows_what_breaks_and_what_is_out_of_date(origin: Path, clone: Path) -> None:
    result = run_step("Breaking changes", clone, inputs(origin))  # fetches the base, which the clone lacks
    row = (clone / ELEMENTS).read_text(encoding="utf-8").split("[FLOAT64, FLOAT32, FLOAT16")[0].count(
        "\n"
    ) + 1
    assert result.returncode == 1, result.stderr
    assert result.stdout.startswith(f"::error file={ELEMENTS},line={row},col=7,title=support-lost::")
    assert "**1 breaking**" in (clone.parent / "summary.md").read_text(encoding="utf-8")
    result = run_step("Drift", clone, inputs(origin))
    assert result.returncode == 1 and "+++ b/include/dmlops.h" in result.stdout
    assert result.stdout.rstrip().splitlines()[-1].startswith("::error title=drift::")
    meant = "allowed: [{kind: support-lost, subject: GATHER_ELEMENTS.InputTensor, reason: meant}]\n"
    (clone / "meant.yaml").write_text(meant, encoding="utf-8")
    assert run_step("Breaking changes", clone, inputs(origin, allow="meant.yaml")).returncode == 0


def test_the_action_takes_inputs_for_nothing_but_what_they_are(origin: Path, clone: Path) -> None:
    hostile = "$(touch stolen); touch stolen #"
    for name, key in (("Lint", "specs"), ("Breaking changes", "against"), ("Breaking changes", "allow")):
        assert run_step(name, clone, inputs(origin, **{key: hostile})).returncode != 0
    assert (
        run_step("Breaking changes", clone, inputs(origin, against="--upload-pack=touch stolen")).returncode
        != 0
    )
    assert not list(clone.parent.rglob("stolen"))


def test_hooks_are_what_pre_commit_takes() -> None:
    tool = str(Path(sys.executable).parent / "pre-commit")
    command = [tool, "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    subprocess.run(command, check=True, capture_output=True)
    assert [hook["id"] for hook in HOOKS] == ["dmlgen-lint", "dmlgen-check"]
    for hook in HOOKS:
        assert re.match(hook["files"], "specs/operators/gather/gather.yaml")


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_hooks_find_what_is_wrong(hook: dict[str, Any], clone: Path) -> None:
    entry = shlex.split(hook["entry"])
    command = [str(Path(sys.executable).parent / entry[0]), *entry[1:], *hook["args"]]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=clone / "data", capture_output=True, text=True, check=False)

    before = run()
    assert before.returncode == (0 if hook["id"] == "dmlgen-lint" else 1), before.stderr
    path = clone / ELEMENTS
    text = path.read_text(encoding="utf-8")
    if hook["id"] == "dmlgen-check":
        path.write_text(
            text.replace("[FLOAT64, FLOAT32, FLOAT16", "[FLOAT64, FLOAT32, FLOAT16, INT64", 1), "utf-8"
        )
        assert run().returncode == 0
    else:
        path.write_text(text.replace("Axis <", "Axes <"), encoding="utf-8")
        after = run()
        assert after.returncode == 1 and "error[unknown-name]" in after.stdout
