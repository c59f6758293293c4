"""A second memory: a policy moves its pages, arrays of the device's own, a link unlike each way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import pytest

from gpusim.config.paging import LinkConfig
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.core.warp_program import Buffer
from gpusim.files.units import Bandwidth, Bytes, cycles
from gpusim.hardware.paging import HEADER_BYTES, HOST_BASE, Migration
from gpusim.hardware.paging.migration import HotPages
from gpusim.machine import Tenant
from gpusim.machine.load import load_model
from tests.hardware.paging.bench import BASE, PAGE, PAGING, each, load, paged, run, store
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change


class Second(Migration):
    """The second access to a page brings it and the next one."""

    def __init__(self, page_bytes: int) -> None:
        super().__init__(page_bytes)
        self.seen: list[int] = []

    def accessed(self, tag: int) -> Iterable[int]:
        self.seen.append(tag)
        return (tag, tag + 1) if self.seen.count(tag) == 2 else ()


class Names(Migration):
    def accessed(self, tag: int) -> Iterable[int]:
        return ("a",)  # type: ignore[return-value]


def moved_by(policy: str, **keys: Any) -> Any:
    kind = PolicyConfig(policy if policy.islower() else f"{__name__}:{policy}")
    return paged(migration="policy", mover=kind, **keys)


def test_a_policy_sees_each_access_and_moves_pages() -> None:
    steps = [load(3), ("wait",), load(3, 1), ("wait",), ("delay", 50_000), load(3, 2), load(4)]
    done = run(moved_by("Second"), [*steps, ("wait",)])
    mover = done.machine.paging
    assert mover is not None
    policy = mover.mover
    assert isinstance(policy, Second)
    first = BASE // PAGE
    assert policy.seen == [first + 3, first + 3], "afterwards it is on the device"
    assert done.count("paging", "pages_migrated") == 2
    assert done.count("host", "reads") == 2
    find = done.machine.page_table.find
    host = HOST_BASE // PAGE
    frames = [mapping.pfn for page in (3, 4, 5) if (mapping := find(first + page)) is not None]
    assert [frame >= host for frame in frames] == [False, False, True]


def test_pages_that_are_there_or_in_no_array_are_left_out() -> None:
    done = run(moved_by("Second"), [load(1), ("wait",), load(1, 1), ("wait",)], pages=2)
    assert done.count("paging", "pages_migrated") == 1, "page 2 is in no array"


def test_what_is_no_page_is_told() -> None:
    with pytest.raises(UserError, match=r"paging\.mover: Names\.accessed gave 'a'"):
        run(moved_by("Names"), each(0))


def test_hot_pages_come_and_others_do_not() -> None:
    policy = HotPages(PAGE, threshold=3, window=8)
    assert [list(policy.accessed(7)) for _ in range(3)] == [[], [], [7]]
    asked = [9, 1, 2, 3, 9, 4, 5, 6]
    assert not [page for page in asked if list(policy.accessed(page))], "halved meanwhile"
    assert [list(policy.accessed(9)) for _ in range(2)] == [[], [9]]


def test_what_leaves_lies_in_the_second_memory_again() -> None:
    hot = [load(page, line) for page in range(4) for line in range(3)]
    steps = [one for access in hot for one in (access, ("wait",), ("delay", 30_000))]
    config = moved_by("Second", capacity=Bytes(2 * PAGE), eviction_block=Bytes(PAGE))
    done = run(config, [*steps, *each(0)], pages=4)
    assert done.count("paging", "pages_migrated") > 2
    assert done.count("paging", "pages_out") == done.count("paging", "pages_migrated") - 2


# -- a coherent host ---------------------------------------------------------------------------


def test_a_link_that_is_slower_back() -> None:
    line = 128
    link = LinkConfig(Bandwidth(4 * 10**9), cycles(0), cycles(0), Bandwidth(10**9))
    host = {"host_latency": cycles(0), "migration": "never"}
    even = run(paged(link=attrs.evolve(link, bandwidth_back=None), **host), each(0))
    uneven = run(paged(link=link, **host), each(0))
    assert uneven.latencies[0] - even.latencies[0] == HEADER_BYTES - HEADER_BYTES // 4
    assert uneven.count("link", "busy_to_device") == line // 4
    assert uneven.count("link", "busy_to_host") == HEADER_BYTES


def test_a_page_of_the_host_is_asked_for_there() -> None:
    plain, asked = (
        run(paged(migration="never", **keys), each(0, 0, 1))
        for keys in ({}, {"host_walk": cycles(700)})
    )
    extra = [after - before for before, after in zip(plain.latencies, asked.latencies, strict=True)]
    assert extra == [700, 0, 700]
    assert asked.count("faults", "host_walks") == 2


def two_arrays(config: Any, *script: Any) -> Run:
    buffers = (Buffer("system", BASE, 4 * PAGE), Buffer("own", BASE + (2 << 20), 2 << 20))
    application = ScriptedApplication([ScriptedLaunch([[list(script)]])], buffers=buffers)
    return Run.of(config, [Tenant("scripted", application, range(1))])


def test_arrays_of_the_devices_own_have_large_pages_beside_those_of_the_system() -> None:
    frames = PolicyConfig("largest-fit", {"largest": "2MiB"})
    machine = change(SMALL, memory={"frames": frames})
    keys = {"migration": "accesses", "threshold": 2, "eviction_block": Bytes(2 << 20)}
    config = paged(machine, device=("own",), migration_block=Bytes(PAGE), **keys)
    own = ("load", BASE + (2 << 20))
    done = two_arrays(config, own, ("wait",), load(0), ("wait",))
    find = done.machine.page_table.find
    ours, systems = find((BASE + (2 << 20)) // PAGE), find(BASE // PAGE)
    assert ours is not None
    assert systems is not None
    assert (ours.pages, systems.pages) == (512, 1)
    assert systems.pfn >= HOST_BASE // PAGE > ours.pfn
    assert done.count("host", "reads") == 1
    assert done.count("faults", "faults") == 0


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"paging.migration": "policy"}, r"paging\.mover: must be named"),
        ({"paging.mover": "hot-pages"}, r"paging\.mover = .*: must be named .* only then"),
        ({"paging.link.bandwidth_back": "0B/s"}, r"bandwidth_back"),
        (
            {"paging.device": ["a"], "paging.oversubscription": 2.0},
            r"paging\.device = .*must be empty",
        ),
        ({"paging.device": ["a"], "paging.pinned": ["a"]}, "cannot be pinned to the host, too"),
    ],
)
def test_what_cannot_be(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        load_model("tiny", ["demand-paging"], overrides=keys)


def test_an_array_that_no_application_has() -> None:
    with pytest.raises(UserError, match=r"paging\.device: no application has an array 'b'"):
        run(paged(device=("b",)), [store(0)])
    assert PAGING.device == ()
