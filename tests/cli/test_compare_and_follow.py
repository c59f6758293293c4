"""`gpusim compare` and `gpusim follow`, from outside."""

import json
import re
from itertools import pairwise

import pandas as pd
import pytest
from typer.testing import CliRunner

from gpusim.cli.follow import _folded
from gpusim.cli.main import app
from gpusim.results import compare, follow, open_result, slowest_requests


def gpusim(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same work on tiny, with and without misses; other work on it."""
    folder = tmp_path_factory.mktemp("runs")
    base = ["run", "tiny", "atax", "--scale", "smoke", "--set", "workload.n=64"]
    gpusim(*base, "--record", "requests,walks", "-o", folder / "base.h5")
    gpusim(*base, "--variant", "ideal-tlb", "--record", "requests", "-o", folder / "ideal.h5")
    gpusim(*base, "--seed", "1", "-o", folder / "seed.h5")
    return folder


def cells(text):
    return [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in text.splitlines()
        if line.startswith("│")
    ]


def test_compare_tells_everything_in_tables(runs):
    text = gpusim("compare", runs / "base.h5", runs / "ideal.h5", "--all").stdout
    with open_result(runs / "base.h5") as a, open_result(runs / "ideal.h5") as b:
        expected = compare(a, b)
        cycles = a.summary["cycles"], b.summary["cycles"]
    assert text.splitlines()[0] == expected.sentence
    assert "B: tiny + ideal-tlb + workload.n=64 · atax · smoke · seed 0" in text
    assert "warning" not in text
    rows = cells(text)
    assert ["tlb.L1.ideal", "False", "True"] in rows
    assert [*(f"{number:,}" for number in cycles), "cycles"] in [row[1:4] for row in rows]
    first = expected.stalls.iloc[0]
    assert [first.state, f"{first.a:,}", f"{first.b:,}"] in [row[:3] for row in rows]
    top = expected.counters.iloc[0]
    assert [top.component, top.counter] in [row[:2] for row in rows]
    assert any(row[1:] == ["–", "–"] or row[-1] == "–" for row in rows)  # no L2 TLB in B


def test_compare_shows_a_screen_unless_all_is_asked_for(runs):
    few, every = (
        gpusim("compare", runs / "base.h5", runs / "ideal.h5", *more).stdout
        for more in ((), ("--all",))
    )
    headline = cells(few.partition("headline numbers")[2].partition("where the warps")[0])
    assert 2 < len(headline) <= 14
    assert all(row in cells(every) for row in headline)
    stalls = cells(few.partition("where the warps' cycles went")[2])
    assert len(stalls) == 6
    with open_result(runs / "base.h5") as a, open_result(runs / "ideal.h5") as b:
        changed = int((compare(a, b).stalls.change != 0).sum())
    assert f"and {changed - 6} more" in few
    assert "counters that moved most" not in few
    assert len(few.splitlines()) < 48


def test_compare_warns_of_different_work(runs):
    text = gpusim("compare", runs / "base.h5", runs / "seed.h5").stdout
    assert "warning: A and B did not do the same work: seed 0 / 1" in text


def test_compare_a_file_with_itself(runs):
    text = gpusim("compare", runs / "base.h5", runs / "base.h5").stdout
    assert text.startswith("A and B have the same machine, work and result\n")
    assert "what differs" not in text
    assert "counters that moved most" not in text


def test_compare_as_json(runs):
    found = json.loads(gpusim("compare", runs / "base.h5", runs / "ideal.h5", "--json").stdout)
    assert found["speedup"] > 1
    assert found["stalls"][0]["change"] < 0
    assert {row["name"]: row["b"] for row in found["summary"]}["tlb_L2_hit_rate"] is None


def test_follow_shows_stages_and_walk(runs):
    text = gpusim("follow", runs / "base.h5", "--slowest", 2).stdout
    with open_result(runs / "base.h5") as result:
        lives = [follow(result, row) for row in slowest_requests(result, 2).index]
    headers = re.findall(
        r"^request (\d+) · atax · SM (\d+) · warp (\d+) · (\w+) of", text, re.MULTILINE
    )
    assert headers == [(str(x.row), str(x.sm), str(x.warp), x.kind) for x in lives]
    stages = [(*row[:3], row[3].replace(",", "")) for row in cells(text)]
    expected = [stage for life in lives for stage in life.stages.itertuples(index=False)]
    assert stages == [(s.stage, f"{s.begin:,}", f"{s.end:,}", str(s.cycles)) for s in expected]
    for life in lives:
        if life.walk is not None:
            assert f"page walk {life.walk.row}: " in text
    assert text.count("page walk ") == sum(life.walk is not None for life in lives) > 0


def test_bars_cover_the_life_without_gaps(runs):
    with open_result(runs / "base.h5") as result:
        row = slowest_requests(result, 1).index[0]
    lines = gpusim("follow", runs / "base.h5", "--request", row).stdout.splitlines()
    bars = [line.rstrip("│")[-26:] for line in lines if line.startswith("│")]
    spans = [(bar.index("█"), bar.rindex("█")) for bar in bars]
    assert spans[0][0] == 1
    assert spans[-1][1] == 24
    assert all(begin <= before + 1 for (_, before), (begin, _) in pairwise(spans))


def test_follow_chosen_ones(runs):
    found = json.loads(
        gpusim("follow", runs / "base.h5", "--request", 5, "--request", 3, "--json").stdout
    )
    assert [life["row"] for life in found["requests"]] == [5, 3]
    arguments = ["--sm", 1, "--app", "atax", "--slowest", 4, "--json"]
    lives = json.loads(gpusim("follow", runs / "base.h5", *arguments).stdout)["requests"]
    assert [life["sm"] for life in lives] == [1] * 4
    assert sorted((life["cycles"] for life in lives), reverse=True) == [x["cycles"] for x in lives]


def test_follow_says_that_walks_were_not_recorded(runs):
    text = gpusim("follow", runs / "ideal.h5").stdout
    assert text.count("request ") == 3
    assert "page walks are not shown" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "base.h5", "none.h5"], "cannot open none.h5: there is no such file"),
        (["follow", "none.h5"], "cannot open none.h5: there is no such file"),
        (["follow", "seed.h5"], "seed.h5 has no recorded requests: run it again with --record"),
        (["follow", "base.h5", "--app", "atx"], "no application 'atx'; did you mean 'atax'"),
        (["follow", "base.h5", "--request", "999999"], "has no request 999999; allowed: 0 to"),
        (["follow", "base.h5", "--sm", "77"], "no transactions of that application, SM and warp"),
        (["follow", "base.h5", "--sm", "0", "--request", "1"], "leave out --slowest"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(arguments, words, runs, monkeypatch):
    monkeypatch.chdir(runs)
    result = gpusim(*arguments, code=2)
    assert words in result.stderr
    assert result.stderr.startswith("gpusim: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_stages_that_take_turns_are_one_line():
    names = ["lsu", "tlb_L1"] * 3 + ["lsu", "tlb_L2", "walk"]
    begins = list(range(0, 90, 10))
    stages = pd.DataFrame({"stage": names, "begin": begins, "end": [b + 10 for b in begins]})
    assert list(_folded(stages)) == [
        ("lsu, tlb_L1 (3 times)", 0, 60),
        ("lsu", 60, 70),
        ("tlb_L2", 70, 80),
        ("walk", 80, 90),
    ]
    twice = stages.iloc[:4]
    assert [name for name, _, _ in _folded(twice)] == names[:4]
