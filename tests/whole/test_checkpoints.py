"""Runs that start from a checkpoint are those that skip as much."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import gpusim
from gpusim.core.errors import UserError
from gpusim.results.result import Result
from gpusim.runs.checkpoint.file import read_checkpoint
from gpusim.traces.recorder import record_trace
from gpusim.workloads.workload import Workload
from tests.whole.running import command

MVT = {"n": 128, "iterations": 4}
VERTICES = 600
LINES = {"l1.line": "64B", "l1.sector": "64B", "l2.line": "64B", "l2.sector": "64B"}

PAIR = """\
relaunch = "until-all-have-run"

[[applications]]
program = "bfs"
share = 0.5
smoke = {{ graph = "{graph}" }}

[[applications]]
program = "mvt"
share = 0.5
smoke = {{ n = 128, iterations = 4 }}
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph whose levels grow by three, for some launches with data-dependent addresses."""
    edges = [
        f"{node} {child}"
        for node in range(1, VERTICES + 1)
        for child in range(3 * node - 1, 3 * node + 2)
        if child <= VERTICES
    ]
    path = tmp_path_factory.mktemp("graph") / "tree.mtx"
    head = "%%MatrixMarket matrix coordinate pattern general"
    text = "\n".join((head, f"{VERTICES} {VERTICES} {len(edges)}", *edges, ""))
    path.write_text(text, encoding="ascii")
    return path


def workload(name: str, **parameters: object) -> Workload:
    return gpusim.load_workload(name, "smoke", overrides=parameters)


def run(what: Workload, overrides: dict[str, object] | None = None, **options: Any) -> Result:
    return gpusim.simulate(gpusim.load_model("tiny", (), overrides), what, **options)


def kept(what: Workload, path: Path, **options: Any) -> Path:
    gpusim.checkpoint("tiny", what, path, **options)
    return path


@pytest.fixture(scope="module")
def bfs(tree: Path) -> Workload:
    return workload("bfs", graph=str(tree))


@pytest.fixture(scope="module")
def three_launches(bfs: Workload, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept(bfs, tmp_path_factory.mktemp("kept") / "bfs.h5", skip="3launches")


def test_where_nothing_is_skipped_the_run_is_the_uninterrupted_one(
    bfs: Workload, tmp_path: Path
) -> None:
    from_nothing = run(bfs, start=kept(bfs, tmp_path / "state.h5"))
    assert from_nothing.digest == run(bfs).digest
    assert not [told for told in from_nothing.warnings if "a part of the program" in told]


def test_a_host_loop_that_looks_at_data_goes_on_as_if_it_had_been_executed(
    bfs: Workload, three_launches: Path
) -> None:
    skipped, started = run(bfs, skip="3launches"), run(bfs, start=three_launches)
    assert started.digest == skipped.digest
    assert len(started.launches) == len(run(bfs).launches) > 4
    assert run(bfs, start=three_launches).digest == started.digest


@pytest.mark.parametrize(
    "overrides",
    [
        {"tlb.L1.entries": 8, "l2.ways": 2},
        {"l1.translation": "after", "l1.replacement": "random"},
        {"l1.writes": "allocate", "memory.page": "64KiB"},
        {"l2.sector": "32B", "l1.sector": "32B", "launch_overhead": "30 cycles"},
    ],
    ids=str,
)
def test_other_designs_start_from_it_as_exactly(
    bfs: Workload, three_launches: Path, overrides: dict[str, object]
) -> None:
    skipped = run(bfs, overrides, skip="3launches")
    assert run(bfs, overrides, start=three_launches).digest == skipped.digest


def test_blocks_end_within_a_launch(tmp_path: Path) -> None:
    mvt = workload("mvt", n=512, iterations=2)
    state = kept(mvt, tmp_path / "state.h5", skip="2blocks")
    assert run(mvt, start=state).digest == run(mvt, skip="2blocks").digest


def test_two_applications(tree: Path, tmp_path: Path) -> None:
    path = tmp_path / "pair.toml"
    path.write_text(PAIR.format(graph=tree), encoding="utf-8")
    both = workload(str(path))
    state = kept(both, tmp_path / "state.h5", skip="1launches")
    assert run(both, start=state).digest == run(both, skip="1launches").digest
    with pytest.raises(UserError, match="the workload is bfs, and was pair"):
        run(both.alone("bfs"), start=state)


def test_a_trace_has_no_arrays(tmp_path: Path) -> None:
    record_trace(workload("mvt", **MVT), tmp_path / "mvt.h5")
    trace = gpusim.load_workload(str(tmp_path / "mvt.h5"))
    state = kept(trace, tmp_path / "state.h5", skip="1launches")
    assert run(trace, start=state).digest == run(trace, skip="1launches").digest


def test_a_sampled_program(tmp_path: Path) -> None:
    sampled = workload("mvt", n=512, iterations=2, sample=2)
    state = kept(sampled, tmp_path / "state.h5", skip="1launches")
    assert run(sampled, start=state).digest == run(sampled, skip="1launches").digest


@pytest.mark.parametrize("keep", ["0", "20"])
def test_a_summary_comes_close(bfs: Workload, tmp_path: Path, keep: str) -> None:
    state = kept(bfs, tmp_path / "state.h5", skip="3launches", keep=keep)
    (app,) = read_checkpoint(state).applications
    assert len(app.whole) == int(keep) < app.accesses
    assert 0 < len(app.last) < app.before
    skipped, started = run(bfs, skip="3launches"), run(bfs, start=state)
    assert started.digest == run(bfs, start=state).digest
    assert started.summary["cycles"] == pytest.approx(skipped.summary["cycles"], rel=0.03)
    assert started.summary["instructions"] == skipped.summary["instructions"]


def test_the_result_says_where_it_started(bfs: Workload, three_launches: Path) -> None:
    started = run(bfs, start=three_launches)
    assert "were skipped (3launches, from bfs.h5)" in started.warnings[0]
    assert "from=bfs.h5:" in started.provenance.title


def test_what_does_not_fit_is_named(bfs: Workload, tree: Path, three_launches: Path) -> None:
    def refused(why: str, what: Workload, **overrides: object) -> None:
        with pytest.raises(UserError, match=why):
            run(what, overrides, start=three_launches)

    refused("the workload is mvt, and was bfs", workload("mvt", **MVT))
    refused("its seed is 7, and was 0", evolve(bfs, seed=7))
    refused("its scale is quick, and was smoke", evolve(bfs, scale="quick"))
    other = workload("bfs", graph=str(tree), sample=2)
    refused("workload.bfs.sample is 2, and was 1", other)
    refused("l1.line is 64, and was 128", bfs, **LINES)
    refused("sm.max_blocks is 8, and was 4", bfs, **{"sm.max_blocks": 8})
    refused("bfs on 3 SMs, and was bfs on 2 SMs", bfs, **{"sm.count": 3})
    options: list[dict[str, Any]] = [{"skip": "1launches"}, {"sample": "windows=3"}]
    for option in options:
        with pytest.raises(UserError, match="not with skip or sample"):
            run(bfs, start=three_launches, **option)


def test_other_input_under_the_same_name(tmp_path: Path) -> None:
    graph = tmp_path / "graph.mtx"

    def written(edges: str) -> Workload:
        graph.write_text(
            f"%%MatrixMarket matrix coordinate pattern general\n4 4 4\n{edges}", encoding="ascii"
        )
        return workload("bfs", graph=str(graph))

    state = kept(written("1 2\n2 3\n3 4\n4 1\n"), tmp_path / "state.h5", skip="1launches")
    with pytest.raises(UserError, match="made with other input: the arrays of bfs"):
        run(written("1 3\n2 3\n3 4\n4 1\n"), start=state)


REFUSED: list[tuple[dict[str, str], str]] = [
    ({"skip": "500instructions"}, "cannot end inside of thread blocks"),
    ({"skip": "9launches"}, "mvt ends within its first 9 launches"),
    ({"skip": "1launches", "keep": "many"}, "keep many: write a number"),
    ({"skip": "1launches", "keep": "99G"}, "keep 99G: .* are too many"),
]


@pytest.mark.parametrize(("options", "why"), REFUSED)
def test_what_cannot_be_kept(tmp_path: Path, options: dict[str, str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        kept(workload("mvt", **MVT), tmp_path / "state.h5", **options)
    assert not list(tmp_path.iterdir())


def test_on_the_command_line(tmp_path: Path) -> None:
    state = str(tmp_path / "state.h5")
    small = ("tiny", "mvt", "--scale", "smoke", "--set", "workload.n=64")
    made = command("checkpoint", *small, "--skip", "1launches", "-o", state, "--json")
    assert json.loads(made.output)["launches"] == 1
    assert "1 launches" in command("checkpoint", *small, "--skip", "1launches", "-o", state).output
    told = " ".join(command("run", *small, "--from", state).output.split())
    assert "were skipped (1launches, from state.h5)" in told
    refused = command("run", *small, "--from", state, "--seeds", "2", code=2)
    assert "--from: a checkpoint is of one seed" in refused.stderr
