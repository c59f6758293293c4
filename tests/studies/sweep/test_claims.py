"""Claims: one living sweep has a run; what a dead one left is taken over, once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gpusim.core.errors import UserError
from gpusim.studies.sweep import run_claims as module
from gpusim.studies.sweep.run_claims import LEASE_SECONDS, Claims, held
from tests.examples import examples

KEY = "0123"


@contextmanager
def sweeps(folder: Path, count: int) -> Iterator[list[Claims]]:
    """Sweeps that live."""
    found = [Claims(folder) for _ in range(count)]
    for one in found:
        one.__enter__()
    yield found
    for one in found:
        one.__exit__(None, None, None)


def leave_claim(folder: Path, key: str = KEY, **about: Any) -> Path:
    """A claim of a sweep that is not there (any more), as far as `about` tells."""
    sweep = folder / "other-1-abc.sweep"
    if about:
        sweep.write_text(json.dumps(about))
    (folder / f"{key}.claim").write_text("other-1-abc")
    return sweep


def no_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def make_old(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_one_has_a_run_until_it_is_given_back(tmp_path: Path) -> None:
    with sweeps(tmp_path, 2) as (one, other):
        assert one.take(KEY)
        assert not other.take(KEY)
        assert held(tmp_path) == {KEY}
        other.give_back(KEY)  # it is not its
        assert not other.take(KEY)
        one.give_back(KEY)
        assert held(tmp_path) == set()
        assert other.take(KEY)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_that_ends_gives_all_back(tmp_path: Path) -> None:
    with sweeps(tmp_path, 1) as (other,):
        with pytest.raises(KeyboardInterrupt), Claims(tmp_path) as one:  # noqa: PT012
            assert all(one.take(key) for key in "abc")
            raise KeyboardInterrupt
        assert other.take("b")
        assert held(tmp_path) == {"b"}


@pytest.mark.parametrize("age", [0, LEASE_SECONDS - 10, LEASE_SECONDS + 10])
def test_another_machine_is_gone_if_it_says_nothing_for_long(tmp_path: Path, age: float) -> None:
    make_old(leave_claim(tmp_path, host="far away", process=1, started=0.0), age)
    with Claims(tmp_path) as one:
        assert one.take(KEY) == (age > LEASE_SECONDS)


def test_a_process_of_this_machine_is_gone_when_it_is_gone(tmp_path: Path) -> None:
    host = module.socket.gethostname()
    leave_claim(tmp_path, host=host, process=no_process(), started=0.0)
    with Claims(tmp_path) as one:
        assert one.take(KEY)


def test_a_process_that_nobody_has_waited_for_is_gone(tmp_path: Path) -> None:
    host = module.socket.gethostname()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = psutil.Process(process.pid).create_time()
        leave_claim(tmp_path, host=host, process=process.pid, started=started)
        with Claims(tmp_path) as one:
            assert not one.take(KEY)
            process.kill()
            while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.01)
            assert one.take(KEY)


@pytest.mark.parametrize(("age", "gone"), [(0, False), (LEASE_SECONDS + 10, True)])
def test_another_process_with_the_same_number(tmp_path: Path, age: float, gone: bool) -> None:
    """It may be the same one, if the clock was set meanwhile; a heart that beats tells."""
    host = module.socket.gethostname()
    started = psutil.Process().create_time() - 1000
    sweep = leave_claim(tmp_path, host=host, process=os.getpid(), started=started)
    make_old(sweep, age)
    with Claims(tmp_path) as one:
        assert one.take(KEY) == gone


def test_a_claim_that_is_being_written_is_held(tmp_path: Path) -> None:
    claim = tmp_path / f"{KEY}.claim"
    claim.touch()
    with Claims(tmp_path) as one:
        assert not one.take(KEY)
        make_old(claim, LEASE_SECONDS + 10)
        assert one.take(KEY)


def test_a_sweep_whose_file_was_removed_lives_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that slept for long is taken for gone, and wakes up."""
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.01)
    with sweeps(tmp_path, 2) as (one, other):
        assert one.take(KEY)
        path = tmp_path / f"{one.id}.sweep"
        path.unlink()
        while not path.exists():
            time.sleep(0.01)
        assert not other.take(KEY)


def test_what_dead_sweeps_left_is_removed(tmp_path: Path) -> None:
    leave_claim(tmp_path, "a", host=module.socket.gethostname(), process=no_process(), started=0.0)
    (tmp_path / "b.claim").write_text("gone")
    make_old(leave_claim(tmp_path, "c", host="far away", process=1, started=0.0), 100)
    (tmp_path / "d.stale").touch()
    make_old(tmp_path / "d.stale", LEASE_SECONDS + 10)
    with sweeps(tmp_path, 2) as (one, other):
        assert one.take("e")
        other.remove_stale()
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {"e.claim", f"{one.id}.sweep", f"{other.id}.sweep"}
        assert held(tmp_path) == {"e"}


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write"), Claims(tmp_path / "gone"):
        pass
    with Claims(tmp_path) as one:
        (tmp_path / f"{one.id}.sweep").unlink()
        with pytest.raises(UserError, match="File name too long"):
            one.take("x" * 300)


