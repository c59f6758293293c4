"""The machine at a glance."""

from __future__ import annotations

import pytest

import gpusim
from gpusim.views.report.machine import machine_facts


def facts(model: str, *variants: str) -> dict[str, str]:
    return dict(machine_facts(gpusim.load_model(model, variants).to_toml()))


def test_a_model_from_the_inside_out() -> None:
    assert list(facts("apu-hsa")) == [
        "SMs",
        "L1 TLB",
        "L2 TLB",
        "page walks",
        "walk cache",
        "L1 cache",
        "L2 cache",
        "crossbar",
        "DRAM",
        "memory",
    ]


KEPLER = """
SMs: 16 SMs at 1400 MHz, 2 schedulers of warps (gto), 64 warps at most, 16 blocks at most, block
  scheduler round-robin
L1 TLB: one for each SM, 64 entries, 4 ways, 1 lookup a cycle, latency 1 cycle,
  2048 MSHRs
L2 TLB: one for all SMs, 512 entries, 16 ways, 12 lookups a cycle, latency 10 cycles,
  4096 MSHRs
page walks: 8 walkers, 4096 walks may queue, 500 cycles a walk
L1 cache: one for each SM, 16 KiB, 4 ways, lines of 128 B, latency 14 cycles, 96 MSHRs, looked up
  beside the TLB
L2 cache: 12 banks, 1536 KiB, 8 ways, lines of 128 B, latency 10 cycles, 64 MSHRs
crossbar: 60 cycles either way, 32 B a cycle and port
DRAM: 6 channels at 1625 MHz, 4 × 2 banks each, rows of 4 KiB, fr-fcfs, open rows
memory: pages of 4 KiB, page table of 4 levels, 6 GiB of frames (first-touch)
"""


def test_a_whole_model() -> None:
    told = "".join(f"\n{name}: {text}" for name, text in facts("kepler-uvm").items())
    assert told.split() == KEPLER.split()


@pytest.mark.parametrize(
    ("model", "variants", "name", "text"),
    [
        (
            "maxwell-mask",
            [],
            "L1 TLB",
            "one for each SM, 64 entries, fully associative, 1 lookup a",
        ),
        (
            "maxwell-mask",
            [],
            "page walks",
            "may queue, a read for each level, through the L2 cache",
        ),
        ("a100-mig", [], "L3 TLB", "8 ways, 16 sub-entries, sub-entry array, 2 lookups a cycle"),
        ("apu-hsa", [], "SMs", "16 SMs at 700 MHz, 1 scheduler of warps (lrr), 48 warps at most"),
        ("apu-hsa", [], "walk cache", "8 KiB in lines of 128 B"),
        (
            "maxwell-mask",
            ["mask-cache"],
            "L2 cache",
            "64 MSHRs, translation-aware (epoch 100000, samp",
        ),
        ("kepler-uvm", ["ideal-dram"], "DRAM", "ideal, latency 42 cycles"),
        ("kepler-uvm", ["ideal-crossbar"], "crossbar", "ideal"),
    ],
)
def test_components(model: str, variants: list[str], name: str, text: str) -> None:
    assert text in facts(model, *variants)[name]


def test_policies_have_options_and_few_values_are_enough() -> None:
    toml = """
        [tlb.mine]
        entries = 1
        array = {policy = "mine:Array", bases = 2}
        ideal = true
    """
    assert machine_facts(toml) == [
        ("mine TLB", "1 entry, mine:Array (bases 2) array, ideal: every lookup hits")
    ]
    assert machine_facts("") == []


def test_what_is_cut() -> None:
    assert facts("a100-mig")["MIG"] == "7 slices, instances of 1g 2g 3g 4g 7g"
    assert facts("maxwell-mask", "static")["DRAM"].endswith("open rows, channels by application")
