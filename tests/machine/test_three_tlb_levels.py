"""TLBs of TPCs, GPCs and the whole GPU, with sub-entries, XOR-fold and 2 MiB pages.

The machine is that of `test_latency` with eight SMs in two GPCs of two TPCs, and the hierarchy that
TunneLs (CCS 2023, Table 1) finds in NVIDIA's Ampere GPUs, smaller.
"""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.schema import GpuConfig, MemoryConfig
from gpusim.config.translation import TlbConfig
from gpusim.core.mapping import Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import Bytes, cycles
from gpusim.hardware.tlb import make_array
from gpusim.machine import Tenant
from tests.machine.bench import (
    SMALL,
    Run,
    Script,
    ScriptedApplication,
    ScriptedLaunch,
    change,
)
from tests.machine.test_latency import CROSSBAR, DRAM, ISSUE, L1, L1_TLB, L2, LINE_FLITS, WALK

L2_TLB, L3_TLB = 10, 40
PAGE = 2 << 20
DENSE = PolicyConfig("sub-entry")
THREE = attrs.evolve(
    change(SMALL, sm={"count": 8}),
    sms_per_tpc=2,
    tpcs_per_gpc=2,
    tlb={
        "L1": TlbConfig("tpc", 16, 16, latency=cycles(L1_TLB)),
        "L2": TlbConfig(
            "gpc", 16, 8, sub_entries=16, array=DENSE, hash="xor", latency=cycles(L2_TLB)
        ),
        "L3": TlbConfig(
            "gpu", 64, 8, sub_entries=16, array=DENSE, hash="xor", latency=cycles(L3_TLB)
        ),
    },
    memory=MemoryConfig(page=Bytes(PAGE), size=Bytes(64 << 30)),
)
FETCH = L1 + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1
"""A line that is nowhere but in DRAM."""
TO_L1, TO_L2, TO_L3 = L1_TLB, L1_TLB + L2_TLB, L1_TLB + L2_TLB + L3_TLB
LEVELS = ("L1", "L2", "L3")


def on_sms(config: GpuConfig, *scripts: Script) -> Run:
    """A block for each SM, with one warp each."""
    application = ScriptedApplication([ScriptedLaunch([[one] for one in scripts])])
    return Run.of(config, [Tenant("scripted", application, range(config.sm.count))])


def at(cycle: int, *addresses: int) -> Script:
    """Loads one after the other, beginning about then."""
    loads = [step for address in addresses for step in (("load", address), ("wait",))]
    return [("compute", cycle), *loads]


def test_who_shares_which_level() -> None:
    run = on_sms(
        THREE,
        at(1, 0),  # the first of all
        at(2000, 128),  # its TPC
        at(4000, 256),  # its GPC
        at(1, 1 << 40),  # an SM without a part in this
        at(6000, 384),  # the other GPC
    )
    waits = dict(zip([r.address for r in run.requests], run.latencies, strict=True))
    assert [waits[address] for address in (0, 128, 256, 384)] == [
        ISSUE + TO_L3 + WALK + FETCH,
        ISSUE + FETCH,  # the L1 cache is looked up beside the TLB
        ISSUE + TO_L2 + FETCH,
        ISSUE + TO_L3 + FETCH,
    ]


def test_a_sub_entry_is_filled_for_its_page_alone() -> None:
    """The entry of a neighbour is there, the page is not; each level learns it on the way back."""
    run = on_sms(THREE, at(1, 0, PAGE), [], at(4000, PAGE + 128), [], at(6000, PAGE + 256))
    assert run.count("walk", "walks") == 2
    assert run.latencies == [
        ISSUE + TO_L3 + WALK + FETCH,
        ISSUE + TO_L3 + WALK + FETCH,
        ISSUE + TO_L2 + FETCH,
        ISSUE + TO_L3 + FETCH,
    ]


@pytest.mark.parametrize(
    ("pages", "misses"),
    [
        (16, (16, 16, 16)),  # 32 MiB, what L1 reaches
        (17, (34, 17, 17)),  # and one more: in turn, LRU keeps none
        (256, (512, 256, 256)),  # 512 MiB, what L2 reaches: 2 sets × 8 ways × 16 pages
        (272, (544, 272 + 9 * 16, 272)),  # one set now has 9 entries to hold, and keeps none
    ],
)
def test_reach(pages: int, misses: tuple[int, int, int]) -> None:
    """`pages` pages in turn, twice."""
    addresses = [PAGE * page + 128 * (page % 64) for page in range(pages)]
    run = on_sms(THREE, at(1, *addresses, *addresses))
    assert tuple(run.count(f"tlb/{level}", "misses") for level in LEVELS) == misses


def test_a_gpc_does_not_see_the_pages_of_another() -> None:
    """Both use 200 pages of their own: more than one L2 TLB holds, not more than each does."""
    mine, others = ([PAGE * (page + first) for page in range(200)] for first in (0, 200))
    run = on_sms(THREE, at(1, *mine, *mine), [], [], [], at(1, *others, *others))
    assert run.count("tlb/L2", "misses") == run.count("tlb/L3", "misses") == 400


@pytest.mark.parametrize(
    ("entries", "ways", "reach"),
    [(16, 16, 32 << 20), (256 * 8, 8, 64 << 30), (512 * 8, 8, 128 << 30)],
)
def test_reach_of_an_a100(entries: int, ways: int, reach: int) -> None:
    """TunneLs Table 1: 16 pages; 256 and 512 sets of 8 ways with 16 pages each."""
    dense = {"sub_entries": 16, "array": DENSE, "hash": "xor"} if ways == 8 else {}
    array = make_array(TlbConfig("gpu", entries, ways, **dense))
    pages = [Mapping(tag, tag) for tag in range(reach // PAGE)]
    assert sum(array.insert(page.tag, page, 0) for page in pages) == 0
    assert array.insert(len(pages), Mapping(len(pages), 1), 0) == 1
