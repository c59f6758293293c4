"""A file that is written anew under its name is another input, in the same process too."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.core.warp_program import Application, Launch
from gpusim.files import contents
from gpusim.files.shipped import data_folder
from gpusim.runs.windows import sampled_run
from gpusim.studies.reproduce import claims
from gpusim.studies.sweep.key import content_key
from gpusim.traces.recorder import record_trace
from gpusim.workloads import library, sizes
from gpusim.workloads.survey import SurveyedLaunch, survey
from gpusim.workloads.workload import Workload
from tests.programs.test_own_programs import Parameters, TouchAll
from tests.traces.writing_macsim import BASE, EXIT, LDG, record, write_kernel
from tests.whole.running import run

WINDOWS = "windows=4,length=30instructions,warm=10instructions"


def record_nw(path: Path, n: int) -> None:
    record_trace(gpusim.load_workload("nw", "smoke", overrides={"n": n}), path)


def estimated(workload: str | Workload) -> float:
    """Instructions of the whole program, as its sample tells them."""
    result = gpusim.simulate(gpusim.load_model("tiny"), workload, sample=WINDOWS)
    return float(result.summary["instructions"])


def test_a_trace_that_is_written_anew_is_surveyed_anew(tmp_path: Path) -> None:
    trace = tmp_path / "trace.h5"
    for n in (32, 64):
        record_nw(trace, n)
        whole = run("tiny", "nw", parameters={"n": n}).summary["instructions"]
        assert estimated(str(trace)) == pytest.approx(whole)


def test_a_trace_that_changes_after_it_was_loaded_spoils_no_later_survey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "_SETTLED_NS", -1_000_000_000)
    trace, other = tmp_path / "trace.h5", tmp_path / "other.h5"
    record_nw(trace, 32)
    record_nw(other, 64)
    loaded = gpusim.load_workload(str(trace))
    os.replace(other, trace)  # noqa: PTH105
    assert loaded.applications[0].content() is None
    assert gpusim.load_workload(str(trace)).applications[0].content()


def test_what_stays_is_surveyed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    surveyed: list[int] = []

    def counted(application: Application, warp_size: int) -> Sequence[SurveyedLaunch]:
        surveyed.append(warp_size)
        return survey(application, warp_size)

    monkeypatch.setattr(sampled_run, "survey", counted)
    monkeypatch.setattr(sampled_run, "_surveys", {})
    for n in (48, 48, 32):
        estimated(gpusim.load_workload("nw", "smoke", overrides={"n": n}))
    assert len(surveyed) == 2


def test_a_graph_that_is_written_anew_is_surveyed_anew(tmp_path: Path) -> None:
    graph, found = tmp_path / "ring.el", []
    for vertices in (64, 512):
        graph.write_text("".join(f"{v} {(v + 1) % vertices}\n" for v in range(vertices)))
        loaded = gpusim.load_workload("pagerank", "smoke", overrides={"graph": str(graph)})
        found.append(estimated(loaded))
    assert found[1] > 2 * found[0]


def test_a_program_that_is_defined_anew_is_surveyed_anew() -> None:
    found = []
    for times in (1, 4):

        class Again(TouchAll):
            times_over = times

            def launches(self) -> Iterator[Launch]:
                for _ in range(self.times_over):
                    yield from super().launches()

        gpusim.program("touching_again", Parameters)(Again)
        found.append(estimated(gpusim.load_workload("touching_again", "smoke")))
    assert found[1] == pytest.approx(4 * found[0])


def key_of(path: Path) -> str:
    return content_key(gpusim.load_model("tiny"), gpusim.load_workload(str(path)))


def test_what_lies_beside_a_table_counts(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    columns = {"kernel": [1], "workgroup": [1], "wavefront": [0], "vaddr": [4096], "is_write": [0]}
    np.savez(path, **{name: np.array(values) for name, values in columns.items()})
    keys = {key_of(path)}
    for size in (32, 64):
        path.with_suffix(".json").write_text(json.dumps({"warp_size": size}))
        keys.add(key_of(path))
    assert len(keys) == 3


def test_the_warps_of_a_kernel_of_macsim_count(tmp_path: Path) -> None:
    keys = set()
    for address in (BASE, BASE + 4096):
        warps = {0: [record(LDG, address=address, to=[4]), record(EXIT)]}
        keys.add(key_of(write_kernel(tmp_path, warps)))
    assert len(keys) == 2


def test_tables_that_come_along_may_be_edited_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(data_folder("workloads") / "papers", tmp_path / "papers")
    shutil.copytree(data_folder("experiments") / "claims", tmp_path / "claims")
    for module in (library, claims):
        monkeypatch.setattr(module, "data_folder", lambda kind: tmp_path)
    before = library.read_paper("mask"), claims.papers()
    for folder, old, new in (("papers", "sad", "bfs"), ("claims", "MASK: ", "MASK, ")):
        path = tmp_path / folder / "mask.toml"
        path.write_text(path.read_text().replace(old, new))
    assert library.read_paper("mask") != before[0]
    assert claims.papers() != before[1]
    sizes_file = tmp_path / "sizes.csv"
    for size in (1, 2):
        sizes.write_sizes(sizes_file, {("nw", "smoke"): sizes.Size(size, None, False)})
        assert sizes.read_sizes(sizes_file)["nw", "smoke"].footprint == size
