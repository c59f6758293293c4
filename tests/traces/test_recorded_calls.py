"""Calls that map and unmap arrays, in gpusim's own traces: runs of both are the same."""

import h5py
import pytest

from gpusim import load_model, load_workload, simulate
from gpusim.core.errors import UserError
from gpusim.core.mapping_calls import MappingCall
from gpusim.studies.characterize import Design, characterize_tlbs
from gpusim.traces.open_trace import open_trace
from gpusim.traces.recorder import record_trace
from tests.quick import quick


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "trace.h5"
    record_trace(load_workload("growing_decode", "smoke"), path)
    return path


@pytest.mark.parametrize("maps", quick(["ahead", "when-needed"], "ahead"))
def test_a_recording_runs_like_its_workload(tmp_path, maps):
    own = {"maps": maps, "answer": 4, "steps": 4, "piece": 65536}
    workload = load_workload("growing_decode", "smoke", overrides=own)
    path = tmp_path / "trace.h5"
    record_trace(workload, path)
    with simulate("tiny", workload) as run, simulate("tiny", load_workload(str(path))) as again:
        assert run.summary["pieces_unmapped"] > 0
        assert again.digest == run.digest
        skipped = simulate("tiny", load_workload(str(path)), skip="3launches")
        assert skipped.summary["pieces_mapped"] == run.summary["pieces_mapped"]
    tlbs = [Design("base", load_model("tiny"))]
    both = [characterize_tlbs(one, tlbs) for one in (workload, load_workload(str(path)))]
    assert both[0].designs == both[1].designs


def test_a_recording_of_a_recording_is_the_same(tmp_path, recording):
    trace, copy = open_trace(recording), tmp_path / "copy.h5"
    record_trace(trace, copy, trace.warp_size)
    calls = [
        list(open_trace(path).applications[0].start().launches()) for path in (recording, copy)
    ]
    own = [[one.pieces for one in some if isinstance(one, MappingCall)] for some in calls]
    assert own[0] == own[1]
    assert any(own[0])
    assert h5py.File(copy).attrs["schema"] == 4


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ("call_pieces/address", 64, "a piece of .* at 0x40, where no array has one"),
        ("call_pieces/call", 99, "a piece of call 99; there are"),
        ("mapping_calls/bytes", 4096, "a piece of 4096 bytes at"),
        ("mapping_calls/launch", 1 << 40, "launch 1099511627776 maps or unmaps, and is none"),
        ("mapping_calls/launch", -1, "launch -1 maps or unmaps, and is none"),
        ("buffers/piece", 12345, "has pieces of 12345 bytes"),
        ("buffers/piece", -4096, "has pieces of -4096 bytes"),
    ],
)
def test_damage_is_told(recording, where, value, message):
    with h5py.File(recording, "a") as file:
        file[where][0] = value
    with pytest.raises(UserError, match=rf"trace\.h5.*{message}"):
        open_trace(recording)
