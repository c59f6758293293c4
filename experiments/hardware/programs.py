"""Whole programs of a Quadro V100: its cycles, Accel-Sim's, and ours.

The measured cycles are sums over the kernels of an application (Accel-Sim's published correlation);
the counters are those of single kernels (AccelWattch's hardware profile), summed here over the
kernels that our program runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from attrs import field, frozen

from experiments.hardware.measure import model_of
from gpusim.core.errors import UserError
from gpusim.runs.simulate import simulate
from gpusim.workloads.workload import load_workload

MODEL = "v100"
CYCLES, COUNTERS = "qv100_accelsim_apps.csv", "gv100_accelwattch_kernels.csv"
SECTOR = 32


@frozen(eq=False)
class Program:
    """A program that both have.

    Attributes:
        benchmark, arguments: as the reference names it.
        workload, parameters: ours, at scale paper.
    """

    benchmark: str
    arguments: str
    workload: str
    parameters: Mapping[str, object] = field(factory=dict)


def _random_graph(vertices: int) -> dict[str, object]:
    """What Rodinia's generator makes: arcs both ways, 2 to 4 drawn for each vertex."""
    graph = {"generator": "uniform-random", "vertices": vertices, "arcs": 6 * vertices}
    return {"graph": graph}


def _vectors(elements: int) -> dict[str, object]:
    """A vector added to another one, an element a thread; a multiplication takes no time here."""
    return {"elements": elements, "chunk": elements}


PROGRAMS = (
    Program("backprop-rodinia-3.1", "65536", "backprop"),
    Program("hotspot-rodinia-3.1", "512_2_2", "hotspot", {"n": 512}),
    Program("hotspot-rodinia-3.1", "1024_2_2", "hotspot", {"n": 1024}),
    Program("lud-rodinia-3.1", "_s_256", "lud", {"n": 256}),
    Program("lud-rodinia-3.1", "_i___data_512", "lud", {"n": 512}),
    Program("polybench-2DConvolution", "", "2dconv"),
    Program("polybench-3DConvolution", "", "3dconv"),
    Program("polybench-atax", "", "atax"),
    Program("polybench-bicg", "", "bicg"),
    Program("parboil-sad", "", "sad"),
    Program("bfs-rodinia-3.1", "__data_graph4096_txt", "bfs", _random_graph(4096)),
    Program("bfs-rodinia-3.1", "__data_graph65536_txt", "bfs", _random_graph(65536)),
    Program("bfs-rodinia-3.1", "__data_graph1MW_6_txt", "bfs", _random_graph(1_000_000)),
    Program("vectorAdd", "__size_4000000", "triad", _vectors(4_000_000)),
    Program("vectorAdd", "__size_6000000", "triad", _vectors(6_000_000)),
)
"""Programs whose inputs are known from their arguments and defaults."""


@frozen
class Ran:
    """A program on our model.

    Attributes:
        cycles: sum over its kernels.
        launches: how many kernels.
        l1_hits, l1_misses: loads.
        dram_reads, dram_writes: sectors of 32 bytes.
    """

    cycles: int
    launches: int
    l1_hits: int
    l1_misses: int
    dram_reads: int
    dram_writes: int


def run_program(program: Program) -> Ran:
    """Run one."""
    workload = load_workload(program.workload, "paper", overrides=program.parameters)
    with simulate(model_of(MODEL), workload) as result:
        counters = result.counters.groupby(["component", "counter"])["value"].sum()
        launches = result.launches
        return Ran(
            cycles=int((launches["end"] - launches["begin"]).sum()),
            launches=len(launches),
            l1_hits=int(counters["l1", "hits"]),
            l1_misses=int(counters["l1", "misses"]),
            dram_reads=int(counters["dram", "data_read_bytes"]) // SECTOR,
            dram_writes=int(counters["dram", "write_bytes"]) // SECTOR,
        )


def beside_hardware(ran: Mapping[Program, Ran], reference: Path) -> pd.DataFrame:
    """A row a program: cycles of hardware, of Accel-Sim and ours, and DRAM sectors.

    Raises:
        UserError: the reference lacks its files.
    """
    cycles, counters = (_read(reference / "correlation" / name) for name in (CYCLES, COUNTERS))
    rows = []
    for program, one in ran.items():
        found = cycles[cycles["benchmark"] == program.benchmark]
        starts = found["arguments"].fillna("").astype(str).str.replace(r"\.0$", "", regex=True)
        found = found[starts.str.startswith(program.arguments)]
        if found.empty:
            continue
        kernels = counters[counters["Benchmark"] == program.benchmark]
        reads = float(kernels["DRAM_Rd"].sum()) if len(kernels) else None
        hardware, other = (float(found[name].iloc[0]) for name in ("hw_cycles", "accelsim_cycles"))
        rows.append(
            {
                "program": f"{program.benchmark} {program.arguments}".strip(),
                "launches": one.launches,
                "hardware": hardware,
                "Accel-Sim": other / hardware,
                "ours": one.cycles / hardware,
                "l1 hits": one.l1_hits,
                "l1 misses": one.l1_misses,
                "DRAM reads": one.dram_reads,
                "DRAM writes": one.dram_writes,
                "hardware's DRAM reads": reads,
            }
        )
    return pd.DataFrame(rows)


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; --programs needs it")
    return pd.read_csv(path)
