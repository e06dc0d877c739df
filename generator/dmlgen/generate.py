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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmlgen import writer
from dmlgen.cache import Cache
from dmlgen.diagnostics import unknown_operator
from dmlgen.formats import render
from dmlgen.inputs import case_digests, digests, spec_files
from dmlgen.memory import Memory
from dmlgen.progress import Progress
from dmlgen.project import TEMPLATES, cache_folder

if TYPE_CHECKING:
    from dmlgen.outputs.render import Templates
    from dmlgen.registry import Registry

_NAMED = 20  # most files that a report names


def generate(specs: Path, out: Path, check: bool, schedules: bool = True) -> int:
    """Brings the files below `out` up to date, or only compares them and prints a diff; the exit code.

    Without `schedules`, definitions are followed directly.
    """
    progress = Progress()
    cache = Cache(cache_folder())
    inputs = digests(specs) | {"schedules": str(schedules)}
    memory = _memory(cache, specs, inputs)
    last = _LastRun.of(cache, out)
    if last.inputs == inputs and writer.is_unchanged(out, last.files):
        print(_matching(len(last.files) - 1, specs, progress))
        return 0
    outputs = _outputs(specs, cache, memory, progress, schedules)
    if outputs is None:
        return 1
    if check:
        difference = writer.check(outputs, out, last.files)
        sys.stdout.write(difference)
        if not difference:
            print(_matching(len(outputs), specs, progress))
        return 1 if difference else 0
    with writer.alone(out):
        result = writer.write(outputs, out, _LastRun.of(cache, out).files)
        _LastRun(inputs, writer.fingerprints(outputs)).keep(cache, out)
    cache.tidy()
    if result.written or result.removed or result.kept:
        print(f"{len(outputs)} files from {_count(specs)}, {_changes(result)} ({progress.seconds:.2f} s)")
        _name("written", result.written)
        _name("removed", result.removed)
        _name("kept, as it is listed but not known to be generated:", result.kept)
    else:
        print(_matching(len(outputs), specs, progress))
    return 0


def _memory(cache: Cache, specs: Path, inputs: Mapping[str, str]) -> Memory:
    return Memory(cache, inputs["generator"], str(specs.resolve()))


def memory_of(specs: Path) -> Memory:
    """The results of earlier runs on these specs."""
    return _memory(Cache(cache_folder()), specs, digests(specs))


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
    progress = Progress()
    cache = Cache(cache_folder())
    memory = _memory(cache, specs, digests(specs))
    registry = _checked(specs, progress, memory)
    if registry is None:
        return 1
    from dmlgen.outputs import docs
    from dmlgen.outputs.render import Templates

    templates = Templates(TEMPLATES, memory)
    matrices = _matrices(registry, templates, cache, progress)
    progress.say("rendering the pages")
    outputs = docs.render(registry, templates, matrices)
    _write_apart(outputs, out, cache, progress, "index.html")
    return 0


def export_tables(specs: Path, out: Path, with_cases: bool) -> int:
    """Writes tables of support, and on request of all cases, below `out`; the exit code."""
    progress = Progress()
    cache = Cache(cache_folder())
    memory = _memory(cache, specs, digests(specs))
    registry = _checked(specs, progress, memory)
    if registry is None:
        return 1
    from dmlgen.outputs import tables
    from dmlgen.outputs.render import Templates

    templates = Templates(TEMPLATES, memory)
    matrices = map(json.loads, _matrices(registry, templates, cache, progress).values() if with_cases else ())
    _write_apart(tables.render(registry, templates, matrices), out, cache, progress, "README.md")
    return 0


def sweep(specs: Path, out: Path, operators: Sequence[str], with_shaders: bool, form: str) -> int:
    """Checks every case of some operators, or of all, with results stored in `out`; the exit code."""
    progress = Progress()
    cache = Cache(cache_folder())
    memory = _memory(cache, specs, digests(specs))
    registry = _checked(specs, progress, memory)
    if registry is None or not _are_known(operators, registry):
        return 1 if registry is None else 2
    from dmlgen import packaged
    from dmlgen.outputs.render import Templates

    templates = Templates(TEMPLATES, memory)
    matrices = _matrices(registry, templates, cache, progress, operators)
    progress.say("rendering the package that is swept")
    with packaged.package(registry, templates) as package:
        arguments = [f"--out={out.resolve()}", f"--format={form}"]
        arguments += [] if with_shaders else ["--no-shaders"]
        return packaged.sweep(package, matrices, *arguments)


