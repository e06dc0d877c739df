"""Analyses of expressions that several outputs share."""
