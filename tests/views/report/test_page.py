"""The page itself: self-contained, safe, accessible, and only of what there is."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from itertools import pairwise

import matplotlib.image
import pytest

from gpusim.results import DRAWN, Result
from gpusim.views.report import html_report
from tests.views.report.reading import Element, read, section
from tests.views.report.runs import NASTY, run

Report = Callable[[Result], str]
FIXTURES = ["everything", "nothing", "several"]


@pytest.fixture(scope="module", params=FIXTURES)
def html(request: pytest.FixtureRequest, report_of: Report) -> str:
    return report_of(request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def page(html: str) -> Element:
    return read(html)


def test_nothing_is_loaded(html: str, page: Element) -> None:
    """No address but those of the page's own parts, and a policy that allows no other."""
    for element in page.all():
        for name, value in element.attributes.items():
            if name in ("href", "src", "fill") or "url" in value:
                assert re.match(r"#|data:image/png;base64,|url\(#hatch\)", value), (name, value)
    assert not list(page.all("script", "link", "iframe", "object", "form"))
    assert not re.search(r"@import|url\(", page.one("style").text)
    assert not re.search(r"https?://", html)
    (policy,) = (
        one.attributes["content"]
        for one in page.all("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.split("; ")[:3] == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
    ]


def test_it_can_be_read_without_eyes(page: Element) -> None:
    (root,) = page.all("html")
    assert root.attributes["lang"] == "en"
    assert len(list(page.all("h1"))) == 1
    levels = [int(one.tag[1]) for one in page.all("h1", "h2", "h3")]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for picture in page.all("img"):
        assert len(picture.attributes["alt"]) > 40
    for bar in page.all("svg"):
        if bar.attributes.get("role") == "img":
            assert "waiting for translation" in bar.attributes["aria-label"]
    for table in page.all("table"):
        headings = list(table.one("thead").all("th"))
        assert all(one.attributes["scope"] == "col" and one.text for one in headings)
        for body in table.all("tbody"):
            for row in body.all("tr"):
                first, *others = row.all("th", "td")
                assert first.attributes["scope"] in ("row", "rowgroup")
                width = sum(int(one.attributes.get("colspan", 1)) for one in (first, *others))
                assert width == len(headings)


def test_links_lead_somewhere(page: Element) -> None:
    names = [one.attributes["id"] for one in page.all() if "id" in one.attributes]
    assert len(set(names)) == len(names)
    targets = {one.attributes["href"][1:] for one in page.all("a")}
    assert targets == {one.attributes["id"] for one in page.all("section")}


def test_names_are_text(several: Result, report_of: Report) -> None:
    html = report_of(several)
    assert "<b id" not in html
    assert "<script" not in html
    assert "49" not in re.findall(r"&gt;&amp;&#34;(.{2})", html), "the name is no template"
    page = read(html)
    assert any(NASTY in cell.text for cell in page.all("th"))
    assert NASTY.replace("\\", "\\\\").replace('"', '\\"') in section(page, "run").one("pre").text


def test_sections_of_what_was_not_recorded_are_absent(nothing: Result, report_of: Report) -> None:
    page = read(report_of(nothing))
    assert not list(page.all("img"))
    assert "translation" not in {one.attributes["id"] for one in page.all("section")}
    hint = section(page, "time").text
    assert "No events were recorded" in hint
    assert f"--record {','.join(DRAWN)}" in hint


def test_no_hint_where_nothing_is_missing(everything: Result, report_of: Report) -> None:
    assert "--record" not in section(read(report_of(everything)), "time").text


@pytest.mark.parametrize(
    ("record", "missing"),
    [
        (["walks", "tlb"], "intervals,dram,requests"),
        pytest.param(["requests", "dram"], "intervals,walks,tlb", marks=pytest.mark.long),
        pytest.param(["intervals"], "walks,dram,requests,tlb", marks=pytest.mark.long),
    ],
)
def test_what_was_recorded_is_shown(record: list[str], missing: str) -> None:
    with run(record) as result:
        page = read(html_report(result))
    assert f"--record {missing} " in section(page, "time").text
    assert size_of(page) > (500, 300)
    captions = [one.text for one in page.all("caption")]
    assert ("Slowest page walks" in captions) == ("walks" in record)
    pages = "Pages for whose translation transactions waited most"
    assert (pages in captions) == ("requests" in record)


@pytest.mark.long
def test_an_ideal_tlb_lets_nobody_wait() -> None:
    with run(["walks", "requests"], "ideal-tlb") as result:
        assert result.summary["share_translation"] == 0
        page = read(html_report(result))
    told = section(page, "translation")
    assert "No transaction waited for translation." in told.text
    assert "Slowest page walks There were none." in told.text
    assert not list(told.all("table"))


def size_of(page: Element) -> tuple[int, int]:
    """Of the timeline's picture, which is as large as it says."""
    picture = page.one("img").attributes
    data = base64.b64decode(picture["src"].partition(",")[2], validate=True)
    height, width, _ = matplotlib.image.imread(io.BytesIO(data)).shape
    assert (int(picture["width"]), int(picture["height"])) == pytest.approx((width, height), abs=1)
    return width, height


@pytest.mark.long
def test_the_page_is_small_and_always_the_same(everything: Result, report_of: Report) -> None:
    html = report_of(everything)
    assert size_of(read(html)) > (1000, 1000)
    assert len(html) < 500_000
    assert html_report(everything) == html


def test_machine_and_run_are_told(everything: Result, report_of: Report) -> None:
    page = read(report_of(everything))
    facts = {
        one.one("dt").text: one.one("dd").text
        for name in ("machine", "run")
        for one in section(page, name).one("dl").all("div")
    }
    assert facts["digest of all results"] == everything.digest
    assert facts["the same run"] == (
        "gpusim run tiny atax --scale smoke --seed 0 "
        "--set workload.n=256 --set workload.iterations=2"
    )
    assert facts["overrides"] == "workload.n=256 workload.iterations=2"
    config = everything.config_toml
    entries, ways = (
        re.search(rf"\[tlb.L1\].*?{key} = (\d+)", config, re.DOTALL)[1]
        for key in ("entries", "ways")
    )
    assert f"{entries} entries, {ways} way" in facts["L1 TLB"]
    assert section(page, "run").one("pre").text == " ".join(everything.workload_toml.split())
    assert " ".join(config.split()) == section(page, "machine").one("pre").text
