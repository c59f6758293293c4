"""Pages that were waited for, and the longest page walks, from recorded events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

from gpusim.results.transactions import line_and_page

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results import Result


@frozen(eq=False)
class StalledPages:
    """The pages whose translation was waited for.

    Attributes:
        top: those waited for most, the first one most: app (its index), vpn, transactions, their
            cycles, waited (of these, those spent waiting for translation; never 0).
        pages: how many pages were accessed.
        waited: transaction-cycles that were spent waiting for translation, for all pages.
    """

    top: pd.DataFrame = field(repr=False)
    pages: int
    waited: int


def stalled_pages(result: Result, count: int) -> StalledPages:
    """The `count` pages for whose translation transactions waited most, of recorded `requests`.

    Tables are read in chunks: memory grows with the number of pages, not of transactions.
    """
    import pandas as pd

    lines = line_and_page(result)[1]
    keys = ["app", "vpn"]
    sums = pd.DataFrame(columns=[*keys, "transactions", "cycles", "waited"], dtype="int64")
    for chunk in result.chunks("requests", ["app", "vline", "begin", "end", "first_stage"]):
        if len(chunk):
            found = pd.DataFrame(
                {
                    "app": chunk.app.astype("int64"),
                    "vpn": chunk.vline // lines,
                    "transactions": 1,
                    "cycles": chunk.end - chunk.begin,
                    "waited": _waited(result, chunk),
                }
            )
            sums = pd.concat([sums, found]).groupby(keys, as_index=False).sum()
    ordered = sums[sums.waited > 0].sort_values(["waited", *keys], ascending=[False, True, True])
    return StalledPages(ordered.head(count), len(sums), int(sums.waited.sum()))


def _waited(result: Result, requests: pd.DataFrame) -> pd.Series[int]:
    """Cycles that each of some requests waited for translation."""
    after = result.table("requests", requests.index[-1] + 1, requests.index[-1] + 2)
    last = int(after.first_stage.iloc[0]) if len(after) else None
    stages = result.table(
        "stages", int(requests.first_stage.iloc[0]), last, ["request", "state", "begin", "end"]
    )
    waits = stages[stages.state.isin(result.translation_states)]
    cycles = (waits.end - waits.begin).groupby(waits.request).sum()
    return cycles.reindex(requests.index, fill_value=0)


def walks_of(result: Result, pages: pd.DataFrame) -> list[int]:
    """How often each of some pages (app, vpn) was walked for, of recorded `walks`."""
    counts = dict.fromkeys(zip(pages.app.tolist(), pages.vpn.tolist(), strict=True), 0)
    for chunk in result.chunks("walks", ["app", "vpn"]):
        found = chunk[chunk.vpn.isin(pages.vpn)].value_counts(["app", "vpn"])
        for page, walks in found.items():
            if page in counts:
                counts[page] += walks
    return list(counts.values())


def slowest_walks(result: Result, count: int) -> pd.DataFrame:
    """The `count` recorded `walks` that took longest from their arrival at the walkers.

    Returns:
        the columns of the table, and cycles; the longest first, of equals the one that ended first.
    """
    import pandas as pd

    winners = []
    for chunk in result.chunks("walks"):
        cycles = chunk.finished - chunk.requested
        winners.append(chunk.assign(cycles=cycles).nlargest(count, "cycles"))
    return pd.concat(winners).nlargest(count, "cycles")
