"""Whole runs on MIG instances: legal ones, alone and side by side, and all that looks at them."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError
from gpusim.results.result import Result
from gpusim.runs.tenants import sm_counts
from gpusim.studies.sweep.metrics import weighted_speedup
from gpusim.studies.sweep.spec import Sweep
from tests.whole.running import command

MIG = {"mig.slices": 2, "mig.instances": "1g 2g", "dram.channels": 2}
"""The tiny machine in two slices of one SM, one L2 bank, one channel and one walker."""
OF_ALL = {"concurrent_walks", "concurrent_walks_max", "tlb_L1_queueing", "tlb_L2_queueing"}
"""Numbers that are those of all applications together."""
RECORDS = ("intervals", "walks", "dram", "requests", "tlb")


def two_slices(**overrides: object) -> LoadedModel:
    return gpusim.load_model("tiny", overrides={**MIG, **overrides})


def mix(folder: Path, *instances: str, name: str = "mix") -> Path:
    """mvt and nw, and so on, on instances; ``""`` for none."""
    programs = [("mvt", "n = 96, iterations = 2"), ("nw", "n = 32"), ("mvt", "n = 64")]
    text = 'relaunch = "until-all-have-run"\n'
    for number, (instance, (program, parameters)) in enumerate(
        zip(instances, programs, strict=False)
    ):
        text += f'[[applications]]\nworkload = "{program}"\nname = "{program}{number}"\n'
        text += f"smoke = {{ {parameters} }}\n"
        if instance:
            text += f'instance = "{instance}"\n'
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def simulate(model: LoadedModel, path: Path, alone: str = "") -> Result:
    workload = gpusim.load_workload(str(path), "smoke")
    return gpusim.simulate(model, workload.alone(alone) if alone else workload)


def undisturbed(model: LoadedModel, path: Path) -> list[bool]:
    """Of each application, whether its results are those that it has alone in its instance."""
    shared = simulate(model, path)
    found = []
    for sm, app in enumerate(("mvt0", "nw1")):
        alone = simulate(model, path, app)
        names = [name for name in alone.summary if name not in OF_ALL]
        own = {name: shared.summary.get(f"{app}/{name}") for name in names}
        sums = shared.stall_sums.sel(app=app).isel(sm=[sm]).to_numpy()
        same_sums = bool((sums == alone.stall_sums.sel(app=app).to_numpy()).all())
        found.append(own == {name: alone.summary[name] for name in names} and same_sums)
    return found


def test_a_neighbour_changes_nothing_but_through_the_shared_tlb(tmp_path: Path) -> None:
    path = mix(tmp_path, "1g", "1g")
    assert undisturbed(two_slices(**{"tlb.L2.scope": "instance"}), path) == [True, True]
    assert not all(undisturbed(two_slices(), path))
    slices = {"tlb.L2.scope": "slices", "tlb.L2.ports": 2}
    assert undisturbed(two_slices(**slices), path) == [True, True]


def test_an_instance_of_all_slices_is_the_whole_gpu(tmp_path: Path) -> None:
    one, whole = (mix(tmp_path / name, instance) for name, instance in (("a", "2g"), ("b", "")))
    assert simulate(two_slices(), one).digest == simulate(two_slices(), whole).digest


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        (("1g", "2g"), r"has MIG instances of 1g\+2g, which tiny cannot have: they take 3 slices;"),
        (("2g", "2g"), "they take 4 slices; allowed: 2 in all"),
        (("5g",), "there is no instance of 5g; allowed: 1g, 2g"),
        (("1g", "1g", "1g"), "they take 3 slices"),
    ],
)
def test_illegal_instances_are_refused(
    tmp_path: Path, instances: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        simulate(two_slices(), mix(tmp_path, *instances))


def test_a_model_that_cannot_be_cut(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"tiny cannot have: the model has no table \[mig\]"):
        simulate(gpusim.load_model("tiny"), mix(tmp_path, "1g"))


def test_more_applications_than_channels(tmp_path: Path) -> None:
    model = two_slices(**{"dram.partition": "channels", "dram.channels": 2, "sm.count": 4})
    with pytest.raises(UserError, match="3 applications cannot have a part of 2 channels each"):
        simulate(model, mix(tmp_path, "", "", ""))


def test_all_mixes_of_star_fit() -> None:
    model = gpusim.load_model("a100-mig")
    slices = [
        [count // 14 for count in sm_counts(model, gpusim.load_workload(f"star/W{n}", "smoke"))]
        for n in range(1, 19)
    ]
    assert slices == [*[[3, 2, 2]] * 11, *[[2, 2, 2, 1]] * 5, [2, 2, 1, 1, 1], [2, 1, 1, 1, 1, 1]]


@pytest.mark.long
@pytest.mark.usefixtures("forked_workers")
def test_sweeps_run_each_application_alone_in_its_instance(tmp_path: Path) -> None:
    path = mix(tmp_path, "1g", "1g")
    sweep = Sweep(
        name="pair", models="tiny", workloads=str(path), scale="smoke", alone="same", set=MIG
    )
    results = gpusim.run_sweep(sweep, tmp_path / "runs", jobs=1)
    (row,) = weighted_speedup(results).to_dict("records")
    with simulate(two_slices(), path) as shared:
        ratios = []
        for app in ("mvt0", "nw1"):
            with simulate(two_slices(), path, app) as alone:
                ratios.append(alone.summary["cycles"] / shared.summary[f"{app}/cycles"])
    assert row["harmonic_speedup"] == pytest.approx(2 / sum(1 / ratio for ratio in ratios))


@pytest.mark.long
def test_reports_timelines_and_traces_of_instances(tmp_path: Path) -> None:
    path, file = mix(tmp_path, "1g", "1g"), tmp_path / "run.h5"
    workload = gpusim.load_workload(str(path), "smoke")
    with gpusim.simulate(two_slices(), workload, record=RECORDS, output=file) as result:
        counters = result.counters
        for component in ("walk", "crossbar/requests", "l2", "dram"):
            found = counters[counters.component == component]
            assert set(found.instance) == {0, 1}, component
            used = found[(found.value > 0) & (found.app != "")].groupby("instance").app.unique()
            assert [list(apps) for apps in used] in ([["mvt0"], ["nw1"]], []), component
        assert set(result.table("dram").channel) == {0, 1}
        assert set(result.table("walks").asid) == {0, 1}
    command("report", str(file), "-o", str(tmp_path / "run.html"))
    command("timeline", str(file), "-o", str(tmp_path / "run.png"))
    command("timeline", str(file), "--perfetto", str(tmp_path / "run.pftrace"))
    command("follow", str(file), "--slowest", "1")
    assert "2 slices" in (tmp_path / "run.html").read_text()
