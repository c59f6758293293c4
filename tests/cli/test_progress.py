import io
import sys

import pytest
from rich.console import Console

from gpusim.cli import progress
from gpusim.cli.how_far import Pace, how_far
from gpusim.cli.live import LiveView
from gpusim.core.states import state_names
from gpusim.results.quantity import format_quantity
from gpusim.runs.monitor import Activity, Progress

STATES = state_names(("L1", "L2"))


def report(cycle=0, blocks=0, transactions=0, hits=0, done=False, run="", **cycles_in):
    return Progress(
        warps_done=8 * blocks,
        warps_running=8,
        warps_total=4096,
        launches=2,
        blocks_done=blocks,
        blocks_known=512,
        run=run,
        activity=Activity(
            cycles=cycle,
            instructions=2 * cycle,
            transactions=transactions,
            tlb_lookups={"L1": transactions, "L2": 0},
            tlb_hits={"L1": hits, "L2": 0},
            state_cycles={state: cycles_in.get(state, 0) for state in STATES},
        ),
        in_flight={},
        done=done,
    )


def lines_of(panel, width=80):
    shown = io.StringIO()
    Console(file=shown, width=width).print(panel)
    return shown.getvalue().splitlines()


def test_a_short_run_prints_no_line_where_stderr_is_no_terminal(capsys):
    with progress.live_progress("title") as update:
        update(report())
        update(report(done=True))
    assert capsys.readouterr().err == ""


def test_a_line_every_five_seconds_where_stderr_is_no_terminal(capsys):
    clock = iter(range(100))
    lines = progress.ProgressLines("kepler · atax", 1000, lambda: next(clock) / 2)
    for step in range(1, 12):
        lines(report(1000 * step, step, 20 * step))
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("kepler · atax: 10 %, launch 2, 5/512 blocks, 5,000 cycles, 20 ")
    assert first.endswith("transactions/s, 0:05, about 0:45 left")
    assert second.startswith("kepler · atax: 20 %")


def test_of_an_unknown_program_the_time_left_is_of_the_launches_so_far():
    far = how_far(report(blocks=128, transactions=9), None, 10.0, 5.0)
    assert (far.text, far.left) == (
        "launch 2, 128/512 blocks",
        "about 0:30 left of these launches",
    )
    assert how_far(report(transactions=9), None, 10.0, 5.0).left == "time left unknown"


def test_more_transactions_than_were_expected_are_not_half_done():
    far = how_far(report(blocks=256, transactions=1001), 1000, 10.0, 5.0)
    assert (far.share, far.of_launches) == (0.5, True)


def test_each_of_several_runs_has_its_own_time():
    clock = iter(range(0, 1000, 10))
    pace = Pace(1000, lambda: next(clock))
    pace.see(report(transactions=900, run="without page walks"))
    assert pace.elapsed == 0
    pace.see(report(transactions=990, run="without page walks"))
    assert (pace.elapsed, pace.transactions_a_second) == (10, 9)
    assert pace.see(report(transactions=10)).share == 0.01
    assert pace.elapsed == 0


def test_a_long_run_on_pure_python_says_once_that_a_compiler_is_here(capsys, monkeypatch):
    clock = iter(range(0, 1000, 15))
    seen = progress.CompilerHint(lambda: next(clock)).also(lambda _: None)
    monkeypatch.setattr(progress, "form", lambda: "pure Python")
    monkeypatch.setattr(progress.shutil, "which", lambda name: f"/usr/bin/{name}")
    seen(report())
    assert capsys.readouterr().err == ""
    for _ in range(4):
        seen(report())
    assert capsys.readouterr().err.count("/usr/bin/cc is here: pip install . compiles") == 1
    monkeypatch.setattr(progress, "form", lambda: "compiled")
    assert progress.pure_python_hint() == ""


def test_a_terminal_sees_the_view_and_is_clean_afterwards(monkeypatch):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=160)
    monkeypatch.setattr("gpusim.cli.console.stderr_console", lambda: console)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.live_progress("kepler · atax") as update:
        update(report())
        update(report(123456, 120, 10**6, 750_000))
        update(report(200000, 512, 2 * 10**6, 10**6, done=True))
    text = shown.getvalue()
    for part in ("kepler · atax", "launch 2, 512/512 blocks", "200,000 cycles", "transactions/s"):
        assert part in text
    assert text.endswith("\x1b[1A\x1b[2K")  # the last line of the view is erased


def test_the_view_tells_of_the_last_two_seconds():
    clock = iter([0.0, 0.25, *range(1, 20)])
    view = LiveView("kepler · atax", 80, clock=lambda: next(clock))
    view.show(report())
    for second in range(1, 12):
        panel = view.show(
            report(second * 1000, 2 * second, 500 * second, 100 * second, walk=600, dram=400)
        )
    text = "\n".join(lines_of(panel))
    assert "launch 2, 22/512 blocks" in text
    assert "0:11, about 4:05 left of these launches" in text
    assert "11,000 cycles   500 transactions/s   IPC 2" in text
    assert "TLB hits  L1 20.0 %  L2 –" in text
    assert "%" not in text.partition("warps' cycles")[2]  # all were booked before
    panel = view.show(report(12_000, 24, 6000, 1200, walk=900, dram=400, lsu=99, l2=1))
    assert lines_of(panel)[5].strip("│ ") == "warps' cycles  walk 75 %  lsu 25 %"


@pytest.mark.parametrize("width", [60, 80, 300])
def test_the_view_is_small_and_nothing_is_cut_off(width):
    view = LiveView("maxwell-mask · pagerank", width)
    cycles = {state: 10**9 + index for index, state in enumerate(STATES)}
    for panel in (
        view.show(report()),
        view.show(report(10**9, 400, 10**8, 10**7, **cycles)),
    ):
        lines = lines_of(panel, width)
        assert len(lines) == 7
        assert all(len(line) <= width for line in lines)
        assert "…" not in "".join(lines)
    shown = lines[5].strip("│ ").removeprefix("warps' cycles").split("  ")[1:]
    assert 3 <= len(shown) <= 6
    assert set(shown) <= {f"{state} 6 %" for state in STATES}


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1234567, "1", ("1,234,567", "")),
        (0, "cycles", ("0", "cycles")),
        (0.123456, "GB/s", ("0.1235", "GB/s")),
        (1234.5, "cycles", ("1,234", "cycles")),
        (123456.7, "cycles", ("123,457", "cycles")),
        (500.0, "cycles", ("500", "cycles")),
        (1_400_000_000, "Hz", ("1,400", "MHz")),
        (1.2267e-05, "s", ("12.27", "µs")),
        (0.25, "s", ("250", "ms")),
        (0.94358, "fraction", ("94.4", "%")),
    ],
)
def test_quantities(value, unit, shown):
    assert format_quantity(value, unit) == shown
