"""Applications that are started again until all have run once: their first run counts."""

from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import StarvedError, UserError
from gpusim.machine import Machine
from gpusim.results.result import Result
from gpusim.runs.conservation import check_conservation
from gpusim.runs.run import run_machine
from gpusim.runs.tenants import assign_sms

PAIR = """
relaunch = "{rule}"

[[applications]]
workload = "mvt"
name = "short"
smoke = {{ n = 64, iterations = {short} }}

[[applications]]
workload = "mvt"
name = "long"
smoke = {{ n = 256, iterations = {long} }}
"""


def pair(tmp_path: Path, rule: str, short: int = 2, long: int = 4) -> gpusim.Workload:
    """Two programs of `short` and `long` iterations."""
    path = tmp_path / "pair.toml"
    path.write_text(PAIR.format(rule=rule, short=short, long=long))
    return gpusim.load_workload(str(path), "smoke")


def end(result: Result, app: str) -> int:
    """The cycle in which the first run of an application ended."""
    launches = result.launches
    return int(launches[launches.app == app].end.max())


def transactions(result: Result, app: str) -> int:
    table = result.counters
    rows = table[(table.component == "sm") & (table.app == app) & (table.counter == "transactions")]
    return int(rows.value.sum())


def test_only_the_first_run_counts(tmp_path: Path) -> None:
    model = gpusim.load_model("tiny")
    once = gpusim.simulate(model, pair(tmp_path, "never"))
    again = gpusim.simulate(model, pair(tmp_path, "until-all-have-run"))
    for app in ("short", "long"):
        assert transactions(again, app) == transactions(once, app)
    assert again.digest == gpusim.simulate(model, pair(tmp_path, "until-all-have-run")).digest
    assert end(again, "short") == once.summary["short/cycles"], "alike until it ends"
    assert end(again, "long") > once.summary["long/cycles"], "then it still competes"
    assert again.summary["cycles"] == end(again, "long")
    assert again.launches.app.tolist() == once.launches.app.tolist()


def test_the_machine_ran_it_several_times_and_lost_nothing(tmp_path: Path) -> None:
    model = gpusim.load_model("tiny")
    workload = pair(tmp_path, "until-all-have-run")
    machine = Machine(model.config, assign_sms(model, workload), 0)
    run_machine(machine)
    check_conservation(machine)
    short, long = machine.schedulers
    first = machine.first_runs.of[0]
    assert short.warps_launched > 3 * first.warps
    assert long.warps_launched == machine.first_runs.of[1].warps
    assert short.finished_at < long.finished_at
    assert len(short.records) == 2
    sums = machine.first_runs.state_sums(0)
    assert sum(map(sum, sums)) < sum(sum(sm.ledger.sums[0]) for sm in machine.sms)


def test_instances_are_slices_of_the_gpu(tmp_path: Path) -> None:
    path = tmp_path / "mix.toml"
    text = PAIR.format(rule="never", short=2, long=4)
    text = text.replace('"short"', '"short"\ninstance = "2g"')
    path.write_text(text.replace('"long"', '"long"\ninstance = "3g"'))
    workload = gpusim.load_workload(str(path), "smoke")
    tenants = assign_sms(gpusim.load_model("a100-mig"), workload)
    assert [tenant.sms for tenant in tenants] == [range(28), range(28, 70)]
    with pytest.raises(UserError, match=r"MIG instances of 2g\+3g, which tiny cannot have"):
        assign_sms(gpusim.load_model("tiny"), workload)


STARVED = """
relaunch = "until-all-have-run"
applications = [
    { name = "one", workload = "atomic_adds" },
    { name = "two", workload = "atomic_adds" },
]
"""


def test_an_application_that_starves_beside_one_that_runs_again(tmp_path: Path) -> None:
    """Writes through the L2 cache of one keep DRAM from reads of the other for ever."""
    path = tmp_path / "starved.toml"
    path.write_text(STARVED)
    parameters = {"blocks": 1, "threads": 32, "times": 1, "stride": 256}
    overrides = {
        f"{app}.{key}": value for app in ("one", "two") for key, value in parameters.items()
    }
    work = gpusim.load_workload(str(path), "smoke", overrides=overrides)
    model = gpusim.load_model("tiny", overrides={"l2.writes": "through", "watchdog": "3000 cycles"})
    with pytest.raises(StarvedError, match="'two' did not get on in 30000 cycles"):
        gpusim.simulate(model, work)
