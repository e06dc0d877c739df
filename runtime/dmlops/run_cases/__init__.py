"""Checks every case of the test matrices on many processes, for `dmlgen run-cases`.

`units` splits matrices into units of work, `unit` runs one, `workers` distributes them, `results`
keeps what they return.
"""
