"""Makes small tables of the figures that run.sh wrote: one of each program.

python tables.py FIGURES TABLES
"""

from __future__ import annotations

import csv
import io
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

PLAIN = (
    *("arithmetic", "lanes", "atomics", "slices", "stores", "copies"),
    *("launch", "streams", "chase", "walks"),
)
COUNTERS = {
    "cycles": "gpc__cycles_elapsed.max",
    "sm_active": "sm__cycles_active.avg",
    "nanoseconds": "gpu__time_duration.sum",
    "instructions": "smsp__inst_executed.sum",
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors_hit": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_passes": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l2_read_sectors": "lts__t_sectors_op_read.sum",
    "l2_read_sectors_hit": "lts__t_sectors_op_read_lookup_hit.sum",
    "l2_write_sectors": "lts__t_sectors_op_write.sum",
    "l2_red_sectors": "lts__t_sectors_op_red.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
}
"""Columns of a kernel's counters, by the names that Nsight Compute has for them."""

UNITS = ("alu", "fma", "fp64", "lsu", "xu", "uniform", "cbu")
"""Functional units, whose instructions are counted."""


def counted(path: Path, kernels: bool = True) -> tuple[list[tuple[str, str]], list[dict[str, str]]]:
    """Names and sizes that a program printed as it launched, and the counters of its launches."""
    lines = path.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    names = [
        tuple(one.split(",")) for one in lines[:start] if not one.startswith("=") and "," in one
    ]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))[1:]  # the first has units
    if not kernels:  # PyTorch has some of similar names
        rows = [row for row in rows if row["Kernel Name"].isidentifier()]
    assert len(rows) == len(names), f"{path}: {len(names)} names, {len(rows)} launches"
    return [(name[0], name[1]) for name in names], rows


def counters(row: dict[str, str], names: Iterable[str] = COUNTERS.values()) -> list[str]:
    """The columns of `COUNTERS`, or others."""
    return [f"{float(row[name].replace(',', '')):.10g}" for name in names]


def write(path: Path, head: list[str], rows: list[list[str]]) -> None:
    """A CSV file."""
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def uvm(path: Path) -> list[list[str]]:
    """Medians over the processes that measured the same."""
    found: dict[tuple[str, str, float, str], list[float]] = defaultdict(list)
    with path.open() as file:
        for row in csv.DictReader(file):
            key = row["test"], row["variant"], float(row["x"]), row["unit"]
            found[key].append(float(row["median"]))
    rows = []
    for (test, variant, x, unit), values in found.items():
        values.sort()
        middle = values[len(values) // 2]
        figures = [f"{one:.6g}" for one in (x, middle, values[0], values[-1])]
        rows.append([test, variant, *figures, str(len(values)), unit])
    return rows


def kernels(
    timed: Path, profiled: Path, table: Path
) -> list[tuple[tuple[str, str], dict[str, str]]]:
    """Write the table of real kernels; returns their names and sizes, and all their counters."""
    microseconds = {}
    with timed.open() as file:
        for row in csv.DictReader(file):
            if row["caches"]:
                key = row["kernel"], str(int(float(row["x"]))), row["caches"]
                microseconds[key] = [row["median"], row["least"], row["most"]]
    names, rows = counted(profiled)
    times = [
        f"{caches}_us{what}" for caches in ("cold", "warm") for what in ("", "_least", "_most")
    ]
    made = [
        [
            name,
            size,
            *counters(row),
            *microseconds[name, size, "cold"],
            *microseconds[name, size, "warm"],
        ]
        for (name, size), row in zip(names, rows, strict=True)
    ]
    write(table, ["kernel", "size", *COUNTERS, *times], made)
    return list(zip(names, rows, strict=True))


def make_tables() -> None:
    """Write all tables."""
    figures, tables = Path(sys.argv[1]) / "more", Path(sys.argv[2])
    tables.mkdir(parents=True, exist_ok=True)
    for name in PLAIN:
        (tables / f"{name}.csv").write_text((figures / f"{name}.csv").read_text())
    head = ["test", "variant", "x", "median", "least", "most", "runs", "unit"]
    write(tables / "uvm.csv", head, uvm(figures / "uvm.csv"))

    real = kernels(figures / "kernels.csv", figures / "counters.csv", tables / "kernels.csv")
    units = [f"smsp__inst_executed_pipe_{unit}.sum" for unit in UNITS]
    executed = [[*one, *counters(row, units)] for one, row in real]
    write(tables / "instructions.csv", ["kernel", "size", *UNITS], executed)
    held_back = figures / "held_back.csv", figures / "held_back_counters.csv"
    kernels(*held_back, tables / "held_back.csv")

    names, rows = counted(figures / "triton_counters.csv", kernels=False)
    with (figures.parent / "triton" / "triton.csv").open() as file:
        timed = {(row["kernel"], row["size"]): row for row in csv.DictReader(file)}
    kept = ("median", "least", "most", "warm", "warps", "stages", "shared_bytes")
    named = ("cold_us", "cold_us_least", "cold_us_most", "warm_us", *kept[4:])
    made = [
        [*one, row["Grid Size"], *counters(row), *(timed[one][name] for name in kept)]
        for one, row in zip(names, rows, strict=True)
    ]
    write(tables / "triton.csv", ["kernel", "size", "grid", *COUNTERS, *named], made)


if __name__ == "__main__":
    make_tables()
