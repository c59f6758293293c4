"""Holds the DRAM model against figures of trusted DRAM simulators.

::

    gpusim study validate-dram --reference DIR [--json]

`DIR` is a folder of reference figures: `reference.json` (configurations, runs, isolated latencies),
one ``{dram}_{n}ch_{stream}.npz`` a request stream and ``arrivals_{dram}_{n}ch.npz``.  Every run of
a configuration that the model claims to match is repeated with `gpusim.hardware.dram.DramChannel`
itself; exit status 1 says that one is out of bounds.  `docs/validation.md` explains what is
compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen
from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.dram_streams import Figures, Stream, drive
from gpusim.config.dram import DramConfig
from gpusim.config.dram_standards.gddr5 import GDDR5
from gpusim.config.dram_standards.hbm2 import HBM2
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import cycles

PRESETS = {"gddr5": GDDR5, "hbm2": HBM2}

TIMING_KEYS = {
    "nRRD": ("RRDS", "RRDL"),
    "nWTR": ("WTRS", "WTRL"),
    "nRTPL": ("RTP",),
    "n32AW": ("A32W",),
}
"""Where the reference's name of a constraint is not ours with an ``n`` in front."""


@frozen
class Claim:
    """What the model claims: relative bounds for one configuration of the reference.

    Attributes:
        bandwidth, latency: largest difference allowed.
        scheduler: ours.
        refresh: whether the DRAM is refreshed.
    """

    bandwidth: float
    latency: float
    scheduler: str
    refresh: bool = True


CLAIMS = {
    ("ramulator1", "gddr5", "frfcfs_priorhit"): Claim(0.03, 0.06, "fr-fcfs"),
    ("ramulator1", "gddr5", "frfcfs_priorhit_norefresh"): Claim(0.03, 0.06, "fr-fcfs", False),
    ("ramulator1", "gddr5", "fcfs"): Claim(0.05, 0.05, "fcfs"),
    ("ramulator2.1", "gddr5", "fcfs"): Claim(0.05, 0.05, "fcfs"),
    ("ramulator2.1", "gddr5", "fcfs_norefresh"): Claim(0.05, 0.05, "fcfs", False),
    ("ramulator2.1", "hbm2", "fcfs"): Claim(0.05, 0.05, "fcfs"),
    ("ramulator2.1", "hbm2", "base"): Claim(0.03, 0.06, "fr-fcfs"),
    ("ramulator2.1", "hbm2", "norefresh"): Claim(0.03, 0.06, "fr-fcfs", False),
}


@frozen
class Job:
    """One run to repeat: everything that a worker process needs."""

    stream: Stream
    dram: DramConfig
    reference: dict[str, Any]
    bandwidth_bound: float
    latency_bound: float


@frozen
class Row:
    """One line of the table: ours against the reference's; latencies in DRAM clocks."""

    simulator: str
    dram: str
    config: str
    stream: str
    load: str
    source: str
    bandwidth: float
    bandwidth_reference: float
    bandwidth_bound: float
    latency: float
    latency_reference: float
    latency_bound: float

    @property
    def bandwidth_difference(self) -> float:
        """Relative to the reference."""
        return self.bandwidth / self.bandwidth_reference - 1

    @property
    def latency_difference(self) -> float:
        """Relative to the reference."""
        return self.latency / self.latency_reference - 1

    @property
    def passed(self) -> bool:
        """Whether both differences are within their bounds."""
        return (
            abs(self.bandwidth_difference) <= self.bandwidth_bound
            and abs(self.latency_difference) <= self.latency_bound
        )


@frozen
class Isolated:
    """One isolated request: latency from acceptance, in DRAM clocks, ours and the reference's."""

    trace: str
    label: str
    latency: int
    latency_reference: int

    @property
    def passed(self) -> bool:
        """Whether it is exact."""
        return self.latency == self.latency_reference


