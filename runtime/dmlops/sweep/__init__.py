"""Checks every case of the test matrices on many processes, for `dmlgen sweep`.

`units` splits matrices into units of work, `judging` processes a unit, `workers` distributes them, `results`
keeps what they return, `report` summarizes it.
"""
