"""Recipes: roles, what a machine lacks, stacks of them, and everything that is refused."""

import tomllib
from functools import cache
from pathlib import Path

import pytest

from gpusim.config.auxiliary import SIDE_CACHES
from gpusim.config.layers import leaves
from gpusim.config.recipe import find_recipe, recipe_names, with_bases
from gpusim.config.roles import ROLES
from gpusim.core.engine import Port
from gpusim.core.errors import UserError
from gpusim.core.stage import Stage
from gpusim.files.shipped import data_folder, data_names, find_data
from gpusim.machine.load import load_model
from tests.config.citations import SOURCE
from tests.quick import quick

RECIPES = recipe_names()
MODELS = data_names("models")
ONE_LEVEL = {"tlb.L2": "none"}


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """Writes a recipe beside the user; gives the path that the user would type."""
    monkeypatch.chdir(tmp_path)

    def write(body, name="mine", header='description = "for tests"\nsource = "our choice"\n'):
        Path(f"{name}.toml").write_text(header + body, encoding="utf-8")
        return f"./{name}.toml"

    return write


@pytest.fixture
def model(tmp_path):
    """The tiny machine with variants of its own."""

    def write(variants):
        path = tmp_path / "own.toml"
        path.write_text(find_data("models", "tiny").read_text("utf-8") + variants, "utf-8")
        return str(path)

    return write


def plain(model, *names, **overrides):
    """A resolved machine as dotted keys and values."""
    overrides = {key.replace("__", "."): value for key, value in overrides.items()}
    return {one.key: one.value for one in load_model(model, names, overrides).values}


def refusal(model, *names, **overrides):
    with pytest.raises(UserError) as caught:
        plain(model, *names, **overrides)
    return str(caught.value)


@cache
def taken(model, name):
    """A shipped model with a recipe, or None if it lacks what the recipe requires."""
    try:
        return load_model(model, [name])
    except UserError:
        return None


# -- what is shipped -----------------------------------------------------------------------------


def test_recipes_are_no_models():
    assert not set(RECIPES) & set(MODELS)
    assert {path.stem for path in (data_folder("models") / "recipes").glob("*")} == set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_cites_the_sources_of_its_values(name):
    shipped = find_recipe(name, Path())
    assert shipped.description
    assert SOURCE.match(shipped.source)
    for key, setting in leaves(shipped.changes):
        assert SOURCE.match(setting.citation), key
    for key, setting in leaves(shipped.requires):
        assert setting.citation, f"{key}: a comment says why"
    assert shipped.based_on or list(leaves(shipped.changes))


@pytest.mark.parametrize("name", RECIPES)
def test_some_machine_takes_every_recipe(name):
    assert any(taken(model, name) for model in MODELS)


@pytest.mark.parametrize("model", quick(MODELS, "tiny"))
def test_a_recipe_changes_what_it_says_and_nothing_else(model):
    base = plain(model)
    for name in RECIPES:
        if (loaded := taken(model, name)) is None:
            continue
        told = {one.key for one in loaded.values if one.origin.startswith(("recipe ", "variant "))}
        names = {one.name for one, _ in with_bases(find_recipe(name, Path()))}
        origins = {f"recipe {one}" for one in names}
        refined = {f"variant {one}" for one in names}  # by a variant of the model with its name
        assert {loaded.origins[key] for key in told} <= origins | refined
        after = {one.key: one.value for one in loaded.values}
        changed = {key for key in after if after[key] != base.get(key)}
        if loaded.origins.get("stages") == "follows":  # the list follows the levels
            changed -= {"stages"}
        brought = {key for key in changed - set(base) if loaded.origins[key] == "default"}
        changed -= brought  # the rest of a table that it brings
        assert changed <= told
        if origins == {f"recipe {name}"} and "none" not in str(find_recipe(name, Path()).changes):
            assert told, name


@pytest.mark.parametrize("name", ["mask", "scheduling", "vc-opt-remapping"])
def test_a_recipe_brings_the_same_to_every_machine(name):
    """MASK's numbers are MASK's on each GPU: only levels have other names.

    Auxiliary caches are apart: a machine has some or none.
    """
    found = [
        [
            (one.key.rpartition(".")[2], one.value, one.citation)
            for one in loaded.values
            if one.origin.startswith("recipe ") and one.key.partition(".")[0] not in SIDE_CACHES
        ]
        for loaded in (taken(model, name) for model in MODELS)
        if loaded
    ]
    assert len(found) >= 4
    assert all(values == found[0] for values in found)


