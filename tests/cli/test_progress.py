import io

import pytest
from rich.console import Console

from gpusim.cli import progress
from gpusim.cli.summary import format_number
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
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0, "0"),
        (0.123456, "0.1235"),
        (1234.5, "1,234"),
        (123456.7, "123,457"),
        (1.4e9, "1,400,000,000"),
    ],
)
def test_numbers(value, text):
    assert format_number(value) == text
