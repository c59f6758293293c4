"""The page in a browser, with real clicks and without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gpusim
from gpusim.cli.main import app
from gpusim.core.errors import UserError
from gpusim.results import Result, follow
from gpusim.views.explore import explore
from gpusim.views.explore.pack import pack
from tests.browser import CHROMIUM, Page, browser
from tests.whole.running import SMALLER

RECORD = ["intervals", "walks", "requests", "dram", "tlb"]
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    workload = gpusim.load_workload("bfs", "smoke", overrides=SMALLER["bfs"])
    gpusim.simulate(gpusim.load_model("tiny"), workload, record=RECORD, output=path).close()
    return path


@pytest.fixture(scope="module")
def result(path: Path) -> Iterator[Result]:
    with gpusim.open_result(path) as found:
        yield found


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(result: Result, window: Page, tmp_path: Path) -> Page:
    explore(result).write(tmp_path / "page.html")
    window.open(tmp_path / "page.html")
    return window


def span(page: Page) -> tuple[int, int]:
    begin, end = page.value("[+document.body.dataset.begin, +document.body.dataset.end]")
    return begin, end


# -- what it holds -------------------------------------------------------------------------------


def test_stays_are_those_of_the_run(result: Result) -> None:
    columns = pack(result).arrays
    rows = result.table("intervals").sort_values(["warp", "begin"], kind="stable")
    assert columns["stay_begin"].tolist() == rows.begin.tolist()
    assert columns["stay_state"].tolist() == rows.state.tolist()
    first = columns["warp_first"]
    ends = np.append(columns["stay_begin"][1:], 0)
    ends[np.append(first[1:], len(ends)) - 1] = columns["warp_end"]
    assert ends.tolist() == rows.end.tolist()


def test_walks_of_transactions_are_those_that_follow_tells(result: Result) -> None:
    columns = pack(result).arrays
    assert (columns["request_walk"] >= 0).sum() > 10
    for place in range(0, len(columns["request_row"]), 97):
        walk = follow(result, int(columns["request_row"][place])).walk
        assert columns["request_walk"][place] == (-1 if walk is None else walk.row)


def test_a_part_of_a_run_has_what_reaches_into_it(result: Result) -> None:
    begin, end = 1000, 2000
    columns = pack(result, begin, end).arrays
    rows = result.table("intervals")
    assert len(columns["stay_begin"]) == ((rows.end > begin) & (rows.begin < end)).sum()
    requests = result.table("requests")
    kept = requests[(requests.end > begin) & (requests.begin < end)]
    assert sorted(columns["request_row"].tolist()) == kept.index.tolist()
    assert (columns["stage_end"] >= columns["stage_begin"]).all()
    lengths = np.diff(np.append(columns["request_stage"], len(columns["stage_state"])))
    lives = np.add.reduceat(columns["stage_end"] - columns["stage_begin"], columns["request_stage"])
    assert (lengths > 0).all()
    assert lives.tolist() == (columns["request_end"] - columns["request_begin"]).tolist()


def test_the_page_asks_for_nothing_and_names_cannot_break_out(result: Result) -> None:
    text = explore(result).page
    assert "://" not in re.sub(r'id="data">.*?</script>', "", text, flags=re.DOTALL)
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert "<" not in data[1]
    assert json.loads(data[1])[0]["title"] == "bfs (smoke) on tiny + workload.graph.vertices=128"


def test_what_cannot_be_explored(tmp_path: Path, result: Result) -> None:
    bare = gpusim.simulate(gpusim.load_model("tiny"), gpusim.load_workload("nw", "smoke"))
    with pytest.raises(UserError, match=r"no intervals to explore: run it with record = intervals"):
        explore(bare)
    with pytest.raises(UserError, match="nothing from cycle 9 to 9"):
        explore(result, begin=9, end=9)


def test_the_command_and_a_notebook(path: Path, result: Result, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = CliRunner().invoke(
        app, ["explore", str(path), str(path), "-o", str(out), "--to", "5_000"]
    )
    assert done.exit_code == 0, done.output
    assert out.read_text().count("bfs (smoke) on tiny") >= 2
    assert CliRunner().invoke(app, ["explore", str(path), "-o", str(path)]).exit_code == 2
    shown = result.explore()._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<script" not in shown, "all of it is quoted"


# -- in a browser --------------------------------------------------------------------------------


@needs_browser
def test_a_brush_over_sms_looks_closer_and_a_key_goes_back(page: Page, result: Result) -> None:
    whole = (0, result.summary["cycles"])
    assert span(page) == whole
    box = page.box("#heat0")
    y = box["y"] + 7
    page.drag((box["x"] + 200, y), (box["x"] + 300, y))
    begin, end = span(page)
    width = box["width"] - 46
    assert begin == pytest.approx(whole[1] * (200 - 46) / width, abs=2)
    assert end == pytest.approx(whole[1] * (300 - 46) / width, abs=2)
    page.press("0")
    assert span(page) == whole
    assert not page.complaints


@needs_browser
def test_a_click_tells_the_stay_its_walk_and_who_waited(page: Page, result: Result) -> None:
    rows = result.table("intervals")
    walking = result.states.index("walk")
    stay = rows[(rows.state == walking) & (rows.sm == 0)].iloc[0]
    page.type("#search", f"warp {stay.warp}")
    begin, end = span(page)
    box = page.box("#rows0")
    middle = (stay.begin + stay.end) / 2
    x = box["x"] + 46 + (middle - begin) / (end - begin) * (box["width"] - 46)
    height = page.value("runs[0].slot")
    page.click(x, box["y"] + (stay.slot + 0.5) * height)
    told = page.value("document.querySelector('#details').textContent")
    assert f"Warp {stay.warp}: walk" in told
    assert f"{stay.begin:,} to {stay.end:,}" in told
    assert "Its walk: page 0x" in told
    columns = pack(result).arrays
    walk = page.value("chosen.walk")
    assert page.value("chosen.waiters.length") == (columns["request_walk"] == walk).sum()
    waiter = "#details ul:last-of-type button"
    page.press_on(waiter)
    assert page.value("chosen.request") == page.value(f"runs[0].waiters({walk})[0]")


@needs_browser
def test_search_by_page_and_kernel(page: Page, result: Result) -> None:
    requests = result.table("requests")
    vpn = int(requests.vline.iloc[0] // page.value("runs[0].lines"))
    same = (requests.vline // page.value("runs[0].lines") == vpn).sum()
    page.type("#search", hex(vpn))
    assert page.value("document.querySelector('#found').textContent") == (
        f"{same:,} transactions of page {vpn:#x}"
    )
    page.value("document.querySelector('#search').value = ''")
    launches = result.launches
    again = launches[launches.kernel == launches.kernel.iloc[0]]
    page.type("#search", again.kernel.iloc[0])
    assert span(page) == (again.begin.iloc[0], again.end.iloc[0])
    listed = "#details > div:first-child li"
    assert page.value(f"document.querySelectorAll('{listed}').length") == len(again)
    page.press_on(f"{listed}:last-child button")
    assert span(page) == (again.begin.iloc[-1], again.end.iloc[-1])
    page.value("document.querySelector('#search').value = ''")
    page.type("#search", "no such thing")
    assert "nothing found" in page.value("document.querySelector('#found').textContent")


@needs_browser
def test_the_mouse_tells_what_is_below_it(page: Page, result: Result) -> None:
    rows = result.table("intervals")
    first = rows[rows.sm == 0].begin.min()
    hint = "document.querySelector('#hint').textContent"
    for picture, told in (("heat0", "SM 0, cycle"), ("rows0", "warp "), ("counters0", "resident")):
        box = page.box(f"#{picture}")
        page.point(box["x"] + 52, box["y"] + 7)
        assert told in page.value(hint)
        crosses = page.value(
            "[...document.querySelectorAll('.cross')].map((one) => one.style.left)"
        )
        assert crosses == ["52px"] * 3, "the same cycle in all pictures"
    cycle = page.value("cycleAt(52, document.querySelector('#heat0').clientWidth)")
    assert first < cycle < rows.end.max()
    assert f"cycle {round(cycle):,}" in page.value(hint)
    page.point(5, 5)
    assert page.value("document.querySelector('#hint').hidden")
    assert page.value("document.querySelector('.cross').hidden")


@needs_browser
def test_counters_are_finer_the_closer_one_looks(page: Page, result: Result) -> None:
    walks = result.table("walks")
    count = "linesOf(runs[0], groupsOf(runs[0])[0], 500)[0].points.length"
    assert 400 < page.value(count) <= 1002
    page.value(f"show({walks.started.iloc[0]}, {walks.started.iloc[0] + 100})")
    bins = len(pack(result).arrays["counter_0"])
    assert page.value(count) == pytest.approx(100 * bins / result.summary["cycles"], abs=3)


@needs_browser
def test_a_notebook_shows_the_page_as_it_is(result: Result, window: Page, tmp_path: Path) -> None:
    shown = result.explore()._repr_html_()
    text = f"<!DOCTYPE html><body data-ready='yes'>{shown}</body>"
    (tmp_path / "cell.html").write_text(text, encoding="utf-8")
    window.open(tmp_path / "cell.html")
    assert window.box("iframe")["height"] >= 600
    with window.inside_frame():
        window.until("document.body && document.body.dataset.ready === 'yes'")
        box = window.box("#heat0")
        window.drag((box["x"] + 200, box["y"] + 7), (box["x"] + 300, box["y"] + 7))
        begin, end = span(window)
        assert 0 < begin < end < result.summary["cycles"]
    assert not window.complaints


@needs_browser
def test_two_runs_share_their_axis(result: Result, window: Page, tmp_path: Path) -> None:
    explore(result, result).write(tmp_path / "two.html")
    window.open(tmp_path / "two.html", width=1500)
    box = window.box("#heat1")
    window.drag((box["x"] + 100, box["y"] + 5), (box["x"] + 180, box["y"] + 5))
    begin, end = span(window)
    assert 0 < begin < end < result.summary["cycles"]
    assert window.value("runs.length") == 2
    launches = result.launches
    same = (launches.kernel == launches.kernel.iloc[0]).sum()
    window.type("#search", launches.kernel.iloc[0])
    assert window.value("document.querySelector('#found').textContent") == f"{2 * same} launches"
    assert not window.complaints


@pytest.mark.long
@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_narrow_and_dark(result: Result, window: Page, tmp_path: Path, dark: bool) -> None:
    import matplotlib.image

    explore(result).write(tmp_path / "page.html")
    window.open(tmp_path / "page.html", width=420, height=900, dark=dark)
    assert window.value("document.documentElement.scrollWidth") <= 420
    window.screenshot(tmp_path / "page.png")
    pixels = matplotlib.image.imread(tmp_path / "page.png")[..., :3]
    assert (pixels[2, 2].mean() < 0.3) == dark
    assert 0.02 < np.any(abs(pixels - pixels[2, 2]) > 0.1, axis=2).mean() < 0.9