def test_mask_is_its_parts():
    assert plain("maxwell-mask", "mask") == plain(
        "maxwell-mask", "mask-tlb", "mask-cache", "mask-dram"
    )
    quick, whole = plain("fermi", "mask-quick"), plain("fermi", "mask")
    changed = {key.rpartition(".")[2] for key in whole if quick[key] != whole[key]}
    assert changed == {"epoch", "min_accesses"}
    for small, large in (
        ("mask-tokens", "mask-tlb"),
        ("translation-aware-bypass", "mask-cache"),
        ("golden-silver-normal", "mask-dram"),
    ):
        assert set(plain("tiny", small)) < set(plain("tiny", large)) | set(plain("tiny"))


@pytest.mark.parametrize(("recipe", "level"), [("compression", "L2"), ("compression-l1", "L1")])
def test_compression_is_exclusive(recipe, level):
    """COMP: an insertion in one partition evicts from the same partition only."""
    for model in ("kepler-uvm", "maxwell-mask"):
        assert load_model(model, [recipe]).config.tlb[level].sets.options["overflow"] is False


def test_a_mechanism_of_each_paper_on_one_machine():
    stack = load_model("a100-mig", ["star+mask-tokens+golden-silver-normal"])
    assert stack.variants == ("star", "mask-tokens", "golden-silver-normal")
    shared = stack.config.tlb["L3"]
    assert (shared.array.policy, shared.fill.policy) == ("star", "mask-tokens")
    assert stack.config.dram.scheduler.policy == "golden-silver-normal"
    assert stack.origins["tlb.L3.array.bases"] == "recipe star"
    assert stack.origins["tlb.L3.entries"] == "models/a100-mig.toml"


# -- roles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "of_three", "of_two", "of_one"),
    [
        ("first", ["L1"], ["L1"], ["L1"]),
        ("second", ["L2"], ["L2"], None),
        ("last", ["L3"], ["L2"], ["L1"]),
        ("shared", ["L3"], ["L2"], None),
        ("all", ["L1", "L2", "L3"], ["L1", "L2"], ["L1"]),
        ("outer", ["L2", "L3"], ["L2"], None),
        ("private", ["L1"], ["L1"], ["L1"]),
    ],
)
def test_roles(recipe, role, of_three, of_two, of_one):
    path = recipe(f"[tlb.{role}]\nmshrs = 7\n")

    def levels(model, **overrides):
        values = plain(model, path, **overrides)
        return [key.split(".")[1] for key in values if key.endswith("mshrs") and values[key] == 7]

    assert levels("a100-mig") == of_three
    assert levels("tiny") == of_two
    one = ("ideal-l1-tlb", recipe('[tlb]\nouter = "none"\n', "one"), path)
    if of_one is None:
        assert refusal("tiny", *one).endswith(
            f"needs {ROLES[role].what}: tiny's only level is L1 (sm)"
        )
    else:
        assert [k for k, v in plain("tiny", *one).items() if v == 7 and k.endswith("mshrs")] == [
            f"tlb.{level}.mshrs" for level in of_one
        ]


def test_an_instance_of_a_mig_shares_its_tlb(recipe):
    values = plain("a100-mig", "private-l3", recipe("tlb.shared.mshrs = 7\n"))
    assert (values["tlb.L3.scope"], values["tlb.L3.mshrs"]) == ("instance", 7)


def test_levels_that_are_not_there_need_not_be_taken_away(recipe):
    path = recipe('tlb.outer = "none"\n')
    assert plain("tiny", "ideal-tlb", path) == plain("tiny", "ideal-tlb")


def test_a_recipe_sees_what_was_laid_before_it():
    assert "needs a TLB that all SMs share" in refusal("tiny", "ideal-tlb", "mask-tokens")
    assert plain("tiny", "mask-tokens", "ideal-tlb") == plain("tiny", "ideal-tlb")


