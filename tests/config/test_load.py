"""Layers, overrides, and everything that is refused."""

import pytest

from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, policy
from gpusim.files.shipped import find_data
from gpusim.hardware.sm.block_placement import RoundRobinPlacement
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.machine.load import load_model


@policy(Slot.TLB_ARRAY, "test-options")
class _WithOptions(SetAssociativeArray):
    def __init__(self, config, *, bases: int, share: bool = False, mode: str = "a") -> None:
        pass


class _Greedy(RoundRobinPlacement):
    def __init__(self, config) -> None:
        pass


EXTRA = """
[variants.small]
tlb.L2.entries = 128             # small's reason
tlb.L1.mshrs = 4

[variants.smaller]
based_on = "small"
tlb.L2.entries = 64

[variants.both]
based_on = ["small", "fixed-walk"]

[variants.optioned]
tlb.L1.array = {policy = "test-options", bases = 2} # reason

[variants.more-options]
tlb.L1.array.share = true

[variants.other-policy.tlb.L1.array]
policy = "test-options"
bases = 4

[variants.back]
tlb.L1.array = "set-associative"

[variants.three-levels]
tlb.L3 = {scope = "gpu", entries = 1024, ways = 8}

[variants.no-walk-cache]
walk.cache = "none"

[variants.loop-a]
based_on = "loop-b"

[variants.loop-b]
based_on = "loop-a"
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(find_data("models", "tiny").read_text(encoding="utf-8") + EXTRA, "utf-8")
    return str(path)


def value(loaded, key):
    (found,) = (value for value in loaded.values if value.key == key)
    return found


# -- layers --------------------------------------------------------------------------------------


def test_origins_and_citations(model):
    loaded = load_model(model, ["small"], {"l2.ways": "4"})
    assert loaded.config.tlb["L2"].entries == 128
    assert value(loaded, "tlb.L2.entries").origin == "variant small"
    assert value(loaded, "tlb.L2.entries").citation == "small's reason"
    assert value(loaded, "tlb.L2.entries").value == 128
    assert value(loaded, "l2.ways").origin == "--set"
    assert loaded.origins["l2.size"].endswith("/mine.toml")
    assert loaded.variants == ("small",)
    assert loaded.overrides == {"l2.ways": "4"}
    assert loaded.path == model


def test_a_shipped_model_is_named_like_in_a_checkout():
    assert load_model("tiny").origins["clock"] == "models/tiny.toml"


def test_variants_stack_in_the_given_order(model):
    assert load_model(model, ["small", "smaller"]).config.tlb["L2"].entries == 64
    assert load_model(model, ["smaller", "small"]).config.tlb["L2"].entries == 128


def test_in_a_stack_the_longest_name_counts(tmp_path):
    """``a+b`` may be the name of a variant itself, also in the middle of a stack."""
    text = find_data("models", "tiny").read_text()
    text += """
