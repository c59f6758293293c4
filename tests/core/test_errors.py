"""Messages for the command line and for Python."""

from __future__ import annotations

import pytest

from gpusim.core.errors import UserError, on_command_line


@pytest.mark.parametrize(
    ("message", "in_python"),
    [
        ("--set workload.pace=slow: allowed: free", "overrides: pace=slow: allowed: free"),
        ("--set workload.bfs.x y: unknown", "overrides: bfs.x y: unknown"),
        ("n: wrong\n--set workload.m = 3: wrong", "n: wrong\noverrides: m = 3: wrong"),
        ("only with --set workload.timed.sample=N.", "only with overrides['timed.sample']=N."),
        ("--set: '': not a key", "overrides: '': not a key"),
        ("not with --skip-to or --variant", "not with skip_to or variants"),
    ],
)
def test_options_are_arguments_in_python(message: str, in_python: str) -> None:
    error = UserError(message)
    assert str(error) == in_python
    with on_command_line():
        assert str(error) == message
    assert str(error) == in_python
