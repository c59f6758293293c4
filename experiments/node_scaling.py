"""Strong scaling of six programs on 1 to 8 GPU modules, under four policies.

``gpusim study node-scaling [--doc docs/node.md --picture docs/pictures/node_scaling.png]``: the
modules are those of `mcm-gpu`, each cut to an eighth, with pages of 4 KiB, so that small programs
have blocks and pages for all of them.  A program and its data stay the same; a speed-up is against
one module.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import asdict, frozen

import gpusim
from experiments.marked import grid, tell

PART: Final = "node scaling"
"""Name of the generated part of the page."""

MODULES: Final = (1, 2, 4, 8)

PROGRAMS: Final[Mapping[str, Mapping[str, object]]] = {
    "matrix_transpose": {"n": 512},
    "fir": {"samples": 32768, "launches": 1},
    "hotspot": {"n": 256, "iterations": 2},
    "gups": {},
    "atax": {"n": 512},
    "mm": {"m": 512},
}

POLICIES: Final[Mapping[str, Mapping[str, object]]] = {
    "interleaved": {"node.blocks": "round-robin", "node.placement": "interleave"},
    "blocks in runs": {"node.blocks": "contiguous", "node.placement": "interleave"},
    "first touch": {"node.blocks": "contiguous", "node.placement": "first-touch"},
    "on touch": {
        "node.blocks": "contiguous",
        "node.placement": "first-touch",
        "node.page_tables": "per-gpu",
        "node.remote": "migrate-on-touch",
        "node.host_mmu.trip": "200 cycles",
        "node.host_mmu.entries": 512,
        "node.host_mmu.walkers": 8,
        "node.host_mmu.latency": "100 cycles",
    },
}


@frozen
class Point:
    """One run.

    Attributes:
        program, policy, modules: of it.
        cycles: that it took.
        remote: requests to other modules, by transactions.
        moved: pages that moved.
    """

    program: str
    policy: str
    modules: int
    cycles: int
    remote: float
    moved: int


def run(program: str, policy: str, modules: int) -> Point:
    """A run of a program under a policy on some modules."""
    settings = {"node.gpus": modules, "memory.page": "4KiB", **POLICIES[policy]}
    model = gpusim.load_model("mcm-gpu", ["eighth"], settings)
    workload = gpusim.load_workload(program, "smoke", 0, dict(PROGRAMS[program]))
    with gpusim.simulate(model, workload) as result:
        numbers = result.summary
        return Point(
            program,
            policy,
            modules,
            int(numbers["cycles"]),
            round(numbers.get("remote_requests", 0) / numbers["transactions"], 3),
            int(numbers.get("migrations", 0)),
        )


def rows(points: Sequence[Point]) -> Iterator[Sequence[str]]:
    """A row a program: its speed-up on all modules under each policy."""
    cycles = {(one.program, one.policy, one.modules): one.cycles for one in points}
    for program in dict.fromkeys(one.program for one in points):
        alone, together = (
            [cycles[program, policy, modules] for policy in POLICIES]
            for modules in (MODULES[0], MODULES[-1])
        )
        yield f"`{program}`", *(f"{a / b:.2f}" for a, b in zip(alone, together, strict=True))


def table(points: Sequence[Point]) -> str:
    """The table of the page."""
    return grid([f"× on {MODULES[-1]}", *POLICIES], list(rows(points)))


def draw(points: Sequence[Point], path: Path) -> None:
    """Speed-up over modules, a panel a program, a line a policy."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.2), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey=True).flatten()
    for panel, program in zip(panels, PROGRAMS, strict=True):
        panel.plot(MODULES, MODULES, color="0.8", linewidth=1, label="as many times")
        for policy, marker in zip(POLICIES, "osD^", strict=True):
            own = [one for one in points if (one.program, one.policy) == (program, policy)]
            panel.plot(
                [one.modules for one in own],
                [own[0].cycles / one.cycles for one in own],
                marker=marker,
                markersize=4,
                label=policy,
            )
        panel.set_title(program, fontsize=10)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log", base=2)
        panel.set_xticks(MODULES, [str(one) for one in MODULES])
        panel.set_yticks([0.25, 0.5, 1, 2, 4, 8], ["¼", "½", "1", "2", "4", "8"])
        panel.grid(alpha=0.3)
    figure.supxlabel("GPU modules")
    figure.supylabel("speed-up")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=9)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run all of them and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--doc", type=Path, help="page whose table is replaced")
    parser.add_argument("--picture", type=Path, help="file of a picture")
    parser.add_argument("--csv", type=Path, help="file of all points; read, if it is there")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, help="programs to run")
    arguments = parser.parse_args()
    points = list(_kept(arguments.csv))
    done = {(one.program, one.policy, one.modules) for one in points}
    for program in arguments.only or PROGRAMS:
        for policy in POLICIES:
            for modules in MODULES:
                if (program, policy, modules) not in done:
                    points.append(run(program, policy, modules))
                    _keep(arguments.csv, points)
    tell(arguments.doc, PART, table(points))
    if arguments.picture is not None:
        draw(points, arguments.picture)


def _kept(path: Path | None) -> Iterator[Point]:
    if path is not None and path.exists():
        with path.open(encoding="utf-8", newline="") as stream:
            for line in csv.DictReader(stream):
                yield Point(
                    line["program"],
                    line["policy"],
                    int(line["modules"]),
                    int(line["cycles"]),
                    float(line["remote"]),
                    int(line["moved"]),
                )


def _keep(path: Path | None, points: Sequence[Point]) -> None:
    if path is not None:
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(asdict(points[0])), lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(one) for one in points)


if __name__ == "__main__":
    main()
