"""An hour of one run: whether it stays as fast, and as small, as it was in its first minutes.

Run with ``gpusim study endurance GRAPH_FILE [--minutes 60] [--out FOLDER]``:
breadth-first searches of a graph (all blocks; from the best-connected vertex, then from the next,
and so on until the time is over) are one program of one run on ``kepler-uvm``.  Transactions a
second and the memory of the process are written to ``endurance.csv`` and drawn.  Time is the
processor's, so that whatever else the machine does shows less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from attrs import frozen
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from gpusim.core.version import form
from gpusim.core.warp_program import Launch
from gpusim.machine import Machine, Tenant
from gpusim.machine.load import load_model
from gpusim.programs.catalog import program_of
from gpusim.programs.graphs.files import read_graph
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Program
from gpusim.programs.rodinia.bfs import bfs
from gpusim.runs.monitor import Progress, now_and_then, sample
from gpusim.runs.run import run_machine
from gpusim.studies.scripts import FOLDER
from gpusim.views import plots

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

MODEL = "kepler-uvm"
LOOK_SECONDS = 15


@frozen
class Look:
    """The run at one moment: minutes of the processor's time, and counts and MB up to it."""

    minutes: float
    cycles: int
    transactions: int
    megabytes: float


class Searches(Program):
    """Searches of one graph, one after the other in the same arrays, until the time is over.

    Attributes:
        number: searches begun.
    """

    def __init__(self, graph: Graph, until: float) -> None:
        super().__init__("bfs")
        self._graph = graph
        self._until = until
        self._sources = [int(vertex) for vertex in np.argsort(-graph.degrees, kind="stable")]
        self.memory = self._search(0).memory
        self.number = 0

    def _search(self, number: int) -> Program:
        source = self._sources[number % len(self._sources)]
        kind = program_of(bfs)
        return kind.start(kind.parameters(source=source), self._graph, 0)

    def launches(self) -> Iterator[Launch]:
        while time.process_time() < self._until:
            self.number += 1
            for launch in self._search(self.number - 1).launches():
                yield launch
                if time.process_time() >= self._until:
                    return


def endure(graph: Graph, minutes: float) -> list[Look]:
    """Search for some minutes, with a look now and then; the run is checked for conservation."""
    model = load_model(MODEL)
    began = time.process_time()
    program = Searches(graph, began + minutes * 60)
    machine = Machine(model.config, [Tenant("bfs", program, range(model.config.sm.count))], seed=0)
    process = psutil.Process()
    looks: list[Look] = []

    def look(progress: Progress) -> None:
        looks.append(
            Look(
                minutes=(time.process_time() - began) / 60,
                cycles=progress.cycle,
                transactions=progress.transactions,
                megabytes=process.memory_info().rss / 1e6,
            )
        )

    columns = (BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Bar(*columns) as bar:
        shown = bar.add_task("", total=minutes)

        def report(progress: Progress) -> None:
            if looks and time.process_time() < began + looks[-1].minutes * 60 + LOOK_SECONDS:
                return
            look(progress)
            label = f"search {program.number}, {progress.transactions:,} transactions"
            bar.update(shown, completed=looks[-1].minutes, description=label)

        machine.env.start(now_and_then(machine, report), onlooker=True)
        run_machine(machine)
        look(sample(machine, done=True))
    return looks


def rates(looks: list[Look]) -> pd.DataFrame:
    """By minute: thousand transactions a second in that minute, and MB at its end."""
    table = pd.DataFrame([(one.minutes, one.transactions, one.megabytes) for one in looks])
    table.columns = pd.Index(["minute", "transactions", "MB"])
    table["minute"] = np.ceil(table["minute"]).astype(int)
    last = table.groupby("minute").last()
    at = pd.Series([one.minutes for one in looks]).groupby(table["minute"].to_numpy()).last()
    seconds = at.diff() * 60
    last["thousand a second"] = last["transactions"].diff() / seconds / 1000
    return last.dropna()


def draw(table: pd.DataFrame, file: Path) -> None:
    """Both over time, one above the other."""
    figure = plots.new_figure("page", 2.2)
    for axes, column in zip(figure.subplots(1, 2), ("thousand a second", "MB"), strict=True):
        axes.plot(table.index, table[column])
        axes.set(xlabel="minute", ylabel=column.replace("thousand", "thousand transactions"))
        axes.set_ylim(bottom=0)
    plots.save(figure, file)


def main() -> None:
    """Run, write, draw, and print what there is to see."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="a graph file")
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="of processor time (default 60)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=FOLDER / "endurance",
        help="folder of the results (default: %(default)s)",
    )
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    graph = read_graph(arguments.graph)
    looks = endure(graph, arguments.minutes)
    table = rates(looks)
    table.to_csv(arguments.out / "endurance.csv")
    draw(table, arguments.out / "endurance.png")
    end = looks[-1]
    print(
        f"{graph.name}, {form()}: {end.transactions:,} transactions, {end.cycles:,} cycles in "
        f"{end.minutes:.1f} minutes"
    )
    print(table.describe().loc[["min", "50%", "max"]].to_string())


if __name__ == "__main__":
    main()