def test_several_roles_of_a_level_count_in_order(recipe):
    path = recipe("tlb.all.mshrs = 5\ntlb.first.mshrs = 6\n")
    values = plain("tiny", path)
    assert (values["tlb.L1.mshrs"], values["tlb.L2.mshrs"]) == (6, 5)


def test_numbers_relative_to_the_machine(recipe):
    path = recipe("tlb.all.entries = {times = 2}\nl2.size = {times = 0.5}\n")
    before, after = plain("a100-mig"), plain("a100-mig", path)
    for level in ("L1", "L2", "L3"):
        assert after[f"tlb.{level}.entries"] == 2 * before[f"tlb.{level}.entries"]
    assert (before["l2.size"], after["l2.size"]) == ("14MiB", "7MiB")
    eighth, half = (plain("a100-mig", "eighth" + more) for more in ("", "+half-sub-double-set"))
    assert half["tlb.L3.entries"] == 2 * eighth["tlb.L3.entries"]
    assert half["tlb.L3.sub_entries"] * 2 == eighth["tlb.L3.sub_entries"]
    assert "mine.toml:3: tlb.L1.sub_entries = {times = 0.5}: the machine has 1" in refusal(
        "tiny", recipe("tlb.first.sub_entries = {times = 0.5}\n")
    )


def test_products_are_rounded_to_whole_numbers(recipe):
    path = recipe(
        "sm.count = {about = 0.125}\nl2.size = {about = 0.5}\ntlb.first.ports = {about = 0.1}\n"
    )
    before, after = plain("kepler-uvm"), plain("kepler-uvm", path)
    assert (before["sm.count"], after["sm.count"]) == (16, 2)
    assert (before["l2.size"], after["l2.size"]) == ("1536KiB", "768KiB")
    assert after["tlb.L1.ports"] == 1
    assert plain("rtx3070", "quarter")["sm.count"] == 12  # of 46


@pytest.mark.parametrize("model", ["v100", "a100", "h100", "mi210", "rtx3070", "p100", "k80"])
@pytest.mark.parametrize(("part", "of"), [("quarter", 4), ("eighth", 8)])
def test_a_part_of_a_large_machine(model, part, of):
    """What all SMs share is a part of what it was; what an SM has stays."""
    whole, less = (load_model(model, names).config for names in ((), (part,)))
    assert abs(less.sm.count * of - whole.sm.count) < of
    assert abs(less.dram.channels * of - whole.dram.channels) < of
    assert abs(less.l2.size * of - whole.l2.size) < of
    assert (less.l1.size, less.sm.max_warps) == (whole.l1.size, whole.sm.max_warps)


def test_a_machine_s_own_number_stays_where_it_is_enough(recipe):
    path = recipe('tlb.all.mshrs = {at_least = 256}\nl2.size = {at_least = "8MiB"}\n')
    values = plain("a100-mig", path)
    levels = [values[f"tlb.{level}.mshrs"] for level in ("L1", "L2", "L3")]
    assert (levels, values["l2.size"]) == ([256, 448, 256], "14MiB")
    assert "mine.toml:3: l2.bypass = {at_least = 2}: the machine has 'never'" in refusal(
        "tiny", recipe("l2.bypass = {at_least = 2}\n")
    )


def test_star_brings_sub_entries_where_there_are_none():
    for model, pages in (("kepler-uvm", 16), ("a100-mig", 16), ("k80", 32)):
        shared = load_model(model, ["star"]).config.tlb
        *_, last = shared.values()
        assert (last.array.policy, last.sub_entries) == ("star", pages)


def test_memory_walks_read_the_l2_cache_on_every_model():
    for model in MODELS:
        assert load_model(model, ["memory-walks"]).config.walk.reads("l2")


def test_a_default_of_the_machine_counts(recipe, tmp_path):
    lines = find_data("models", "tiny").read_text("utf-8").splitlines(keepends=True)
    path = tmp_path / "short.toml"
    path.write_text("".join(one for one in lines if not one.startswith("sub_entries")), "utf-8")
    body = "requires.tlb.first.sub_entries = 1\ntlb.first.sub_entries = {times = 2}\n"
    body += 'tlb.first.array = "sub-entry"\n'
    assert plain(str(path), recipe(body))["tlb.L1.sub_entries"] == 2


# -- stages of translation -----------------------------------------------------------------------


