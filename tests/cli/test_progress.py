import io

import pytest
from rich.console import Console

from gpusim.cli import progress
from gpusim.cli.live import LiveView
from gpusim.core.states import state_names
from gpusim.results.quantity import format_quantity
from gpusim.runs.monitor import Activity, Progress

STATES = state_names(("L1", "L2"))


def report(cycle=0, warps=0, transactions=0, hits=0, done=False, **cycles_in):
    return Progress(
        warps_done=warps,
        warps_running=8,
        warps_total=4096,
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


def test_quiet_when_stderr_is_no_terminal(capsys):
    with progress.live_progress("title") as update:
        assert update is None
    assert capsys.readouterr().err == ""


def test_a_terminal_sees_the_view_and_is_clean_afterwards(monkeypatch):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=160)
    monkeypatch.setattr(progress, "stderr_console", lambda: console)
    with progress.live_progress("kepler · atax") as update:
        update(report())
        update(report(123456, 1200, 10**6, 750_000))
        update(report(200000, 4096, 2 * 10**6, 10**6, done=True))
    text = shown.getvalue()
    for part in ("kepler · atax", "4,096/4,096 warps", "200,000 cycles", "transactions/s"):
        assert part in text
    assert text.endswith("\x1b[1A\x1b[2K")  # the last line of the view is erased


def test_the_view_tells_of_the_last_two_seconds():
    clock = iter([0.0, 0.25, *range(1, 20)])
    view = LiveView("kepler · atax", 80, lambda: next(clock))
    view.show(report())
    for second in range(1, 12):
        panel = view.show(
            report(second * 1000, 16 * second, 500 * second, 100 * second, walk=600, dram=400)
        )
    text = "\n".join(lines_of(panel))
    assert "176/4,096 warps  0:11, 4:05 left" in text
    assert "11,000 cycles   500 transactions/s   IPC 2" in text
    assert "TLB hits  L1 20.0 %  L2 –" in text
    assert "%" not in text.partition("warps' cycles")[2]  # all were booked before
    panel = view.show(report(12_000, 192, 6000, 1200, walk=900, dram=400, lsu=99, l2=1))
    assert lines_of(panel)[4].strip("│ ") == "warps' cycles  walk 75 %  lsu 25 %"


@pytest.mark.parametrize("width", [60, 80, 300])
def test_the_view_is_small_and_nothing_is_cut_off(width):
    view = LiveView("maxwell-mask · pagerank", width)
    cycles = {state: 10**9 + index for index, state in enumerate(STATES)}
    for panel in (
        view.show(report()),
        view.show(report(10**9, 4000, 10**8, 10**7, **cycles)),
    ):
        lines = lines_of(panel, width)
        assert len(lines) == 6
        assert all(len(line) <= width for line in lines)
        assert "…" not in "".join(lines)
    shown = lines[4].strip("│ ").removeprefix("warps' cycles").split("  ")[1:]
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
