"""Sizes of the shipped workloads: a table that ``experiments.workload_sizes`` measures."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.files.contents import while_unchanged
from gpusim.files.shipped import data_folder
from gpusim.workloads.library import Entry, find_workload, referenced
from gpusim.workloads.tables import SCALES, Timed

if TYPE_CHECKING:
    from gpusim.workloads.workload import Workload


@frozen
class Size:
    """Size of a workload at a scale.

    Attributes:
        footprint: bytes of all arrays.
        transactions: coalesced transactions (128-byte lines, warps of 32) of one run; None: not
            counted.
        estimated: whether they are extrapolated from a part of the thread blocks.
    """

    footprint: int
    transactions: int | None
    estimated: bool = False


def size_of(entry: Entry, scale: str) -> Size | None:
    """The size of a workload; of several applications the sum; None: not measured."""
    known = read_sizes(sizes_file()).get((entry.name, scale))
    if known is not None:
        return known
    parts = []
    for index, application in enumerate(entry.table.applications):
        if application.workload is None:
            return None
        part = size_of(referenced(entry, index), scale)
        if part is None:
            return None
        parts.append(part)
    counts = [part.transactions for part in parts if part.transactions is not None]
    return Size(
        sum(part.footprint for part in parts),
        sum(counts) if len(counts) == len(parts) else None,
        any(part.estimated for part in parts),
    )


def expected_transactions(workload: Workload) -> int | None:
    """About how many transactions a run of a shipped workload has; None: it is not known.

    Nothing is known of one of which a parameter was replaced, or of which a part is timed.
    """
    if workload.overrides or workload.relaunch or workload.timed != Timed():
        return None
    if workload.scale not in SCALES:  # a trace: to look for its name would import all programs
        return None
    try:
        size = size_of(find_workload(workload.name), workload.scale)
    except UserError:  # a file of the user's, a trace, addresses
        return None
    return None if size is None else size.transactions


def sizes_file() -> Path:
    """Where the table is."""
    return data_folder("workloads") / "sizes.csv"


@while_unchanged(2)
def read_sizes(path: Path) -> dict[tuple[str, str], Size]:
    """The table, by workload and scale; empty if there is none."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            (row["workload"], row["scale"]): Size(
                int(row["footprint"]),
                int(row["transactions"]) if row["transactions"] else None,
                row["estimated"] == "yes",
            )
            for row in csv.DictReader(file)
        }


def write_sizes(path: Path, sizes: dict[tuple[str, str], Size]) -> None:
    """Write the table, sorted."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["workload", "scale", "footprint", "transactions", "estimated"])
        for (name, scale), size in sorted(sizes.items()):
            count = "" if size.transactions is None else size.transactions
            writer.writerow([name, scale, size.footprint, count, "yes" if size.estimated else ""])
