"""The life of single transactions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from gpusim.results import Life, Result, follow, slowest_requests
from gpusim.results.flat_toml import by_dotted_key
from gpusim.runs.simulate import simulate
from gpusim.workloads.workload import load_workload
from tests.quick import quick

CONFLICTING = {"n": "48", "iterations": "1"}


def run(model: str, record: tuple[str, ...], **overrides: str) -> Result:
    work = load_workload("atax", "smoke", overrides={**CONFLICTING, **overrides})
    return simulate(load_model(model), work, record=record)


@pytest.fixture(scope="module", params=quick(["tiny", "apu-hsa", "a100-mig"], "tiny"))
def result(request: pytest.FixtureRequest) -> Iterator[Result]:
    with run(request.param, ("requests", "walks")) as result:
        yield result


@pytest.fixture(scope="module")
def lives(result: Result) -> list[Life]:
    """Of all requests, in their order."""
    return [follow(result, row) for row in range(result.tables["requests"])]


@pytest.fixture(scope="module")
def tiny() -> Iterator[Result]:
    with run("tiny", ("requests", "walks")) as result:
        yield result


def test_stages_tile_the_life_and_match_the_request(result: Result) -> None:
    requests = result.table("requests")
    for row in (0, len(requests) // 2, len(requests) - 1):
        life = follow(result, row)
        expected = requests.loc[row]
        assert (life.sm, life.warp, life.vline) == (expected.sm, expected.warp, expected.vline)
        assert (life.begin, life.end) == (expected.begin, expected.end)
        assert life.app == "atax"
        stages = life.stages
        assert stages.begin.tolist() == [life.begin, *stages.end.tolist()[:-1]]
        assert stages.end.tolist()[-1] == life.end
        assert stages.cycles.sum() == life.cycles == life.end - life.begin
        assert stages.share.sum() == pytest.approx(1)
        assert set(stages.stage) <= set(result.states)


def test_pages_are_those_that_were_walked(result: Result, lives: list[Life]) -> None:
    assert set(result.table("walks").vpn) <= {life.vpn for life in lives}
    life = lives[0]
    assert life.address in (life.vline * 64, life.vline * 128)
    assert life.vpn == life.address // 4096 or life.vpn == life.address // 65536


def test_each_wait_for_a_walk_finds_its_walk(result: Result, lives: list[Life]) -> None:
    """And exactly one transaction asked for each walk: the others joined it."""
    walks = result.table("walks")
    asked: Counter[int] = Counter()
    for life in lives:
        waits = life.stages[life.stages.stage.isin(("walker", "walk"))]
        assert (life.walk is not None) == (len(waits) > 0)
        if life.walk is None:
            continue
        walk = life.walk
        expected = walks.loc[walk.row]
        assert (life.vpn, walk.sm, walk.levels) == (expected.vpn, expected.sm, expected.levels)
        assert waits.end.max() == walk.finished
        assert waits.begin.min() >= walk.requested
        assert walk.queued_cycles == expected.started - expected.requested
        if not walk.joined:
            asked[walk.row] += 1
            assert (life.sm, waits.begin.min()) == (walk.sm, walk.requested)
            assert waits[waits.stage == "walker"].cycles.sum() == walk.queued_cycles
    if by_dotted_key(result.config_toml)["tlb.L1.merging"]:
        assert asked == Counter(walks.index.tolist())
    else:  # those that join in the L2 TLB while it looks cannot be told from the first one
        assert set(asked) == set(walks.index)


def test_slowest(result: Result) -> None:
    requests = result.table("requests")
    cycles = (requests.end - requests.begin).to_numpy()
    expected = sorted(range(len(cycles)), key=lambda row: (-cycles[row], row))
    found = slowest_requests(result, 7)
    assert found.index.tolist() == expected[:7]
    assert found.index.name == "request"
    assert found.cycles.tolist() == cycles[expected[:7]].tolist()
    assert found.columns.tolist() == [
        "app",
        "sm",
        "warp",
        "kind",
        "vline",
        "vpn",
        "begin",
        "end",
        "cycles",
    ]
    life = follow(result, expected[0])
    assert (life.vpn, life.kind, life.app) == tuple(found.iloc[0][["vpn", "kind", "app"]])
    assert len(slowest_requests(result, 10**6)) == len(requests)


def test_slowest_of_some(tiny: Result) -> None:
    requests = tiny.table("requests")
    found = slowest_requests(tiny, 10**6, app="atax", sm=1, warp=int(requests.warp.max()))
    mine = requests[(requests.sm == 1) & (requests.warp == requests.warp.max())]
    assert sorted(found.index) == mine.index.tolist()
    assert slowest_requests(tiny, sm=99).empty
    kinds = slowest_requests(tiny, 10**6).kind
    assert set(kinds) == {"load", "store"}
    assert (kinds == "store").sum() == (requests.kind == 1).sum()


@pytest.mark.long
def test_chunks_do_not_matter(tiny: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = slowest_requests(tiny, 5), [follow(tiny, row).walk for row in range(8)]
    monkeypatch.setattr("gpusim.results.result.CHUNK_ROWS", 3)
    assert [len(chunk) for chunk in tiny.chunks("walks")][:2] == [3, 3]
    assert np.array_equal(
        np.concatenate([chunk.index for chunk in tiny.chunks("walks", ["vpn"])]),
        np.arange(tiny.tables["walks"]),
    )
    assert slowest_requests(tiny, 5).equals(expected[0])
    assert [follow(tiny, row).walk for row in range(8)] == expected[1]
    assert any(expected[1])


def test_several_applications_and_address_spaces(tmp_path: Path) -> None:
    pair = tmp_path / "pair.toml"
    pair.write_text(
        "".join(
            f'[[applications]]\nworkload = "atax"\nname = "{name}"\nsmoke = {{ n = {n} }}\n'
            for name, n in (("one", 32), ("other", 64))
        )
    )
    work = load_workload(str(pair), "smoke")
    with simulate(load_model("tiny"), work, record=("requests", "walks")) as result:
        names = result.applications.name.tolist()
        assert names == ["one", "other"]
        for name in names:
            found = slowest_requests(result, 3, app=name)
            assert set(found.app) == {name}
            assert {follow(result, row).app for row in found.index} == {name}
        walks = result.table("walks")
        assert len(walks.groupby("vpn").asid.nunique().loc[lambda spaces: spaces == 2]) > 0
        stages = result.table("stages")
        waited = stages.request[stages.state == result.states.index("walk")].unique()
        for row in waited.tolist()[::8]:
            life = follow(result, row)
            assert life.walk is not None
            assert names[walks.app[life.walk.row]] == life.app


def test_json(tiny: Result) -> None:
    row = int(slowest_requests(tiny, 1).index[0])
    life = json.loads(json.dumps(follow(tiny, row).to_json()))
    assert life["row"] == row
    assert life["cycles"] == sum(stage["cycles"] for stage in life["stages"])
    assert life["walk"].keys() >= {"requested", "started", "finished", "joined"}


def test_without_walks() -> None:
    with run("tiny", ("requests",), n="32") as result:
        lives = [follow(result, row) for row in range(10)]
    assert any("walk" in set(life.stages.stage) for life in lives)
    assert all(life.walk is None for life in lives)


def test_what_is_not_there(tiny: Result) -> None:
    with pytest.raises(UserError, match=r"no application 'atx'; did you mean 'atax'\?"):
        slowest_requests(tiny, app="atx")
    last = tiny.tables["requests"] - 1
    for row in (-1, last + 1):
        with pytest.raises(UserError, match=f"has no request {row}; allowed: 0 to {last}"):
            follow(tiny, row)
    with run("tiny", ("walks",), n="32") as result:
        for ask in (lambda: slowest_requests(result), lambda: follow(result, 0)):
            with pytest.raises(UserError, match="run it again with record = requests"):
                ask()
