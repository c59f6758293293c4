"""Pairs of recipes on models: what runs, what is refused, and the table of both."""

from __future__ import annotations

from experiments.pairs_on_models import Found, table, try_model


def test_a_model_runs_recipes_that_go_together() -> None:
    found = try_model("tiny", ["star", "tlb-colt", "dead-entry", "private-l3"])
    assert found.alone == ("star", "tlb-colt", "dead-entry")
    assert found.pairs == (2, 3)
    assert found.refused["star+tlb-colt"] == ("both decide tlb.L2.array: star and colt",)
    assert "needs a table [mig]" in found.refused["private-l3"][0]


def test_virtual_caches_and_mask_are_a_pair() -> None:
    assert try_model("tiny", ["vc-opt", "mask-quick"]).pairs == (1, 1)


def test_reasons_are_numbered_below_the_table() -> None:
    refused = {"b": ("no b",), "c": ("no c", "no b"), "a+d": ("no b",)}
    one = Found(("a", "d"), (0, 1), refused)
    written = table({"one": one, "two": Found(("a",), (0, 0), {}), "three": one})
    assert "|`one`, `three`|2|0 of 1|`b`, `a+d` (1); `c` (2, 1)|" in written
    assert "|`two`|1|0 of 0||" in written
    assert written.endswith("1. no b\n2. no c")
