"""Forms of computation: each module implements one, whose `run` uses NumPy.

A computation is made from a valid description. Its `run` takes the input arrays by member name (a list if the
member is an array of tensors; absent optional tensors are left out) and returns the outputs the same way.
"""
