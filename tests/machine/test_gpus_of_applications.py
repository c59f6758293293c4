"""Applications that name the GPU of a node, and traces of what GPUs do."""

from __future__ import annotations

from pathlib import Path

import h5py
import pytest

import gpusim
from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError
from gpusim.results import Result
from gpusim.runs.tenants import sms_of
from gpusim.traces.open_trace import open_trace
from gpusim.traces.recorded_layout import SCHEMA_VERSION
from gpusim.traces.recorder import record_trace

LINK = {
    "node.gpus": 2,
    "node.link.bandwidth": "16GB/s",
    "node.link.latency": "50 cycles",
    "node.placement": "first-touch",
}


def model(**settings: object) -> LoadedModel:
    return gpusim.load_model("tiny", overrides={**LINK, **settings})


def written(folder: Path, *applications: str) -> str:
    """A workload file of applications, each as the lines of its table."""
    path = folder / "mix.toml"
    path.write_text("\n".join(f"[[applications]]\n{one}\n" for one in applications))
    return str(path)


def loaded(folder: Path, *applications: str) -> gpusim.Workload:
    return gpusim.load_workload(written(folder, *applications), "smoke")


def ends(result: Result) -> dict[str, int]:
    return result.applications.set_index("name").end.to_dict()


ONCE: dict[str, object] = {"n": 512, "iterations": 1}
SHORT = "\nsmoke = { n = 512, iterations = 1 }"
ATAX_0, MVT_1 = 'workload = "atax"\ngpu = 0' + SHORT, 'workload = "mvt"\ngpu = 1' + SHORT


def test_applications_of_gpus_of_their_own_are_as_alone(tmp_path: Path) -> None:
    with gpusim.simulate(model(), loaded(tmp_path, ATAX_0, MVT_1)) as both:
        together = ends(both)
        assert both.summary["remote_requests"] == 0
    for name in ("atax", "mvt"):
        with gpusim.simulate("tiny", gpusim.load_workload(name, "smoke", overrides=ONCE)) as alone:
            assert alone.summary["cycles"] == together[name]


def test_an_application_on_one_gpu_leaves_the_other_idle(tmp_path: Path) -> None:
    with gpusim.simulate(model(), loaded(tmp_path, ATAX_0.replace("0", "1"))) as result:
        rows = result.counters.query("component == 'sm' and counter == 'transactions'")
        sms = rows[rows.value > 0].instance
        half = model().config.sm.count
        assert set(sms) == set(range(half, 2 * half))


def test_shares_are_of_the_gpu(tmp_path: Path) -> None:
    three = loaded(tmp_path, ATAX_0 + "\nshare = 0.5", 'workload = "gemm"\ngpu = 0', MVT_1)
    sms = model().config.sm.count
    assert sms_of(model(), three) == [
        range(sms // 2),
        range(sms // 2, sms),
        range(sms, 2 * sms),
    ]


def test_all_sms_of_a_gpu_are_shared(tmp_path: Path) -> None:
    pair = loaded(tmp_path, 'workload = "gemm"\ngpu = 1\nsmoke = { iterations = 1 }', MVT_1)
    with gpusim.simulate(model(sharing="mps"), pair) as result:
        rows = result.counters.query(
            "component == 'sm' and counter == 'transactions' and value > 0"
        )
        assert rows.groupby("app").instance.agg(["min", "max"]).to_numpy().tolist() == [
            [2, 3],
            [2, 3],
        ]


@pytest.mark.parametrize(
    ("applications", "settings", "message"),
    [
        ((ATAX_0, 'workload = "mvt"'), {}, "some name a gpu and some do not"),
        ((ATAX_0, 'workload = "mvt"\ngpu = 2'), {}, r"'mvt' is of GPU 2, and tiny has 2"),
        ((ATAX_0, 'workload = "mvt"\ngpu = -1'), {}, r"gpu.*>= 0"),
        ((ATAX_0, MVT_1 + '\ninstance = "1g"'), {}, "at most one of the keys gpu, instance"),
        ((ATAX_0 + "\nshare = 0.6", 'workload = "mvt"\ngpu = 0\nshare = 0.6'), {}, "on GPU 0 add"),
        ((ATAX_0, MVT_1), {"sharing": "time-slices"}, "take turns on all GPUs together"),
    ],
)
def test_gpus_that_cannot_be(
    tmp_path: Path, applications: tuple[str, ...], settings: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        gpusim.simulate(model(**settings), loaded(tmp_path, *applications))


def test_a_gpu_of_a_machine_without_a_node(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is of GPU 1, and tiny has 1, numbered from 0 on"):
        gpusim.simulate("tiny", loaded(tmp_path, MVT_1))


STEP: dict[str, object] = {"gpus": 2, "inputs": 64, "outputs": 64}
ENGINES = {"node.copy_engines.count": 1, "node.copy_engines.bandwidth": "32GB/s"}


def recorded(workload: gpusim.Workload, folder: Path) -> str:
    path = folder / "recorded.h5"
    record_trace(workload, path)
    return str(path)


@pytest.mark.parametrize("settings", [{}, ENGINES])
def test_a_recording_keeps_gpus_of_launches_arrays_and_copies(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    step = gpusim.load_workload("data_parallel_step", "smoke", overrides=STEP)
    path = recorded(step, tmp_path)
    with h5py.File(path) as file:
        assert file.attrs["schema"] == SCHEMA_VERSION
        assert set(file["launches/gpu"][:].tolist()) == {0, 1}
        copies = file["copies/bytes"][:].sum()
    node = model(**settings)
    with (
        gpusim.simulate(node, step) as program,
        gpusim.simulate(node, gpusim.load_workload(path)) as trace,
    ):
        assert trace.digest == program.digest
        if settings:
            assert program.summary["copied_bytes"] == copies > 0


def test_a_recording_keeps_gpus_of_applications(tmp_path: Path) -> None:
    pair = loaded(tmp_path, ATAX_0, MVT_1)
    path = recorded(pair, tmp_path)
    with (
        gpusim.simulate(model(), pair) as program,
        gpusim.simulate(model(), gpusim.load_workload(path)) as trace,
    ):
        assert trace.digest == program.digest


def test_older_recordings_name_no_gpu(tmp_path: Path) -> None:
    path = recorded(gpusim.load_workload("atax", "smoke", overrides=ONCE), tmp_path)
    with h5py.File(path, "a") as file:
        assert file.attrs["schema"] == 1
        for table in ("applications", "buffers", "launches"):
            del file[table]["gpu"]
    (application,) = open_trace(Path(path)).applications
    assert application.gpu is None
    assert {one.gpu for one in application.buffers} == {None}


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("launches/gpu", -2, r"row 0 of launches names GPU -2; allowed: 0 to 63, or -1 for none"),
        ("buffers/gpu", 64, "row 0 of buffers names GPU 64"),
        ("copies/launch", 1 << 40, r"a copy of launch 1099511627776; there are \d+, from 0"),
        ("copies/source", -1, "an array outside the 57 bits of an address"),
    ],
)
def test_damaged_gpus_and_copies(tmp_path: Path, place: str, value: int, message: str) -> None:
    step = gpusim.load_workload("data_parallel_step", "smoke", overrides=STEP)
    path = recorded(step, tmp_path)
    with h5py.File(path, "a") as file:
        file[place][0] = value
    with pytest.raises(UserError, match=message):
        gpusim.load_workload(path)
