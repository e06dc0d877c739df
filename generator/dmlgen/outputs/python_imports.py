"""Leaves out of generated Python what a module imports and does not use.

Templates import everything that some module of their kind needs. Names that are imported for others, as
themselves (`from .x import y as y`), stay.
"""

from __future__ import annotations

import ast

from dmlgen.outputs.python_lines import WIDTH


def with_used_imports(text: str) -> str:
    """A module without the names that it imports at its top and does not use."""
    tree = ast.parse(text)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    lines: list[str] = text.splitlines(keepends=True)
    for node in reversed(tree.body):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            continue
        kept = [one for one in node.names if one.asname == one.name or (one.asname or one.name) in used]
        start, end = node.lineno - 1, node.end_lineno or node.lineno
        if not kept:
            alone = lines[start - 1 : start] == ["\n"] == lines[end : end + 1]
            del lines[start : end + alone]
        elif isinstance(node, ast.ImportFrom) and kept != node.names:
            lines[start:end] = [_statement(node, kept)]
    return "".join(lines)


def _statement(node: ast.ImportFrom, names: list[ast.alias]) -> str:
    """The import of some of its names, as the formatter writes it."""
    head = f"from {'.' * node.level}{node.module or ''} import "
    texts = [one.name if one.asname is None else f"{one.name} as {one.asname}" for one in names]
    line = f"{head}{', '.join(texts)}"
    if len(line) > WIDTH:
        line = "\n".join((f"{head}(", *(f"    {text}," for text in texts), ")"))
    return f"{line}\n"
