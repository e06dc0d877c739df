"""Values of command-line arguments."""

from __future__ import annotations

import argparse

from .enums import FeatureLevel, feature_level


def known_level(text: str) -> FeatureLevel:
    """The feature level with this name; ArgumentTypeError, with the closest levels, if there is none."""
    try:
        return feature_level(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
