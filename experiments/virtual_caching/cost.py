"""VC §4.3: what virtual caching keeps in hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.machine.cost import storage
from gpusim.machine.load import load_model
from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.pictures import bars

from .common import MODEL, OPT

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


BT, FT, FILTER = "backward table", "forward table", "invalidation filter"
CACHES, REACH, VECTOR = "data of all caches", "reach of the tables", "bits for a page of 2 MB"
KB, HUGE_PAGE = 1024, 2 << 20


def table(_: Material) -> pd.DataFrame:
    """KB of one instance of each, and of the caches and what the tables reach; bits of a vector."""
    import pandas as pd

    model = load_model(MODEL, [OPT])
    config = model.config
    assert config.fbt is not None
    kept = {
        part.storage.name: part.storage.bits / 8 / KB
        for part in storage(model)
        if part.storage and part.storage.name in (BT, FT, FILTER)
    }
    kept[CACHES] = (config.sm.count * config.l1.size + config.l2.size) / KB
    kept[REACH] = config.fbt.entries * config.memory.page / KB
    kept[VECTOR] = HUGE_PAGE / config.l2.line
    return pd.DataFrame({"KB": kept}).rename_axis("structure")


def draw(table: pd.DataFrame) -> Picture:
    """The tables and the filter."""
    return bars(table.loc[[BT, FT, FILTER]], "KB")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The paper's arithmetic."""
    size = table["KB"]
    both = size[BT] + size[FT]
    return {
        "vc.sec4.area_bytes": number(size[BT], size[FT], both),
        "vc.sec4.area_share": number(100 * both / size[CACHES]),
        "vc.sec4.reach_vector": number(size[REACH] / KB, size[VECTOR], size[FILTER]),
    }


FIGURE = Figure(
    id="vc.sec4.area",
    title="§4.3: area",
    about="KB of one structure, as `gpusim cost apu-hsa --variant vc-opt` tells them; the last "
    "row is in bits.",
    claims=("vc.sec4.area_bytes", "vc.sec4.area_share", "vc.sec4.reach_vector"),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.4g}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
