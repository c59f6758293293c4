"""Nothing is lost on small random runs: pages, bytes, accesses."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import ShootdownConfig
from gpusim.core.policy import PolicyConfig
from gpusim.files.units import Bytes, cycles
from gpusim.hardware.paging import HEADER_BYTES, Link
from gpusim.machine import Machine
from tests.examples import examples
from tests.hardware.paging.bench import PAGE, load, paged, run, store
from tests.machine.bench import SMALL, Script, change

PAGES = 12
SEVERAL_SIZES = 560
"""Pages of an array that holds one of 2 MiB and three of 64 KiB."""

steps = st.one_of(
    st.builds(load, st.integers(0, PAGES - 1), st.integers(0, 3)),
    st.builds(store, st.integers(0, PAGES - 1)),
    st.just(("wait",)),
    st.builds(lambda many: ("compute", many), st.integers(1, 4000)),
)
scripts = st.lists(st.lists(steps, max_size=12), min_size=1, max_size=3)
machines = st.fixed_dictionaries(
    {
        "capacity": st.none() | st.integers(1, PAGES).map(lambda pages: Bytes(pages * PAGE)),
        "eviction": st.sampled_from(["lru", "lru-accesses", "access-counter", "random"]),
        "eviction_block": st.sampled_from([PAGE, 2 * PAGE, 16 * PAGE]).map(Bytes),
        "prefetch": st.sampled_from(["none", "block", "tree", "stride"]),
        "replay": st.sampled_from(["all", "served"]),
        "batch": st.sampled_from([1, 2, 256]),
        "fault_buffer": st.sampled_from([1, 3, 1024]),
        "arrays": st.sampled_from(["host", "device"]),
        "sms": st.integers(1, 3),
        "utlb_faults": st.sampled_from([None, 1, 3, 56]),
        "fault_interval": st.sampled_from([0, 30, 700]).map(cycles),
        "interrupt": st.sampled_from([0, 500, 20_000]).map(cycles),
        "transfers": st.sampled_from(["runs", "blocks"]),
        "sizes": st.sampled_from([None, None, "64KiB", "2MiB"]),
        "shootdown": st.sampled_from([None, ShootdownConfig(cycles(30), cycles(20), cycles(50))]),
    }
)


class Moved:
    """Bytes that moved over the link, as it announced them."""

    def __init__(self) -> None:
        self.bytes = {False: 0, True: 0}

    def attach(self, machine: Machine) -> None:
        assert machine.paging is not None
        for link in machine.paging.links:
            self._listen(link)

    def _listen(self, link: Link) -> None:
        ends = {False: 0, True: 0}

        def moved(app: int, to_host: bool, size: int, begin: int, end: int, at: int) -> None:
            assert ends[to_host] <= begin < end <= at, "a lane moves one thing after another"
            ends[to_host] = end
            self.bytes[to_host] += size

        link.on_transfer.listen(moved)


@settings(max_examples=examples(80), deadline=None)
@given(scripts, machines, st.sampled_from(["fault", "fault", "accesses", "never"]))
def test_pages_and_bytes(programs: list[Script], keys: dict[str, Any], migration: str) -> None:
    """`run` itself checks the laws of the machine, and that nothing is under way at its end."""
    keys = dict(keys)
    machine = attrs.evolve(
        change(SMALL, sm={"count": keys.pop("sms")}),
        sms_per_tpc=2,
        shootdown=keys.pop("shootdown"),
    )
    sizes, pages = keys.pop("sizes"), PAGES
    if sizes is not None:
        fitting = PolicyConfig("largest-fit", {"largest": sizes})
        machine = change(machine, memory={"frames": fitting})
        keys["eviction_block"] = Bytes(2 << 20)
        pages = SEVERAL_SIZES
    if migration != "fault":
        keys |= {"arrays": "host", "threshold": 2, "capacity": None}
    for slot in ("eviction", "prefetch"):
        keys[slot] = PolicyConfig(keys[slot])
    moved = Moved()
    config = paged(machine, migration=migration, **keys)
    done = run(config, *programs, pages=pages, attach=moved.attach)
    accesses = sum(step[0] in ("load", "store") for script in programs for step in script)
    assert len(done.requests) == accesses
    resident = done.count("paging", "resident")
    assert keys["capacity"] is None or resident * PAGE <= keys["capacity"]
    out, placed = done.count("paging", "pages_out"), done.count("paging", "placed")
    lines = done.count("host", "read_bytes")
    assert moved.bytes[False] - lines == (resident + out - placed) * PAGE
    back = done.count("paging", "pages_written_back")
    requests = HEADER_BYTES * done.count("host", "reads")
    assert moved.bytes[True] == back * PAGE + requests + done.count("host", "write_bytes")
    assert back <= out


def test_digests_of_equal_runs() -> None:
    """The order of what happens depends on nothing but the model and the program."""
    config = paged(
        capacity=3 * PAGE, eviction=PolicyConfig("random"), prefetch=PolicyConfig("tree")
    )
    programs = [[load(page), ("wait",)] * 2 + [store(11 - page)] for page in range(6)]
    first, again = (run(config, *programs, pages=PAGES) for _ in range(2))
    assert first.loads == again.loads
    assert list(first.machine.counter_rows()) == list(again.machine.counter_rows())