class Passing(Stage):
    """A stage of a user's own; no machine is built of it here."""

    def __init__(self, site):
        super().__init__(site.name, f"stage/{site.kind}", site.index, Port(site.env, "own"))

    def shoot_down(self, tag):
        pass


KIND = 'kind = "tests.config.test_recipes:Passing"\n'


def stages(model, *names):
    return load_model(model, names).config.stages


def test_a_recipe_puts_a_stage_behind_a_level(recipe):
    first = recipe(f'[stage.near]\n{KIND}behind = "tlb.first" # here\nscope = "tpc"\n', "near")
    last = recipe(f'[stage.far]\n{KIND}behind = "tlb.last"\n', "far")
    after = recipe(f'[stage.farther]\n{KIND}behind = "far"\n', "farther")
    assert stages("tiny", last) == ("L1", "L2", "far", "walk")
    assert stages("a100-mig", last, first, after) == (
        "L1",
        "near",
        "L2",
        "L3",
        "far",
        "farther",
        "walk",
    )
    assert stages("tiny", last, after, "ideal-tlb") == ("L1", "far", "farther", "walk")
    (value,) = (one for one in load_model("a100-mig", [first]).values if one.key == "stages")
    assert (value.origin, value.citation) == ("recipe near.toml", "here")
    assert "needs a stage 'far': tiny's levels are L1" in refusal("tiny", after)


def test_a_stage_that_is_taken_away_leaves_the_list(recipe, model):
    path = model(f"""
[variants.staged]
stages = ["L1", "between", "L2", "walk"]
stage.between.{KIND}
[variants.bare]
stage.between = "none"
""")
    assert stages(path, "staged") == ("L1", "between", "L2", "walk")
    assert stages(path, "staged", "bare") == ("L1", "L2", "walk")
    assert stages(path, "staged", "ideal-tlb") == ("L1", "between", "walk")
    behind = recipe(f'[stage.mine]\n{KIND}behind = "tlb.last"\n')
    assert stages(path, "staged", behind) == ("L1", "between", "L2", "mine", "walk")
    assert stages(path, "staged", "ideal-tlb", behind) == ("L1", "mine", "between", "walk")


def test_auxiliary_caches_that_a_machine_has_get_what_a_recipe_has_for_all(recipe):
    mine = recipe('auxiliary.latency = "7 cycles"  # our choice: a test\n')
    own = plain("r9-nano", mine)
    assert own["scalar.latency"] == own["instruction.latency"] == "7 cycles"
    assert plain("tiny", mine) == plain("tiny")
    wrong = recipe('auxiliary.latencies = "7 cycles"  # our choice: a test\n', name="wrong")
    assert "auxiliary.latencies" in refusal("tiny", wrong)
    assert "must be a table [auxiliary]" in refusal("tiny", recipe("auxiliary = 1\n", name="one"))


# -- what a machine lacks ------------------------------------------------------------------------


def test_a_refusal_says_what_the_machine_lacks():
    levels = "kepler-uvm has tlb.L2.sub_entries = 1"
    assert refusal("kepler-uvm", "half-sub-double-set") == (
        "recipe 'half-sub-double-set' needs tlb.shared.sub_entries of 2 or more "
        f"(entries with sub-entries): {levels}"
    )
    assert refusal("a100-mig", "mask") == (
        "'mask' is based on recipe 'translation-aware-bypass', which needs walk.cost = \"memory\" "
        "(walks that read the page table, as recipe memory-walks has them): "
        'a100-mig has walk.cost = "per-level"'
    )
    assert "needs a table [mig] (instances): tiny has none" in refusal("tiny", "private-l3")
    assert "needs no table [tlb.last.hash]" in refusal("a100", "cluster-tlb")
    assert 'walk.cost = "memory" or "per-level"' in refusal("kepler-uvm", "pwcache")