def export_models(specs: Path, out: Path, operators: Sequence[str], with_shaders: bool) -> int:
    """Writes cases as DxDispatch models below `out`, for some operators or for all; the exit code."""
    progress = Progress()
    cache = Cache(cache_folder())
    memory = _memory(cache, specs, digests(specs))
    registry = _checked(specs, progress, memory)
    if registry is None:
        return 1
    if not _are_known(operators, registry):
        return 2
    from dmlgen import packaged
    from dmlgen.outputs import dxdispatch
    from dmlgen.outputs.render import Templates

    templates = Templates(TEMPLATES, memory)
    matrices = _matrices(registry, templates, cache, progress, operators)
    known = [json.loads(data) for data in matrices.values()]
    progress.say("rendering the package that plans")
    answered: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    batches = [dxdispatch.wanted(matrix) for matrix in known]
    try:
        with packaged.package(registry, templates) as package:
            answers = packaged.models(package, batches, *(() if with_shaders else ("--no-shaders",)))
            for done, (cases, found) in enumerate(zip(batches, answers, strict=True), 1):
                progress.say(f"writing models: {done} of {len(known)} operators")
                answered += zip(cases, found, strict=True)
    except packaged.CompilerMissing as error:
        print(f"dmlgen: {error} Or leave the shaders out, with --no-shaders.", file=sys.stderr)
        return 1
    outputs = dxdispatch.render(templates, answered, sum(map(dxdispatch.left_out, known)))
    _write_apart(outputs, out, cache, progress, "README.md")
    return 0


def _are_known(operators: Sequence[str], registry: Registry) -> bool:
    """Whether the registry has operators with these names; reports the first that it has not."""
    for name in operators:
        if name not in registry.operator:
            print(f"dmlgen: {unknown_operator(name, registry.operator)}", file=sys.stderr)
            return False
    return True


def _write_apart(
    outputs: Mapping[str, bytes], out: Path, cache: Cache, progress: Progress, first: str
) -> None:
    """Writes outputs that are not committed, and reports it; `first` is the file to open first."""
    with writer.alone(out):
        result = writer.write(outputs, out, _LastRun.of(cache, out).files)
        _LastRun({}, writer.fingerprints(outputs)).keep(cache, out)
    cache.tidy()
    size = sum(map(len, outputs.values())) / 1e6
    print(
        f"{out / first}: {len(outputs)} files, {size:.1f} MB, {_changes(result) or 'all as before'}"
        f" ({progress.seconds:.2f} s)"
    )


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


def _outputs(
    specs: Path, cache: Cache, memory: Memory, progress: Progress, schedules: bool
) -> dict[str, bytes] | None:
    """All files; None if the specs have errors, which are then printed."""
    registry = _checked(specs, progress, memory)
    if registry is None:
        return None
    from dmlgen.outputs import render_all
    from dmlgen.outputs.render import Templates

    templates = Templates(TEMPLATES, memory)
    matrices = _matrices(registry, templates, cache, progress)
    whole = replace(registry, by_definition=not schedules)
    return render_all(whole, templates, matrices, progress)


def _checked(specs: Path, progress: Progress, memory: Memory) -> Registry | None:
    """The registry; None if the specs have errors, which are then printed."""
    from dmlgen.lint import lint

    progress.say("reading the specs")
    registry = registry_of(specs, memory)
    findings = lint(registry)
    if any(finding.severity == "error" for finding in findings):
        sys.stderr.write(render(findings, "text"))
        return None
    return registry


def _matrices(
    registry: Registry, templates: Templates, cache: Cache, progress: Progress, names: Sequence[str] = ()
) -> dict[str, bytes]:
    """The matrices of these operators, or of all, by path. New ones are cached as soon as they are found."""
    from dmlgen.outputs import matrix, python

    progress.say("rendering the Python package")
    package = python.render(registry, templates)
    keys = case_digests(registry, package)
    matrices: dict[str, bytes] = {}
    missing = []
    for operator in map(registry.operator.__getitem__, names) if names else registry.operators:
        path = f"matrix/{operator.slug}.json"
        data = cache.get("matrix", keys[path])
        if data is None:
            missing.append(operator.name)
        else:
            matrices[path] = data
    with closing(matrix.search(registry, package, missing)) as found:
        for done, (path, data) in enumerate(found, 1):
            progress.say(f"searching test cases: {done} of {len(missing)} operators")
            cache.put(data, "matrix", keys[path])
            matrices[path] = data
    return matrices


def _matching(files: int, specs: Path, progress: Progress) -> str:
    return f"{files} files match {_count(specs)} ({progress.seconds:.2f} s)"


def _count(specs: Path) -> str:
    return f"{len(spec_files(specs))} spec files"


def _changes(result: writer.Result) -> str:
    counts = {"written": result.written, "removed": result.removed, "kept": result.kept}
    return ", ".join(f"{len(paths)} {what}" for what, paths in counts.items() if paths)


def _name(what: str, paths: Sequence[str]) -> None:
    for path in paths[:_NAMED]:
        print(f"  {what} {path}")
    if len(paths) > _NAMED:
        print(f"  and {len(paths) - _NAMED} more")
