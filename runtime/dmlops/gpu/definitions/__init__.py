"""Planner inputs of operators that are computed by definition: one module per operator."""