@pytest.mark.parametrize(
    ("requires", "holds"),
    [
        ("sm.count = 2", True),
        ("sm.count = 3", False),
        ("sm.count = [1, 2]", True),
        ("sm.count.at_least = 2", True),
        ("sm.count.at_least = 3", False),
        ("sm.count.at_most = 2", True),
        ('memory.page = "4096B"', True),
        ('memory.page.at_most = "2KiB"', False),
        ('l2.size = {at_least = "64KiB", at_most = "1MiB"}', True),
        ("dram.ideal = false", True),
        ('tlb.last.array = "set-associative"', True),
        ('tlb.last.array = ["sub-entry", "star"]', False),
        ('tlb.all.scope = "sm"', False),
        ('walk.cache = "any"', True),
        ('walk.cache = "none"', False),
        ('fbt = "none"', True),
        ("fbt.remapping.entries.at_least = 1", False),
    ],
)
def test_requirements(recipe, requires, holds):
    path = recipe(f"requires.{requires}\nsm.max_loads = 3\n")
    if holds:
        assert plain("tiny", path)["sm.max_loads"] == 3
    else:
        assert refusal("tiny", path).startswith("recipe 'mine.toml' needs ")


def test_settings_of_the_user_meet_requirements():
    assert plain("kepler-uvm", "mask-cache", walk__cost="memory")["l2.bypass.min_accesses"] == 1000
    assert "needs dram.ideal" in refusal("tiny", "mask-dram", dram__ideal=True)
    assert plain("tiny", "mask-dram", "ideal-dram")["dram.ideal"] is True


# -- names ---------------------------------------------------------------------------------------


def test_a_recipe_of_the_users_own(recipe, tmp_path):
    recipe("l1.mshrs = 5 # below\n", "below")
    path = recipe('based_on = ["./below.toml", "ideal-dram"]\nl2.ways = 4 # mine\n')
    loaded = load_model("tiny", [f"ideal-crossbar+{path}"])
    assert loaded.variants == ("ideal-crossbar", path)
    assert loaded.config.crossbar.ideal
    assert loaded.config.dram.ideal
    assert loaded.origins["l1.mshrs"] == "recipe below.toml"
    assert loaded.origins["l2.ways"] == "recipe mine.toml"
    (value,) = (one for one in loaded.values if one.key == "l2.ways")
    assert (value.value, value.citation) == (4, "mine")
    plus = tmp_path / "a+b"
    plus.mkdir()
    (plus / "c.toml").write_text((tmp_path / "below.toml").read_text())
    assert load_model("tiny", ["ideal-dram+a+b/c.toml"]).variants == ("ideal-dram", "a+b/c.toml")


def test_a_models_own_variant_comes_first_and_may_refine_a_recipe(model):
    path = model("""
[variants.huge-pages]
memory.page = "64KiB"
[variants.mask-quick]
based_on = "mask-quick"
tlb.L2.fill.epoch = 1000
[variants.both]
based_on = ["mask-quick", "closed-row"]
""")
    assert plain(path, "huge-pages")["memory.page"] == "64KiB"
    assert plain("tiny", "huge-pages")["memory.page"] == "2MiB"
    both = load_model(path, ["both"])
    assert both.config.tlb["L2"].fill.options["epoch"] == 1000
    assert both.origins["tlb.L2.fill.epoch"] == "variant mask-quick"
    assert both.origins["dram.scheduler.epoch"] == "recipe mask-dram-quick"
    assert both.origins["dram.page_policy"] == "recipe closed-row"