class Interleaved:
    """Runs calls in threads, one line of the module at a time, in an order that is given."""

    def __init__(self, *calls: Callable[[], object]) -> None:
        self.results: list[object] = [None] * len(calls)
        self._go = [threading.Semaphore(0) for _ in calls]
        self._stopped = threading.Semaphore(0)
        self._living = list(range(len(calls)))
        self._threads = [
            threading.Thread(target=self._run, args=(number, call), daemon=True)
            for number, call in enumerate(calls)
        ]

    def run(self, order: Sequence[int]) -> list[object]:
        for thread in self._threads:
            thread.start()
            self._stopped.acquire()
        for turn in order:
            if self._living:
                self._step(self._living[turn % len(self._living)])
        while self._living:
            self._step(self._living[0])
        for thread in self._threads:
            thread.join()
        return self.results

    def _step(self, number: int) -> None:
        self._go[number].release()
        self._stopped.acquire()

    def _run(self, number: int, call: Callable[[], object]) -> None:
        def stop(frame: FrameType, event: str, _: object) -> Any:
            if frame.f_code.co_filename != module.__file__:
                return None
            if event == "line":
                self._stopped.release()
                self._go[number].acquire()
            return stop

        self._stopped.release()
        self._go[number].acquire()
        sys.settrace(stop)
        try:
            self.results[number] = call()
        finally:
            sys.settrace(None)
            self._living.remove(number)
            self._stopped.release()


orders = st.lists(st.integers(0, 2), min_size=20, max_size=120)


@settings(max_examples=examples(150))
@given(order=orders, stale=st.booleans())
def test_of_sweeps_that_want_a_run_at_once_one_gets_it(order: list[int], stale: bool) -> None:
    with tempfile.TemporaryDirectory() as name, sweeps(Path(name), 3) as (one, other, third):
        if stale:
            leave_claim(Path(name))
        calls = (lambda: one.take(KEY), lambda: other.take(KEY), third.remove_stale)
        took = Interleaved(*calls).run(order)[:2]
        assert took.count(True) <= 1
        winner = (one, other)[took.index(True)] if True in took else None
        claim = Path(name) / f"{KEY}.claim"
        assert (claim.read_text() if claim.exists() else None) == (winner and winner.id)
        if winner is None:  # the third was about to remove what was left
            assert stale
            assert one.take(KEY)
        assert list(Path(name).glob("*.stale")) == []


class SweepsInAFolder(RuleBasedStateMachine):
    """Some sweeps take runs, give them back and die, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.living: list[Claims] = []
        self.owners: dict[str, Claims] = {}

    def teardown(self) -> None:
        for one in self.living:
            one.__exit__(None, None, None)
        self.temporary.cleanup()

    @precondition(lambda self: len(self.living) < 3)
    @rule()
    def begin(self) -> None:
        self.living.append(Claims(self.folder).__enter__())

    @precondition(lambda self: self.living)
    @rule(data=st.data(), key=st.sampled_from("abc"))
    def take(self, data: st.DataObject, key: str) -> None:
        one = data.draw(st.sampled_from(self.living))
        free = self.owners.get(key) not in self.living
        assert one.take(key) == free
        if free:
            self.owners[key] = one

    @precondition(lambda self: self.living)
    @rule(data=st.data(), key=st.sampled_from("abc"))
    def give_back(self, data: st.DataObject, key: str) -> None:
        one = data.draw(st.sampled_from(self.living))
        one.give_back(key)
        if self.owners.get(key) is one:
            del self.owners[key]

    @precondition(lambda self: self.living)
    @rule(remove=st.booleans())
    def die(self, remove: bool) -> None:
        one = self.living.pop(0)
        one._ended.set()
        one._heart.join()
        about = {"host": module.socket.gethostname(), "process": DEAD, "started": 0.0}
        (self.folder / f"{one.id}.sweep").write_text(json.dumps(about))
        if remove and self.living:
            self.living[0].remove_stale()

    @invariant()
    def those_of_the_living_are_held(self) -> None:
        assert held(self.folder) == {k for k, one in self.owners.items() if one in self.living}


DEAD = no_process()
SweepsInAFolder.TestCase.settings = settings(max_examples=25, stateful_step_count=20)
test_sweeps_in_a_folder = SweepsInAFolder.TestCase
