"""Listeners write what probes announce."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.core.engine import Probe
from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.request import Access, Kind, MemoryRequest, Translation
from gpusim.core.states import State
from gpusim.core.unboxed import IntList
from gpusim.hardware.dram import Completion, Waiting
from gpusim.hardware.walk import Walk
from gpusim.results import RECORDS, RunData
from gpusim.results.event_tables import check_records
from gpusim.runs.recorder import Recorder
from gpusim.runs.writer import ResultWriter
from tests.runs.ended_walks import ended_walk


class Instruction(Access):
    """Of a warp, of which the recorder wants the number."""

    def __init__(self, warp: int) -> None:
        self.warp = SimpleNamespace(uid=warp)


def make_request(trail: list[int], warp: int | None) -> MemoryRequest:
    access = None if warp is None else Instruction(warp)
    return MemoryRequest(Kind.LOAD, 0, 1, 3, 0, 0, 0x77, 0b1111, 0, access, IntList(trail))


def completed_read() -> Completion:
    """Of a page-table entry of the fourth level, by channel 3."""
    request = MemoryRequest(Kind.WALK, 1, 1, 3, 0, 0, 0, 1, 4, None, IntList())
    return Completion(3, Waiting(request, 15, 1 << 20, False, 1, 100), 110, 150)


def test_unknown_records() -> None:
    with pytest.raises(UserError, match=r"cannot record 'interval'; did you mean 'intervals'\?"):
        check_records(["walks", "interval"])
    with pytest.raises(
        UserError, match="allowed: intervals, walks, walk_reads, dram, requests, tlb"
    ):
        check_records(["everything"])
    with ResultWriter() as writer, pytest.raises(UserError, match="cannot record"):
        Recorder(writer, ["x"])


def test_only_what_was_asked_for_is_there(run: RunData) -> None:
    with ResultWriter() as writer:
        recorder = Recorder(writer, ["requests", "walks", "walks"])
        assert recorder.records == ("walks", "requests")
        assert writer.finish(run).tables == {"requests": 0, "stages": 0, "walks": 0}


def test_probes(run: RunData) -> None:
    on_interval: Probe[[int, int, int, int, int, int, int]] = Probe()
    on_walk: Probe[[Walk, int]] = Probe()
    on_dram: Probe[[Completion]] = Probe()
    on_lookup: Probe[[int, int, int, bool, int]] = Probe()
    on_epoch: Probe[[int, int, int, int, int, int, int, int]] = Probe()
    with ResultWriter() as writer:
        recorder = Recorder(writer, list(RECORDS))
        on_interval.listen(recorder.listener("intervals"))
        on_walk.listen(recorder.listener("walks"))
        on_dram.listen(recorder.listener("dram"))
        on_lookup.listen(recorder.listener("tlb"))
        on_epoch.listen(recorder.listener("epochs"))
        on_interval(1, 70_000, 5, 0, State.WALK, 10, 1 << 40)
        on_walk(ended_walk(2, (1 << 36) - 1, -1, 5, 6), 506)
        on_dram(completed_read())
        on_lookup(1, 4, 3 << ASID_SHIFT | 0xABC, True, 9)
        on_epoch(2, 0, 1, 1 << 40, 70_000, 30_000, 1920, 1536)
        result = writer.finish(run)
    assert rows(result.table("intervals")) == [[1, 70_000, 5, 0, State.WALK, 10, 1 << 40]]
    assert rows(result.table("walks")) == [[2, (1 << 36) - 1, -1, 0, 5, 6, 506, 4]]
    assert rows(result.table("dram")) == [[3, 15, 1 << 20, Kind.WALK, 1, 4, 100, 110, 150, 0, 1]]
    assert rows(result.table("tlb")) == [[1, 4, 3, 0xABC, 1, 9]]
    assert rows(result.table("epochs")) == [[2, 0, 1, 1 << 40, 70_000, 30_000, 1920, 1536]]


def test_requests_and_their_stages(run: RunData) -> None:
    translation = Translation(0, 1, 3, 0, 0, 0, IntList([State.TLB, 12, State.WALK, 20]))
    first = make_request([State.LSU, 10], warp=9)
    first.follow(translation, 12)
    first.trail += (State.CACHE, 30)
    second = make_request([State.LSU, 11, State.CACHE, 13], warp=None)
    with ResultWriter() as writer:
        recorder = Recorder(writer, ["requests"])
        recorder.listener("requests")(second, 11, 14)
        recorder.listener("requests")(first, 10, 40)
        result = writer.finish(run)
    assert rows(result.table("requests")) == [
        [0, 3, -1, Kind.LOAD, 0x77, 11, 14, 0],
        [0, 3, 9, Kind.LOAD, 0x77, 10, 40, 2],
    ]
    assert rows(result.table("stages")) == [
        [0, State.LSU, 11, 13],
        [0, State.CACHE, 13, 14],
        [1, State.LSU, 10, 12],
        [1, State.TLB, 12, 20],
        [1, State.WALK, 20, 30],
        [1, State.CACHE, 30, 40],
    ]


def rows(frame: Any) -> list[list[int]]:
    found: list[list[int]] = frame.to_numpy().tolist()
    return found
