"""What the page tells is what the result has."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest

from gpusim.core.states import State
from gpusim.results import Result, follow
from gpusim.results.quantity import format_quantity
from gpusim.runs.writer import ResultWriter
from gpusim.views.report import html_report
from gpusim.views.report.stalls import stall_table
from tests.quick import quick
from tests.results.conftest import FAMILY_OF, STATES, make_run, make_sums
from tests.views.report.reading import Element, folded, read, rows, section, table


@pytest.fixture(scope="module", params=quick(["everything", "several"], "several"))
def result(request: pytest.FixtureRequest) -> Result:
    found: Result = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def page(result: Result, report_of: Callable[[Result], str]) -> Element:
    return read(report_of(result))


def apps_of(result: Result) -> list[str]:
    names: list[str] = result.applications.name.tolist()
    return names


def as_int(text: str) -> int:
    return int(text.replace(",", ""))


def percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def test_the_answer_is_the_share_of_translation(result: Result, page: Element) -> None:
    (answer,) = (one.text for one in page.all("p") if one.attributes.get("class") == "answer")
    share = percent(result.summary["share_translation"])
    assert answer.startswith(f"Warps wait for translation in {share} of their cycles")
    assert answer.endswith("What that costs the run is measured with --cost.")
    if len(apps_of(result)) > 1:
        for app in apps_of(result):
            own = percent(result.summary[f"{app}/share_translation"])
            assert f"{own} of {app}'s" in answer


def test_a_state_of_ones_own_stands_in_its_family() -> None:
    states = (*STATES, "gate", "hall")
    sums = np.pad(make_sums(), ((0, 0), (0, 0), (0, 2)), constant_values=50)
    families = (*FAMILY_OF.values(), "translation", "sm")
    run = make_run(states=states, state_sums=sums, families=families)
    with ResultWriter() as writer, writer.finish(run) as result:
        assert result.families == families
        assert result.translation_states[-1] == len(states) - 2
        groups = {group.heading: group.rows for group in stall_table(result).groups}
    assert "gate" in {row[0].text for row in groups["waiting for translation"]}
    assert [row[0].text for row in groups["waiting inside the SM"]] == ["hall"]


def test_all_headline_numbers_are_there(result: Result, page: Element) -> None:
    header, *body = rows(section(page, "numbers").one("table"))
    prefixes = {"value": "", "all": ""} | {app: f"{app}/" for app in apps_of(result)}
    shown = {
        (prefixes[column], row[0]): value
        for row in body
        for column, value in zip(header[1:], row[1:], strict=len(row) > 1)
        if value != "–"  # applications have no number of their own of what is the GPU's
    }
    in_stalls = {f"share_{state}" for state in result.states}
    units, descriptions = result.summary_units, result.summary_descriptions
    names = [name for name in result.summary if name.rpartition("/")[2] not in in_stalls]
    assert len(shown) == len(names)
    for name in names:
        prefix = name[: name.rfind("/") + 1]
        expected = " ".join(format_quantity(result.summary[name], units[name])).strip()
        assert shown[prefix, descriptions[name]] == expected
    titles = {cell.attributes.get("title") for cell in page.all("span")}
    assert {f"{name} = {result.summary[name]!r}" for name in names} <= titles


def test_the_states_add_up_by_family(result: Result, page: Element) -> None:
    _, *body = table(page, "Where the warps’ cycles went")
    apps = apps_of(result)
    sums = {
        app: stalls.set_index("state").warp_cycles for app, stalls in result.stalls.groupby("app")
    }
    families: list[list[int]] = []
    states: list[list[int]] = []
    for row in body:
        numbers = [as_int(text) for text in row[-2 * len(apps) :: 2]]
        if row[0] in result.states:
            assert numbers == [sums[app][row[0]] for app in apps]
            shares = [percent(sums[app][row[0]] / sums[app].sum()) for app in apps]
            assert row[-2 * len(apps) + 1 :: 2] == shares
            states.append(numbers)
        else:
            families.append(numbers)
    totals = [sums[app].sum() for app in apps]
    assert [sum(column) for column in zip(*families, strict=True)] == totals
    assert [sum(column) for column in zip(*states, strict=True)] == totals
    translation = [sums[app].iloc[State.WALKER :].sum() for app in apps]
    assert families[-1] == translation
    assert all(translation)


def test_bars_are_full_and_tell_the_shares(result: Result, page: Element) -> None:
    bars = [one for one in page.all("svg") if one.attributes.get("role") == "img"]
    assert len(bars) == len(apps_of(result))
    for app, bar in zip(apps_of(result), bars, strict=True):
        stalls = result.stalls[result.stalls.app == app].set_index("state")
        parts = list(bar.all("svg"))
        assert {part.one("title").text for part in parts} == {
            f"{state} {percent(share)}" for state, share in stalls.share.items() if share
        }
        end = 0.0
        for part in parts:
            start, width = (
                float(part.attributes[name].removesuffix("%")) for name in ("x", "width")
            )
            assert start == pytest.approx(end, abs=0.001)
            end = start + width
        assert end == pytest.approx(100, abs=0.001)


def test_pages_are_those_waited_for_most(result: Result, page: Element) -> None:
    """Against sums over all transactions, added one by one."""
    waited: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    requests, apps = result.table("requests"), apps_of(result)
    stages = result.table("stages")
    waits = ((stages.end - stages.begin) * (stages.state >= State.WALKER)).to_numpy()
    cycles = np.add.reduceat(waits, requests.first_stage.to_numpy()).tolist()
    for row in (0, len(requests) // 2, len(requests) - 1):
        lived = follow(result, row).stages
        assert cycles[row] == lived[lived.stage.str.match("walk|tlb_")].cycles.sum()
    for row, request in enumerate(requests.to_dict("records")):
        vpn = request["vline"] * 128 // 4096
        sums = waited[f"{vpn:#x}", apps[request["app"]]]
        sums[0] += cycles[row]
        sums[1] += request["end"] - request["begin"]
        sums[2] += 1
    walks = result.table("walks")
    _, *body = table(page, "Pages for whose translation transactions waited most")
    ordered = sorted((sums[0] for sums in waited.values()), reverse=True)
    total = sum(ordered)
    assert [as_int(row[3]) for row in body] == ordered[:20]
    for vpn_text, address, app, *numbers in body:
        in_front, share, in_all, count, walked = numbers
        assert int(address, 16) == int(vpn_text, 16) * 4096
        assert [as_int(one) for one in (in_front, in_all, count)] == waited[vpn_text, app]
        assert share == percent(waited[vpn_text, app][0] / total)
        of_page = (walks.vpn == int(vpn_text, 16)) & (walks.app == apps.index(app))
        assert as_int(walked) == of_page.sum()
    note = f"{len(body)} of {len(waited)} pages, with {percent(sum(ordered[:20]) / total)} of the "
    assert note in section(page, "translation").text


@pytest.mark.long
def test_chunks_change_nothing(
    result: Result, report_of: Callable[[Result], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = report_of(result)
    monkeypatch.setattr("gpusim.results.result.CHUNK_ROWS", 97)
    assert html_report(result) == whole


def test_walks_are_the_slowest(result: Result, page: Element) -> None:
    walks = result.table("walks")
    walks["cycles"] = walks.finished - walks.requested
    _, *body = table(page, "Slowest page walks")
    expected = walks.sort_values("cycles", ascending=False, kind="stable").head(20)
    for row, walk in zip(body, expected.itertuples(), strict=True):
        assert row[:3] == [f"{walk.vpn:#x}", f"{walk.vpn * 4096:#x}", apps_of(result)[walk.app]]
        assert [as_int(one) for one in row[3:6]] == [
            walk.cycles,
            walk.started - walk.requested,
            walk.finished - walk.started,
        ]
        assert [as_int(one) for one in row[6:]] == [walk.levels, walk.sm, walk.requested]


def test_kernels_and_launches(result: Result, page: Element) -> None:
    launches = result.launches
    _, *body = table(page, "Kernels")
    assert sum(as_int(row[2]) for row in body) == len(launches)
    assert sum(as_int(row[4]) for row in body) == launches.cycles.sum()
    _, *body = folded(page, "Launches")
    assert [[row[0], row[1], *map(as_int, row[2:7])] for row in body] == [
        [one.kernel, one.app, one.launch, one.work_begin, one.end, one.cycles, one.blocks]
        for one in launches.itertuples()
    ]


def test_headline_numbers_of_kernels_and_launches(result: Result, page: Element) -> None:
    header, *body = folded(page, "Launches")
    for row, launch in zip(body, result.launches.to_dict("records"), strict=True):
        told = dict(zip(header, row, strict=True))
        assert told["L1 TLB hits"] == percent_of(launch["tlb_L1_hit_rate"])
        assert as_int(told["page walks"]) == launch["walks"]
    header, *body = table(page, "Kernels")
    kernels = result.kernels.set_index(["app", "kernel"])
    for row in body:
        told = dict(zip(header, row, strict=True))
        kernel = kernels.loc[(told["application"], told["kernel"])]
        assert told["L2 TLB hits"] == percent_of(kernel.tlb_L2_hit_rate)
        assert as_int(told["launches"]) == kernel.launches
    _, *rows = folded(page, "All headline numbers by kernel")
    walks = next(row[1:] for row in rows if row[0] == "page walks")
    assert sum(map(as_int, walks)) == kernels.walks.sum()


def percent_of(share: float) -> str:
    return "–" if math.isnan(share) else f"{share * 100:.1f} %"


def test_counters_add_up(result: Result, page: Element) -> None:
    counters = result.counters
    for component, own in counters.groupby("component"):
        header, *body = folded(page, str(component))
        for row in body:
            values = own[own.counter == row[0]]
            by_column = dict(zip(header, row, strict=True))
            assert as_int(by_column["in all"]) == values.value.sum()
            for app in set(header) & set(apps_of(result)):
                known = values[values.app == app]
                expected = f"{known.value.sum():,}" if len(known) else "–"
                assert by_column[app] == expected
            if own.instance.nunique() > 1:
                instances = values.groupby("instance").value.sum()
                instances = instances.reindex(own.instance.unique(), fill_value=0)
                assert as_int(by_column["least in one"]) == instances.min()
                assert as_int(by_column["most in one"]) == instances.max()
        assert len(body) == own.counter.nunique()
