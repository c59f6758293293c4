"""chase: loads each of which needs the one before it, to tell how long a load takes."""

from __future__ import annotations

from functools import partial

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

NODE = 8
"""Bytes of a pointer."""

WARP = 32
WARMING = 256
"""Threads of a block that warms."""

ORDERS = ("random", "sequential")

Nodes = NDArray[np.int64]


def load_each(
    k: gpu.BlockTracer, nodes: gpu.Longs, index: Nodes, everywhere: bool = False
) -> gpu.Steps:
    """Every thread loads one pointer at a time: of those to load, the first ones first.

    Takes `nodes` (the array), `index` (elements to load), `everywhere` (whether each block loads
    all of them (else: all threads together, once), so that the TLBs of its SM know them).
    """
    blocks, first = (1, k.tid) if everywhere else (k.shape.blocks, k.t)
    for place, inside in gpu.strides(first, len(index), blocks * k.shape.threads):
        k.fetch(nodes, index.take(place, mode="clip"), inside)
        yield


def follow(k: gpu.BlockTracer, nodes: gpu.Longs, index: Nodes) -> gpu.Steps:
    """One warp, of which some lanes follow a chain of their own: load, wait, load.

    Takes `nodes` (the array), `index` ((loads, lanes) elements).
    """
    lanes = index.shape[1]
    where = k.tid < lanes
    lane = np.minimum(k.tid, lanes - 1)
    for step in index:
        k.fetch(nodes, step[lane], where)
        yield


_warming = partial(gpu.kernel, registers=16, block=WARMING, in_step=True)
load_pages, load_nodes = _warming("pages")(load_each), _warming("warm")(load_each)

_chasing = partial(gpu.kernel, registers=16, block=WARP)
lead_in, follow_chain = _chasing("lead")(follow), _chasing("chase")(follow)


@frozen
class ChaseParameters:
    """What is chased through.

    Attributes:
        footprint: bytes, all nodes together.
        stride: bytes from one node to the next one in memory.
        skew: each node lies further than `stride` says, by any multiple of these bytes that is
            less than a stride, so that nodes that are pages apart are not in one set of a cache; 0:
            not at all.
        lanes: of the warp that have a chain of their own.
        order: of the nodes in a chain.
        loads: whose time is measured.
        lead: loads before these, which warm what is emptied between kernels: a lap, if the chain is
            not longer.
        warm: nodes that come before them in the chain and are loaded in its order.
        warmers: SMs that do so, the first ones; 0: all of them, which keeps less of the order.
        cut: loads of a last lap that is not whole, after which a run begins at the first node
            again: what is warmed ends with them, and lead and chase begin anew; 0: laps are whole.
        page: bytes; before anything else, one node in each is loaded, so that no page is new.
        sms: SMs that do so, each for itself: all, where they have TLBs of their own, as a launch of
            one block need not be where the one before it was.
    """

    footprint: int = gpu.number(1 << 20, NODE, 1 << 37)
    stride: int = gpu.number(128, NODE, lambda footprint: min(footprint, 1 << 30), multiple=NODE)
    skew: int = gpu.number(0, 0, multiple=NODE)
    lanes: int = gpu.number(1, 1, WARP)
    order: str = gpu.choice("random", ORDERS)
    loads: int = gpu.number(256, 1, 1 << 24)
    lead: int = gpu.number(4096, 0, 1 << 20)
    warm: int = gpu.number(1 << 19, 0, 1 << 26)
    cut: int = gpu.number(0, 0, lambda footprint, stride: footprint // stride - 1)
    warmers: int = gpu.number(0, 0, 4096)
    page: int = gpu.number(1 << 21, 1024)
    sms: int = gpu.number(1, 1, 4096)

    @property
    def count(self) -> int:
        """Nodes of a lap."""
        return self.footprint // self.stride

    @property
    def led(self) -> int:
        """Loads of a lead: a lap warms all that it can; of a longer chain nothing stays anyhow."""
        return self.count if self.count <= self.lead else 0


@gpu.program("chase", ChaseParameters)
def chase(memory: gpu.AddressSpace, parameters: ChaseParameters, seed: int) -> gpu.Launches:
    """Pointers through an array, as all published latency tests chase them.

    Launches: ``pages`` and ``warm`` make everything warm that lasts; ``lead`` chases through the
    lead alone; ``chase`` through another lead and the loads that are measured.  The difference of
    the last two is the time of those loads: what a launch costs, and what is cold in each, is in
    both.  The pointers are not read from memory: the chain is known.
    """
    nodes = memory.blank("nodes", parameters.footprint // NODE, np.int64)
    lead, chases = parameters.led, 2 * parameters.led + parameters.loads
    warm = min(parameters.warm, parameters.count)
    chain = _chain(parameters, warm, chases * parameters.lanes, np.random.default_rng(seed))
    pages = np.arange(0, parameters.footprint, parameters.page) // NODE
    yield load_pages[parameters.sms * WARMING](nodes, pages, everywhere=True)
    yield load_nodes[parameters.warmers * WARMING or max(warm, 1)](nodes, chain[:warm])
    steps = chain[warm:].reshape(chases, parameters.lanes)
    yield lead_in[WARP](nodes, steps[:lead])
    yield follow_chain[WARP](nodes, steps[lead:])


def _chain(parameters: ChaseParameters, warm: int, chased: int, rng: np.random.Generator) -> Nodes:
    """Elements of the chain, which goes round: those that warm, and those that are chased."""
    count, skews = parameters.count, _skews(parameters, rng)
    distinct = count if parameters.cut else min(warm + chased, count)
    if parameters.order == "random":
        order = rng.choice(count, distinct, replace=False)
    else:
        order = np.arange(distinct)
    first = parameters.cut - warm if parameters.cut else 0
    then = 0 if parameters.cut else warm
    places = np.concatenate([np.arange(first, first + warm), np.arange(then, then + chased)])
    numbers: Nodes = order[places % distinct]
    offsets: Nodes = numbers * parameters.stride + skews[numbers]
    return offsets // NODE


def _skews(parameters: ChaseParameters, rng: np.random.Generator) -> Nodes:
    """By how many bytes each node lies further than its stride says."""
    skew, count = parameters.skew, parameters.count
    places = parameters.stride // skew if skew else 0
    if not places:
        return np.broadcast_to(np.int64(0), count)
    return skew * rng.integers(places, size=count)
