"""The life of single memory transactions, stage by stage, from the recorded `requests`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import asdict, field, frozen

from gpusim.core.errors import UserError, nearest
from gpusim.core.request import Kind
from gpusim.core.states import State
from gpusim.files.units import parse_bytes, parse_duration, parse_hertz
from gpusim.results.flat_toml import by_dotted_key
from gpusim.results.inconsistent_file import misread
from gpusim.results.result import JsonValue, Result

if TYPE_CHECKING:
    import pandas as pd

_REQUEST = ("app", "sm", "warp", "kind", "vline", "begin", "end")


@frozen
class WalkWait:
    """The page walk that a transaction waited for.

    Attributes:
        row: of the walk in `walks`.
        sm: whose translation the walk was for; -1 for none.
        requested, started, finished: cycles in which it arrived at the walkers, got one, and was
            done.
        levels: of the page table that it read.
        joined: whether the transaction joined a translation that another one had begun, in a TLB
            or at the walkers, as its stages show.  If not, it asked for the walk itself (or, where
            an SM starts several transactions a cycle, in the same cycle as the one that did; or,
            where misses of an SM do not merge, it joined while a deeper TLB still looked).
    """

    row: int
    sm: int
    requested: int
    started: int
    finished: int
    levels: int
    joined: bool

    @property
    def queued_cycles(self) -> int:
        """How long the walk waited for a walker."""
        return self.started - self.requested


@frozen(eq=False)
class Life:
    """One memory transaction.

    Attributes:
        row: its row in `requests`.
        app: its application.
        sm, warp: where it came from; -1 for a transaction of none.
        kind: load, store, atomic or reduce.
        vline, vpn: virtual line and page number.
        address: virtual byte address of the line.
        array: that it lies in, as the program names it; empty: in none.
        begin, end: issue of its instruction, and its answer.
        stages: stage, begin, end, cycles, share; the stages tile the life.
        walk: the page walk that it waited for; None if it did not, or `walks` was not recorded.
    """

    row: int
    app: str
    sm: int
    warp: int
    kind: str
    vline: int
    vpn: int
    address: int
    array: str
    begin: int
    end: int
    stages: pd.DataFrame = field(repr=False)
    walk: WalkWait | None

    @property
    def cycles(self) -> int:
        """From the issue of its instruction to its answer."""
        return self.end - self.begin

    def to_json(self) -> dict[str, JsonValue]:
        """Everything in plain JSON types."""
        stages: list[Any] = self.stages.to_dict("records")
        return {**asdict(self), "cycles": self.cycles, "stages": stages}


def slowest_requests(
    result: Result,
    count: int = 10,
    *,
    app: str | None = None,
    sm: int | None = None,
    warp: int | None = None,
) -> pd.DataFrame:
    """The transactions that took longest, the longest first, of equals the one answered first.

    The table is read in chunks: memory does not grow with it.

    Args:
        result: a run with recorded `requests`.
        count: how many.
        app: only transactions of this application.
        sm: only those of this SM.
        warp: only those of this warp.

    Returns:
        app, sm, warp, kind, vline, vpn, begin, end, cycles; indexed by rows in `requests`.

    Raises:
        UserError: `requests` were not recorded, or there is no such application.
    """
    with misread(result):
        return _slowest(result, count, app, sm, warp)


def _slowest(
    result: Result, count: int, app: str | None, sm: int | None, warp: int | None
) -> pd.DataFrame:
    import pandas as pd

    _expect_requests(result)
    apps = result.applications.name.tolist()
    if app is not None and app not in apps:
        raise UserError(
            f"{result.name} has no application {app!r}{nearest(app, apps)}; "
            f"there is: {', '.join(apps)}"
        )
    wanted = {"app": None if app is None else apps.index(app), "sm": sm, "warp": warp}
    winners = []
    for chunk in result.chunks("requests", _REQUEST):
        chosen = chunk.assign(cycles=chunk.end - chunk.begin)
        for column, value in wanted.items():
            if value is not None:
                chosen = chosen[chosen[column] == value]
        winners.append(chosen.nlargest(count, "cycles"))
    found = pd.concat(winners).nlargest(count, "cycles").rename_axis("request")
    found.insert(5, "vpn", found.vline // line_and_page(result)[1])
    found["app"] = [apps[index] for index in found.app]
    found["kind"] = [_kind_name(kind) for kind in found.kind]
    return found


def follow(result: Result, row: int) -> Life:
    """The life of the transaction in a row of `requests`.

    Raises:
        UserError: `requests` were not recorded, or there is no such row.
    """
    with misread(result):
        return _follow(result, row)


def _follow(result: Result, row: int) -> Life:
    _expect_requests(result)
    rows = result.tables["requests"]
    if not 0 <= row < rows:
        raise UserError(f"{result.name} has no request {row}; allowed: 0 to {rows - 1}")
    request, *following = result.table("requests", row, row + 2).to_dict("records")
    last = following[0]["first_stage"] if following else None
    stages = result.table("stages", request["first_stage"], last, ["state", "begin", "end"])
    line_bytes, lines_per_page = line_and_page(result)
    vpn = request["vline"] // lines_per_page
    app = result.applications.to_dict("records")[request["app"]]
    return Life(
        row=row,
        app=app["name"],
        sm=request["sm"],
        warp=request["warp"],
        kind=_kind_name(request["kind"]),
        vline=request["vline"],
        vpn=vpn,
        address=request["vline"] * line_bytes,
        array=_array(result, app["name"], request["vline"] * line_bytes, line_bytes),
        begin=request["begin"],
        end=request["end"],
        stages=_named(result, stages),
        walk=_walk(result, app["asid"], vpn, request["sm"], stages),
    )


def _array(result: Result, app: str, address: int, size: int) -> str:
    """The array to which a line belongs; empty: to none."""
    arrays = result.arrays
    own = arrays[(arrays.app == app) & (arrays.base < address + size)]
    own = own[own.base + own.bytes > address]
    return "" if own.empty else str(own.iloc[0]["name"])


def _named(result: Result, stages: pd.DataFrame) -> pd.DataFrame:
    cycles = stages.end - stages.begin
    frame = stages[["begin", "end"]].assign(cycles=cycles, share=cycles / max(cycles.sum(), 1))
    frame.insert(0, "stage", [result.states[state] for state in stages.state])
    return frame.reset_index(drop=True)


def _walk(result: Result, asid: int, vpn: int, sm: int, stages: pd.DataFrame) -> WalkWait | None:
    """The walk of the page during the stages in which the transaction waited for one.

    Walks of one page do not overlap: while one is under way, all requests for the page join it.
    """
    waits = stages[stages.state.isin((State.WALKER, State.WALK))]
    if waits.empty or "walks" not in result.tables:
        return None
    begin, end = int(waits.begin.min()), int(waits.end.max())
    for walks in result.chunks("walks"):
        found = walks[
            (walks.asid == asid)
            & (walks.vpn == vpn)
            & (walks.requested < end)
            & (walks.finished > begin)
        ]
        for row, walk in zip(found.index.tolist(), found.to_dict("records"), strict=True):
            late = walk["sm"] != sm or begin > walk["requested"]
            return WalkWait(
                row=row,
                sm=walk["sm"],
                requested=walk["requested"],
                started=walk["started"],
                finished=walk["finished"],
                levels=walk["levels"],
                joined=late or not _looked_up(result, stages),
            )
    return None


def _looked_up(result: Result, stages: pd.DataFrame) -> bool:
    """Whether a whole lookup in the first TLB came right before the deeper levels and walkers.

    Transactions that merge with a lookup under way see only its end.
    """
    config = by_dotted_key(result.config_toml)
    level = result.states[State.TLB].removeprefix("tlb_")
    keys = [f"tlb.{level}.latency"]
    if config["l1.translation"] == "after":  # a miss of a virtual L1 cache is in its lookup, too
        keys.append("l1.latency")
    clock = parse_hertz(str(config["clock"]))
    whole = sum(parse_duration(str(config[key])).cycles(clock) for key in keys)
    deeper = stages.state.isin(result.translation_states) & stages.state.ne(State.TLB)
    before = stages.loc[: deeper.idxmax()].iloc[:-1].tail(1)
    lookups = before[before.state == State.TLB]
    return int((lookups.end - lookups.begin).sum()) >= whole


def line_and_page(result: Result) -> tuple[int, int]:
    """Bytes of a line, and lines of a page."""
    config = by_dotted_key(result.config_toml)
    line_bytes = parse_bytes(str(config["l1.line"]))
    return line_bytes, parse_bytes(str(config["memory.page"])) // line_bytes


def _kind_name(kind: int) -> str:
    return Kind(kind).name.lower()


def _expect_requests(result: Result) -> None:
    if "requests" not in result.tables:
        raise UserError(
            f"{result.name} has no recorded requests: run it again with --record requests "
            "(and walks, to see the page walks)"
        )
