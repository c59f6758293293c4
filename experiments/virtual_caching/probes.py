"""VC §4.1 and §5.3: probes of CPUs that the backward table filters."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.machine.load import load_model
from gpusim.runs.simulate import simulate
from gpusim.studies.reproduce import Bars, Material, Measured, figure, one
from gpusim.workloads.workload import load_workload

from .common import MODEL, OPT, PROGRAMS

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.workloads.workload import Workload

PROBED = ("mis", "lud")
"""A graph and a matrix (our choice): these runs are made anew each time."""

PROBES, EVERY = 1000, 50
"""How many at most, and cycles between two (our choice)."""

LINE = 128
STEP = 7919
"""Lines from one probe to the next, a prime, so that they are all over the arrays."""

FILTERED = "filtered"


def probes(workload: Workload) -> str:
    """The lines of an events file."""
    lines = [
        address
        for spec in workload.applications
        for buffer in spec.start().buffers
        for address in range(buffer.base, buffer.base + buffer.bytes, LINE)
    ]
    return "".join(
        json.dumps({"at": EVERY * number, "event": "probe", "address": lines[place]}) + "\n"
        for number in range(1, PROBES + 1)
        for place in (number * STEP % len(lines),)
    )


def shares_filtered(material: Material) -> pd.DataFrame:
    """Share of the probes that do not reach the L2 cache; runs the programs."""
    import pandas as pd

    model = load_model(MODEL, [OPT])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "probes.jsonl"
        for name in PROBED:
            workload = load_workload(PROGRAMS[name], material.scale)
            events.write_text(probes(workload), encoding="utf-8")
            with simulate(model, workload, events=events) as result:
                found.append(result.summary["probes_filtered"])
    return pd.DataFrame({FILTERED: found}, pd.Index(PROBED, name="program"))


@figure(
    id="vc.sec5.probes",
    title="§5.3: probes of CPUs",
    about="VC With OPT: a CPU asks for a line every 50 cycles, from all over the arrays; the "
    "share that the backward table filters.",
    table=shares_filtered,
    draw=Bars("share of the probes"),
)
def probe_filter(table: pd.DataFrame) -> dict[str, Measured]:
    """Without a table, all of them look for their line in the L2 cache."""
    least = table[FILTERED].min()
    return {"vc.sec5.probe_filter": one(least, least > 0)}
