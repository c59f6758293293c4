"""Two runs side by side: what got faster, where the cycles went instead, and what was changed."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from attrs import asdict, field, frozen

from gpusim.results.cause import Cause, likely_cause
from gpusim.results.flat_toml import by_dotted_key
from gpusim.results.inconsistent_file import misread
from gpusim.results.quantity import format_change, times
from gpusim.results.result import JsonValue, Result

if TYPE_CHECKING:
    import pandas as pd

_WORK = "workload."
"""In front of the keys of `Comparison.config` that tell of the work, not of the machine."""


@frozen(eq=False)
class Comparison:
    """Run B against run A.  A number that a run does not have is NaN.

    Attributes:
        a, b: names of the two files.
        same: whether both have the same digest: the same machine, work and result.
        summary: headline numbers by name: a, b, change (b - a), ratio (b / a), unit, description.
        stalls: app, state, a, b, change in warp-cycles; share_a, share_b, share_change of all
            warp-cycles of the run.  The largest change comes first; a state that a machine does
            not have counts as 0.
        counters: component, counter, unit, a, b, change, ratio; summed over instances and
            applications.  First comes what moved most, in number and in proportion: the largest
            ``|b - a| / √(a + b)``, the change in standard deviations of random counts.
        config: key, a, b of all values of machine and work that differ; None where a run does
            not have the key.  Keys of the work begin with ``workload.``.
        cause: why B is slower, or faster, as far as the numbers tell.
    """

    a: str
    b: str
    same: bool
    cause: Cause
    summary: pd.DataFrame = field(repr=False)
    stalls: pd.DataFrame = field(repr=False)
    counters: pd.DataFrame = field(repr=False)
    config: pd.DataFrame = field(repr=False)

    @property
    def speedup(self) -> float:
        """How many times as fast as A B is, in simulated time."""
        a, b = (float(self.summary[run]["time"]) for run in ("a", "b"))
        return a / b if b else math.nan

    @property
    def warning(self) -> str:
        """Why the two cannot simply be compared: what differs in the work.  Empty if nothing."""
        work = self.config[self.config.key.str.startswith(_WORK)]
        rows = [(key.removeprefix(_WORK), a, b) for key, a, b in work.to_numpy().tolist()]
        if any(key == "name" for key, _, _ in rows):  # then their parameters need no comparison
            rows = [row for row in rows if "." not in row[0]]
        different = ", ".join(f"{key} {_shown(a)} / {_shown(b)}" for key, a, b in rows)
        return f"A and B did not do the same work: {different}" if different else ""

    @property
    def sentence(self) -> str:
        """What happened, in plain words."""
        if self.same:
            return "A and B have the same machine, work and result"
        name = "cycles" if self.summary.ratio["core_clock"] == 1 else "time"
        a, b = (float(self.summary[run][name]) for run in ("a", "b"))
        if a == b:
            return f"B takes as long as A ({name} {_long(a, name)})"
        lengths = f"{name} {_long(a, name)} → {_long(b, name)}"
        if not a or not b:
            return f"A and B cannot be compared ({lengths})"
        how = f"is {times(a / b)} as fast as" if b < a else f"takes {times(b / a)} as long as"
        return f"B {how} A ({lengths}){self._most(b - a)}"

    def _most(self, direction: float) -> str:
        """The state that shrank most where B is faster, or grew most where it is slower."""
        fitting = self.stalls[self.stalls.change * direction > 0]
        if fitting.empty:
            return ""
        row = fitting.to_dict("records")[0]
        state, a, b = row["state"], row["a"], row["b"]
        where = state if self.stalls.app.nunique() == 1 else f"{state} of {row['app']}"
        how = f"{a:,} → {b:,}" + (f", {format_change(a, b)}" if a else "")
        what = "grew" if direction > 0 else "shrank"
        return f"; what {what} most: warp-cycles in {where} ({how})"

    def to_json(self) -> dict[str, JsonValue]:
        """Everything in plain JSON types; NaN becomes null."""
        speedup = self.speedup
        return {
            "a": self.a,
            "b": self.b,
            "sentence": self.sentence,
            "warning": self.warning,
            "cause": asdict(self.cause),
            "speedup": None if math.isnan(speedup) else speedup,
            "summary": _records(self.summary.rename_axis("name").reset_index()),
            "stalls": _records(self.stalls),
            "counters": _records(self.counters),
            "config": _records(self.config),
        }


def compare(a: Result, b: Result) -> Comparison:
    """How run `b` differs from run `a`: in what was run, and in what came of it.

    Raises:
        UserError: a file is damaged.
    """
    with misread(a, b):
        summary, stalls = _summary(a, b), _stalls(a, b)
        return Comparison(
            a=a.name,
            b=b.name,
            same=a.digest == b.digest,
            cause=likely_cause(a, b, summary, stalls),
            summary=summary,
            stalls=stalls,
            counters=_counters(a, b),
            config=_config(a, b),
        )


def _summary(a: Result, b: Result) -> pd.DataFrame:
    import pandas as pd

    values = {"a": pd.Series(a.summary, dtype=float), "b": pd.Series(b.summary, dtype=float)}
    frame = pd.DataFrame(values, index=list(dict.fromkeys((*a.summary, *b.summary))))
    _add_change(frame)
    for column, texts in (
        ("unit", b.summary_units | a.summary_units),
        ("description", b.summary_descriptions | a.summary_descriptions),
    ):
        frame[column] = [texts[name] for name in frame.index]
    return frame


def _stalls(a: Result, b: Result) -> pd.DataFrame:
    import pandas as pd

    sums = {
        name: result.stalls.set_index(["app", "state"]).warp_cycles
        for name, result in (("a", a), ("b", b))
    }
    frame = pd.concat(sums, axis=1).fillna(0).astype("int64")
    frame["change"] = frame.b - frame.a
    for name in ("a", "b"):
        frame[f"share_{name}"] = frame[name] / max(frame[name].sum(), 1)
    frame["share_change"] = frame.share_b - frame.share_a
    return frame.sort_values("change", key=abs, ascending=False, kind="stable").reset_index()


def _counters(a: Result, b: Result) -> pd.DataFrame:
    import pandas as pd

    sums = {
        name: result.counters.groupby(["component", "counter", "unit"], sort=False).value.sum()
        for name, result in (("a", a), ("b", b))
    }
    frame = pd.concat(sums, axis=1).astype(float)
    _add_change(frame)
    total = frame.a + frame.b
    moved = (frame.change.abs() / total.where(total > 0, 1) ** 0.5).fillna(-1)
    order = moved.sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index()


def _add_change(frame: pd.DataFrame) -> None:
    """Columns `change` and `ratio`, which does not exist where A is 0."""
    frame["change"] = frame.b - frame.a
    frame["ratio"] = frame.b / frame.a.where(frame.a != 0)


def _config(a: Result, b: Result) -> pd.DataFrame:
    import pandas as pd

    whole_work = bool(a.workload_toml and b.workload_toml)
    values_a, values_b = _values(a, whole_work), _values(b, whole_work)
    rows = [
        (key, values_a.get(key), values_b.get(key))
        for key in dict.fromkeys((*values_a, *values_b))
        if values_a.get(key) != values_b.get(key)
    ]
    return pd.DataFrame(rows, columns=["key", "a", "b"], dtype=object)


def _values(result: Result, whole_work: bool) -> dict[str, object]:
    """The machine and the work, the latter in whole or only what all files tell of it."""
    run = result.provenance
    work: dict[str, object] = {"name": run.workload, "scale": run.scale, "seed": run.seed}
    if whole_work:
        work = by_dotted_key(result.workload_toml)
    return by_dotted_key(result.config_toml) | {_WORK + key: work[key] for key in work}


def _long(length: float, name: str) -> str:
    return f"{length:,.0f}" if name == "cycles" else f"{length * 1e6:,.4g} µs"


def _shown(value: object) -> str:
    return "absent" if value is None else str(value)


def _records(frame: pd.DataFrame) -> JsonValue:
    found: JsonValue = json.loads(frame.to_json(orient="records", double_precision=15))
    return found
