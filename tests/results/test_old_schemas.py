"""Files that earlier versions wrote stay readable, whatever the schema has become since.

`data/` has files as they were written, packed with gzip, of one run::

    gpusim run tiny atax --variant ideal-crossbar --set sm.count=2 --set workload.n=32
        --set workload.iterations=1 --scale smoke --seed 7
        --record intervals,walks,dram,requests,tlb

A version that changes the schema adds its own; none is ever made anew.  The file of schema 2 has
the numbers of the others, written by its version.
"""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpusim.results import (
    SCHEMA_VERSION,
    Result,
    compare,
    follow,
    open_result,
    open_results,
    slowest_requests,
)
from gpusim.views.report import html_report
from tests.quick import quick

DATA = Path(__file__).parent / "data"
FILES = {"schema-1": 1, "schema-1-workload": 1, "schema-2": 2}


def unpack(name: str, folder: Path) -> Path:
    path = folder / f"{name}.h5"
    path.write_bytes(gzip.decompress((DATA / f"{name}.h5.gz").read_bytes()))
    return path


@pytest.fixture(scope="module", params=FILES)
def old(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Result]:
    with open_result(unpack(request.param, tmp_path_factory.mktemp("old"))) as result:
        yield result


def test_every_schema_is_there() -> None:
    assert {path.name.removesuffix(".h5.gz") for path in DATA.iterdir()} == set(FILES)
    assert set(FILES.values()) == set(range(1, SCHEMA_VERSION + 1))


def test_what_was_run(old: Result) -> None:
    run = old.provenance
    assert old.schema == FILES[Path(old.name).stem]
    assert old.digest == "74c3149523052edf25ba92479d0e67c9bffb5067070cef127a3eb06f2af66163"
    assert (run.gpusim, run.model, run.workload, run.scale) == ("0.1.0", "tiny", "atax", "smoke")
    assert (run.seed, run.variants, run.overrides) == (7, ("ideal-crossbar",), ("sm.count=2",))
    assert run.form == "pure Python"
    assert (run.python, run.numpy, run.simpy) == ("3.11.7", "2.4.6", "4.1.2")
    assert run.command_line[:4] == ("gpusim", "run", "tiny", "atax")
    assert (old.wall.seconds, old.wall.host, old.wall.processors) == (0.05, "host", 2)
    assert old.wall.finished == "2024-05-01T12:00:00+00:00"
    assert tomllib.loads(old.config_toml)["tlb"]["L2"]["entries"] == 32
    assert old.origins["crossbar.ideal"] == "variant ideal-crossbar"
    assert len(old.origins) == 122


def test_the_workload_is_empty_where_it_was_not_kept(old: Result) -> None:
    if Path(old.name).stem == "schema-1":
        assert old.workload_toml == ""
    else:
        (application,) = tomllib.loads(old.workload_toml)["applications"]
        assert application["n"] == 32


@pytest.mark.parametrize("name", quick(FILES, "schema-1"))
def test_a_report_has_no_numbers_of_kernels(name: str, tmp_path: Path) -> None:
    with open_result(unpack(name, tmp_path)) as old:
        page = html_report(old)
    assert "All headline numbers by kernel" not in page


def test_numbers(old: Result) -> None:
    assert old.summary["cycles"] == 482
    assert old.warnings == ()
    assert old.summary["walk_latency"] == pytest.approx((157 + 156 + 11 + 11) / 4)
    assert old.summary_units["ipc"] == "1/cycle"
    assert old.summary_descriptions["cycles"] == "length of the run"
    assert old.counters.shape == (114, 6)
    assert old.counter_tree()["walk"][0]["atax"]["walks"] == 4
    assert old.stall_sums.sum() == old.summary["warp_cycles"] == 632
    assert old.stalls.set_index("state").warp_cycles["walker"] == 124
    assert old.states[-2:] == ("tlb_L1", "tlb_L2")
    assert [old.states[state] for state in old.translation_states] == [
        "walker",
        "walk",
        "tlb_L1",
        "tlb_L2",
    ]
    assert old.launches.kernel.tolist() == ["atax_kernel1", "atax_kernel2"]
    columns = ["app", "launch", "kernel", "begin", "end", "blocks"]
    assert old.launches.columns.tolist() == columns, "numbers of launches came later"
    assert old.kernels.columns.tolist() == ["app", "kernel", "launches", "blocks"]
    assert old.kernels.launches.tolist() == [1, 1]
    assert old.launch_numbers == {}
    assert old.applications.to_dict("records") == [
        {
            "name": "atax",
            "asid": 0,
            "launches": 2,
            "blocks": 2,
            "warps": 16,
            "end": 482,
            "sms": (0, 1),
        }
    ]
    assert json.loads(json.dumps(old.to_json()))["stalls"]["atax"]["walk"] == 22


def test_event_tables(old: Result) -> None:
    assert old.tables == {
        "dram": 39,
        "intervals": 42,
        "requests": 39,
        "stages": 307,
        "tlb": 45,
        "walks": 4,
    }
    first = {name: old.table(name, 0, 1).to_numpy().tolist()[0] for name in old.tables}
    assert first["dram"] == [0, 7, 32767, 4, 0, 1, 37, 39, 66]
    assert first["tlb"] == [0, 0, 0, 1048579, 0, 10]
    assert first["walks"] == [0, 1048579, 0, 0, 26, 26, 183, 4]
    assert first["intervals"] == [0, 0, 0, 0, 1, 1, 9]
    assert old.table("stages").request.nunique() == 39
    assert sum(len(chunk) for chunk in old.chunks("stages", ["state"])) == 307


def test_what_is_made_of_results(old: Result) -> None:
    results = open_results(old.name)
    assert results.summary.cycles.tolist() == [482]
    assert len(results.counters) == 114
    slowest = slowest_requests(old, 1)
    assert slowest.index.tolist() == [33]
    walk = follow(old, 33).walk
    assert walk is not None
    assert (walk.requested, walk.started, walk.finished) == (59, 183, 194)
    assert compare(old, old).same


def test_an_old_file_and_a_newer_one_can_be_compared(tmp_path: Path) -> None:
    with (
        open_result(unpack("schema-1", tmp_path)) as first,
        open_result(unpack("schema-1-workload", tmp_path)) as second,
    ):
        comparison = compare(first, second)
    assert comparison.same
    assert comparison.config.empty
    assert comparison.warning == ""
