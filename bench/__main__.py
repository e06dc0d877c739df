"""Runs all benchmarks, section by section: `python -m bench`."""

from __future__ import annotations

from importlib import import_module

SECTIONS = ("generate", "validate", "validate_c", "plan")

for section in SECTIONS:
    print(f"== {section}")
    import_module(f"bench.{section}").main()
