"""Characterizations as a whole."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.warp_program import Buffer
from gpusim.studies.characterize import characterize, run
from gpusim.workloads.sizes import read_sizes, sizes_file
from tests.examples import examples
from tests.quick import quick
from tests.studies.characterize.listed import (
    BASE,
    PAGE,
    ListedLaunch,
    block_accesses,
    distances,
    inter_bins,
    intra_bins,
    pages,
    sm_accesses,
    workload_of,
)
from tests.studies.characterize.test_measures import launches

MODEL = gpusim.load_model("kepler-uvm", overrides={"sm.count": 2, "sm.max_blocks": 2})


def counts(distribution):
    return dict(zip(distribution.value.tolist(), distribution.count.tolist(), strict=True))


def only(workload, model=MODEL):
    found = characterize(workload, model)
    (app,) = found.applications
    return app


# Known answers -----------------------------------------------------------------------------------


def test_interleaving_lengthens_distances():
    """Two blocks on one SM, each going twice through four pages of its own."""
    blocks = [[[pages(4 * block + i % 4) for i in range(8)]] for block in range(2)]
    app = only(
        workload_of(ListedLaunch(blocks)), gpusim.load_model("tiny", overrides={"sm.count": 1})
    )
    assert counts(app.distributions["distance_alone"]) == {3: 8}
    assert counts(app.distributions["distance_interleaved"]) == {7: 8}
    assert counts(app.distributions["accesses_between"]) == {7: 8}
    assert app.intra_bins.tolist() == [0, 0, 2, 0, 0]  # of 8 accesses, 4 are the first
    assert app.inter_bins.tolist() == [2, 0, 0, 0, 0]
    assert counts(app.distributions["stride"]) == {4: 8, -3: 6, -7: 1}
    assert app.dominant_stride == (4, 8 / 15)


def test_blocks_on_different_sms_do_not_meet():
    blocks = [[[pages(4 * block + i % 4) for i in range(8)]] for block in range(2)]
    app = only(workload_of(ListedLaunch(blocks)))
    assert counts(app.distributions["distance_interleaved"]) == {3: 8}


def test_launches_do_not_meet():
    launch = ListedLaunch([[[pages(1)]]])
    app = only(workload_of(launch, launch))
    assert app.kernels[0].launches == 2
    assert app.distributions["distance_alone"].total == 0
    assert (app.intra_bins.tolist(), app.inter_bins.tolist()) == ([2, 0, 0, 0, 0], [0] * 5)
    assert app.pages == 1


def test_footprints():
    buffers = (
        Buffer("all", BASE, 2 * PAGE),
        Buffer("none", BASE + 2 * PAGE, 10 * PAGE),
        Buffer("part", BASE + 12 * PAGE, 5 * PAGE + 1),
        Buffer("empty", BASE + 18 * PAGE, 0),
    )
    app = only(workload_of(ListedLaunch([[[pages(0, 1), pages(14)]]]), buffers=buffers))
    found = [(one.name, one.pages, one.touched) for one in app.arrays]
    assert found == [("all", 2, 2), ("none", 10, 0), ("part", 6, 1), ("empty", 0, 0)]
    assert (app.pages, app.array_bytes) == (3, 17 * PAGE + 1)


def test_frames_follow_the_policy_of_the_model():
    """256 accesses to pages far apart: first-touch frames are neighbours, the pages are not."""
    blocks = [[[pages(1 << number) for number in range(8)] * 32]]
    buffers = (Buffer("a", BASE, 256 * PAGE),)
    shared = {}
    for policy in ("first-touch", "contiguous", "scattered"):
        model = gpusim.load_model("kepler-uvm", overrides={"memory.frames": policy})
        app = only(workload_of(ListedLaunch(blocks), buffers=buffers), model)
        assert counts(app.distributions["shared_page_bits"]) == {36 - 8: 1}
        shared[policy] = app.distributions["shared_frame_bits"].mean
    assert shared["first-touch"] == 21 - 3
    assert shared["contiguous"] == 21 - 8
    assert shared["scattered"] < 10


def test_a_program_without_accesses():
    app = only(workload_of(ListedLaunch([[[]], [[]]])))
    assert app.total("blocks") == 2
    assert app.pairs == 0
    assert np.isnan(app.intra_shares).all()
    assert all(not one.total for one in app.distributions.values())
    assert only(workload_of()).kernels == ()


# Against counting one access at a time -----------------------------------------------------------


@settings(max_examples=examples(50))
@given(launches)
def test_against_the_naive_measures(listed):
    app = only(workload_of(ListedLaunch(listed)))
    alone: Counter[int] = Counter()
    touched = set()
    for block in listed:
        stream = [(0, page) for _, page in block_accesses(block)]
        alone += distances(stream)
        touched |= {page for _, page in stream}
    assert counts(app.distributions["distance_alone"]) == alone
    assert app.intra_bins.tolist() == intra_bins(listed)
    assert app.inter_bins.tolist() == inter_bins(listed)
    assert app.pages == len(touched)
    if all(any(block) for block in listed):
        together: Counter[int] = Counter()
        between: Counter[int] = Counter()
        for stream in sm_accesses(listed, 2, 2):
            together += distances(stream)
            for index, (_, page) in enumerate(stream):
                before = [i for i in range(index) if stream[i][1] == page]
                if before:
                    between[index - before[-1] - 1] += 1
        assert counts(app.distributions["distance_interleaved"]) == together
        assert counts(app.distributions["accesses_between"]) == between


# Against the simulator ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", quick(["atax", "bfs"], "bfs"))
def test_counts_are_those_of_a_simulation(name):
    workload = gpusim.load_workload(name, "smoke")
    model = gpusim.load_model("tiny")
    app = only(workload, model)
    with gpusim.simulate(model, workload) as result:
        summary = result.summary
        records = [row.blocks for row in result.launches.itertuples()]
    assert app.total("transactions") == summary["transactions"]
    assert app.total("warp_instructions") == summary["instructions"]
    assert app.total("memory_instructions") == summary["memory_instructions"]
    assert app.total("launches") == len(records)
    assert app.total("blocks") == sum(records)
    reuses = app.distributions["distance_alone"].total
    assert (
        0
        < reuses
        < app.total("transactions")
        == read_sizes(sizes_file())[name, "smoke"].transactions
    )
    assert app.distributions["instruction_pages"].total == app.total("memory_instructions")
    assert app.intra_bins.sum() == app.total("blocks")


def test_twice_the_same_and_with_another_seed_not():
    def digest(seed):
        app = only(gpusim.load_workload("bfs", "smoke", seed))
        return [counts(one) for one in app.distributions.values()], app.inter_bins.tolist()

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_progress_tells_blocks():
    told = []
    workload = gpusim.load_workload("atax", "smoke")
    characterize(workload, MODEL, progress=lambda *what: told.append(what))
    assert told == [("atax", number) for number in range(1, 9)]


# Bad input ---------------------------------------------------------------------------------------


def test_a_block_that_fits_on_no_sm():
    launch = ListedLaunch([[[pages(1)]]], registers_per_thread=100_000)
    with pytest.raises(UserError, match=r"'listed' does not fit on an SM of kepler-uvm"):
        only(workload_of(launch))


def test_a_launch_with_too_many_accesses(monkeypatch):
    monkeypatch.setattr(run, "MAX_ACCESSES", 3)
    only(workload_of(ListedLaunch([[[pages(1, 2, 3)]]])))
    with pytest.raises(
        UserError, match=r"'listed' makes more than 3 accesses.*overrides\['sample'\]=N"
    ):
        only(workload_of(ListedLaunch([[[pages(1, 2, 3)]], [[pages(1)]]])))


def test_too_few_sms():
    spec = workload_of(ListedLaunch([[[pages(1)]]])).applications[0]
    workload = gpusim.Workload("many", "smoke", 0, (spec,) * 5)
    with pytest.raises(UserError, match="gets no SM"):
        characterize(workload, MODEL)
