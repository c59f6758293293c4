"""Streams of traces: kernels of different ones overlap, and a recording keeps them."""

from __future__ import annotations

from pathlib import Path
from shutil import copy

import h5py
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.streams import StreamUse
from gpusim.results import Result
from gpusim.traces.open_trace import open_trace
from gpusim.traces.recorder import record_trace
from tests.programs.test_launch_streams import two_streams
from tests.traces.test_nvbit import launch, record
from tests.traces.writing import EXIT, block, header, write

LENGTH = 200
WORK = [f"{16 * n:04x} ffffffff 1 R4 IADD3 1 R4 0 0" for n in range(LENGTH)]


def traced(folder: Path, *lines: int | str) -> str:
    """A list of equal kernels, each of a stream; a text is a line of the list."""
    listed = []
    for number, line in enumerate(lines):
        if isinstance(line, str):
            listed.append(line)
            continue
        name = f"kernel-{number}.traceg"
        text = header(kernel__name=f"k{number}", cuda__stream__id=str(line))
        write(folder / name, text + block([[*WORK, EXIT]]))
        listed.append(name)
    return str(write(folder / "kernelslist.g", "\n".join([*listed, ""])))


def run(path: str, **parameters: object) -> Result:
    model = gpusim.load_model("tiny")
    return gpusim.simulate(model, gpusim.load_workload(path, overrides=parameters))


def spans(result: Result) -> list[tuple[int, int]]:
    launches = result.launches.sort_values("launch")
    return list(zip(launches.begin.tolist(), launches.end.tolist(), strict=True))


@pytest.mark.parametrize(
    ("streams", "rounds"),
    [((7, 7), 2), ((7, 8), 1), ((0, 7), 2), ((7, 0), 2), ((0, 0), 2), ((7, 8, 0), 2)],
)
def test_kernels_of_other_streams_overlap(
    tmp_path: Path, streams: tuple[int, ...], rounds: int
) -> None:
    found = spans(run(traced(tmp_path, *streams)))
    assert rounds * LENGTH < found[-1][1] < (rounds + 0.2) * LENGTH
    assert (found[1][0] == 0) == (0 not in streams[:2] and streams[0] != streams[1])


def test_the_result_tells_streams_and_overlaps(tmp_path: Path) -> None:
    with run(traced(tmp_path, 7, 8, 7)) as result:
        launches = result.launches.sort_values("launch")
        assert launches.stream.tolist() == [7, 8, 7]
        assert launches.overlaps.tolist()[0] == 1
        (warning,) = result.warnings
        assert "launches had blocks while earlier ones had" in warning
    with run(traced(tmp_path, 0, 0, 0)) as result:
        assert result.launches.overlaps.tolist() == [0, 0, 0]
        assert not result.warnings


def test_a_copy_between_launches_is_waited_for(tmp_path: Path) -> None:
    found = spans(run(traced(tmp_path, 7, "MemcpyHtoD,0x7f1000000000,4096", 8, 9)))
    assert found[1][0] == found[2][0] == found[0][1]


def test_what_streams_mean_can_be_said(tmp_path: Path) -> None:
    path = traced(tmp_path, 0, 7)
    assert spans(run(path))[1][0] > 0
    assert spans(run(path, streams="per-thread"))[1][0] == 0
    path = traced(tmp_path, 8, 7)
    assert spans(run(path))[1][0] == 0
    assert spans(run(path, streams="one"))[1][0] == spans(run(path, streams="one"))[0][1]
    with pytest.raises(UserError, match=r"streams=two: allowed: legacy, per-thread, one"):
        run(path, streams="two")


def test_skipped_runs_do_not_overlap_and_say_so(tmp_path: Path) -> None:
    workload = gpusim.load_workload(traced(tmp_path, 7, 8, 9))
    with gpusim.simulate(gpusim.load_model("tiny"), workload, skip="1launches") as result:
        found = spans(result)
        assert [end for _, end in found[:-1]] == [begin for begin, _ in found[1:]]
        assert any("3 launches of streams or GPUs ran one" in w for w in result.warnings)


def test_a_stopped_run_keeps_all_launches_under_way(tmp_path: Path) -> None:
    workload = gpusim.load_workload(traced(tmp_path, 7, 8, 7))
    with gpusim.simulate(gpusim.load_model("tiny"), workload, until=["50cycles"]) as result:
        assert result.launches.launch.tolist() == [0, 1]
        assert result.launches.end.tolist() == [50, 50]
        assert result.kernels.instructions.sum() > 0


def test_nvbit_tells_streams(tmp_path):
    other = launch(1).replace("stream id 0", "stream id 9")
    lines = [launch(), record("0,0,0", 0, "LDG.E.SYS", {0: 4096}), other, ""]
    (application,) = open_trace(write(tmp_path / "run.txt", "\n".join(lines))).applications
    assert [one.stream_use.stream for one in application.start().launches()] == [0, 9]


@pytest.mark.parametrize("number", [1 << 63, 10**60])
def test_streams_that_are_none(tmp_path: Path, number: int) -> None:
    with pytest.raises(UserError, match="stream"):
        run(traced(tmp_path, number))


def test_a_recording_keeps_streams(tmp_path: Path) -> None:
    path = traced(tmp_path, 7, 8, "MemcpyHtoD,0x7f1000000000,4096", 7)
    record_trace(open_trace(Path(path)), tmp_path / "r.h5")
    copy(tmp_path / "r.h5", tmp_path / "damaged.h5")
    assert (
        run(str(tmp_path / "r.h5"))
        .launches[["begin", "end", "stream"]]
        .equals(run(path).launches[["begin", "end", "stream"]])
    )
    with h5py.File(tmp_path / "damaged.h5", "a") as file:
        assert file.attrs["schema"] == 2
        file["streams/after"][0] = "2"
    with pytest.raises(UserError, match=r"damaged\.h5 is damaged"):
        open_trace(tmp_path / "damaged.h5")
    record_trace(open_trace(Path(traced(tmp_path, 0, 0))), tmp_path / "plain.h5")
    with h5py.File(tmp_path / "plain.h5") as file:
        assert file.attrs["schema"] == 1
        assert "streams" not in file


def test_a_recording_keeps_events(tmp_path: Path) -> None:
    workload = gpusim.load_workload(two_streams)
    record_trace(workload, tmp_path / "r.h5")
    (application,) = open_trace(tmp_path / "r.h5").applications
    uses = [one.stream_use for one in application.start().launches()]
    assert [use.stream for use in uses] == [1, 2, 1, 0]
    assert uses[2].after == (uses[1],)
    assert uses[0] != StreamUse(1), "each launch has a use of its own"
