"""Where translation gets slower, as measured: the reach of each TLB, and what a miss in it adds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
from attrs import frozen

from experiments.hardware.gpus import variant_for
from experiments.hardware.plateaus import Comparison, crossing

FILE = "microbenchmarks.csv"
LEVELS = ("L1", "L2", "L3")

FOOTPRINTS = 10
"""At which a model is asked around a step."""

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_NUMBER = r"(\d+(?:\.\d+)?)"
_SIZE = re.compile(rf"{_NUMBER}(?:\s*(?:-|and)\s*{_NUMBER})?\s*(KiB|MiB|GiB)")


@frozen
class TlbStep:
    """The end of a TLB.

    Attributes:
        gpu, variant: whose, and the variant of the model that stands for it.
        level: of the TLB.
        first, last: bytes between which the step lies.
        entry: bytes that an entry covers; loads are so far apart that each needs another.
        added: cycles that every load takes longer behind the step; None: not known.
    """

    gpu: str
    variant: str
    level: str
    first: int
    last: int
    entry: int
    added: float | None

    @property
    def place(self) -> float:
        """The place of the step, in bytes."""
        return float((self.first * self.last) ** 0.5)

    def footprints(self) -> list[int]:
        """From well before the step to well behind it, in whole entries."""
        low, high = 0.75 * self.first, 1.35 * self.last
        found = low * (high / low) ** (np.arange(FOOTPRINTS) / (FOOTPRINTS - 1))
        return sorted({int(-(-footprint // self.entry)) * self.entry for footprint in found})

    def compare(self, curve: list[tuple[int, float]]) -> list[Comparison]:
        """The step's place and height beside a model's curve, which may lack footprints."""
        if len(curve) < 2:
            return []
        before, after = curve[0][1], curve[-1][1]
        place = crossing(curve, before, after) if after > before else None
        found = [Comparison("tlb step", self.first, self.last, self.place, place)]
        if self.added is not None:
            height = Comparison("tlb miss", self.first, self.last, self.added, after - before)
            found.append(height)
        return found


def read_tlb_steps(folder: Path, model: str) -> list[TlbStep]:
    """All steps of the GPUs that a model stands for; none if the folder has no such file.

    What was measured step by step comes before what a table says of the same TLB.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    found = []
    for gpu, rows in table.groupby("gpu", sort=False):
        variant = variant_for(model, str(gpu))
        if variant is None:
            continue
        said = {
            str(row.quantity): (str(row.value), str(row.condition)) for row in rows.itertuples()
        }
        for level in LEVELS:
            one = _measured(str(gpu), variant, level, said) or _stated(
                str(gpu), variant, level, said
            )
            if one is not None:
                found.append(one)
    return found


def _measured(
    gpu: str, variant: str, level: str, said: dict[str, tuple[str, str]]
) -> TlbStep | None:
    """From rows of a sweep over footprints and strides."""
    reach, entry, added = (
        said.get(f"{level} TLB {what} (measured{tail})")
        for what, tail in (("reach", " step"), ("entry coverage", ""), ("miss penalty", ""))
    )
    if reach is None or entry is None:
        return None
    first, last = _sizes(reach[0])
    covers, _ = _sizes(entry[0])
    cycles = float(added[0]) if added is not None else None
    return TlbStep(gpu, variant, level, first, last, covers, cycles)


def _stated(gpu: str, variant: str, level: str, said: dict[str, tuple[str, str]]) -> TlbStep | None:
    """From a row that tells bytes."""
    coverage = said.get(f"{level} TLB coverage")
    if coverage is None:
        return None
    entry = re.search(r"entry covers (\d+) B", coverage[1])
    if entry is None:
        return None
    size = int(coverage[0])
    return TlbStep(gpu, variant, level, size, size, int(entry[1]), None)


def _sizes(text: str) -> tuple[int, int]:
    """The interval in a text like ``32 MiB (step between 32 and 36 MiB)``, the narrowest one."""
    found = [
        (float(low) * UNITS[unit], float(high or low) * UNITS[unit])
        for low, high, unit in _SIZE.findall(text)
    ]
    ranges = [one for one in found if one[0] < one[1]] or found
    return round(ranges[0][0]), round(ranges[0][1])