class Reference:
    """A folder of reference figures.

    Args:
        folder: laid out as the module's docstring says.

    Raises:
        UserError: something is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / "reference.json"
        try:
            self.data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(
                f"{path}: {error.strerror}; --reference takes a folder of DRAM reference figures"
            ) from error
        except ValueError as error:
            raise UserError(f"{path}: damaged: {error}") from error
        missing = [key for key in ("configs", "runs", "micro") if key not in self.data]
        if missing:
            raise UserError(f"{path}: there is no key {missing[0]!r}")

    def dram(self, run: dict[str, Any], claim: Claim) -> DramConfig:
        """The DRAM table that matches a run."""
        preset = PRESETS[run["dram"]]
        timing = {}
        for key, clocks in self.data["configs"][run["dram"]]["timing_cycles"].items():
            for name in TIMING_KEYS.get(key, (key.removeprefix("n"),)):
                if hasattr(preset.timing, name):
                    timing[name] = cycles(clocks)
        if not claim.refresh:
            timing["REFI"] = cycles(0)
        return evolve(
            preset,
            timing=evolve(preset.timing, **timing),
            channels=run["channels"],
            scheduler=PolicyConfig(claim.scheduler),
            drain_low=int(0.2 * 32) / 32 if run["simulator"] == "ramulator1" else 0.2,
        )

    def jobs(self) -> Iterator[Job]:
        """All runs that the model claims to match."""
        for run in self.data["runs"]:
            plain = run["config"].removesuffix("_8ch")
            claim = CLAIMS.get((run["simulator"], run["dram"], plain))
            if claim is None:
                continue
            name = f"{run['dram']}_{run['channels']}ch"
            peak = self.data["configs"][run["dram"]]["peak_request_interval_cycles"]
            stream = Stream(
                self.folder / f"{name}_{run['stream']}.npz",
                self.folder / f"arrivals_{name}.npz",
                run["load"],
                run.get("source") == "per_channel_source",
                peak / run["channels"],
            )
            gap = self._gap(run, plain)
            yield Job(
                stream, self.dram(run, claim), run, claim.bandwidth + gap[0], claim.latency + gap[1]
            )

    def _gap(self, run: dict[str, Any], config: str) -> tuple[float, float]:
        """How far ``base`` is from ``frfcfs_priorhit``, measured on GDDR5 by the reference.

        ``base`` does not protect row hits and our FR-FCFS does; where only ``base`` is known
        (HBM2), what this alone makes of the same stream and load is allowed on top.
        """
        if run["dram"] != "hbm2" or config not in ("base", "norefresh"):
            return 0.0, 0.0
        found = {}
        for other in self.data["runs"]:
            same = all(other.get(k) == run.get(k) for k in ("stream", "load", "channels", "source"))
            if other["dram"] == "gddr5" and same:
                found[other["simulator"], other["config"].removesuffix("_8ch")] = other
        base = found.get(("ramulator1", "base"))
        protecting = found.get(("ramulator1", "frfcfs_priorhit"))
        if base is None or protecting is None:
            return 0.0, 0.0
        return (
            abs(base["bw_frac_overall"] / protecting["bw_frac_overall"] - 1),
            abs(base["read_lat_accept_mean"] / protecting["read_lat_accept_mean"] - 1),
        )

    def isolated(self) -> Iterator[Isolated]:
        """The isolated requests of the Ramulators with open rows, repeated without refresh."""
        for trace, requests in self.data["micro"].items():
            simulator, dram, *_ = trace.split("_")
            if not simulator.startswith("ramulator") or not trace.endswith("_open"):
                continue
            run = {"simulator": simulator, "dram": dram, "channels": 1}
            table = self.dram(run, Claim(0, 0, "fr-fcfs", refresh=False))
            figures = drive(
                table,
                [one["address"] for one in requests],
                [bool(one["is_write"]) for one in requests],
                [one["arrival"] for one in requests],
            )
            for number, latency in sorted(figures.latencies.items()):
                one = requests[number]
                yield Isolated(trace, one["label"], latency, one["latency"])


def repeat(job: Job) -> Row:
    """Run one job."""
    addresses, writes, arrivals = job.stream.load()
    figures: Figures = drive(job.dram, addresses, writes, arrivals, job.stream.per_channel)
    run = job.reference
    return Row(
        run["simulator"],
        run["dram"],
        run["config"],
        run["stream"],
        run["load"],
        run.get("source", ""),
        len(addresses) * job.stream.interval / figures.makespan,
        run["bw_frac_overall"],
        job.bandwidth_bound,
        figures.read_latency,
        run["read_lat_accept_mean"],
        job.latency_bound,
    )


def compare(reference: Reference, console: Console) -> tuple[list[Row], list[Isolated]]:
    """Repeat everything, as many runs at once as there are processors."""
    isolated = list(reference.isolated())
    jobs = list(reference.jobs())
    if not jobs:
        raise UserError(f"{reference.folder}/reference.json: no run of a configuration we match")
    for stream in dict.fromkeys(job.stream for job in jobs):
        stream.load()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        rows = list(
            track(
                pool.map(repeat, jobs),
                "repeating runs",
                len(jobs),
                console=console,
                disable=not console.is_terminal,
                transient=True,
            )
        )
    return rows, isolated


def table_of(rows: list[Row]) -> Table:
    """The runs as a table."""
    table = Table(title="DRAM against the reference: bandwidth (of peak) and mean read latency")
    for heading in ("dram", "config", "stream", "load", "source"):
        table.add_column(heading, no_wrap=True)
    for heading in ("bw", "ref", "diff %", "latency", "ref", "diff %", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.dram,
            f"{row.simulator} {row.config}",
            row.stream,
            row.load,
            row.source.removesuffix("_source"),
            f"{row.bandwidth:.4f}",
            f"{row.bandwidth_reference:.4f}",
            f"{100 * row.bandwidth_difference:+.2f}",
            f"{row.latency:.2f}",
            f"{row.latency_reference:.2f}",
            f"{100 * row.latency_difference:+.2f}",
            "ok" if row.passed else "[red]OUT[/red]",
        )
    return table


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="gpusim study validate-dram", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--reference", type=Path, required=True, help="folder of reference figures")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    options = parser.parse_args(arguments)
    try:
        rows, isolated = compare(Reference(options.reference), Console(stderr=True))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    failed = sum(not row.passed for row in rows) + sum(not one.passed for one in isolated)
    if options.json:
        print(
            json.dumps(
                {
                    "passed": not failed,
                    "runs": [{**asdict(row), "passed": row.passed} for row in rows],
                    "isolated": [{**asdict(one), "passed": one.passed} for one in isolated],
                },
                indent=1,
            )
        )
        return int(failed > 0)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table_of(rows))
    for one in isolated:
        if not one.passed:
            console.print(f"{one.trace} {one.label}: {one.latency}, not {one.latency_reference}")
    exact = sum(one.passed for one in isolated)
    console.print(f"isolated latencies: {exact} of {len(isolated)} exact")
    console.print(f"runs: {sum(row.passed for row in rows)} of {len(rows)} within bounds")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
