"""Collects the functions of DirectMLX.h into a table: tests/data/facts/directmlx.tsv.

    python scripts/collect_directmlx.py DirectMLX.h > tests/data/facts/directmlx.tsv

Columns: a function in the namespace dml, or the Build of a builder class; the operators whose descriptions
it fills, separated by commas; a parameter that has a default, if the line is about one; the default: a
number, true, false or the name of an enumerator; of an empty array, what its body has in its place, one
number for all entries. Other defaults that are empty are left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_FUNCTION = re.compile(
    r"^    inline \w[\w:<>]* (\w+)\(((?:[^()]|\([^()]*\))*)\)\s*\n    \{\n(.*?)\n    \}", re.M | re.S
)
_BUILDER = re.compile(r"^    class (\w+)Builder\s*\{\n(.*?)\n    \};", re.M | re.S)
_OPERATOR = re.compile(r"\b(?:DML_OPERATOR_|DMLX_ACTIVATION_IMPL\w*\()(?!DESC\b|TYPE\b)([A-Z]\w*)")
_PARAMETER = re.compile(r"(\w+) = (-?[\d.]+f?|DML_\w+|true|false)\s*(?:,|$)", re.M)
_FIELD = re.compile(r"^\s+[\w:<>]+ m_(\w+) = (-?[\d.]+f?|DML_\w+|true|false);", re.M)
_IF_EMPTY = re.compile(r"\b(\w+)\.empty\(\) \? (?:Span<[\w ]+>\{ )?(\w+)")
_ARRAY = re.compile(r"\b(\w+)\[\d\] = \{ (\d+)(?:, \2)* \};")
_ASSIGNED = re.compile(r"\b(\w+)\.empty\(\)\)\s*\{\s*\w+\.assign\(\w+, (-?[\d.]+f?)\);")
_CONDITION = re.compile(r"^#.*\n", re.M)


def functions(text: str) -> Iterator[tuple[str, str, str]]:
    """Names, text with defaults, and bodies."""
    for found in _FUNCTION.finditer(text):
        yield found[1], found[2], found[3]
    for found in _BUILDER.finditer(text):
        yield found[1], found[2], found[2]


def main() -> None:
    text = _CONDITION.sub("", Path(sys.argv[1]).read_text(encoding="utf-8-sig").replace("\r", ""))
    for name, parameters, body in functions(text):
        operators = ",".join(dict.fromkeys(_OPERATOR.findall(body)))
        if operators:
            print(name, operators, sep="\t")
            arrays = dict(_ARRAY.findall(body))
            empty = [(one, arrays[given]) for one, given in _IF_EMPTY.findall(body) if given in arrays]
            stated = _PARAMETER.findall(parameters) + _FIELD.findall(parameters)
            for parameter, default in (*stated, *empty, *_ASSIGNED.findall(body)):
                print(name, operators, parameter, default.removesuffix("f"), sep="\t")


if __name__ == "__main__":
    main()
