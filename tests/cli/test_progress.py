import io

import pytest
from rich.console import Console

from gpusim.cli import progress
from gpusim.cli.summary import format_quantity
from gpusim.simulate import Progress


def test_quiet_when_stderr_is_no_terminal(capsys):
    with progress.live_progress("title") as update:
        assert update is None
    assert capsys.readouterr().err == ""


def test_a_terminal_sees_cycles_warps_and_rate(monkeypatch):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=160)
    monkeypatch.setattr(progress, "Console", lambda stderr: console)
    with progress.live_progress("kepler · atax") as update:
        update(Progress(cycle=0, warps_done=0, warps_total=0, transactions=0))
        update(Progress(cycle=123456, warps_done=1200, warps_total=4096, transactions=10**6))
        update(Progress(200000, 4096, 4096, 2 * 10**6, done=True))
    text = shown.getvalue()
    for part in ("kepler · atax", "4,096/4,096 warps", "200,000 cycles", "transactions/s"):
        assert part in text


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
