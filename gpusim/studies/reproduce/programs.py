"""A paper's programs, by its own names."""

from __future__ import annotations

from gpusim.workloads.library import Entry, paper_workloads
from gpusim.workloads.tables import SCALES, ApplicationTable


def entries_of(paper: str) -> dict[str, Entry]:
    """The programs and mixes of a collection of ``workloads/papers``, by the paper's names."""
    return {entry.name.partition("/")[2]: entry for entry in paper_workloads(paper)}


def is_program(entry: Entry) -> bool:
    """Whether it is one application, not a mix of several."""
    return len(entry.table.applications) == 1


def programs_of(paper: str, kind: str = "") -> dict[str, str]:
    """The shipped workload of each program of a paper, by the paper's name, in its order; no mixes.

    A program that the paper runs at sizes of its own has the paper's name, too; others have their
    shipped names, so that papers share their runs.

    Args:
        paper: a collection of ``workloads/papers``.
        kind: only those whose stated class begins with this.
    """
    return {
        name: _runs(entry, *entry.table.applications)
        for name, entry in entries_of(paper).items()
        if is_program(entry) and str(entry.table.stated.get("class", "")).startswith(kind)
    }


def _runs(entry: Entry, application: ApplicationTable) -> str:
    own = any(getattr(application, scale) is not None for scale in SCALES)
    return entry.name if own else str(application.workload)
