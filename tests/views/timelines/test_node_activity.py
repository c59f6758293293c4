"""Links of a node and pages that move, over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpusim.results import Result
from gpusim.views.timelines import Window, activity
from gpusim.views.timelines.picture import draw_timeline
from tests.whole.running import run

NODE: dict[str, object] = {
    "node.gpus": 2, "node.link.bandwidth": "16GB/s", "node.link.latency": "40 cycles",
    "node.host_mmu.trip": "30 cycles", "node.host_mmu.entries": 4, "node.host_mmu.walkers": 2,
    "node.host_mmu.latency": "50 cycles", "node.remote": "migrate-on-touch",
}  # fmt: skip
FEW = {"log2_words": 14, "threads": 256, "updates": 2}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    path: Path = tmp_path_factory.mktemp("node") / "run.h5"
    return run(
        "tiny", "gups", overrides=NODE, parameters=FEW, record=("links", "moves", "intervals"),
        output=path,
    )  # fmt: skip


def total(result: Result, component: str, counter: str) -> int:
    rows = result.counters
    return int(rows[(rows.component == component) & (rows.counter == counter)].value.sum())


def test_rows_are_what_is_counted(result: Result) -> None:
    links, moves = result.table("links"), result.table("moves")
    assert links.bytes.sum() == total(result, "node/link", "bytes_in") > 0
    assert moves.moved.sum() == total(result, "node/pages", "migrations") > 0
    assert (moves.source != moves.target).all()
    steps = (moves.silent - moves.begin).sum(), (moves.end - moves.silent).sum()
    both = (
        total(result, "node/pages", "copy_cycles"),
        total(result, "node/pages", "migration_cycles"),
    )
    assert (steps[1], sum(steps)) == both


def test_the_use_of_links_adds_up_to_their_bytes(result: Result) -> None:
    cycles = int(result.summary["cycles"])
    window = Window(0, cycles + 1000, 500)
    found = activity(result, window)
    assert found.node_link.values.tolist() == ["0→1", "1→0"]
    use = (found.node_link_use.to_numpy() * window.widths[:, np.newaxis]).sum(axis=0)
    rows = result.table("links")
    moved = [rows.bytes[rows.link == link].sum() for link in (0, 1)]
    assert 16 * use == pytest.approx(moved, rel=0.01)
    assert use.max() <= cycles + 1000
    assert found.page_moves.to_numpy().sum() > 0


def test_a_timeline_has_a_panel_of_links_and_one_of_moves(result: Result) -> None:
    figure = draw_timeline(result, Window(0, int(result.summary["cycles"]), 500))
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert "links between GPUs" in labels
    assert "pages that\nmove" in labels
