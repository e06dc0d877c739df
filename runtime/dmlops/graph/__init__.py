"""Graphs of operators: read, checked, drawn and computed as a whole."""

from .model import Graph, InputEdge, IntermediateEdge, Node, OutputEdge

__all__ = ["Graph", "InputEdge", "IntermediateEdge", "Node", "OutputEdge"]
