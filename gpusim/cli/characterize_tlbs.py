"""`gpusim characterize --tlbs`: lookups and misses of many designs of TLBs, without timing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from rich.text import Text

    from gpusim.config.load import LoadedModel
    from gpusim.studies.characterize import LevelResult, TlbResult
    from gpusim.workloads.workload import Workload


@frozen
class Asked:
    """What is to be characterized, as the command line names it.

    Attributes:
        machine: name or path of a model.
        variants, of_model: laid over it.
        program: name or path of a workload.
        scale, seed, of_workload: of it.
    """

    machine: str
    variants: tuple[str, ...]
    of_model: Mapping[str, str]
    program: str
    scale: str
    seed: int
    of_workload: Mapping[str, str]

    def model(self) -> LoadedModel:
        """The machine."""
        from gpusim.machine.load import load_model

        return load_model(self.machine, self.variants, self.of_model)

    def workload(self) -> Workload:
        """The workload."""
        from gpusim.workloads.workload import load_workload

        return load_workload(self.program, self.scale, self.seed, self.of_workload)


def print_tlbs(asked: Asked, designs: str, plot: Path | None, *, as_json: bool) -> None:
    """Print what the TLBs of designs are asked for and miss, and perhaps draw it."""
    from gpusim.cli.progress import block_progress
    from gpusim.studies.characterize import characterize_tlbs, designs_of

    looked_at = designs_of(asked.machine, designs, asked.variants, asked.of_model)
    with block_progress(unit="accesses") as progress:
        found = characterize_tlbs(asked.workload(), looked_at, progress=progress)
    if plot is not None:
        from gpusim.studies.characterize.tlb_plot import plot_tlbs

        plot_tlbs(found, plot)
    if as_json:
        print(json.dumps(found.to_json()))
        return
    _print(found)
    if plot is not None:
        from rich.text import Text

        from gpusim.cli.console import stdout_console

        stdout_console().print(Text(f"written to {plot}"))


def _print(found: TlbResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from gpusim.cli.console import stdout_console

    run = found.provenance
    table = Table(
        title=f"{run.machine} · {run.workload} · {run.scale}: TLBs without timing",
        header_style="bold",
    )
    table.add_column("design", overflow="fold")
    table.add_column("TLB")
    for name in ("entries", "ways", "lookups", "hits", "misses", "compulsory", "miss rate"):
        table.add_column(name, justify="right", no_wrap=True)
    seen: set[tuple[object, ...]] = set()
    for design in found.designs:
        title = design.name
        for level in design.levels:
            if level == design.levels[-1] or (level.shape, level.counts) not in seen:
                for row in _rows(found, level):
                    table.add_row(Text(title), *row)
                    title = ""
            seen.add((level.shape, level.counts))
        table.add_section()
    stdout_console().print(table)
    note = "misses of the last level are walks; a first level that is the same is shown once"
    stdout_console().print(Text(note))


def _rows(found: TlbResult, level: LevelResult) -> Iterator[tuple[str | Text, ...]]:
    """The cells of a level behind the name of its design, by application."""
    from rich.text import Text

    from gpusim.results.quantity import percent

    names = found.applications if len(found.applications) > 1 else ("",)
    for name, one in zip(names, level.counts, strict=True):
        yield (
            Text(f"{level.tlbs} {level.name} {name}".rstrip()),
            f"{level.entries:,}",
            f"{level.ways:,}",
            f"{one.lookups:,}",
            f"{one.hits:,}",
            f"{one.misses:,}",
            f"{one.compulsory:,}",
            percent(one.misses / one.lookups, 2) if one.lookups else "–",
        )
