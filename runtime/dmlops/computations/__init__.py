"""How operators compute: each module is one form of computation, which `run` carries out in NumPy.

A computation is made from a valid description. Its `run` takes the input arrays by member (a list where the
member is an array of tensors; absent optional tensors are left out) and gives the outputs likewise.
"""
