"""docs/traces.md tells what is read, as the tables in the code have it."""

from experiments.marked import marked
from experiments.trace_opcodes import PART, tables
from gpusim.traces.sass import MEMORY_OPCODES
from gpusim.traces.sass_unmodelled import UNMODELLED
from tests import ROOT

PAGE = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")


def test_the_page_is_that_of_the_tables():
    again = "gpusim study trace-opcodes --doc docs/traces.md"
    assert marked(PAGE, PART) == tables().strip(), f"run: {again}"


def test_every_opcode_and_every_reason_is_told():
    assert "\n## What is read\n" in PAGE
    for base in (*MEMORY_OPCODES, *UNMODELLED):
        assert f"`{base}`" in PAGE
    for reason in UNMODELLED.values():
        assert reason in PAGE
