"""Storage of mechanisms: the papers' own arithmetic."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app
from gpusim.config.load import load_model
from gpusim.cost import Part, added_bytes, compare_storage, storage
from gpusim.datafiles import data_names
from gpusim.structures import Storage, bits_for, dimensions

MEMORY = {"memory.size": "2GiB"}  # 19 bits of a frame of 4 KiB


def parts(*variants: str) -> dict[tuple[str, str], Part]:
    found = storage(load_model("kepler-uvm", variants, MEMORY))
    return {(part.where, part.storage.name): part for part in found if part.storage}


def added(*variants: str) -> dict[str, float]:
    return added_bytes(
        load_model("kepler-uvm", variants, MEMORY), load_model("kepler-uvm", (), MEMORY)
    )


def test_the_table_of_orch_has_136_bytes():
    assert added("scheduling") == {"block_scheduler: table of hit rates": 136}


def test_full_page_numbers_and_flags_of_orch():
    # 16 SMs: 64 entries get the 4 bits that told their set; 16 blocks a flag each
    assert added("partitioning") == {
        "block_scheduler: table of hit rates": 136,
        "tlb.L1: entries": 16 * 64 * 4 / 8,
    }
    assert added("partitioning-sharing")["tlb.L1: sharing flags"] == 16 * 16 / 8


def test_bases_of_comp_have_112_bytes_and_counters_of_16():
    found = added("compression")
    assert found["tlb.L2: bases"] == 112
    assert found["tlb.L2: rebase counters"] == 32 * 5 / 8
    assert "tlb.L2: rebase counters" not in added("compression-no-rebase")


def test_a_way_of_comp_has_50_bits_and_holds_two_compressed_translations():
    plain = parts("compression")["tlb.L2", "entries"].storage
    packed = parts("compression")["tlb.L2", "compressed ways"].storage
    assert plain.entry_bits == packed.entry_bits == 31 + 19
    assert packed.fields == {"pages": 26, "frames": 18, "unused": 6}
    assert (plain.count, packed.count) == (256, 256)


def test_compressed_ways_under_blocks_keep_whole_page_numbers():
    found = parts("compression+orchestrated")
    assert found["tlb.L1", "bases"].storage.fields == {"page": 36 - 13, "frame": 19 - 9}
    assert found["tlb.L1", "bases"].bits == 16 * 16 * 33


def test_a_larger_tlb_costs_what_its_entries_cost():
    # 192 more entries in 64 sets: each entry has two bits less of the page number
    assert added("l1-tlb-256") == {"tlb.L1: entries": 16 * (256 * 49 - 64 * 51) / 8}


def test_a_machine_adds_nothing_to_itself():
    model = load_model("kepler-uvm")
    assert all(row.added_bits == 0 for row in compare_storage(model, model))


def test_every_shipped_array_tells_its_storage():
    for name in data_names("models"):
        assert all(part.bits > 0 for part in storage(load_model(name))), name
    assert all(part.storage for part in storage(load_model("kepler-uvm", ["cluster-tlb"])))


def test_dimensions_and_bits():
    sizes = dimensions(load_model("kepler-uvm", ["huge-pages"], MEMORY).config)
    assert (sizes.page_bits, sizes.frame_bits, sizes.sms, sizes.block_slots) == (27, 10, 16, 16)
    assert [bits_for(values) for values in (1, 2, 3, 16, 17)] == [0, 1, 2, 4, 5]
    assert Storage("x", 3, {"a": 2, "b": 5}).times(4).bits == 84


def test_a_policy_that_does_not_tell_is_shown_as_such(monkeypatch):
    from gpusim.tlb.set_associative import SetAssociativeArray

    monkeypatch.setattr(SetAssociativeArray, "storage", lambda *_: None)
    shown = CliRunner().invoke(app, ["cost", "kepler-uvm"])
    assert shown.exit_code == 0
    assert "its policy does not tell" in shown.stdout


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_command(options):
    arguments = ["cost", "kepler-uvm", "--variant", "partitioning", "--base", "scheduling"]
    shown = CliRunner().invoke(app, [*arguments, *options])
    assert shown.exit_code == 0
    if options:
        rows = {(row["component"], row["structure"]): row for row in json.loads(shown.stdout)}
        assert rows["block_scheduler", "table of hit rates"]["added_bytes"] == 0
        assert rows["tlb.L1", "entries"]["added_bytes"] == 512
    else:
        assert "+4,096 b = +512 B" in shown.stdout
