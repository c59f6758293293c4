"""Storage of mechanisms: the papers' own arithmetic."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from gpusim.cli.main import app
from gpusim.core.structures import Storage, bits_for
from gpusim.files.shipped import data_names
from gpusim.machine.cost import Part, added_bytes, compare_storage, storage
from gpusim.machine.dimensions import dimensions
from gpusim.machine.load import load_model

MEMORY = {"memory.size": "2GiB"}  # 19 bits of a frame of 4 KiB


def parts(*variants: str) -> dict[tuple[str, str], Part]:
    found = storage(load_model("kepler-uvm", variants, MEMORY))
    return {(part.where, part.storage.name): part for part in found if part.storage}


def added(*variants: str, model: str = "kepler-uvm") -> dict[str, float]:
    memory = MEMORY if model == "kepler-uvm" else {}
    return added_bytes(load_model(model, variants, memory), load_model(model, (), memory))


def test_the_table_of_orch_has_136_bytes():
    assert added("scheduling") == {"block_scheduler: table of hit rates": 136}


def test_full_page_numbers_and_flags_of_orch():
    # 16 SMs: 64 entries get the 4 bits that chose their set; 16 blocks a flag each
    assert added("partitioning") == {
        "block_scheduler: table of hit rates": 136,
        "tlb.L1: entries": 16 * 64 * 4 / 8,
    }
    assert added("partitioning-sharing")["tlb.L1: sharing flags"] == 16 * 16 / 8


def test_bases_of_comp_have_112_bytes_and_counters_of_256():
    found = added("compression")
    assert found["tlb.L2: bases"] == 112
    assert found["tlb.L2: rebase counters"] == 32 * 9 / 8
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


def test_the_dram_queues_of_mask_have_6_25_percent_more_entries():
    base = load_model("maxwell-mask")
    rows = compare_storage(load_model("maxwell-mask", ["mask-dram"]), base)
    queues = [row for row in rows if row.part.storage.name == "read queue"]
    assert [(row.part.where, row.part.instances) for row in queues] == [("dram.scheduler", 8)]
    new, old = queues[0].new.storage, queues[0].old.storage
    assert (new.count, old.count) == (16 + 64 + 192, 256)
    assert new.fields == old.fields == {"address": 33}  # 8 GiB
    assert new.count / old.count == 1.0625
    assert added("mask-dram", model="maxwell-mask") == {
        "dram.scheduler: read queue": 8 * 16 * 33 / 8,
        "dram.scheduler: turn": 8 * (5 + 9) / 8,  # 30 applications, quotas up to 500
        "walk: walk counters": 30 * 6 / 8,
        "tlb.L2: warp counters": 240 * 6 / 8,
    }


def test_taking_applications_in_turn_costs_a_pointer_a_bank():
    assert added("app-aware-dram", model="maxwell-mask") == {"dram.scheduler: turns": 8 * 8 * 5 / 8}


def test_hit_counters_of_mask_have_80_bytes():
    base = load_model("maxwell-mask")
    assert added_bytes(load_model("maxwell-mask", ["mask-cache"]), base) == {
        "l2.bypass: hit counters": 80,  # 10 × 8
        "l2.bypass: counters of first accesses": 4 * 10 / 8,
    }
    never_first = load_model("maxwell-mask", ["mask-cache"], {"l2.bypass.min_accesses": 0})
    assert added_bytes(never_first, base) == {"l2.bypass: hit counters": 80}


def test_tokens_of_mask_have_706_bytes():
    base = load_model("maxwell-mask", ["shared-tlb"])
    model = load_model("maxwell-mask", ["mask-tlb"])
    found = added_bytes(model, base)
    assert found == {
        "tlb.L2: bypass cache": 32 * 8,
        "tlb.L2: token counters": 30 * 15 / 8,
        "tlb.L2: direction registers": 30 / 8,
        "tlb.L2: counters of the cores": 30 * 13,
    }
    assert sum(found.values()) == 706
    assert sum(found.values()) - found["tlb.L2: counters of the cores"] == 316


def test_a_core_of_mask_keeps_104_bits():
    of_a_core = next(
        part.storage
        for part in storage(load_model("maxwell-mask", ["mask-tlb"]))
        if part.storage and part.storage.name == "counters of the cores"
    )
    assert (of_a_core.count, of_a_core.entry_bits) == (30, 2 * 16 + 8 + 64)


def test_without_a_bypass_cache_mask_keeps_none():
    model = load_model("maxwell-mask", ["mask-tlb"], {"tlb.L2.fill.bypass_entries": 0})
    assert "bypass cache" not in {part.storage.name for part in storage(model)}


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


def test_each_instance_may_need_a_last_tlb():
    for variants, count in (((), 1), (("private-l3",), 7)):
        found = storage(load_model("a100-mig", variants))
        assert {part.instances for part in found if part.where == "tlb.L3"} == {count}


def test_dimensions_and_bits():
    sizes = dimensions(load_model("kepler-uvm", ["huge-pages"], MEMORY).config)
    assert (sizes.page_bits, sizes.frame_bits, sizes.sms, sizes.block_slots) == (27, 10, 16, 16)
    assert [bits_for(values) for values in (1, 2, 3, 16, 17)] == [0, 1, 2, 4, 5]
    assert Storage("x", 3, {"a": 2, "b": 5}).times(4).bits == 84


def test_a_policy_that_does_not_tell_is_shown_as_such(monkeypatch):
    from gpusim.hardware.tlb.set_associative import SetAssociativeArray

    monkeypatch.setattr(SetAssociativeArray, "storage", lambda *_: None)
    shown = CliRunner().invoke(app, ["cost", "kepler-uvm"])
    assert shown.exit_code == 0
    assert "not stated by its policy" in shown.stdout


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


PAGES = {"memory.page": "64KiB"}
"""As STAR §V-C counts bits."""


def star(*variants: str) -> dict[str, float]:
    return added_bytes(load_model("a100-mig", variants, PAGES), load_model("a100-mig", (), PAGES))


def test_what_sharing_adds_to_the_entries_of_an_l3_tlb():
    # STAR's 50 bits have a base of 30; 48-bit addresses leave 21 beside 7 of set, 4 and 16
    assert star("star") == {"tlb.L3: entries": 1024 * (2 + 16 + 21 + 2) / 8}
    four = 3 + 2 * 16 + 3 * (21 + 2)
    assert star("star-4-base") == {"tlb.L3: entries": 1024 * four / 8}
    assert star("star+static") == star("star")
    assert star("static-ways") == {}


def test_half_of_the_sub_entries_double_the_bases():
    # 21 bits of base and 2 of valid and dirty for each of 1024 more entries: a bit less tells the
    # sub-entry, one more the set; without more sets each of the 2048 bases has a bit more
    assert star("half-sub-double-set") == {"tlb.L3: entries": 1024 * (2 + 21) / 8}
    assert star("half-sub-double-way-para") == {"tlb.L3: entries": (1024 * (2 + 21) + 2048) / 8}
    assert star("half-sub-double-way-seq") == star("half-sub-double-way-para")


def test_sub_entries_promoted_to_entries_need_a_page_number_each():
    # and 16 times the comparators, which are no bits: STAR §IV-B has 17.2 times the area
    promoted = PAGES | {
        "tlb.L3.array": "set-associative",
        "tlb.L3.sub_entries": 1,
        "tlb.L3.entries": 16 * 1024,
        "tlb.L3.ways": 16 * 8,
    }
    shown = added_bytes(load_model("a100-mig", (), promoted), load_model("a100-mig", (), PAGES))
    assert shown == {"tlb.L3: entries": 1024 * (16 * 25 - (2 + 21)) / 8}


def test_lines_of_virtual_caches_have_wider_tags_and_permissions():
    """VC §4.3: about 1 % of the caches, lines, tags and all; the width of a frame decides."""
    model = load_model("apu-hsa", ["vc"])
    lines = [p for p in storage(model) if p.storage and "virtual tags" in p.storage.name]
    assert [part.where for part in lines] == ["l1", "l2"]
    assert {part.storage.entry_bits for part in lines} == {36 - 20 + 2}
    l1, l2 = model.config.l1, model.config.l2
    assert sum(part.instances * part.storage.count for part in lines) == (
        model.config.sm.count * l1.size // l1.line + l2.size // l2.line
    )
    share = sum(part.bits for part in lines) / (8 * (model.config.sm.count * l1.size + l2.size))
    assert 0.01 < share < 0.02
    assert not [p for p in storage(load_model("apu-hsa")) if p.storage and p.where == "l2"]


def test_the_forward_backward_table_of_vc_has_270_kilobytes():
    found = storage(load_model("apu-hsa", ["vc"]))
    by_name = {part.storage.name: part for part in found if part.storage}
    backward, forward = by_name["backward table"], by_name["forward table"]
    assert (backward.storage.entry_bits, forward.storage.entry_bits) == (95, 40)
    assert (backward.bits / 8 / 1024, forward.bits / 8 / 1024) == (190, 80)
    assert by_name["invalidation filter"].bits / 8 / 1024 == 16  # 1 KB for each L1 cache
    assert "backward table" not in {p.storage.name for p in storage(load_model("apu-hsa"))}
