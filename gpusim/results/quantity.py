"""Headline numbers for the eye: in which part of a table they stand, and with which prefix."""

from __future__ import annotations

from gpusim.core.metrics import FRACTION

_SECTIONS = {
    "tlb_": "translation", "walk": "translation", "concurrent_walks": "translation",
    "l1_": "caches", "l2_": "caches", "fbt_": "caches", "probes_": "caches",
    "dram_": "DRAM", "warp_cycles": "warps", "share_": "warps",
}  # fmt: skip
_SCALES = (
    ("Hz", 1e6, "MHz"),
    ("s", 1.0, "s"),
    ("s", 1e-3, "ms"),
    ("s", 1e-6, "µs"),
    ("s", 1e-9, "ns"),
)


def section_of(name: str) -> str:
    """Which part of a table of headline numbers a number stands in."""
    return next((part for prefix, part in _SECTIONS.items() if name.startswith(prefix)), "program")


def format_quantity(value: float, unit: str) -> tuple[str, str]:
    """A number and its unit for the eye.

    Fractions come as percent, seconds and hertz with a prefix, whole numbers in full with
    thousands separated, others with four significant digits.
    """
    if unit == FRACTION:
        return f"{value * 100:.1f}", "%"
    for base, scale, shown in _SCALES:
        if unit == base and abs(value) >= scale:
            return _format(value / scale), shown
    return _format(value), "" if unit == "1" else unit


def _format(value: float) -> str:
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
