"""The matrices as CSV tables: all rows are there, and no cell can be misread."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dmlgen.cli import main
from matrix_cases import supported


@pytest.fixture(scope="module")
def folders(gather_specs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Generated files, and the tables, of the same specs."""
    generated, tables = tmp_path_factory.mktemp("generated"), tmp_path_factory.mktemp("tables")
    assert main(["generate", "--specs", str(gather_specs), "--out", str(generated)]) == 0
    assert main(["export", "csv", str(tables), "--cases", "--specs", str(gather_specs)]) == 0
    return generated, tables


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def matrices(folder: Path) -> list[Any]:
    files = [path for path in sorted((folder / "matrix").glob("*.json")) if "schema" not in path.name]
    return [json.loads(path.read_text(encoding="utf-8")) for path in files]


def test_cases_are_those_of_the_matrices(folders: tuple[Path, Path]) -> None:
    generated, tables = folders
    found = {row["id"]: row for row in rows(tables, "cases.csv")}
    cases = [case for matrix in matrices(generated) for case in matrix["cases"]]
    assert len(found) == len(cases) > 100
    for case in cases:
        row = found[case["id"]]
        assert json.loads(row["description"]) == {"type": case["type"], "desc": case["desc"]}
        assert (row["valid"] == "true") == case["expect"]["ok"] and row["valid"] in ("true", "false")
        assert row["rules"].split() == case["expect"]["rules"]
        assert (row["has_data"] == "true") == ("outputs" in case)
        assert (row["lowest_level"] or None) == case["expect"]["min_feature_level"]


def test_support_is_that_of_the_matrices(folders: tuple[Path, Path]) -> None:
    generated, tables = folders
    found = {
        (row["operator"], row["level"], row["tensor"], row["ranks"], row["types"], row["when"])
        for row in rows(tables, "support.csv")
    }
    expected = {
        (
            *(matrix["operator"], level, row["tensor"]),
            *(" ".join(map(str, row["ranks"])), " ".join(row["types"]), row.get("when", "")),
        )
        for matrix in matrices(generated)
        for level, table in supported(matrix).items()
        for row in table
    }
    assert found == expected and len(found) > 20


def test_columns_are_described(folders: tuple[Path, Path]) -> None:
    text = (folders[1] / "README.md").read_text(encoding="utf-8")
    for name in ("cases.csv", "support.csv"):
        assert all(f"| `{column}` |" in text for column in rows(folders[1], name)[0])


def test_support_needs_no_search_for_cases(
    gather_specs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dmlgen.outputs.matrix.search", lambda *_: pytest.fail("cases were searched"))
    assert main(["export", "csv", str(tmp_path), "--specs", str(gather_specs)]) == 0
    assert len(rows(tmp_path, "support.csv")) > 20 and not (tmp_path / "cases.csv").exists()


def test_options_of_models_are_not_for_tables(
    gather_specs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", "csv", str(tmp_path), "--specs", str(gather_specs)]
    assert main([*command, "--operators", "gather"]) == 2
    assert "--operators and --no-shaders are for models" in capsys.readouterr().err
