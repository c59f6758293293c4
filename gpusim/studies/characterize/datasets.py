"""The layout of a characterization file: every dataset with its type, unit and meaning.

`docs/characterize.md` is checked against this page by a test.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpusim.files.columns import TEXT, Column, Table
from gpusim.results.datasets import PROVENANCE
from gpusim.studies.characterize.characterization import DISTRIBUTIONS

FORMAT = "gpusim characterization"
"""The attribute `format` of every such file."""

SCHEMA_VERSION = 1
"""The attribute `schema`.  A change that an older reader would misread raises it."""

_APP = Column("app", "u1", "1", "position of the application in /applications")
_NAME = Column("name", TEXT, "", "name")

TABLES: Mapping[str, Table] = {
    "provenance": PROVENANCE,
    "geometry": Table(
        "What of the model the accesses depend on; one row.",
        (
            Column("page_bytes", "i8", "B", "page size"),
            Column("line_bytes", "i8", "B", "line size of the L1 cache, by which is coalesced"),
            Column("warp_size", "i8", "1", "lanes of a warp"),
            Column("page_bits", "i8", "bits", "width of a virtual page number"),
            Column("frame_bits", "i8", "bits", "width of a frame number"),
        ),
    ),
    "applications": Table(
        "The applications, in the order of the workload.",
        (
            _NAME,
            Column("sms", "i8", "1", "SMs that it runs on"),
            Column("pages", "i8", "pages", "distinct pages that are accessed"),
            Column("pairs", "i8", "1", "ordered pairs of blocks of one launch that there are"),
        ),
    ),
    "kernels": Table(
        "The kernels, in the order of their first launches; numbers are sums over all launches.",
        (
            _APP,
            _NAME,
            Column("launches", "i8", "1", "launches"),
            Column("blocks", "i8", "1", "thread blocks"),
            Column("warps", "i8", "1", "warps"),
            Column("warp_instructions", "i8", "1", "warp instructions, waits left out"),
            Column("memory_instructions", "i8", "1", "those that access global or local memory"),
            Column("transactions", "i8", "1", "coalesced transactions: page accesses"),
        ),
    ),
    "arrays": Table(
        "The arrays, in allocation order.",
        (
            _APP,
            _NAME,
            Column("bytes", "i8", "B", "size"),
            Column("pages", "i8", "pages", "pages that it lies in"),
            Column("touched", "i8", "pages", "those that are accessed"),
        ),
    ),
    "reuse_intensity": Table(
        "Bins of reuse intensity (ORCH Figs. 3 and 4).",
        (
            _APP,
            Column("bin", "u1", "1", "1 for [0, 20) % to 5 for [80, 100] %"),
            Column("blocks", "i8", "1", "thread blocks, by reuse within themselves"),
            Column("pairs", "i8", "1", "ordered pairs of blocks, by reuse between them"),
        ),
    ),
    "summary": Table(
        "Headline numbers; nan where there was nothing to observe.",
        (
            _APP,
            _NAME,
            Column("value", "f8", "see the column unit", "the number"),
            Column("unit", TEXT, "", "its unit"),
        ),
    ),
    **{
        f"distributions/{name}": Table(
            f"{description[0].upper()}{description[1:]}.",
            (
                _APP,
                Column("value", "i8", unit, "observed value; ascending for each application"),
                Column("count", "i8", "1", "how often it was observed"),
            ),
        )
        for name, (unit, description) in DISTRIBUTIONS.items()
    },
}
"""The groups of a file."""
