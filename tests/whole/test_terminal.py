"""What a run prints is whole on a narrow terminal, and made for the eye."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gpusim.cli.summary import print_summary
from gpusim.core.datafiles import data_names
from tests.quick import quick
from tests.whole.running import run


@pytest.mark.parametrize("width", quick([80, 120], 80))
@pytest.mark.parametrize("model", data_names("models"))
def test_nothing_is_cut_off(model: str, width: int) -> None:
    shown = io.StringIO()
    result = run(model, "bfs", parameters={"graph.vertices": 128})
    print_summary(result, console=Console(file=shown, width=width))
    text = shown.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.replace("│", " ").split())
    for name, description in result.summary_descriptions.items():
        assert name.startswith("share_") or description in words
    assert f"length of the run {result.summary['cycles']:,} cycles" in words
    rate = result.summary["tlb_L1_hit_rate"]
    assert f"L1 TLB hit rate, all TLBs together {rate * 100:.1f} %" in words
    assert f"DRAM reads, those of page walks included {result.summary['dram_reads']:,}" in words
