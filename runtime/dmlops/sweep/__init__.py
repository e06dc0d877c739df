"""Checks every case of the test matrices on many processes or machines, for `dmlgen sweep`.

`units` splits matrices into units of work, `judging` processes a unit, `local` and `cluster` distribute units
and retry those whose worker died, `results` keeps what they return, `report` summarises it.
"""
