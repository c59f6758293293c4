"""DRAM standards and products' DRAM tables, beside the presets of Ramulator.

``gpusim study dram-standards [--doc docs/validation.md]``: what is equal, what differs, and why;
products' tables go into a file of data beside the page.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import fields

import gpusim
from experiments.marked import tell
from gpusim.config.dram import DramConfig, DramTiming
from gpusim.config.dram_standard import DramStandard
from gpusim.config.dram_standards import standards

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

PRODUCTS: Mapping[str, str] = {
    "p100": "hbm2",
    "v100": "hbm2",
    "a100": "hbm2",
    "mi210": "hbm2e",
    "h100": "hbm3",
    "mi300x": "hbm3",
    "b200": "hbm3e",
    "rtx3070": "gddr6",
    "l40": "gddr6",
    "rtx4090": "gddr6x",
}
"""What memory a product has, by our names of standards."""

PART = "dram-standards"
DATA = "tables/dram-products.csv"
"""Products' tables, from the folder of the page."""
TIMING = tuple(one.name for one in fields(DramTiming))


def differences(dram: DramConfig, standard: DramStandard) -> list[tuple[str, int, int]]:
    """Timing constraints of a table that are not the preset's at its clock: both numbers."""
    theirs = standard.preset.at(dram.clock)
    ours = {name: getattr(dram.timing, name).cycles(dram.clock) for name in TIMING}
    return [
        (name, ours[name], theirs[name]) for name in TIMING if ours[name] != theirs.get(name, 0)
    ]


def tables() -> str:
    """The table of standards, in Markdown."""
    rows = [("standard", "what", "preset", "by analogy", "equal", "ours (the preset's), and why")]
    for name, one in standards().items():
        compared = list(one.compared())
        unlike = [
            f"{key} {ours} ({theirs}): {one.reasons[key]}"
            for key, ours, theirs in compared
            if ours != theirs
        ]
        equal = f"{len(compared) - len(unlike)} of {len(compared)}"
        preset = f"{one.preset.names} [{one.preset.source}]"
        cells = (f"`{name}`", one.title, preset, one.analogy or "–", equal)
        rows.append((*cells, "; ".join(unlike) or "–"))
    return _table(rows)


def products() -> Iterator[Sequence[str]]:
    """Rows of the file on products; the first is its head."""
    yield "model", "standard", "MHz", "equal", "ours (the preset's), in clocks"
    for model, name in PRODUCTS.items():
        dram = gpusim.load_model(model).config.dram
        unlike = differences(dram, standards()[name])
        yield (
            model,
            name,
            f"{dram.clock / 1e6:.0f}",
            f"{len(TIMING) - len(unlike)} of {len(TIMING)}",
            ", ".join(f"{key} {ours} ({theirs})" for key, ours, theirs in unlike),
        )


def _table(rows: Sequence[Sequence[str]]) -> str:
    """In Markdown; the first row is the head."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(argv: list[str] | None = None) -> None:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(
        prog="gpusim study dram-standards", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--doc", type=Path, help="page to write them into")
    doc = parser.parse_args(argv).doc
    tell(doc, PART, tables())
    if doc is None:
        print("\n".join(", ".join(row) for row in products()))
        return
    with (doc.parent / DATA).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(products())
