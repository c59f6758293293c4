"""What shells and editors ask of the program."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app


@pytest.mark.parametrize(
    ("words", "number", "found"),
    [
        ("gpusim run kep", 2, "kepler-uvm"),
        ("gpusim run tiny mask/HISTO_G", 3, "mask/HISTO_GUP"),
        ("gpusim run tiny nw --variant mask-tok", 5, "mask-tokens"),
        ("gpusim sweep l1-", 2, "l1-tlb-reach"),
    ],
)
def test_names_are_completed(words: str, number: int, found: str) -> None:
    env = {
        "_GPUSIM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(number),
    }  # fmt: skip
    done = CliRunner().invoke(app, [], prog_name="gpusim", env=env)
    assert done.output.split() == [found]


def test_help_is_short_too() -> None:
    assert " Usage: " in CliRunner().invoke(app, ["run", "-h"]).output


def test_tables_are_as_wide_as_they_may() -> None:
    for columns, width in (("70", 70), ("", 160)):
        done = CliRunner().invoke(app, ["list", "models"], env={"COLUMNS": columns})
        assert max(map(len, done.output.splitlines())) == width
