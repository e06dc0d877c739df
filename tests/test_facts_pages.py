"""Double entry: the registry against what the public pages on operators state, without the pages."""

from __future__ import annotations

from dmlaudit.compare import with_errata
from dmlaudit.operators import compare_operator
from dmlgen.registry import Registry
from facts_data import pages


def test_operators_are_as_their_pages_state(registry: Registry) -> None:
    """Members, tables, constraints, levels and shared buffers; what a page gets wrong is an erratum."""
    operators = {name: one for one in registry.operators for name in (one.c_name, one.c_alias) if name}
    seen, new = set(), list[str]()
    for struct, stated in pages():
        operator = operators[struct]
        verdicts = with_errata(registry, operator, compare_operator(registry, operator, stated))
        assert len(verdicts) > len(operator.members), struct  # the page does state something
        new += [
            f"{operator.name}: the page says {one.says!r}, the spec {one.holds!r}"
            for one in verdicts
            if one.kind == "difference"
        ]
        seen.add(operator.name)
    assert new == [], "\n".join(new)
    assert seen == {*registry.operator}
