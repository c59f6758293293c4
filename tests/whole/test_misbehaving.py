"""Policies of a user's own that cannot be used: a message with names, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.whole.running import command

HOME = "tests.whole.misbehaving"
CASES = [
    ("tlb.L1.array", "AnotherFrame", 3, ["tlb.L1[0] (AnotherFrame)", "the page table says"]),
    ("tlb.L2.array", "AnotherFrame", 3, ["tlb.L2[0] (AnotherFrame)", "the page table says"]),
    ("tlb.L1.array", "Numbers", 2, ["int", "something of your own", HOME]),
    ("tlb.L1.sets", "MakeFails", 2, ["misbehaving.py", "MakeFails.make", "ZeroDivisionError"]),
    ("tlb.L1.sets", "MakesNothing", 2, ["tlb.L1.sets", "NoneType", "lack find"]),
    ("walk.order", "TooFar", 2, ["walk.order", "TooFar chose walk", "allowed: 0 to"]),
    ("walk.order", "FewerArguments", 2, ["choose takes (self, waiting)", "waiting, cycle)"]),
    ("walk.order", "Positional", 2, ["patience is positional", "(self, *, patience)"]),
    ("walk.order", "UnknownSignal", 2, ["no signal 'l1.mis'", "did you mean 'l1.miss'"]),
    ("memory.frames", "ThreePages", 2, ["memory.frames", "3 × 4 KiB cannot be", "2 MiB"]),
    ("memory.frames", "NoFrame", 2, ["memory.frames", "NoFrame gave page", "allowed: 0 to"]),
    ("tlb.L1.replacement", "NoVictim", 2, ["NoVictim.victim gave -12345"]),
    ("l1.replacement", "NoVictim", 2, ["NoVictim.victim gave -12345"]),
    ("walk.cache.replacement", "NoVictim", 2, ["NoVictim.victim gave -12345"]),
]


@pytest.mark.parametrize(("key", "policy", "code", "words"), CASES)
def test_is_told(
    key: str,
    policy: str,
    code: int,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ("--set", "walk.cache.entries=1", "--set", "walk.cache.ways=1")
    setting = f"{key}={HOME}:{policy}"
    run = command(
        "run",
        "tiny",
        "bfs",
        "--scale",
        "smoke",
        *small,
        "--set",
        setting,
        "-o",
        "run.h5",
        code=code,
    )
    assert [word for word in words if word not in run.stderr] == []
    assert "Traceback" not in run.stderr
    assert list(tmp_path.iterdir()) == []
