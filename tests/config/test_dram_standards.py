"""DRAM standards beside the presets of Ramulator, and products' DRAM tables beside both."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import gpusim
from experiments.dram_standards import DATA, PART, PRODUCTS, differences, products, tables
from experiments.marked import marked
from gpusim.config import dram_standards
from gpusim.config.dram_standard import Preset
from gpusim.config.dram_standards import standards
from gpusim.hardware.dram.mapping import AddressMapping
from gpusim.hardware.dram.timing import Timing

PAGE = Path(__file__).parents[2] / "docs" / "validation.md"
AS_THE_PRESET = ("l40", "rtx4090")
SOURCE = re.compile(r"^CMU-SAFARI/ramulator2?@[0-9a-f]{7,40}:\S+\.(py|cpp)$")


def test_what_lies_in_the_folder_is_registered() -> None:
    files = Path(dram_standards.__file__).parent.glob("[a-z]*.py")
    assert set(standards()) == {file.stem for file in files}
    assert {"gddr6", "gddr6x", "hbm2e", "hbm3", "hbm3e"} <= set(standards())


@pytest.mark.parametrize("name", standards())
def test_every_difference_has_a_reason(name: str) -> None:
    standard = standards()[name]
    unlike = {key for key, ours, theirs in standard.compared() if ours != theirs}
    assert unlike == set(standard.reasons)
    assert SOURCE.match(standard.preset.source)
    stated = {key for key, _, _ in standard.compared()}
    assert {"BL", "CL", "RCDRD", "RP", "RAS", "RC", "FAW", "RFC", "REFI"} <= stated


@pytest.mark.parametrize("name", standards())
def test_a_channel_of_it_can_be_had(name: str) -> None:
    config = standards()[name].config
    assert Timing.of(config).RC >= Timing.of(config).RAS
    assert AddressMapping(config).contiguous_bytes >= config.burst


def test_a_preset_at_another_clock() -> None:
    preset = Preset("here", "none", 1000, {"BL": 2, "CL": 10, "REFI": 999}, {"RFC": 100})
    assert preset.at(1_000_000_000) == {"BL": 2, "CL": 10, "REFI": 999, "RFC": 100}
    assert preset.at(1_510_000_000) == {"BL": 2, "CL": 16, "REFI": 1508, "RFC": 151}


@pytest.mark.parametrize("model", AS_THE_PRESET)
def test_products_that_have_the_numbers_of_a_preset(model: str) -> None:
    dram = gpusim.load_model(model).config.dram
    assert differences(dram, standards()[PRODUCTS[model]]) == []


def test_the_page_has_the_tables() -> None:
    again = "gpusim study dram-standards --doc docs/validation.md"
    assert marked(PAGE.read_text(encoding="utf-8"), PART) == tables().strip(), f"run: {again}"
    with (PAGE.parent / DATA).open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [list(row) for row in products()], f"run: {again}"
