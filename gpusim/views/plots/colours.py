"""Colours with a meaning, the same in every picture.

All pairs of state colours differ by at least 12 in CIELAB, those of designs by 16, also for eyes
without one kind of cone; a test simulates them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from zlib import crc32

from gpusim.core.errors import nearest
from gpusim.views.plots.errors import PlotError

PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#56B4E9",
    "#D55E00",
    "#CC79A7",
    "#000000",
    "#8700F0",
    "#5A2D00",
    "#F0E196",
    "#001E87",
    "#B4E1C3",
    "#5A4B5A",
    "#9678FF",
    "#A5A55A",
    "#2DF0FF",
)
"""For designs and programs: Okabe and Ito's seven, "Color Universal Design" (2008), light beside
dark; then whatever is farthest in CIELAB from all before it, for eyes of all kinds."""

OTHER = "other"
"""Name of a part that gathers small ones."""

STATE_COLOURS: Mapping[str, str] = {
    # greens: the warp works, or could
    "issuing": "#1F7A3A",
    "computing": "#5CC05A",
    "ready": "#93F5BE",
    # greys: it waits for something in its SM
    "lsu": "#2B2B2B",
    "barrier": "#7B7B7B",
    "shared": "#AAAAAA",
    "credit": "#DADADA",
    "mshr": "#545454",
    # blues: for memory
    "cache": "#B5DCFB",
    "interconnect": "#4FB0F5",
    "l2": "#2F54B0",
    "dram_queue": "#8598BE",
    "dram": "#0B3C6B",
    # yellow to brown: for translation
    "walker": "#F8D040",
    "walk": "#D95F02",
    "tlb_L1": "#D78F7A",
    "tlb_L2": "#7C3E00",
    "tlb_L3": "#3E1A00",
    # coarser classes, and the rest
    "translation": "#D95F02",
    "data": "#2F54B0",
    OTHER: "#FFFFFF",
}
"""Colours of the states of a warp, and of the classes of DRAM traffic."""

_MORE = ("#D81C3A", "#F58C1A", "#FF824F")
_TLB = "tlb_"


def state_colours(names: Iterable[str], *, own: bool = False) -> dict[str, str]:
    """The colour of each state; that of a TLB level depends on nothing but its name.

    Args:
        names: of the states.
        own: there may be states among them that a component of the user's own adds.

    Raises:
        PlotError: there is no such state.
    """
    return {name: _colour(name, own) for name in names}


def part_colours(names: Iterable[str], own: Mapping[str, str] | None) -> dict[str, str]:
    """Colours of the parts of a stack: the caller's own, or those of the states.

    Raises:
        PlotError: a part has none.
    """
    if own is None:
        return state_colours(names)
    found = {OTHER: STATE_COLOURS[OTHER], **own}
    for name in names:
        if name not in found:
            raise PlotError(f"`colours` has none for {name!r}{nearest(name, own)}")
    return found


def is_translation(name: str) -> bool:
    """Whether a state is a wait for translation: hatched in stacks, to be seen in grey print."""
    return name in ("walker", "walk", "translation") or name.startswith(_TLB)


def _colour(name: str, own: bool) -> str:
    if name in STATE_COLOURS:
        return STATE_COLOURS[name]
    if own or name.startswith(_TLB):
        return _MORE[crc32(name.encode()) % len(_MORE)]
    raise PlotError(
        f"no colour for {name!r}{nearest(name, STATE_COLOURS)}; give `colours`, or a state: "
        f"{', '.join(STATE_COLOURS)}, {_TLB}LEVEL"
    )
