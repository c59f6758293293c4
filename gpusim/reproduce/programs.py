"""A paper's programs, by its own names."""

from __future__ import annotations

from gpusim.programs.library import paper_workloads


def programs_of(paper: str, kind: str = "") -> dict[str, str]:
    """The shipped workload of each program of a paper, by the paper's name, in its order.

    Runs use the shipped names, so that papers share them.

    Args:
        paper: a collection of ``workloads/papers``.
        kind: only those whose stated class begins with this.
    """
    return {
        entry.name.partition("/")[2]: str(entry.table.applications[0].workload)
        for entry in paper_workloads(paper)
        if str(entry.table.stated.get("class", "")).startswith(kind)
    }
