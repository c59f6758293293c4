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
        ("gpusim run tiny nw --scale s", 5, "smoke"),
        ("gpusim run tiny nw --record intervals,walk_r", 5, "intervals,walk_reads"),
        ("gpusim run tiny nw --set tlb.L1.entr", 5, "tlb.L1.entries="),
        ("gpusim show tiny --set tlb.L2.por", 4, "tlb.L2.ports="),
        ("gpusim reproduce orch.fig11", 2, "orch.fig11"),
        ("gpusim export run.h5 --to net", 4, "netcdf"),
        ("gpusim schema mo", 2, "model"),
        ("gpusim list stu", 2, "studies"),
        ("gpusim study work", 2, "workload-sizes workload-table"),
    ],
)
def test_names_are_completed(words: str, number: int, found: str) -> None:
    env = {
        "_GPUSIM_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(number),
    }
    done = CliRunner().invoke(app, [], prog_name="gpusim", env=env)
    assert done.output.split() == found.split()


def test_what_cannot_be_completed_is_silent() -> None:
    for words, number in (
        ("gpusim run no-model nw --set tlb", 5),
        ("gpusim trace record nw --set tlb", 5),
    ):
        env = {
            "_GPUSIM_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(number),
        }
        done = CliRunner().invoke(app, [], prog_name="gpusim", env=env)
        assert not done.output.strip()


def test_help_is_short_too() -> None:
    assert " Usage: " in CliRunner().invoke(app, ["run", "-h"]).output


def test_tables_are_as_wide_as_they_may() -> None:
    for columns, width in (("70", 70), ("", 160)):
        done = CliRunner().invoke(app, ["list", "models"], env={"COLUMNS": columns})
        assert max(map(len, done.output.splitlines())) == width
