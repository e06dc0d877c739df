"""Collects what documentation pages on operators state into a table: tests/data/facts/pages.jsonl.

    python scripts/collect_pages.py FOLDER > tests/data/facts/pages.jsonl

The folder holds pages of the Windows SDK reference as Markdown, ns-directml-dml_*_operator_desc.md. They are
read by `dmlaudit`, which knows no specs; only statements in a known form are kept, none of the text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dmlaudit.read import read
from dmlaudit.stated import stated
from facts_data import to_json

MISNAMED = "ns-directml-dml_reverse_subsequences_desc.md"


def main() -> None:
    folder = Path(sys.argv[1])
    for path in sorted([*folder.glob("ns-directml-dml_*_operator_desc.md"), folder / MISNAMED]):
        struct = path.stem.removeprefix("ns-directml-").removesuffix("_desc").removesuffix("_operator")
        struct = f"{struct}_operator_desc".upper()
        print(json.dumps(to_json(struct, stated(read(path))), separators=(",", ":")))


if __name__ == "__main__":
    main()
