"""``python table.py TABLE.csv RUN.h5 ...``: speedups of designs over `base`, a row a program."""

import sys
from pathlib import Path

import pandas as pd

import gpusim

table, *runs = map(Path, sys.argv[1:])
cycles: dict[str, dict[str, float]] = {}
for path in runs:
    workload, design = path.stem.split(".")
    with gpusim.open_result(path) as result:
        cycles.setdefault(design, {})[workload] = result.summary["cycles"]
found = pd.DataFrame(cycles)
speedups = found.rdiv(found["base"], axis=0).rename_axis("workload")
speedups.to_csv(table)
print(speedups.round(3))
