"""Graphs of operators: read, checked, drawn and computed as a whole."""

from .builder import Builder, Value
from .model import Graph, InputEdge, IntermediateEdge, Node, OutputEdge

__all__ = ["Builder", "Graph", "InputEdge", "IntermediateEdge", "Node", "OutputEdge", "Value"]
