"""Choices tried: one at a time, on the workloads of the study; intervals of shifted runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from scipy import stats

from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from gpusim.studies.reproduce.choices import Choice, Reading, Study
from gpusim.studies.reproduce.claims import Claim, Paper, Role, papers
from gpusim.studies.reproduce.overlay import Overlay
from gpusim.studies.reproduce.run import Judged, Outcome
from gpusim.studies.reproduce.sensitivity import Sensitivity, Variation, vary_choices
from gpusim.studies.reproduce.sensitivity_page import (
    by_effect,
    calibration,
    cells,
    draw_sensitivity,
    every_reading,
    main_results,
    other_verdicts,
    sensitivity_part,
)
from gpusim.studies.reproduce.verdict import Measured, Verdict, judge
from gpusim.studies.sweep.point import as_text
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import save


def claim(name: str, role: Role, headline: bool = False) -> Claim:
    return Claim(
        id=f"p.{name}",
        role=role,
        where="w",
        statement=name,
        direction="equal",
        values=(10.0,),
        headline=headline,
        measured="m",
    )


CLAIMS = (claim("rate", Role.CALIBRATION), claim("gain", Role.OUTCOME, True))


def reading(name: str, value: int, taken: bool = False) -> Reading:
    return Reading(name=name, set={"x": value}, source="s", grade="A", taken=taken)


PAPER = Paper(
    name="p",
    paper="p",
    title="P",
    model="tiny",
    programs="orchestrated",
    intro="",
    claim=CLAIMS,
    choice=(Choice(name="c", about="a", reading=(reading("one", 1, True), reading("two", 2))),),
    study=Study(key="y", values=("1", "2", "3", "4")),
)


def tried() -> tuple[Sensitivity, list[dict[str, Any]]]:
    """With readings and shifts that add to what is measured."""
    asked: list[dict[str, Any]] = []

    def make(*, overlay: Overlay) -> list[Outcome]:
        settings = overlay.settings
        asked.append(dict(settings))
        number = 10.0 + 5 * (settings.get("x") == 2) + float(str(settings.get("y", 0)))
        found = {one: Measured((number,)) for one in CLAIMS}
        judged = tuple(Judged(one, m, judge(one, m)) for one, m in found.items())
        return [Outcome(PAPER, None, "smoke", None, judged)]  # type: ignore[arg-type]

    return vary_choices(PAPER, make), asked


def test_one_choice_at_a_time_then_the_shifts() -> None:
    sensitivity, asked = tried()
    assert asked == [{}, {"x": 2}, *({"y": value} for value in "1234")]
    assert [one.name for one in sensitivity.readings] == ["c: two"]
    assert cells(sensitivity, Role.CALIBRATION, "p.rate") == ["10 ✓", "15 ✗"]
    assert len(cells(sensitivity, Role.OUTCOME, "p.gain")) == 1 + 1 + 4
    assert [(one.id, index) for one, index in main_results(sensitivity)] == [("p.gain", 0)]


def idle(acts: dict[tuple[str, str], int], variants: dict[str, str]) -> Sensitivity:
    """The taken reading acts; the other one, with these designs, as `acts` says."""
    other = evolve(reading("two", 1), variants=variants)
    paper = evolve(
        PAPER, choice=(evolve(PAPER.choice[0], reading=(reading("one", 1, True), other)),)
    )

    def make(*, overlay: Overlay) -> list[Outcome]:
        judged = tuple(Judged(one, None, judge(one, None)) for one in CLAIMS)
        tried = acts if overlay.variants or overlay.settings.get("x") else {("a", "fill/P"): 1}
        return [Outcome(paper, None, "smoke", None, judged, acts=tried)]  # type: ignore[arg-type]

    return vary_choices(paper, make)


def test_a_reading_whose_policy_never_acted_is_refused() -> None:
    found = idle({("a", "fill/P"): 0, ("b", "fill/P"): 0, ("b", "sets/Q"): 1}, {})
    assert found.readings == ()
    (refused,) = found.refused
    assert (refused.name, refused.idle) == ("c: two", ("fill/P",))
    text = "\n".join(sensitivity_part(PAPER, found, "smoke", "p.png", "p.csv"))
    assert "Refused: *c: two*, as P of fill acted in none of its runs." in text


def test_a_policy_has_to_act_in_some_run_of_the_designs_that_a_reading_changes() -> None:
    assert not idle({("a", "fill/P"): 0, ("b", "fill/P"): 3}, {}).refused
    assert idle({("a", "fill/P"): 0, ("b", "fill/P"): 3}, {"a": "other"}).refused
    assert not idle({("a", "fill/P"): 2, ("b", "fill/P"): 0}, {"a": "other"}).refused


def test_idle_policies_of_the_models_as_they_are_end_a_study() -> None:
    def make(*, overlay: Overlay) -> list[Outcome]:
        acts = {("a", "tlb.L2.fill/P"): int(bool(overlay.settings))}
        return [Outcome(PAPER, None, "smoke", None, (), acts=acts)]  # type: ignore[arg-type]

    with pytest.raises(UserError, match=r"P of tlb\.L2\.fill acted in no run of the models"):
        vary_choices(PAPER, make)


def test_the_interval_is_that_of_the_mean_of_shifted_runs() -> None:
    found = tried()[0].interval("p.gain", 0)
    values = [10.0, 11, 12, 13, 14]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found == pytest.approx((12.0, expected.low, expected.high))
    assert tried()[0].interval("p.gain", 1) is None


def test_of_some_programs_only_numbers_are_told() -> None:
    yes, number = Measured(holds=True), Measured((10.0,))

    def make(*, overlay: Overlay) -> list[Outcome]:
        judged = tuple(
            Judged(one, found, judge(evolve(one, values=found.values), found))
            for one, found in zip(CLAIMS, (yes, number), strict=True)
        )
        return [Outcome(PAPER, None, "smoke", None, judged, part=bool(overlay.settings))]  # type: ignore[arg-type]

    sensitivity = vary_choices(PAPER, make)
    assert list(sensitivity.taken.claims) == ["p.rate", "p.gain"]
    assert list(sensitivity.readings[0].claims) == ["p.gain"]


def test_the_page_and_the_picture(tmp_path: Path) -> None:
    sensitivity = tried()[0]
    text = "\n".join(sensitivity_part(PAPER, sensitivity, "smoke", "pictures/p.png", "p.csv"))
    assert "(p.csv)" in text
    assert "| p.rate | 10 ✓ | c: two → 15 ✗ |" in text
    assert "| p.gain | 10 | 10 | 12 (10 to 14) | 15 to 15 |" in text
    picture = draw_sensitivity(sensitivity)
    assert picture is not None
    save(picture, tmp_path / "p.png")


def test_the_whole_calibration_is_a_table_and_the_page_names_other_verdicts() -> None:
    header, rate, agree = calibration(tried()[0])
    assert header == ("claim", "taken", "c: two")
    assert rate == ("p.rate", "10 ✓", "15 ✗")
    assert agree == ("agree", "1", "0")
    assert other_verdicts(header, ("p.rate", "10 ✓", "11 ✓")) == ""
    assert other_verdicts(header, ("p.rate", "10 ✓", "–")) == ""


def test_a_panel_each_and_no_empty_one() -> None:
    claims = [claim(f"gain{number}", Role.OUTCOME, True) for number in range(4)]

    def make(*, overlay: Overlay) -> list[Outcome]:
        found = Measured((10.0 + bool(overlay.settings),))
        judged = tuple(Judged(one, found, judge(one, found)) for one in claims)
        return [Outcome(PAPER, None, "smoke", None, judged)]  # type: ignore[arg-type]

    picture = draw_sensitivity(vary_choices(PAPER, make))
    assert picture is not None
    assert [ax.get_visible() for ax in picture.axes] == [True] * 4 + [False] * 2


def moved(readings: dict[str, dict[str, tuple[float, ...]]]) -> Sensitivity:
    """Of a percent and a hundred times as large a number, as they are and with readings."""
    claims = {name: claim(name, Role.OUTCOME, True) for name in ("small", "large")}

    def variation(name: str, values: dict[str, tuple[float, ...]]) -> Variation:
        measured = {claims[key].id: Measured(found) for key, found in values.items()}
        judged = {
            f"p.{key}": Judged(claims[key], measured[f"p.{key}"], Verdict.DIFFERS) for key in values
        }
        return Variation("c", name, judged)

    taken = variation("as it is", {"small": (1.0,), "large": (100.0,)})
    return Sensitivity(taken, tuple(variation(*one) for one in readings.items()), ())


MOVED = {
    "nothing": {"small": (1.0,), "large": (100.0,)},
    "small alone": {"small": (3.0,)},
    "both": {"small": (0.0,), "large": (300.0,)},
    "large alone": {"small": (1.0,), "large": (120.0,)},
}


def test_readings_stand_in_the_order_of_their_effects() -> None:
    found = moved(MOVED)
    order = [one.reading for one in by_effect(found, list(main_results(found)))]
    assert order == ["both", "small alone", "large alone", "nothing"]


def test_the_page_names_readings_that_change_nothing() -> None:
    text = "\n".join(sensitivity_part(PAPER, moved(MOVED), "smoke", "p.png", "p.csv"))
    assert "No number changes under *c: nothing*." in text
    text = "\n".join(sensitivity_part(PAPER, tried()[0], "smoke", "p.png", "p.csv"))
    assert "No number changes" not in text


def test_a_number_that_a_reading_does_not_have_leaves_its_row_empty() -> None:
    picture = draw_sensitivity(moved(MOVED))
    assert picture is not None
    small, large = (
        [bar.get_x() + bar.get_width() for bar in ax.containers[0].patches]
        for ax in picture.axes[:2]
    )
    assert small == [0.0, 3.0, 1.0, 1.0]
    assert large == [300.0, 100.0, 120.0, 100.0]
    assert picture.axes[0].get_xlabel() == "(as it is: 1)"


def test_main_results_stand_below_the_calibration() -> None:
    assert every_reading(tried()[0])[1:] == [
        ("p.rate", "10 ✓", "15 ✗"),
        ("agree", "1", "0"),
        ("p.gain", "10 ✓", "15 ✗"),
    ]


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_what_is_taken_is_what_the_model_says(paper: Paper) -> None:
    values = {one.key: as_text(one.value) for one in load_model(paper.model).values}
    for choice in paper.choice:
        for key, value in choice.taken.set.items():
            if not key.startswith("workload."):
                assert values.get(key, "none") == as_text(value), f"{choice.name}: {key}"


def test_what_is_laid_over_a_sweep_leaves_the_names_of_designs() -> None:
    sweep = Sweep(
        models="tiny",
        workloads=["nw", "mis"],
        variants=["baseline", "ideal-tlb"],
        alone=["same", "ideal-tlb"],
        set={"l2.ways, l2.size": [[4, "64KiB"]]},
    )
    overlay = Overlay(
        machine="ideal-dram",
        settings={"l2.ways": 8, "l2.latency": "9 cycles"},
        variants={"ideal-tlb": "ideal-tlb+fixed-walk"},
        workloads=["mis", "bfs"],
    )
    (found,) = overlay.over(sweep)
    assert found.workloads == ("mis",)
    assert found.set == {"l2.ways, l2.size": ((4, "64KiB"),), "l2.latency": ("9 cycles",)}
    assert found.variants == ("ideal-dram", "ideal-dram+ideal-tlb+fixed-walk")
    assert found.alone == ("same", "ideal-dram+ideal-tlb+fixed-walk")
    assert [overlay.design(one) for one in found.variants] == ["baseline", "ideal-tlb"]
    assert overlay.leaves_out(sweep)
    assert Overlay(workloads=["bfs"]).over(sweep) == (sweep,)
    assert not Overlay(workloads=["bfs"]).leaves_out(sweep)


def test_a_design_without_the_part_of_a_setting_is_run_without_it() -> None:
    sweep = Sweep(models="apu-hsa", workloads="nw", variants=["baseline", "vc-opt", "ideal-dram"])
    overlay = Overlay(settings={"tlb.L1.merging": True, "l2.latency": "9 cycles"})
    whole, part = overlay.over(sweep)
    assert whole.variants == ("baseline", "ideal-dram")
    assert set(whole.set) == {"tlb.L1.merging", "l2.latency"}
    assert part.variants == ("vc-opt",)
    assert set(part.set) == {"l2.latency"}
