"""Every case of the test matrices, judged by many processes or machines: `dmlgen sweep` runs it.

`units` cuts matrices into units of work and keeps their results, `judging` does a unit, `local` and `cluster`
hand units out and give them to another worker where one dies, `report` tells what came of it.
"""
