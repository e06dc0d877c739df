"""Definitions of outputs on a GPU."""

from __future__ import annotations

from ..definition import Defined
from .work import Work


def work(computation: Defined) -> Work:
    """The dispatches of a definition. There is no shader for one yet: NotImplementedError."""
    raise NotImplementedError
