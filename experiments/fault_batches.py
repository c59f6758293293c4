"""Batches of page faults beside what was measured on a Titan V.

``gpusim study fault-batches [--doc docs/paging.md]``: programs of Allen and Ge's SC'21 paper on
`v100` with the recipe `demand-paging`, without prefetching as there, and lone faults on all
products.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

import gpusim
from experiments.marked import tell
from gpusim.results.result import Result
from gpusim.workloads.workload import Workload

PRODUCTS = (
    "v100",
    "a100",
    "h100",
    "b200",
    "rtx3070",
    "rtx4090",
    "l40",
    "p100",
    "k80",
    "mi210",
    "mi300x",
)
BASE, PAGE, ARRAY = 1 << 32, 4096, 1 << 28
LANES = 32
PAGES = 1 << 16
"""Of regular accesses: 256 MiB."""
SPREAD = 1 << 18
"""Of random ones, of which an eighth of `PAGES` is touched: 1 GiB."""
DOUBLES = 1 << 19
SIDE, TILE = 2048, 128
SMS = 80

LONE = (
    "the first touch of its 2 MiB",
    "in the same block again",
    "the first touch without prefetching",
)
"""Faults that are alone."""


@frozen
class Published:
    """What Tables 2 and 3 of the paper have: means over the batches of a program.

    Attributes:
        faults: pages that a batch asks for, by SM.
        blocks: blocks of 2 MiB of a batch.
    """

    faults: float
    blocks: float


PUBLISHED: Mapping[str, Published] = {
    "regular": Published(3.06, 41.27),
    "random": Published(3.03, 233.09),
    "stream": Published(0.75, 3.93),
    "sgemm": Published(0.85, 6.96),
}


def a_page_a_lane(order: NDArray[np.int64]) -> Workload:
    """Warps whose lanes load a page each, in this order; blocks of 64 threads."""
    pages = order.reshape(-1, 1, LANES)
    return gpusim.workload_of(BASE + PAGE * pages, warps_per_block=2)


def stream() -> Workload:
    """BabelStream's triad: a double a lane of each of three arrays, blocks of 1024 threads."""
    places = 8 * np.arange(DOUBLES).reshape(-1, LANES)
    steps = np.stack([BASE + array * ARRAY + places for array in (1, 2, 0)], axis=1)
    return gpusim.workload_of(
        steps, stores=[False, False, True], in_flight=2, width=8, warps_per_block=32
    )


def sgemm() -> Workload:
    """A product in tiles of 128, 8 deep, 256 threads a block, as cuBLAS has it; each 16th step."""
    thread, row = np.arange(256), 4 * SIDE
    of_a = thread // 2 * row + 16 * (thread % 2)
    of_b = thread // 32 * row + 16 * (thread % 32)
    blocks = []
    for down in range(0, SIDE, TILE):
        for across in range(0, SIDE, TILE):
            steps = [
                step
                for depth in range(0, SIDE, TILE)
                for step in (
                    BASE + down * row + 4 * depth + of_a,
                    BASE + ARRAY + depth * row + 4 * across + of_b,
                )
            ]
            blocks.append(np.array(steps).reshape(len(steps), -1, LANES).swapaxes(0, 1))
    return gpusim.workload_of(np.concatenate(blocks), in_flight=2, width=16, warps_per_block=8)


def programs() -> Iterator[tuple[str, Workload]]:
    """What is compared, by the paper's names."""
    shuffled = np.random.default_rng(1).permutation(SPREAD)[: PAGES // 8]
    yield "regular", a_page_a_lane(np.arange(PAGES))
    yield "random", a_page_a_lane(shuffled)
    yield "stream", stream()
    yield "sgemm", sgemm()


def batches_of(workload: Workload) -> Result:
    """A run on the V100, without prefetching."""
    model = gpusim.load_model("v100", ["demand-paging"], {"paging.prefetch": "none"})
    return gpusim.simulate(model, workload, record=["fault_batches"])


def row(name: str, result: Result) -> str:
    """A row of the table: published and here, and what a batch takes."""
    batches, published = result.table("fault_batches"), PUBLISHED[name]
    took = batches.end - batches.begin
    share = result.summary["link_use"] * result.summary["cycles"] / took.sum()
    clock = result.summary["core_clock"]
    numbers = (
        f"{published.faults:.2f}",
        f"{batches.asked.mean() / SMS:.2f}",
        f"{published.blocks:.1f}",
        f"{batches.blocks.mean():.1f}",
        f"{batches.faults.mean():.0f}",
        f"{took.mean() / clock * 1e6:.0f}",
        f"{batches.came.mean() * PAGE / 1024:.0f}",
        f"{share:.0%}",
    )
    return f"| `{name}` | {' | '.join(numbers)} |"


def table(rows: Sequence[str]) -> str:
    """Rows under their head."""
    head = (
        "| program | pages an SM and batch, Titan V | here | blocks a batch, Titan V | here | "
        "faults a batch | µs a batch | KiB | link |"
    )
    return "\n".join([head, "| --- |" + " --: |" * 8, *rows])


def lone_faults() -> Iterator[str]:
    """What each of `LONE` takes, from least to most over the products."""
    yield f"| a lone fault, µs | on {len(PRODUCTS)} products |"
    yield "| --- | --: |"
    workload = two_faults()
    bare = {"paging.prefetch": "none"}
    took = [
        [*microseconds(one, workload, {}), microseconds(one, workload, bare)[0]] for one in PRODUCTS
    ]
    for what, found in zip(LONE, zip(*took, strict=True), strict=True):
        yield f"| {what} | {min(found):.1f} to {max(found):.1f} |"


def two_faults() -> Workload:
    """A lane loads a word, and when it has come another one, 1 MiB away."""
    lanes = np.full((1, 2, LANES), -1)
    lanes[0, :, 0] = BASE, BASE + (1 << 20)
    return gpusim.workload_of(lanes, arrays=[(BASE, 4 << 20)])


def microseconds(product: str, workload: Workload, settings: Mapping[str, str]) -> list[float]:
    """What each load of one warp takes, in the order of the loads."""
    model = gpusim.load_model(product, ["demand-paging"], settings)
    with gpusim.simulate(model, workload, record=["requests"]) as result:
        loads = result.table("requests").sort_values("begin")
        return [cycles / result.summary["core_clock"] * 1e6 for cycles in loads.end - loads.begin]


def main() -> None:
    """Run all of them and print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--doc", type=Path, help="page whose tables are replaced")
    arguments = parser.parse_args()
    rows = []
    for name, workload in programs():
        with batches_of(workload) as result:
            rows.append(row(name, result))
    tell(arguments.doc, "fault batches", table(rows))
    tell(arguments.doc, "lone faults", "\n".join(lone_faults()))


if __name__ == "__main__":
    main()
