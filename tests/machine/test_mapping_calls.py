"""Arrays that their programs map and unmap in mid-run: times, translations, refusals, an oracle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import gpusim
from gpusim.config.mapping_calls import MappingCallsConfig
from gpusim.config.node import HostMmuConfig
from gpusim.config.paging import PagingConfig
from gpusim.config.schema import GpuConfig, PolicyConfig, ShootdownConfig
from gpusim.core.errors import UserError
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.streams import StreamUse
from gpusim.core.warp_program import Buffer, Launch
from gpusim.files.units import cycles
from gpusim.hardware.walk import NodeTable
from gpusim.machine import Tenant
from gpusim.programs.device import AddressSpace
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.node_bench import node
from tests.machine.test_latency import BASE
from tests.quick import quick

PAGE = 4096
PIECE = 16 * PAGE
ARRAY = Buffer("cache", BASE, 8 * PIECE, piece=PIECE)
MAP, UNMAP, MESSAGE, DRAIN, ACKNOWLEDGE = 1000, 700, 50, 20, 30
TIMED = attrs.evolve(
    SMALL,
    mapping_calls=MappingCallsConfig(cycles(MAP), cycles(UNMAP)),
    shootdown=ShootdownConfig(cycles(MESSAGE), cycles(DRAIN), cycles(ACKNOWLEDGE)),
)


def maps(*pieces: int, use: StreamUse | None = None) -> MappingCall:
    return call("map", pieces, use)


def unmaps(*pieces: int, use: StreamUse | None = None) -> MappingCall:
    return call("unmap", pieces, use)


def call(what: str, pieces: Sequence[int], use: StreamUse | None) -> MappingCall:
    places = tuple(BASE + piece * PIECE for piece in pieces)
    return MappingCall(f"{what} cache", what == "map", places, PIECE, use or StreamUse())


def touches(*pages: int, use: StreamUse | None = None) -> ScriptedLaunch:
    load = ("load", *(BASE + page * PAGE for page in pages))
    return ScriptedLaunch([[[load, ("wait",)]]], name="touch", stream_use=use or StreamUse())


def run(*launches: Launch, config: GpuConfig = TIMED, array: Buffer = ARRAY) -> Run:
    application = ScriptedApplication(launches, buffers=(array,))
    return Run.of(config, [Tenant("scripted", application, range(config.sm.count))])


def lengths(done: Run) -> list[int]:
    """Cycles of each launch and call."""
    return [one.end - one.begin for one in done.machine.schedulers[0].records]


def test_calls_take_their_time_one_piece_after_the_other() -> None:
    alone = lengths(run(maps(0), touches(0)))[1]
    done = run(maps(0, 1), touches(0, 16), unmaps(0), touches(16))
    took = lengths(done)
    assert took[0] == 2 * MAP
    assert took[2] == MESSAGE + UNMAP + DRAIN + ACKNOWLEDGE
    assert took[1] > alone - 1, "the second page waits for nothing more than a walk of its own"
    begins = [one.begin for one in done.machine.schedulers[0].records]
    assert begins[1:] == [one.end for one in done.machine.schedulers[0].records[:-1]]
    counted = ("call_pages_mapped", "call_pages_unmapped", "call_pages_resident")
    assert [done.count("mapping_calls", name) for name in counted] == [32, 16, 16]
    assert done.count("mapping_calls", "call_cycles") == took[0] + took[2]


def test_without_a_table_calls_take_what_was_measured() -> None:
    done = run(maps(0), touches(0), unmaps(0), config=SMALL)
    took = lengths(done)
    assert (took[0], took[2]) == (69_000, 57_000), "at 1 GHz, without times of a shootdown"


def test_what_is_unmapped_is_forgotten_and_its_frames_are_used_again() -> None:
    full = change(TIMED, memory={"size": 2 << 20})
    array = attrs.evolve(ARRAY, bytes=40 * PIECE)  # more than there is memory for
    launches: list[Launch] = []
    for number in range(40):
        launches += [maps(number), touches(16 * number), unmaps(number)]
    done = run(*launches, config=full, array=array)
    assert done.count("walk", "walks") == 40
    with pytest.raises(UserError, match="physical memory is full"):
        run(maps(*range(40)), touches(0), config=full, array=array)


def test_many_calls_are_no_standstill() -> None:
    times = MappingCallsConfig(cycles(10), cycles(10))
    config = attrs.evolve(TIMED, watchdog=cycles(3000), mapping_calls=times)
    small = Buffer("cache", BASE, 1000 * PAGE, piece=PAGE)
    pieces = tuple(BASE + number * PAGE for number in range(1000))
    every = attrs.evolve(maps(), pieces=pieces, piece_bytes=PAGE)
    done = run(every, touches(0), config=config, array=small)
    assert done.count("mapping_calls", "pieces_mapped") == 1000


def test_a_thread_of_its_own_maps_while_a_kernel_runs() -> None:
    one, two = StreamUse(1), StreamUse(2)
    long = ScriptedLaunch(
        [[[("load", BASE), ("wait",), ("compute", 5 * MAP)]]], name="long", stream_use=one
    )
    behind = StreamUse(1, (two,))
    together = run(maps(0), long, maps(1, use=two), touches(16, use=behind))
    in_turn = run(maps(0), attrs.evolve(long, stream_use=StreamUse()), maps(1), touches(16))
    assert in_turn.cycles - together.cycles in range(MAP - 5, MAP + 5)


def test_calls_of_two_threads_take_turns() -> None:
    both = run(maps(0, use=StreamUse(1)), maps(1, use=StreamUse(2)), touches(0, 16))
    ends = sorted(one.end for one in both.machine.schedulers[0].records[:2])
    assert ends == [MAP, 2 * MAP]


def test_an_access_to_what_is_not_mapped_names_array_and_launch() -> None:
    for launches, number in (((touches(5),), 0), ((maps(0), touches(0, 16)), 1)):
        with pytest.raises(UserError) as error:
            run(*launches)
        assert f"launch {number} (kernel 'touch') of 'scripted' accesses page" in str(error.value)
        assert "of array 'cache'" in str(error.value)
        assert "reserved and not mapped" in str(error.value)
    with pytest.raises(UserError, match="launch 3"):
        run(maps(0), touches(0), unmaps(0), touches(0))


def test_what_is_not_mapped_or_is_mapped_twice() -> None:
    with pytest.raises(UserError, match=r"'unmap cache': the piece at 0x.* is not mapped"):
        run(maps(0), unmaps(1), touches(0))
    twice = run(maps(0), maps(0), touches(0))
    assert twice.count("mapping_calls", "call_pages_mapped") == 16, "it keeps what it has"


def test_pages_are_as_large_as_pieces_allow() -> None:
    fitting = change(TIMED, memory={"frames": PolicyConfig("largest-fit")})
    done = run(maps(0, 2), *map(touches, (0, 3, 15, 32)), config=fitting)
    assert done.count("walk", "walks") == 2, "a page of 64 KiB a piece"
    small = attrs.evolve(ARRAY, piece=4 * PAGE)
    pieces = [
        attrs.evolve(maps(0), pieces=(BASE + n * 4 * PAGE,), piece_bytes=4 * PAGE) for n in (0, 1)
    ]
    done = run(*pieces, *map(touches, (0, 3, 4)), config=fitting, array=small)
    assert done.count("walk", "walks") == 3, "no page reaches into a piece that is not there"


@pytest.mark.parametrize("seed", range(4))
def test_random_calls_beside_a_set(seed: int) -> None:
    """The oracle is a set of mapped pieces; translations are checked on every hit of a TLB."""
    rng = np.random.default_rng(seed)
    there: set[int] = set()
    launches: list[Launch] = []
    mapped = unmapped = 0
    for _ in range(40):
        piece = int(rng.integers(8))
        if piece in there and rng.random() < 0.5:
            there.remove(piece)
            unmapped += 1
            launches.append(unmaps(piece))
        elif piece not in there:
            there.add(piece)
            mapped += 1
            launches.append(maps(piece))
        if there:
            pages = rng.integers(16, size=8) + 16 * rng.choice(sorted(there), 8)
            launches.append(touches(*map(int, pages)))
    if seed % 2:
        fitting = change(TIMED, memory={"frames": PolicyConfig("largest-fit")})
    else:
        fitting = change(TIMED, walk={"cost": "memory"})
    done = run(*launches, config=fitting)
    table = done.machine.page_table
    left = {(one.vpn * PAGE - BASE) // PIECE for one in table.pages_of(0)}
    assert left == there
    assert done.count("mapping_calls", "pieces_mapped") == mapped
    assert done.count("mapping_calls", "pieces_unmapped") == unmapped
    assert done.count("mapping_calls", "call_pages_resident") == 16 * len(there)
    gone = next(piece for piece in range(8) if piece not in there)
    with pytest.raises(UserError, match="reserved and not mapped"):
        run(*launches, touches(16 * gone), config=fitting)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UserError, match="not with demand paging"):
        run(maps(0), touches(0), config=attrs.evolve(TIMED, paging=PagingConfig()))
    with pytest.raises(UserError, match=r"no whole pages of memory\.page = 2048 KiB"):
        run(maps(0), touches(0), config=change(TIMED, memory={"page": 2 << 20}))


# -- nodes -------------------------------------------------------------------------------------


def run_on_node(config: GpuConfig, *launches: Launch, first: int = 0, array: Buffer = ARRAY) -> Run:
    application = ScriptedApplication(launches, buffers=(array,))
    assert config.node is not None
    sms = range(first * config.sm.count, config.node.gpus * config.sm.count)
    return Run.of(config, [Tenant("scripted", application, sms)])


@pytest.mark.parametrize("tables", ["shared", "per-gpu"])
def test_pieces_are_mapped_to_the_memories_of_a_node(tables: Any) -> None:
    config = node(2, TIMED, page_tables=tables)
    launches = maps(0, 1), touches(*range(32)), unmaps(0), maps(2), touches(*range(16, 48))
    done = run_on_node(config, *launches)
    table = done.machine.page_table
    assert isinstance(table, NodeTable)
    places = {one.vpn - BASE // PAGE: table.gpu_of(one.pfn) for one in table.pages_of(0)}
    assert places == {page: page % 2 for page in range(16, 48)}, "pages take turns"
    assert lengths(done)[0] == 2 * MAP
    counted = ("call_pages_mapped", "call_pages_unmapped", "call_pages_resident")
    assert [done.count("mapping_calls", name) for name in counted] == [48, 16, 32]
    with pytest.raises(UserError, match="reserved and not mapped"):
        run_on_node(config, *launches, touches(3))


@pytest.mark.parametrize("first", [0, 1])
def test_without_placement_pieces_go_to_the_programs_first_gpu(first: int) -> None:
    config = node(2, TIMED, placement=PolicyConfig("first-touch"))
    for array, gpu in ((ARRAY, first), (attrs.evolve(ARRAY, gpu=1 - first), 1)):
        done = run_on_node(config, maps(0), touches(*range(16)), first=first, array=array)
        table = done.machine.page_table
        assert isinstance(table, NodeTable)
        assert {table.gpu_of(one.pfn) for one in table.pages_of(0)} == {gpu}


def test_pages_that_may_move_are_refused() -> None:
    config = node(
        2,
        TIMED,
        host_mmu=HostMmuConfig(cycles(30), 4, 2, cycles(50)),
        remote=PolicyConfig("on-touch"),
    )
    with pytest.raises(UserError, match=r"cannot move: leave out node\.host_mmu"):
        run_on_node(config, maps(0), touches(0))


# -- programs ----------------------------------------------------------------------------------


def test_addresses_are_reserved_and_pieces_follow_elements() -> None:
    memory = AddressSpace()
    before = memory.zeros("before", 10, np.int32)
    cache = memory.reserve("cache", 100_000, np.float32, piece=64 << 10)
    after = memory.zeros("after", 10, np.int32)
    assert cache.base - before.base == 64 << 10
    assert after.base - cache.base == 7 * (64 << 10), "whole pieces"
    first = memory.map(cache, 16_383, 2)
    assert [(one - cache.base) >> 16 for one in first.pieces] == [0, 1]
    assert memory.map(cache, 0, 20_000).pieces == (), "they are there"
    assert len(memory.map(cache, 0, 100_000).pieces) == 5
    gone = memory.unmap(cache, 1, 50_000)
    assert [(one - cache.base) >> 16 for one in gone.pieces] == [1, 2], "none that others are in"
    assert [(one - cache.base) >> 16 for one in memory.unmap(cache, 98_304, 1_696).pieces] == [6]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda m: m.reserve("a", 10, np.int32, piece=3000), "piece = 3000 bytes; allowed: 4 KiB"),
        (lambda m: m.reserve("cache", 10, np.int32), "there is such an array already"),
        (lambda m: m.map(m["other"], 0, 1), "'other', which is not reserved"),
        (lambda m: m.map(m["cache"], 90, 11), "elements 90 to 100 of 'cache', which has 100"),
        (lambda m: m.map(m["cache"], 0, 1).on(-1), "-1 is no stream"),
    ],
)
def test_mistakes_are_named(what: Any, message: str) -> None:
    memory = AddressSpace()
    memory.reserve("cache", 100, np.int32)
    memory.zeros("other", 100, np.int32)
    with pytest.raises(UserError, match=message):
        what(memory)


GROWING = {"context": 4096, "prompt": 254, "heads": 1, "kv_heads": 1, "batch": 2, "partition": 512}


def growing(**parameters: object) -> gpusim.Result:
    own = {**GROWING, "layout": "contiguous", "piece": 65536, "answer": 4, **parameters}
    workload = gpusim.load_workload("growing_decode", "smoke", overrides=own)
    return gpusim.simulate("tiny", workload)


def test_a_cache_grows_with_its_sequences_by_hand() -> None:
    """A token has 256 bytes of keys: a piece 256 tokens; a sequence's addresses are 16 pieces.

    Sequence 0 has 255, 256, 257 tokens: its second piece is mapped before the third step.
    Sequence 1 has 257 and 258, ends, and begins again with 255: two pieces, then one.
    """
    for maps_, calls in (("ahead", 1), ("when-needed", 1)):
        found = growing(maps=maps_, steps=3)
        assert found.summary["pieces_mapped"] == 2 * (1 + 2 + 1 + calls)
        assert found.summary["pieces_unmapped"] == 2 * 2
        names = found.launches.kernel.tolist()
        assert names.count("unmap v_cache_0") == 1
    kept = growing(releases="deferred", steps=3)
    assert (kept.summary["pieces_mapped"], kept.summary["pieces_unmapped"]) == (8, 0)


def test_to_map_ahead_hides_its_time() -> None:
    ahead, needed = (
        growing(maps=one, steps=3, answer=64).summary["cycles"] for one in ("ahead", "when-needed")
    )
    assert ahead < needed


def test_a_paged_cache_is_there_from_the_beginning() -> None:
    found = growing(layout="paged", steps=2)
    assert "pieces_mapped" not in found.summary
    assert found.launches.kernel.tolist()[0] == "reshape_and_cache"


def test_events_refuse_it(tmp_path: Path) -> None:
    workload = gpusim.load_workload("growing_decode", "smoke")
    events = tmp_path / "events.jsonl"
    events.write_text('{"at": 100, "event": "unmap", "address": "query"}\n', encoding="utf-8")
    with pytest.raises(UserError, match="maps pieces of an array by itself"):
        gpusim.simulate("tiny", workload, events=events)


@pytest.mark.parametrize(
    "event",
    [
        {"event": "remap"},
        pytest.param({"event": "synonym", "of": "query"}, marks=pytest.mark.long),
        pytest.param({"event": "protect"}, marks=pytest.mark.long),
    ],
    ids=lambda one: one["event"],
)
def test_events_at_pieces_that_are_not_mapped_are_of_no_effect(
    event: dict[str, str], tmp_path: Path
) -> None:
    whole = {"at": 0, "address": "k_cache_0", **event}
    if event["event"] == "protect":
        whole["permission"] = "read"
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps(whole) + "\n", encoding="utf-8")
    model = gpusim.load_model("apu-hsa", ["vc"])
    workload = gpusim.load_workload("growing_decode", "smoke")
    with gpusim.simulate(model, workload, events=events) as one:
        assert one.summary == gpusim.simulate(model, workload).summary


@pytest.mark.long
def test_it_can_be_skipped() -> None:
    workload = gpusim.load_workload("growing_decode", "smoke")
    whole = gpusim.simulate("tiny", workload)
    skipped = gpusim.simulate("tiny", workload, skip="8launches")
    assert skipped.summary["pieces_mapped"] == whole.summary["pieces_mapped"]
    assert skipped.summary["cycles"] < whole.summary["cycles"]
    begun = skipped.launches.sort_values("launch").begin.tolist()
    assert begun == sorted(begun)
    assert skipped.summary["cycles"] - begun[-1] < whole.summary["cycles"] // 4


@pytest.mark.parametrize(
    "skip", quick(["1launches", "8launches", "9launches", "20blocks"], "9launches")
)
def test_it_goes_on_from_a_checkpoint(skip: str, tmp_path: Path) -> None:
    """Every launch and call may be the last one that is skipped, or the first one that is not."""
    own = {**GROWING, "layout": "contiguous", "piece": 65536, "answer": 4, "steps": 4}
    workload = gpusim.load_workload("growing_decode", "smoke", overrides=own)
    skipped = gpusim.simulate("tiny", workload, skip=skip)
    for keep in ("all", "0"):
        state = tmp_path / f"{keep}.h5"
        gpusim.checkpoint("tiny", workload, state, skip=skip, keep=keep)
        started = gpusim.simulate("tiny", workload, start=state)
        assert started.summary["pieces_mapped"] == skipped.summary["pieces_mapped"]
        assert started.launches.kernel.tolist() == skipped.launches.kernel.tolist()
        if keep == "all":
            assert started.digest == skipped.digest


def test_windows_are_refused() -> None:
    workload = gpusim.load_workload("growing_decode", "smoke")
    with pytest.raises(UserError, match="piece by piece, beside its launches, and windows run one"):
        gpusim.simulate("tiny", workload, sample="windows=3,length=2kcycles,warm=1kcycles")


def test_without_a_clock_pages_are_mapped() -> None:
    from gpusim.studies.characterize import characterize

    workload = gpusim.load_workload("growing_decode", "smoke")
    assert characterize(workload, gpusim.load_model("tiny")).applications[0].pages > 0
