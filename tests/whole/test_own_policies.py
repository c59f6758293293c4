"""Users' own policies: refused if they cannot fill their slot, blamed if they fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusim.core.engine.watchdog import DeadlockError
from gpusim.core.errors import UserError
from tests.whole.running import command, run

HOME = "tests.whole.own_policies"
RUN = ("run", "tiny", "atax", "--scale", "smoke", "--set", "workload.n=256")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("tlb.L2.array=no.such:Array", ["tlb.L2.array", "cannot load", "there is no no.py"]),
        (f"tlb.L2.array={HOME}:Absent", ["cannot load", "has no Absent"]),
        (f"tlb.L2.array={HOME}:NOT_A_CLASS", ["is not a class"]),
        ("tlb.L2.array=:", ["cannot load"]),
        (f"tlb.L2.array={HOME}:NoMethods", ["NoMethods lacks", "lookup", "TlbArray"]),
        (f"memory.frames={HOME}:Unfinished", ["Unfinished lacks allocate, free", "FrameAllocator"]),
        (
            f"tlb.L2.array={HOME}:OtherArguments",
            ["OtherArguments.__init__: ways is positional", "(self, entries, *, ways)"],
        ),
        (
            f"tlb.L2.array={{policy='{HOME}:Optioned', deepth=2}}",
            ["no option 'deepth'", "did you mean 'depth'"],
        ),
        (
            f"tlb.L2.array={{policy='{HOME}:Optioned', depth='2'}}",
            ["tlb.L2.array.depth", "of type int"],
        ),
        (f"tlb.L2.array={HOME}:FailsWhenMade", ["own_policies.py", "ZeroDivisionError", "luck"]),
    ],
)
def test_refused(setting: str, words: list[str], folder: Path) -> None:
    outcome = command(*RUN, "--set", setting, "-o", "run.h5", code=2)
    assert [word for word in words if word not in outcome.stderr] == []
    assert "Traceback" not in outcome.stderr
    assert list(folder.iterdir()) == []


def test_a_module_that_cannot_be_imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "half_written.py").write_text("class Mine(:\n")
    monkeypatch.syspath_prepend(folder)
    outcome = command(*RUN, "--set", "tlb.L2.array=half_written:Mine", code=2)
    assert "half_written.py, line 1" in outcome.stderr
    assert "SyntaxError" in outcome.stderr


def test_a_policy_that_fails_in_mid_run_is_blamed(folder: Path) -> None:
    setting = f"tlb.L2.array={HOME}:FailsLater"
    outcome = command(*RUN, "--set", setting, "--record", "walks", "-o", "run.h5", code=2)
    for word in ("own_policies.py, line", "FailsLater.insert", "KeyError", "lost my way"):
        assert word in outcome.stderr
    assert list(folder.iterdir()) == []


def test_python_users_keep_the_cause() -> None:
    with pytest.raises(UserError, match="lost my way") as caught:
        run("tiny", "atax", overrides={"tlb.L2.array": f"{HOME}:FailsLater"})
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_standstill_is_reported_with_who_waits_for_whom(folder: Path) -> None:
    setting = f"dram.scheduler={HOME}:NeverPicks"
    outcome = command(*RUN, "--set", setting, "-o", "run.h5", code=3)
    for words in (
        "deadlock at cycle",
        "warps",
        "MSHRs wait for walkers",
        "walks under way",
        "l2[",
        "dram",
    ):
        assert words in outcome.stderr, words
    assert list(folder.iterdir()) == []


def test_the_patience_is_the_models() -> None:
    overrides = {"dram.scheduler": f"{HOME}:NeverPicks", "watchdog": "7000 cycles"}
    with pytest.raises(DeadlockError, match=r"no event is left|nothing moved in 7000 cycles"):
        run("tiny", "atax", overrides=overrides)
