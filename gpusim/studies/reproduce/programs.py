"""A paper's programs, by its own names."""

from __future__ import annotations

from gpusim.workloads.library import Entry, paper_workloads
from gpusim.workloads.tables import SCALES, ApplicationTable


def programs_of(paper: str, kind: str = "") -> dict[str, str]:
    """The shipped workload of each program of a paper, by the paper's name, in its order; no mixes.

    A program that the paper runs at sizes of its own has the paper's name, too; others have their
    shipped names, so that papers share their runs.

    Args:
        paper: a collection of ``workloads/papers``.
        kind: only those whose stated class begins with this.
    """
    return {
        entry.name.partition("/")[2]: _runs(entry, *entry.table.applications)
        for entry in paper_workloads(paper)
        if len(entry.table.applications) == 1
        and str(entry.table.stated.get("class", "")).startswith(kind)
    }


def _runs(entry: Entry, application: ApplicationTable) -> str:
    own = any(getattr(application, scale) is not None for scale in SCALES)
    return entry.name if own else str(application.workload)