def test_a_variant_says_what_its_recipe_lacks(model):
    path = model('[variants.mine]\nbased_on = "half-sub-double-set"\n')
    begin = "'mine' is based on recipe 'half-sub-double-set', which needs tlb."
    assert refusal(path, "mine").startswith(begin)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("[tlb.L2]\nways = 4\n", ["mine.toml:3: tlb.L2: is no role", "first, second, last"]),
        ("[tlb.shard]\nways = 4\n", ["tlb.shard", "did you mean 'shared'"]),
        ('tlb = "none"\n', ["mine.toml:3: tlb: must be tables"]),
        ("tlb.first.colour = 1\n", ["mine.toml:3: tlb.L1.colour = 1: unknown key"]),
        ("tbl.first.ways = 1\n", ["mine.toml:3: tbl", "unknown key; did you mean 'tlb'"]),
        ("l2.wais = 1\n", ["mine.toml:3: l2.wais = 1", "did you mean 'ways'"]),
        ('name = "x"\n', ["mine.toml:3: name: a recipe has the name of its file"]),
        ("variants.x.l2.ways = 1\n", ["mine.toml:3: variants: a recipe has none"]),
        ("requires = 3\n", ["mine.toml:3: requires: must be a table"]),
        ("requires.l2.wais = 3\n", ["mine.toml:3: requires.l2.wais: unknown key", "'ways'"]),
        ("requires.tlb.L1.ways = 3\n", ["requires.tlb.L1: is no role"]),
        ("requires.l2.ways.at_lest = 3\n", ["requires.l2.ways.at_lest: unknown key"]),
        ('requires.l2.ways.at_least = "x"\n', ["requires.l2.ways.at_least", "a number or a size"]),
        ("requires.l2.ways = []\n", ["requires.l2.ways: must name what is allowed"]),
        ("based_on = 3\n", ["mine.toml:3: based_on: must be a recipe's name"]),
        ('based_on = "stra"\n', ["no recipe 'stra'; did you mean 'star'"]),
        ('based_on = "other.toml"\n', ["no recipe file 'other.toml'"]),
        ('based_on = "mine.toml"\n', ["based on itself: mine.toml → mine.toml"]),
        ("l2.ways = {times = 0}\n", ["mine.toml:3: l2.ways.times: 0: must be a number above zero"]),
        (
            'l2.ways = {at_least = "many"}\n',
            ["mine.toml:3: l2.ways.at_least: 'many': must be a number or a size"],
        ),
        ("l2.ways = {about = -1}\n", ["l2.ways.about: -1: must be a number above zero"]),
        ("l2.bypass = {about = 2}\n", ["l2.bypass = {about = 2}", "'never'"]),
        ("l2.bypass = {times = 2}\n", ["l2.bypass = {times = 2}", "'never'"]),
        (f'stage.x.{KIND}stage.x.behind = "tlb.lst"\n', ["behind: 'tlb.lst'", "'tlb.last'"]),
        (f'stage.x.{KIND}stage.x.behind = "tlb.all"\n', ["allowed: tlb.first, tlb.second, tlb.la"]),
        (f"stage.x.{KIND}stage.x.behind = 3\n", ["mine.toml:4: stage.x.behind: 3: not allowed"]),
        (f"stage.x.{KIND}", ["stage.x", "it is not in stages"]),
        ("l2.ways = 5\n", ["l2.size = '64KiB': must be a multiple of 5 ways"]),
        ("l2.ways\n", ["is not a TOML file"]),
    ],
)
def test_wrong_recipes(recipe, body, words):
    told = refusal("tiny", recipe(body))
    for word in words:
        assert word in told


def test_a_recipe_without_a_header(recipe):
    told = refusal("tiny", recipe("l2.ways = 4\n", header=""))
    assert "mine.toml: description: is missing" in told
    assert "mine.toml: source: is missing" in told


def test_names_that_do_not_exist(recipe):
    told = refusal("kepler-uvm", "mask-tokins")
    assert "did you mean 'mask-tokens'" in told
    assert "allowed: l1-tlb-256" in told
    assert "for any model: mask-tokens, " in told
    assert "more (gpusim list recipes), or the path of a recipe" in told
    assert refusal("tiny", "./nowhere.toml") == "there is no recipe file './nowhere.toml'"


def test_a_resolved_machine_of_recipes_is_a_model(tmp_path):
    loaded = load_model("a100-mig", ["star", "mask-dram"])
    path = tmp_path / "again.toml"
    path.write_text(loaded.to_toml(), "utf-8")
    assert load_model(str(path)).config == loaded.config
    assert tomllib.loads(loaded.to_toml())["name"] == "a100-mig"


def test_a_variant_that_refines_a_recipe_goes_with_it(model):
    """Also where another recipe is based on that one, which is laid above, and once only."""
    own = model('[variants.demand-paging]\nbased_on = "demand-paging"\npaging.batch_time = "7us"\n')
    for names in (["demand-paging"], ["link-pcie-4"], ["zero-copy", "link-pcie-4"]):
        assert plain(own, *names)["paging.batch_time"] == "7us"
    assert plain(own, "link-pcie-4")["paging.link.bandwidth"] == "24GB/s"
    other = model('[variants.demand-paging]\nbased_on = "huge-pages"\n')
    assert plain(other, "link-pcie-4")["paging.batch_time"] == "45us"
