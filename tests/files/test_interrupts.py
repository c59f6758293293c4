"""Ctrl-C waits for the end of a block."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpusim.files.interrupts import interrupted_by, uninterrupted
from gpusim.runs.writer import ResultWriter


@pytest.fixture(autouse=True)
def _python_handles_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_comes_at_the_end() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        done.append("the rest of the block")
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_blocks_may_be_nested() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
        done.append("the rest of the outer block")
    assert done


def test_without_an_interrupt_nothing_happens() -> None:
    with uninterrupted():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_goes_through_and_the_interrupt_after_it() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, uninterrupted():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError
    assert isinstance(caught.value.__context__, ZeroDivisionError)


def test_other_threads_and_ignored_interrupts_are_left_alone() -> None:
    handlers = []

    def look() -> None:
        with uninterrupted():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    look()
    assert handlers == [signal.default_int_handler, signal.SIG_IGN]


def test_an_interrupt_while_hdf5_opens_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import h5py

    opened = []

    def interrupted(*arguments: object, **options: object) -> object:
        signal.raise_signal(signal.SIGINT)
        opened.append(h5py_file(*arguments, **options))
        return opened[-1]

    h5py_file = h5py.File
    monkeypatch.setattr(h5py, "File", interrupted)
    with pytest.raises(KeyboardInterrupt), ResultWriter(tmp_path / "run.h5"):
        pass
    assert not opened[0].id.valid  # else HDF5 would close it when the interpreter is half gone
    assert list(tmp_path.iterdir()) == []


def test_what_an_error_came_from() -> None:
    def raised(*errors: BaseException) -> BaseException:
        """The last of some errors, each of which is raised while the one before is handled."""
        first, *others = errors
        for other in others:
            other.__context__ = first
            first = other
        return first

    assert interrupted_by(KeyboardInterrupt()) == ""
    assert interrupted_by(raised(KeyboardInterrupt("2 of 3"), ImportError())) == "2 of 3"
    twice = raised(KeyboardInterrupt(), KeyboardInterrupt("2 of 3"), KeyboardInterrupt())
    assert interrupted_by(raised(twice, KeyError(), AttributeError())) == "2 of 3"
    assert interrupted_by(raised(ZeroDivisionError(), ValueError())) is None
    caused = ValueError()
    caused.__cause__ = raised(KeyboardInterrupt(), ImportError())
    assert interrupted_by(raised(ZeroDivisionError(), caused)) == ""
    circle = raised(KeyError(), ValueError())
    assert circle.__context__ is not None
    circle.__context__.__context__ = circle
    assert interrupted_by(circle) is None