[variants.a]
l1.size = "8KiB"  # our choice: for this test
[variants.b]
tlb.L2.entries = 64  # our choice: for this test
[variants."a+b"]
tlb.L2.entries = 128  # our choice: for this test
"""
    path = tmp_path / "stacks.toml"
    path.write_text(text)
    assert load_model(str(path), ["ideal-dram+a+b+a"]).variants == ("ideal-dram", "a+b", "a")
    assert load_model(str(path), ["b+a"]).variants == ("b", "a")


def test_a_variant_builds_on_another(model):
    config = load_model(model, ["smaller"]).config
    assert (config.tlb["L2"].entries, config.tlb["L1"].mshrs) == (64, 4)
    config = load_model(model, ["both"]).config
    assert (config.tlb["L2"].entries, config.walk.cost) == (128, "fixed")


@pytest.mark.parametrize("slot", ["tlb.L1.array", "tlb.L1.array.policy"])
def test_options_do_not_depend_on_the_order_of_overrides(slot):
    given = {"tlb.L1.array.bases": 3, slot: "test-options", "tlb.L1.array.mode": "b"}
    orders = given, dict(reversed(given.items()))
    arrays = [load_model("tiny", overrides=order).config.tlb["L1"].array for order in orders]
    assert arrays[0] == arrays[1] == PolicyConfig("test-options", {"bases": 3, "mode": "b"})


def test_overrides_come_last_and_keep_their_type(model):
    overrides = {
        "tlb.L2.entries": "256",
        "l1.size": "8KiB",
        "l1.latency": '"7 cycles"',
        "crossbar.ideal": "true",
        "dram.drain_high": 0.9,
    }
    config = load_model(model, ["small"], overrides).config
    assert config.tlb["L2"].entries == 256
    assert config.l1.size == 8192
    assert str(config.l1.latency) == "7 cycles"
    assert config.crossbar.ideal is True
    assert config.dram.drain_high == 0.9


def test_levels_can_be_taken_away_and_added(model):
    assert list(load_model(model, ["ideal-tlb"]).config.tlb) == ["L1"]
    assert list(load_model(model, ["three-levels"]).config.tlb) == ["L1", "L2", "L3"]
    assert list(load_model(model, [], {"tlb.L2": "none"}).config.tlb) == ["L1"]
    assert load_model(model).config.walk.cache is not None
    assert load_model(model, ["no-walk-cache"]).config.walk.cache is None
    kind = {"walk.cache.kind": "levels", "walk.cache.entries": 4}
    assert load_model(model, ["no-walk-cache"], kind).config.walk.cache.entries == 4


def test_policies_and_their_options(model):
    def array(*variants, **overrides):
        overrides = {key.replace("_", "."): value for key, value in overrides.items()}
        return load_model(model, variants, overrides).config.tlb["L1"].array

    assert array("optioned") == PolicyConfig("test-options", {"bases": 2})
    assert array("optioned", "more-options").options == {"bases": 2, "share": True}
    assert array("optioned", "more-options", "other-policy").options == {"bases": 4}
    assert array("optioned", "back") == PolicyConfig("set-associative")
    assert array("optioned", tlb_L1_array_mode="b").options == {"bases": 2, "mode": "b"}
    loaded = load_model(model, ["optioned"])
    assert value(loaded, "tlb.L1.array.bases").citation == "reason"


def test_a_policy_of_the_users_own(model, tmp_path, monkeypatch):
    (tmp_path / "my_policies.py").write_text(
        "from gpusim.hardware.tlb import SetAssociativeArray\n"
        "class Mine(SetAssociativeArray):\n"
        "    def __init__(self, config, *, size: int = 1):\n        pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    overrides = {"tlb.L1.array.policy": "my_policies:Mine", "tlb.L1.array.size": 3}
    array = load_model(model, [], overrides).config.tlb["L1"].array
    assert array == PolicyConfig("my_policies:Mine", {"size": 3})


MIG = {"mig.slices": 2, "mig.instances": "1g 2g", "dram.channels": 2}
"""The tiny machine in two slices."""


def test_what_is_not_cut_has_no_key(model):
    loaded = load_model(model, [], {"dram.partition": "none"})
    assert loaded.config.dram.partition is None
    assert loaded.to_toml() == load_model(model).to_toml()
    cut = load_model(model, [], {**MIG, "dram.partition": "channels"})
    assert (cut.config.mig.sizes, cut.config.dram.partition) == ((1, 2), "channels")
    assert cut.config.instance(2) == cut.config


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        # unknown keys
        ({"tlb.L2.entris": 4}, ["tlb.L2.entris", "unknown key", "did you mean 'entries'"]),
        ({"smm.count": 4}, ["smm", "unknown key; did you mean 'sm'", "allowed: sm, ", " more"]),
        ({"tlb.L3.entries": 4}, ["tlb.L3.scope: is missing", "tlb.L3.ways: is missing"]),
        ({"sm": 3}, ["sm = 3", "must be a table"]),
        ({"tlb": "none"}, ["tlb", "must be a table"]),
        ({"tlb.L1": "none", "tlb.L2": "none"}, ["tlb", "at least one level"]),
        ({"clock.x": 3}, ["clock", "frequency"]),
        # types and units
        ({"sm.count": "many"}, ["sm.count = 'many'", "whole number"]),
        ({"sm.count": 2.5}, ["sm.count = 2.5", "whole number"]),
        ({"sm.count": True}, ["sm.count = True", "whole number"]),
        ({"crossbar.ideal": 1}, ["crossbar.ideal = 1", "true or false"]),
        ({"name": 1}, ["name = 1", "must be a string"]),
        ({"dram.drain_low": "x"}, ["dram.drain_low", "must be a number"]),
        ({"l1.size": 4096}, ["l1.size = 4096", "size with its unit", "16KiB"]),
        ({"l1.size": "4KB"}, ["l1.size = '4KB'", "KiB"]),
        ({"l1.latency": 4}, ["l1.latency = 4", "time with its unit", "10 cycles"]),
        ({"l1.latency": "4 cykles"}, ["l1.latency", "cycles, ps, ns, us"]),
        ({"clock": "1400"}, ["clock = 1400", "frequency with its unit", "1400MHz"]),
        ({"clock": "0MHz"}, ["clock", "above zero"]),
        # impossible values
        ({"sm.count": 0}, ["sm.count = 0", "1 or more"]),
        ({"sm.warp_size": 16}, ["sm.warp_size = 16", "32, 64"]),
        ({"sm.schedulers": 5}, ["sm.schedulers = 5", "1, 2, 3, 4"]),
        ({"sm.simd_lanes": 24}, ["sm.simd_lanes = 24", "divide"]),
        ({"sm.max_threads": 16}, ["sm.max_threads = 16", "one warp"]),
        ({"sm.max_warps": -1}, ["sm.max_warps = -1", "1 or more"]),
        ({"sm.store_credits": 0}, ["sm.store_credits", "1 or more"]),
        ({"l1.size": "4224B"}, ["l1.size = '4224B'", "multiple of 4 ways × 128B = 512B"]),
        ({"l1.line": "96B"}, ["l1.line = '96B'", "32B, 64B, 128B, 256B"]),
        ({"l1.sector": "256B"}, ["l1.sector = '256B'", "32B, 64B, 128B"]),
        ({"l1.mshrs": 0}, ["l1.mshrs", "1 or more"]),
        ({"l1.translation": "befor"}, ["l1.translation", "did you mean 'before'", "after"]),
        ({"l2.banks": 0}, ["l2.banks = 0", "1 or more"]),
        ({"l2.size": "65KiB"}, ["l2.size", "8 ways × 128B × 2 banks = 2KiB"]),
        ({"l2.line": "64B"}, ["l2.line = '64B'", "l1.line, 128B"]),
        ({"tlb.L1.ways": 3}, ["tlb.L1.ways = 3", "divide the 8 entries"]),
        ({"tlb.L1.entries": 12}, ["tlb.L1.entries = 12", "6 sets", "power of two"]),
        ({"tlb.L1.entries": 0}, ["tlb.L1.entries", "1 or more"]),
        ({"tlb.L1.ports": 0}, ["tlb.L1.ports", "1 or more"]),
        ({"tlb.L1.sub_entries": 3, "tlb.L1.array": "sub-entry"}, ["sub_entries = 3", "power"]),
        ({"tlb.L1.scope": "cpu"}, ["tlb.L1.scope = 'cpu'", "sm, tpc, gpc, slices, instance, gpu"]),
        ({"tlb.L1.scope": "gpu", "tlb.L2.scope": "sm"}, ["tlb.L2.scope = 'sm'", "as wide", "L1"]),
        ({"memory.page": "8KiB"}, ["memory.page = '8KiB'", "4KiB, 64KiB, 2MiB"]),
        ({"memory.levels": 1}, ["memory.levels = 1", "3, 4, 5"]),
        ({"memory.size": "10KiB"}, ["memory.size", "multiple of the page"]),
        ({"walk.cost": "memmory"}, ["walk.cost", "did you mean 'memory'", "per-level"]),
        ({"walk.memory": "l3"}, ["walk.memory = 'l3'", "l2, dram"]),
        ({"walk.walkers": 0}, ["walk.walkers", "1 or more"]),
        ({"walk.cache.kind": "level"}, ["walk.cache.kind", "did you mean 'levels'"]),
        ({"walk.cache.kind": "lines"}, ["walk.cache.size", "hold a line of 64B"]),
        ({"walk.cache.entries": 0}, ["walk.cache.entries", "1 or more"]),
        (
            {"walk.cache.kind": "paths", "walk.cache.ways": 2},
            ["walk.cache.ways", "must be 0 (all)"],
        ),
        ({"walk.cache.ways": 3}, ["walk.cache.entries", "8 entries in 3 ways"]),
        ({"crossbar.bytes_per_cycle": 0}, ["crossbar.bytes_per_cycle", "1 or more"]),
        ({"watchdog": "0 cycles"}, ["watchdog", "above zero"]),
        ({"sms_per_tpc": 0}, ["sms_per_tpc = 0", "1 or more"]),
        # policies
        ({"sm.scheduler": "gtoo"}, ["sm.scheduler = 'gtoo'", "did you mean 'gto'", "lrr"]),
        ({"block_scheduler": "x"}, ["block_scheduler", "round-robin", "package.module:Class"]),
        (
            {"memory.frames": "first"},
            [
                "memory.frames",
                "contiguous, first-touch, largest-fit, mosaic, region",
            ],
        ),
        ({"dram.scheduler": "frfcfs"}, ["dram.scheduler", "did you mean 'fr-fcfs'"]),
        ({"sm.scheduler": 3}, ["sm.scheduler = 3", "name of a policy"]),
        ({"sm.scheduler": "nowhere:X"}, ["sm.scheduler", "cannot load"]),
        ({"tlb.L1.array.bases": 2}, ["tlb.L1.array.bases = 2", "'set-associative' has no option"]),
        ({"tlb.L1.array": "test-options"}, ["tlb.L1.array.bases", "is missing"]),
        (
            {"tlb.L1.array.policy": "test-options", "tlb.L1.array.basis": 2},
            ["no option 'basis'", "did you mean 'bases'", "allowed: bases, share, mode"],
        ),
        (
            {"tlb.L1.array.policy": "test-options", "tlb.L1.array.bases": "two"},
            ["tlb.L1.array.bases = 'two'", "of type int"],
        ),
        (
            {"tlb.L1.array": "collections:deque"},
            ["lacks", "lookup", "gpusim.hardware.tlb.array.TlbArray"],
        ),
        ({"dram.scheduler": "collections:deque"}, ["lacks", "best", "DramQueue"]),
        (
            {"tlb.L1.array": "gpusim.hardware.tlb:TlbArray"},
            ["lacks flush, insert, invalidate, lookup"],
        ),
        ({"tlb.L1.array": "gpusim.hardware.tlb:IdealArrays"}, ["cannot load", "IdealArrays"]),
        ({"tlb.L1.array": "types:ModuleType"}, ["tlb.L1.array", "lacks", "lookup"]),
        ({"sm.scheduler": "abc:ABCMeta"}, ["sm.scheduler", "lacks"]),
        ({"tlb.L1.array": "gpusim.core.errors:nearest"}, ["is not a class"]),
        (
            {"block_scheduler": "tests.config.test_load:_Greedy"},
            ["block_scheduler", "config is positional", "make it so with a *"],
        ),
        # DRAM
        ({"dram.mapping": "row bank column"}, ["dram.mapping", "bank-group"]),
        ({"dram.mapping": "rows bank"}, ["dram.mapping", "did you mean 'row'"]),
        ({"dram.row": "100B"}, ["dram.row", "multiple of a burst"]),
        ({"dram.banks": 3}, ["dram.banks = 3", "power of two"]),
        ({"dram.channels": 0}, ["dram.channels = 0", "1 or more"]),
        ({"dram.page_policy": "opened"}, ["dram.page_policy", "did you mean 'open'"]),
        ({"dram.drain_low": 0.9}, ["dram.drain_low", "drain_high"]),
        ({"dram.timing.CCDL": "1 cycles"}, ["dram.timing.CCDL", "CCDS"]),
        ({"dram.timing.CLX": "1 cycles"}, ["dram.timing.CLX", "unknown key"]),
        ({"dram.partition": "chanels"}, ["dram.partition", "did you mean 'channels'", "none"]),
        # MIG
        ({"mig.slices": 2}, ["mig.instances: is missing"]),
        ({**MIG, "mig.slices": 0}, ["mig.slices = 0", "1 or more"]),
        ({**MIG, "mig.instances": "1g 3g"}, ["mig.instances = '1g 3g'", '"1g" to "2g"']),
        ({**MIG, "mig.instances": "2g 1g"}, ["mig.instances", "the smallest first"]),
        ({**MIG, "mig.instances": "1 2"}, ["mig.instances", "must be sizes"]),
        ({**MIG, "mig.instances": ""}, ["mig.instances", "must be sizes"]),
        ({**MIG, "dram.channels": 3}, ["dram.channels = 3", "multiple of mig.slices, 2"]),
        ({**MIG, "walk.walkers": 1}, ["walk.walkers = 1", "multiple of mig.slices, 2"]),
        ({**MIG, "l2.banks": 1}, ["l2.banks = 1", "multiple of mig.slices, 2"]),
        ({**MIG, "memory.size": "516KiB"}, ["memory.size", "whole pages in each of mig.slices"]),
        ({**MIG, "sm.count": 3}, ["sm.count = 3", "multiple of mig.slices, 2"]),
        ({"tlb.L2.scope": "slices"}, ["tlb.L2.scope", "must not be 'slices' without a table"]),
        (
            {**MIG, "tlb.L2.scope": "slices", "tlb.L2.ports": 1},
            ["tlb.L2.ports = 1", "multiple of mig.slices, 2: with scope = 'slices' it is what all"],
        ),
        (
            {**MIG, "sms_per_tpc": 2, "tlb.L1.scope": "tpc"},
            ["sm.count = 2", "multiple of mig.slices × 2 SMs that share a TLB or side cache, 4"],
        ),
        # not a key
        ({"\x1b[31m": 1}, ["\N{SYMBOL FOR ESCAPE}[31m", "unknown key"]),
        ({"": 1}, ["overrides: '': not a key", "tlb.L2.entries"]),
        ({"tlb..x": 1}, ["overrides: 'tlb..x': not a key"]),
    ],
    ids=str,
)
def test_wrong_overrides(model, overrides, words):
    with pytest.raises(UserError) as caught:
        load_model(model, [], overrides)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["é", "L²", "a b"])
@pytest.mark.parametrize("table", ["tlb", "stage"])
def test_names_of_tables_are_those_that_toml_writes_bare(tmp_path, name, table):
    """They stand as they are in the model of a result, which is read again."""
    tiny = find_data("models", "tiny").read_text(encoding="utf-8")
    path = tmp_path / "named.toml"
    if table == "tlb":
        tiny = tiny.replace("[tlb.L1]", f'[tlb."{name}"]').replace('"L1"', f'"{name}"')
    else:
        tiny = 'stages = ["L1", "L2", "NAME", "walk"]\n'.replace("NAME", name) + tiny
        tiny += f'\n[stage."{name}"]\nkind = "remap"\n'
    path.write_text(tiny, "utf-8")
    with pytest.raises(UserError, match=rf"{table}\.{name}: .*a name is made of a-z, A-Z, 0-9, _"):
        load_model(str(path))


def test_a_wrong_file_names_file_line_key_and_value(model, tmp_path):
    path = tmp_path / "wrong.toml"
    lines = find_data("models", "tiny").read_text(encoding="utf-8").splitlines()
    number = next(i for i, line in enumerate(lines, 1) if line.startswith("size = "))
    lines[number - 1] = "size = 17    # wrong"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UserError, match=rf"wrong\.toml:{number}: l1\.size = 17: must be a size"):
        load_model(str(path))


def test_a_wrong_override_names_its_place(model):
    with pytest.raises(
        UserError, match=r"^overrides: tlb\.L2\.entries = 1001: 1001 entries in 1 ways"
    ):
        load_model(model, [], {"tlb.L2.entries": "1001", "tlb.L2.ways": "1"})
    with pytest.raises(UserError, match=r"^overrides: tlb\.L2\.colour = 'red': unknown key"):
        load_model(model, ["small"], {"tlb.L2.colour": "red"})


def test_a_missing_table_is_named(tmp_path):
    path = tmp_path / "half.toml"
    path.write_text('name = "half"\nclock = "1MHz"\n', encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_model(str(path))
    for table in ("sm", "l1", "tlb", "walk", "l2", "dram"):
        assert f"half.toml: {table}: is missing" in str(caught.value)


def test_all_mistakes_are_told_at_once(model):
    with pytest.raises(UserError) as caught:
        load_model(model, [], {"sm.count": 0, "l1.ways": 0, "walk.cost": "x"})
    assert len(str(caught.value).splitlines()) >= 3


def test_models_and_variants_that_do_not_exist(model):
    with pytest.raises(
        UserError, match=r"no model named 'tinny'; did you mean 'tiny'.*: tiny, .* more"
    ):
        load_model("tinny")
    with pytest.raises(UserError, match=r"no model file 'nowhere/x\.toml'"):
        load_model("nowhere/x.toml")
    with pytest.raises(
        UserError, match=r"no variant 'smal'; did you mean 'small'.*: small, .*any model: .* more "
    ):
        load_model(model, ["smal"])
    with pytest.raises(UserError, match="loop-a → loop-b → loop-a"):
        load_model(model, ["loop-a"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("variants = 3", "must be tables"),
        ("[variants]\nx = 3", "variants.x = 3: must be a table"),
        ("[variants.x]\nbased_on = 3", "variants.x.based_on = 3"),
        ("[variants.x]\nbased_on = 'y'", "no variant 'y'"),
    ],
)
def test_wrong_variant_tables(tmp_path, text, words):
    path = tmp_path / "variants.toml"
    path.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_model(str(path), ["x"])
    assert words in str(caught.value)
