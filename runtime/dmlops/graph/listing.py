"""Graphs as text, with marks below the tensors that violations refer to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..safe_text import cut
from ..terminal import PLAIN, Style
from ..violation import Violation
from .drawing import tensor_text
from .json_form import names_of
from .model import Graph

_WIDEST = 30  # columns of a node's name


def listed(graph: Graph, violations: Sequence[Violation] = (), style: Style = PLAIN) -> Iterator[str]:
    """The graph with a line for each node, and carets with the numbers of the violations, counted from 1.

    Edges that violations refer to follow.
    """
    marks: dict[str, list[int]] = {}
    for number, violation in enumerate(violations, start=1):
        marks.setdefault(violation.member, []).append(number)
    named = names_of(graph)
    yield f"inputs:  {', '.join(map(cut, named.inputs if named else [])) or len(graph.inputs)}"
    names = [cut(node.name) or f"Nodes[{at}]" for at, node in enumerate(graph.nodes)]
    width = min(max(map(len, names), default=0), _WIDEST)
    for at, node in enumerate(graph.nodes):
        line = f"{names[at]:{width}}  {'constant' if node.desc is None else node.desc.OPERATOR}"
        spans = {f"Nodes[{at}]": (0, len(names[at]))}
        of_node = graph.slots[at]
        for is_input, of_role in ((True, of_node.inputs), (False, of_node.outputs)) if of_node else ():
            shown = []
            values = {} if named is None else named.read if is_input else named.written
            for slot in of_role:
                name = values.get(slot.place)
                if slot.tensor is not None or name is not None:
                    tensor = f"{node.size} bytes" if slot.is_constant else tensor_text(slot.tensor)
                    shown.append((slot.path, " ".join(filter(None, (slot.name, name and cut(name), tensor)))))
            for number, (path, text) in enumerate(shown):
                line += ", " if number else "  " if is_input else "  ->  "
                spans.setdefault(path, (len(line), len(line) + len(text)))
                line += text
        yield line
        yield from _marks(spans, marks, style)
    yield f"outputs: {', '.join(map(cut, named.outputs if named else [])) or len(graph.outputs)}"
    for kind, some in graph.edges.items():
        for at, edge in enumerate(some):
            line, spans = f"{kind}[{at}]:", {}
            for name, value in edge._asdict().items():
                spans[f"{kind}[{at}].{name}"] = (len(line) + 1, len(line) + 1 + len(f"{name} {value}"))
                line += f" {name} {value}"
            if spans.keys() & marks.keys():
                yield line
                yield from _marks(spans, marks, style)


def _marks(spans: dict[str, tuple[int, int]], marks: dict[str, list[int]], style: Style) -> Iterator[str]:
    """The lines of carets below a line in which paths have these places."""
    for path, numbers in marks.items():
        found = path
        while found not in spans and "." in found:
            found = found.rpartition(".")[0]
        if found in spans:
            start, end = spans[found]
            yield f"{' ' * start}{style.bad('^' * (end - start))} {style.bad(', '.join(map(str, numbers)))}"
