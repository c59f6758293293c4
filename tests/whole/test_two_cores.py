"""One run on two cores: what the second process counts, says and does is as in one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import gpusim
from gpusim.core.engine.watchdog import DeadlockError
from gpusim.core.errors import UserError
from gpusim.machine.sides import process
from gpusim.plugin import FrameAllocator, Frames
from gpusim.results.result import Result
from gpusim.runs.monitor import Progress
from tests.quick import quick
from tests.whole.running import command, run
from tests.whole.test_relaunch import pair

HERE = "tests.whole.test_two_cores"
POLICIES = "tests.whole.own_policies"
ORDER = {"crossbar.order": "memory-first"}

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or os.uname().machine != "x86_64",
    reason="two cores need a fork and an x86-64 processor",
)

MACHINES = [
    ("tiny", "bfs"),
    ("tiny", "mvt"),
    ("kepler-uvm quarter", "atax"),
    ("v100 eighth", "gups"),
    ("v100 eighth", "bfs"),
    ("h100 eighth", "histo"),
    ("mi300x eighth", "gups"),
    ("rtx3070", "matrix_transpose"),
]


class FailsLater(FrameAllocator):
    """Fails when some pages have been mapped, which is in the process of the memory side."""

    def __init__(self, frames: int, seed: int) -> None:
        super().__init__(frames, seed)
        self.given = 0

    def allocate(self, asid: int, vpn: int) -> Frames:
        self.given += 1
        return Frames(self.given // (self.given < 6))

    def free(self, asid: int, vpn: int, frames: Frames) -> None:
        pass


def whole(result: Result) -> dict[str, Any]:
    """All that a result says, but how it was made."""
    with result:
        numbers = result.launches, result.kernels, result.stops, result.applications
        plain = result.to_json()
        del plain["provenance"]
        return {**plain, "tables": [table.to_csv() for table in numbers]}


def one_and_two(model: str, program: str, *variants: str, **options: Any) -> list[dict[str, Any]]:
    overrides = {**ORDER, **options.pop("overrides", {})}
    return [
        whole(run(model, program, *variants, overrides=overrides, cores=cores, **options))
        for cores in (1, 2)
    ]


@pytest.mark.parametrize(
    ("machine", "program"), quick(MACHINES, ("tiny", "bfs"), ("v100 eighth", "gups"))
)
def test_two_processes_count_what_one_does(machine: str, program: str) -> None:
    model, *variants = machine.split()
    one, two = one_and_two(model, program, *variants)
    assert two == one
    assert two["digest"] != whole(run(model, program, *variants))["digest"]


@pytest.mark.parametrize("trip", quick([0, 3, 200], 3))
def test_translations_that_arrive_later_than_requests(trip: int) -> None:
    one, two = one_and_two("tiny", "bfs", overrides={"walk.trip": f"{trip} cycles"})
    assert two == one


def test_a_queue_of_walks_that_is_full() -> None:
    one, two = one_and_two("tiny", "gups", overrides={"walk.queue": 1, "crossbar.queue": 1})
    assert two == one
    assert two["stalls"]["gups"]["walker"] > 0


def test_masks_of_bytes_are_longer_than_a_word() -> None:
    masks = {"l1.sector": "32B", "l2.sector": "32B", "l2.byte_masks": True}
    one, two = one_and_two("tiny", "bfs", overrides=masks)
    assert two == one


def test_a_rule_that_ends_it() -> None:
    one, two = one_and_two("tiny", "mvt", until="600cycles")
    assert two == one
    assert two["summary"]["cycles"] == 600


def test_applications_that_are_started_again(tmp_path: Path) -> None:
    model = gpusim.load_model("tiny", overrides=ORDER)
    one, two = (
        whole(gpusim.simulate(model, pair(tmp_path, "until-all-have-run"), cores=cores))
        for cores in (1, 2)
    )
    assert two == one


def test_what_is_written_meanwhile(tmp_path: Path) -> None:
    kept: list[list[Progress]] = [[], []]
    for cores in (1, 2):
        options: dict[str, Any] = {"log": tmp_path / f"{cores}.jsonl", "log_every": 100}
        options |= {"output": tmp_path / f"{cores}.h5", "record": ("intervals", "requests")}
        progress = kept[cores - 1].append
        run("tiny", "bfs", overrides=ORDER, cores=cores, progress=progress, **options).close()
    one, two = ((tmp_path / f"{cores}.jsonl").read_text() for cores in (1, 2))
    assert two == one
    assert kept[1][-1].in_flight == kept[0][-1].in_flight
    with (
        gpusim.open_result(tmp_path / "1.h5") as first,
        gpusim.open_result(tmp_path / "2.h5") as second,
    ):
        for table in first.tables:
            assert second.table(table).equals(first.table(table)), table


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cores": 2}, "event loops of their own.*crossbar.order=memory-first"),
        ({"cores": 3, "overrides": ORDER}, "cores 3: the machine has two sides: at most 2"),
        (
            {"cores": 2, "overrides": ORDER, "attach": print},
            "hears those of one process only",
        ),
        ({"cores": 2, "overrides": ORDER, "record": ("dram",)}, "in another process"),
        ({"overrides": ORDER, "record": ("lifetimes",)}, "not in the same cycle"),
        ({"overrides": ORDER, "skip": "1launches"}, "not with parts of programs that are skipped"),
    ],
)
def test_refused_runs(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        run("tiny", "mvt", **options)


@pytest.mark.parametrize(
    ("model", "settings", "words"),
    [
        ("mcm-gpu", [], "node: not with crossbar.order = 'memory-first'"),
        ("apu-hsa", ["vc-opt-8k"], "fbt: not with"),
        ("maxwell-mask", [], "walk.sent_by = 'sms': not with"),
        ("r9-nano", [], "scalar: not with"),
        ("v100", ["walk.order=sjf"], "walk.order"),
        ("tiny", ["crossbar.latency=0 cycles"], "that take at least a cycle"),
        ("tiny", ["crossbar.order=sms-first"], "allowed: none, memory-first"),
    ],
)
def test_refused_machines(model: str, settings: list[str], words: str) -> None:
    variants = [one for one in settings if "=" not in one]
    overrides = dict(one.split("=") for one in settings if "=" in one)
    with pytest.raises(UserError, match=words):
        gpusim.load_model(model, variants, {**ORDER, **overrides})


@pytest.mark.parametrize(
    ("variants", "overrides", "words"),
    [
        (["tlb-colt"], {}, "the page table is on that of memory"),
        ([], {"dram.scheduler": "golden-silver-normal"}, "signal 'tlb.first.miss' is of the other"),
    ],
)
def test_policies_that_look_across(
    variants: list[str], overrides: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        run("tiny", "bfs", *variants, overrides={**ORDER, **overrides})


# -- what goes wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "kind"),
    [
        ({"dram.scheduler": f"{POLICIES}:NeverPicks", "watchdog": "7000 cycles"}, DeadlockError),
        ({"memory.frames": f"{HERE}:FailsLater"}, UserError),
        ({"tlb.L1.array": "tests.whole.misbehaving:AnotherFrame"}, Exception),
        ({"memory.size": "64KiB"}, UserError),
    ],
)
def test_the_same_message(overrides: dict[str, Any], kind: type[Exception]) -> None:
    messages, before = [], children()
    for cores in (1, 2):
        with pytest.raises(kind) as caught:
            run("tiny", "atax", overrides={**ORDER, **overrides}, cores=cores)
        messages.append((type(caught.value), str(caught.value)))
    assert messages[1] == messages[0]
    assert children() <= before


def test_a_second_process_that_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    before = children()

    def kill(progress: Progress) -> None:
        for child in children() - before:
            os.kill(child, signal.SIGKILL)

    with pytest.raises(UserError, match="the second process has ended: signal SIGKILL"):
        run("tiny", "gups", overrides=ORDER, cores=2, progress=kill)
    assert children() <= before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_run_is_ended(number: int, tmp_path: Path) -> None:
    code = "import sys; from gpusim.cli.main import main; sys.exit(main())"
    arguments = ["run", "tiny", "bfs", "--quiet", "--set", "crossbar.order=memory-first"]
    arguments += ["--set", "workload.graph.vertices=200000", "--cores", "2"]
    started = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        (child,) = wait_for_children(started.pid)
        started.send_signal(number)
        _, errors = started.communicate(timeout=60)
    finally:
        started.kill()
    assert started.returncode != 0
    assert b"Traceback" not in errors
    assert gone(child)


def test_another_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.platform, "machine", lambda: "aarch64")
    outcome = command(
        *("run", "tiny", "mvt", "--scale", "smoke", "--cores", "2"),
        *("--set", "crossbar.order=memory-first"),
        code=2,
    )
    assert "an x86-64 processor; this is Linux on aarch64" in " ".join(outcome.stderr.split())


def test_parts_of_a_sample_take_the_cores() -> None:
    options: dict[str, Any] = {"parameters": {"layers": 8}, "sample": "launches=3"}
    one, *others = (
        run("tiny", "kv_append", overrides=ORDER, cores=cores, **options) for cores in (1, 2, 3)
    )
    assert {other.digest for other in others} == {one.digest}


def children(of: int | None = None) -> set[int]:
    """The processes that a process (default: this one) has started and not waited for."""
    return {child.pid for child in psutil.Process(of).children()}


def wait_for_children(of: int) -> set[int]:
    for _ in range(3000):
        if found := children(of):
            return found
        time.sleep(0.02)
    raise AssertionError("it has started none")


def gone(number: int) -> bool:
    """Whether a process ends within a while."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
