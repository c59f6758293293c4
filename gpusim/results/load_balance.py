"""Balance of the loads of L2 banks and DRAM channels in two runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusim.core.metrics import FRACTION
from gpusim.results.evidence import Evidence
from gpusim.results.quantity import percent

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

UNEVEN = 1.5
"""An L2 bank or DRAM channel is hot if it has as many times the load of the mean one, …"""

MORE_UNEVEN = 1.25
"""… and as many times what the hottest of the other run has, each against its mean."""

_LOADS = (
    ("L2 bank", "l2", ("lookups",)),
    ("DRAM channel", "dram", ("data_reads", "walk_reads", "writes")),
)
"""What there is several of, and the counters that tell how busy each is."""

_SHOWN = 3
"""Hot banks or channels that are named, at most."""


def uneven_loads(a: Result, b: Result, slower: bool) -> Iterator[tuple[str, Evidence]]:
    """L2 banks and DRAM channels that have more than their share in the slower run alone."""
    run, other = ("B", "A") if slower else ("A", "B")
    for name, path, counters in _LOADS:
        shares = [_shares(result, path, counters) for result in (a, b)]
        here, there = reversed(shares) if slower else shares
        if here is None or there is None:
            continue
        most, usual = here.max() * len(here), there.max() * len(there)  # against the mean
        if most < UNEVEN or most < MORE_UNEVEN * usual:
            continue
        hot = here[here * len(here) >= UNEVEN].sort_values(ascending=False)[:_SHOWN]
        numbers = ", ".join(f"{number} ({percent(share)})" for number, share in hot.items())
        plural = "s" if len(hot) > 1 else ""
        text = f"{run} has more than an even part of its accesses at {name}{plural} {numbers} of "
        text += f"{len(here)}, {other} at most {percent(there.max())} at one of {len(there)}"
        what = f"part of the accesses that the busiest {name} has"
        before, after = (there.max(), here.max()) if slower else (here.max(), there.max())
        yield text, Evidence(what, before, after, FRACTION)


def _shares(result: Result, path: str, counters: tuple[str, ...]) -> pd.Series[float] | None:
    """The part of the accesses that each instance of a component has; None: there are none."""
    rows = result.counters
    chosen = rows[(rows.component == path) & rows.counter.isin(counters)]
    loads = chosen.groupby("instance").value.sum().astype(float)
    return loads / loads.sum() if loads.sum() else None
