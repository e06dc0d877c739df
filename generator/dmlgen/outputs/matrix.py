"""Test matrices: an operator's support tables, and cases with their expected results."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from multiprocessing import parent_process
from threading import Thread
from typing import Any

from dmlgen.banner import banner
from dmlgen.cases import Case, Cases, CaseSearch
from dmlgen.cases.results import CHOICES
from dmlgen.expr.printer import SOURCE
from dmlgen.outputs.render import Templates
from dmlgen.registry import EnumEntry, Operator, Registry, Support

VERSION = 4  # version of the file format
_SAFE = (1 << 53) - 1  # the largest integer that every JSON reader represents exactly
_SPECIAL = {"-0": "-0", "nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_A_PROCESS = 16  # operators that make a process worth starting
_search: CaseSearch | None = None  # of a worker process


def render(registry: Registry, templates: Templates, known: Mapping[str, bytes]) -> dict[str, bytes]:
    """The matrices of all operators, their JSON Schema, and a pytest plugin that reads them.

    `known` are files by path: those of the Python package, and matrices for which no search is needed.
    """
    paths = {f"matrix/{operator.slug}.json": operator.name for operator in registry.operators}
    files = {path: known[path] for path in paths if path in known}
    missing = [name for path, name in paths.items() if path not in known]
    if missing:
        files.update(search(registry, known, missing))
    files["matrix/matrix.schema.json"] = templates.render(
        "matrix/matrix.schema.json.j2", version=VERSION, choices=sorted(CHOICES)
    )
    files["matrix/pytest_plugin.py"] = templates.render("matrix/pytest_plugin.py.j2")
    return files


def search(
    registry: Registry, package: Mapping[str, bytes], names: list[str]
) -> Generator[tuple[str, bytes], None, None]:
    """The matrices of these operators by path, as they are found; with several processes if that pays off.

    `package` has the files of the Python package, which judges descriptions.
    """
    paths = [f"matrix/{registry.operator[name].slug}.json" for name in names]
    workers = min(os.cpu_count() or 1, len(names) // _A_PROCESS)
    if workers < 2:
        alone = CaseSearch(registry, package)
        yield from zip(paths, (_one(alone, name) for name in names), strict=True)
        return
    with ProcessPoolExecutor(workers, initializer=_start, initargs=(registry, package)) as pool:
        try:
            yield from zip(paths, pool.map(_of_worker, names, chunksize=4), strict=True)
        except BaseException:  # the caller wants no more, or has been interrupted
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start(registry: Registry, package: Mapping[str, bytes]) -> None:
    global _search
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets the signal too, and decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()
    _search = CaseSearch(registry, package)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _of_worker(name: str) -> bytes:
    assert _search is not None
    return _one(_search, name)


def _one(search: CaseSearch, name: str) -> bytes:
    operator = search.registry.operator[name]
    try:
        return matrix(search.registry, operator, search.cases(operator))
    except Exception as error:
        error.add_note(name)  # the frames of a worker are lost
        raise


def matrix(registry: Registry, operator: Operator, cases: Cases) -> bytes:
    """The file of one operator, with one level, rule or case per line."""
    parts = {
        "$comment": banner("specs/"),
        "$schema": "matrix.schema.json",
        "version": VERSION,
        "operator": operator.name,
        "type": operator.c_constant,
        "since": operator.since.name,
        "support": _support(operator),
        "uncovered": list(cases.uncovered),
        "coverage": [_without_none(vars(rule)) for rule in cases.coverage],
        "cases": [_case(registry, operator, case) for case in cases.cases],
    }
    return (
        "{\n" + ",\n".join(f"{_line(key)}: {_lines(value)}" for key, value in parts.items()) + "\n}\n"
    ).encode()


def _support(operator: Operator) -> dict[str, Any]:
    """The tables by the first level at which they hold."""
    tables = groupby(operator.support.items(), key=lambda item: item[1])
    return {next(levels)[0]: _table(table) for table, levels in tables}


def _table(rows: tuple[Support, ...]) -> list[dict[str, Any]]:
    return [
        _without_none(
            {
                "tensor": row.tensor,
                "ranks": row.ranks,
                "types": row.types,
                "when": SOURCE.print(row.when) if row.when is not None else None,
            }
        )
        for row in rows
    ]


def _case(registry: Registry, operator: Operator, case: Case) -> dict[str, Any]:
    expect = {
        "ok": not case.rules,
        "rules": case.rules,
        "advice": case.advice,
        "min_feature_level": case.minimum_level.name if case.minimum_level is not None else None,
    }
    return {
        "id": case.id,
        "kind": case.kind,
        "feature_level": case.state.level.name,
        **case.state.description.to_json(),
        "expect": expect,
        **_without_none(
            {
                "breaks": case.breaks,
                "draws": case.draws,
                "valid_variant": case.valid_variant,
                "form": case.form if case.form != "any" else None,
                **(_data(registry, operator, case) if case.data is not None else {}),
            }
        ),
    }


def _data(registry: Registry, operator: Operator, case: Case) -> dict[str, Any]:
    assert case.data is not None
    types = {entry.value: entry for entry in registry.data_types}

    def elements(name: str, given: Any) -> list[Any]:
        value: Any = getattr(case.state.description, name)
        if not isinstance(value, tuple):
            return [_element(one, types[value.DataType]) for one in given]
        return [
            [_element(one, types[tensor.DataType]) for one in part]
            for tensor, part in zip(value, given, strict=True)
        ]

    return _without_none(
        {
            "inputs": {name: elements(name, given) for name, given in case.data.inputs.items()},
            "outputs": {name: elements(name, given) for name, given in case.data.outputs.items()},
            "tolerance": {name: one._asdict() for name, one in case.data.tolerance.items()} or None,
            "choices": case.data.choices or None,
        }
    )


def _element(value: int | float | None, type_: EnumEntry) -> int | float | str | None:
    """An element in JSON: floats with as many digits as their type needs."""
    if value is None or type_.kind != "float":
        return value
    text = f"{value:.{type_.digits}g}"
    return _SPECIAL.get(text) or float(text)


def _readable(value: Any) -> Any:
    """The value with integers that JavaScript would round as strings."""
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value]
    large = isinstance(value, int) and not -_SAFE <= value <= _SAFE
    return str(value) if large else value


def _without_none(entries: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entries.items() if value is not None}


def _lines(value: Any) -> str:
    """The value's entries, one per line, if it has any."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(_line(item) for item in value) + "\n]"
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{_line(key)}: {_line(item)}" for key, item in value.items()) + "\n}"
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(_readable(value), separators=(",", ":"), allow_nan=False)
