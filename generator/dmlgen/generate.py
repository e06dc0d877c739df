"""From specs to files: skips work that earlier runs have done, and reports what was done.

Two things are cached outside the outputs: what the last run into a folder started from and wrote, and the
matrix of every operator, keyed by everything it depends on, since the search for test cases takes longest.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmlgen import writer
from dmlgen.cache import Cache
from dmlgen.diagnostics import SpecError, UsageError, unknown_operator
from dmlgen.inputs import case_digests, digests, spec_files
from dmlgen.memory import Memory
from dmlgen.progress import Progress
from dmlgen.project import TEMPLATES, cache_folder

if TYPE_CHECKING:
    from dmlgen.outputs.render import Templates
    from dmlgen.registry import Registry

_NAMED = 20  # most files that a report names


class _Run:
    """One run over some specs: what earlier runs left, the registry, and what is made of it."""

    def __init__(self, specs: Path) -> None:
        self.specs = specs
        self.progress = Progress()
        self.cache = Cache(cache_folder())
        self.inputs = digests(specs)
        self.memory = Memory(self.cache, self.inputs["generator"], str(specs.resolve()))

    @cached_property
    def registry(self) -> Registry:
        """The registry. Raises SpecError if the specs have errors."""
        from dmlgen.lint import lint

        self.progress.say("reading the specs")
        registry = registry_of(self.specs, self.memory)
        findings = lint(registry)
        if any(finding.severity == "error" for finding in findings):
            raise SpecError(findings)
        return registry

    @cached_property
    def templates(self) -> Templates:
        from dmlgen.outputs.render import Templates

        return Templates(TEMPLATES, self.memory)

    def check_operators(self, names: Sequence[str]) -> None:
        """Raises UsageError if the registry has no operator with one of these names."""
        for name in names:
            if name not in self.registry.operator:
                raise UsageError(unknown_operator(name, self.registry.operator))

    def matrices(self, names: Sequence[str] = ()) -> dict[str, bytes]:
        """The matrices of these operators, or of all, by path. New ones are cached as soon as they are
        found."""
        from dmlgen.outputs import matrix, python

        registry = self.registry
        self.progress.say("rendering the Python package")
        keys = case_digests(registry, python.render(registry, self.templates))
        matrices: dict[str, bytes] = {}
        missing = []
        for operator in map(registry.operator.__getitem__, names) if names else registry.operators:
            path = f"matrix/{operator.slug}.json"
            data = self.cache.get("matrix", keys[path])
            if data is None:
                missing.append(operator.name)
            else:
                matrices[path] = data
        if not missing:
            return matrices
        package = python.installed(registry, self.templates)
        with closing(matrix.search(registry, package, missing)) as found:
            for done, (path, data) in enumerate(found, 1):
                self.progress.say(f"searching test cases: {done} of {len(missing)} operators")
                self.cache.put(data, "matrix", keys[path])
                matrices[path] = data
        return matrices

    def write(self, outputs: Mapping[str, bytes], out: Path, inputs: dict[str, str]) -> writer.Result:
        """Writes all outputs of a run with these inputs."""
        with writer.alone(out):
            result = writer.write(outputs, out, _LastRun.of(self.cache, out).files)
            _LastRun(inputs, writer.fingerprints(outputs)).keep(self.cache, out)
        self.cache.tidy()
        return result

    def write_apart(self, outputs: Mapping[str, bytes], out: Path, first: str) -> int:
        """Writes outputs that are not committed, and reports it; `first` is the file to open first."""
        result = self.write(outputs, out, {})
        size = sum(map(len, outputs.values())) / 1e6
        changes = _changes(result) or "all as before"
        print(
            f"{out / first}: {len(outputs)} files, {size:.1f} MB, {changes} ({self.progress.seconds:.2f} s)"
        )
        return 0

    def say_matching(self, files: int) -> None:
        print(f"{files} files match {self.count} ({self.progress.seconds:.2f} s)")

    @property
    def count(self) -> str:
        return f"{len(spec_files(self.specs))} spec files"


def generate(specs: Path, out: Path, check: bool, schedules: bool = True) -> int:
    """Brings the files below `out` up to date, or only compares them and prints a diff; the exit code.

    Without `schedules`, definitions are followed directly. In a checkout, the hand-written modules of the
    package stay where they are; elsewhere, they are copied.
    """
    run = _Run(specs)
    in_checkout = (out.resolve().parent / "runtime/dmlops").is_dir()
    inputs = run.inputs | {"schedules": str(schedules), "in_checkout": str(in_checkout)}
    last = _LastRun.of(run.cache, out)
    if last.inputs == inputs and writer.is_unchanged(out, last.files):
        run.say_matching(len(last.files) - 1)
        return 0
    from dmlgen.outputs import python, render_all

    matrices = run.matrices()
    whole = replace(run.registry, by_definition=not schedules)
    outputs = render_all(whole, run.templates, matrices, run.progress)
    for path in python.hand_written() if in_checkout else ():
        del outputs[path]
    if check:
        difference = writer.check(outputs, out, last.files)
        sys.stdout.write(difference)
        if not difference:
            run.say_matching(len(outputs))
        return 1 if difference else 0
    result = run.write(outputs, out, inputs)
    if result.written or result.removed or result.kept:
        print(f"{len(outputs)} files from {run.count}, {_changes(result)} ({run.progress.seconds:.2f} s)")
        _name("written", result.written)
        _name("removed", result.removed)
        _name("kept, as it is listed but not known to be generated:", result.kept)
    else:
        run.say_matching(len(outputs))
    return 0


def memory_of(specs: Path) -> Memory:
    """The results of earlier runs on these specs."""
    return _Run(specs).memory


def registry_of(specs: Path, memory: Memory | None = None) -> Registry:
    """The registry, with what earlier runs resolved of it. Raises SpecError."""
    from dmlgen.resolve import load_registry

    gc.disable()  # a registry lives until the end of the process
    registry = load_registry(specs, memory or memory_of(specs))
    gc.freeze()
    gc.enable()
    return registry


def document(specs: Path, out: Path) -> int:
    """Writes the reference site below `out`; the exit code."""
    from dmlgen.outputs import docs

    run = _Run(specs)
    matrices = run.matrices()
    run.progress.say("rendering the pages")
    return run.write_apart(docs.render(run.registry, run.templates, matrices), out, "index.html")


def export_tables(specs: Path, out: Path, with_cases: bool) -> int:
    """Writes tables of support, and on request of all cases, below `out`; the exit code."""
    from dmlgen.outputs import tables

    run = _Run(specs)
    matrices = map(json.loads, run.matrices().values() if with_cases else ())
    return run.write_apart(tables.render(run.registry, run.templates, matrices), out, "README.md")


def run_cases(specs: Path, out: Path, operators: Sequence[str], with_shaders: bool, form: str) -> int:
    """Checks every case of some operators, or of all, with results stored in `out`; the exit code."""
    from dmlgen import packaged

    run = _Run(specs)
    run.check_operators(operators)
    matrices = run.matrices(operators)
    run.progress.say("rendering the package that is swept")
    with packaged.package(run.registry, run.templates) as package:
        arguments = [f"--out={out.resolve()}", f"--format={form}"]
        arguments += [] if with_shaders else ["--no-shaders"]
        return packaged.run_cases(package, matrices, *arguments)


def export_models(specs: Path, out: Path, operators: Sequence[str], with_shaders: bool) -> int:
    """Writes cases as DxDispatch models below `out`, for some operators or for all; the exit code."""
    from dmlgen import packaged
    from dmlgen.outputs import dxdispatch

    run = _Run(specs)
    run.check_operators(operators)
    known = [json.loads(data) for data in run.matrices(operators).values()]
    run.progress.say("rendering the package that plans")
    answered: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    batches = [dxdispatch.wanted(matrix) for matrix in known]
    try:
        with packaged.package(run.registry, run.templates) as package:
            answers = packaged.models(package, batches, *(() if with_shaders else ("--no-shaders",)))
            for done, (cases, found) in enumerate(zip(batches, answers, strict=True), 1):
                run.progress.say(f"writing models: {done} of {len(known)} operators")
                answered += zip(cases, found, strict=True)
    except packaged.CompilerMissing as error:
        print(f"dmlgen: {error} Or leave the shaders out, with --no-shaders.", file=sys.stderr)
        return 1
    outputs = dxdispatch.render(run.templates, answered, sum(map(dxdispatch.left_out, known)))
    return run.write_apart(outputs, out, "README.md")


def write_schemas(out: Path, check: bool) -> int:
    """Brings the JSON Schemas of specs below `out` up to date, or prints a diff; the exit code."""
    from dmlgen.json_schema import json_schema
    from dmlgen.written import FILES

    names = {f"{name}.schema.json": type_ for name, type_ in FILES.items()}
    outputs = {name: json_schema(type_, name) for name, type_ in names.items()}
    if check:
        difference = writer.check(outputs, out, {})
        sys.stdout.write(difference)
        return 1 if difference else 0
    with writer.alone(out):
        _name("written", writer.write(outputs, out, {}).written)
    return 0


@dataclass(frozen=True)
class _LastRun:
    """The inputs of the last run into a folder, and digests of the files it wrote; empty if unknown."""

    inputs: dict[str, str]
    files: dict[str, str]

    @staticmethod
    def of(cache: Cache, out: Path) -> _LastRun:
        data = cache.get("run", str(out.resolve()))
        return _LastRun(**json.loads(data)) if data is not None else _LastRun({}, {})

    def keep(self, cache: Cache, out: Path) -> None:
        cache.put(json.dumps(vars(self)).encode(), "run", str(out.resolve()))


def _changes(result: writer.Result) -> str:
    counts = {"written": result.written, "removed": result.removed, "kept": result.kept}
    return ", ".join(f"{len(paths)} {what}" for what, paths in counts.items() if paths)


def _name(what: str, paths: Sequence[str]) -> None:
    for path in paths[:_NAMED]:
        print(f"  {what} {path}")
    if len(paths) > _NAMED:
        print(f"  and {len(paths) - _NAMED} more")
