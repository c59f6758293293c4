"""Every shipped model, in every variant."""

from functools import cache

import pytest

from gpusim.config.layers import variants_of
from gpusim.config.load import MADE
from gpusim.files.shipped import data_names, find_data
from gpusim.files.toml_document import read_document
from gpusim.machine.load import load_model
from tests.config.citations import SOURCE
from tests.quick import quick

MODELS = (
    "a100",
    "a100-mig",
    "apu-hsa",
    "b200",
    "dgx-a100",
    "dgx-h100",
    "fermi",
    "h100",
    "integrated",
    "k80",
    "kepler-uvm",
    "l40",
    "maxwell-mask",
    "mcm-gpu",
    "mgpusim-r9nano-4",
    "mi210",
    "mi300x",
    "mi300x-xcds",
    "p100",
    "r9-nano",
    "rtx3070",
    "rtx4090",
    "tiny",
    "v100",
)
CASES = [
    (model, variant)
    for model in MODELS
    for variant in (None, *variants_of(read_document(find_data("models", model))))
]
LABELS = {"name", "description", "source"}
STACKED = {
    "paging": ("pinned", "device", "migration", "threshold", "migration_block"),
    "paging.link": ("bandwidth", "latency", "overhead"),
}
"""What other recipes set that stack with demand paging in any order: no variant may state it."""
LEFT_ALONE = {f"{table}.{key}" for table, keys in STACKED.items() for key in keys}


@cache
def load(model, variant):
    return load_model(model, [variant] if variant else [])


def test_these_are_shipped():
    assert data_names("models") == MODELS


@pytest.mark.parametrize(("model", "variant"), CASES)
def test_loads_and_every_value_cites_its_source(model, variant):
    loaded = load(model, variant)
    assert loaded.name == loaded.config.name == model
    bare = [
        value.key
        for value in loaded.values
        if value.key not in (*LABELS, *MADE, *LEFT_ALONE) and not SOURCE.match(value.citation)
    ]
    assert bare == []
    defaults = [key for key, origin in loaded.origins.items() if origin == "default"]
    assert set(defaults) <= LEFT_ALONE


@pytest.mark.parametrize(("model", "variant"), quick(CASES, *((model, None) for model in MODELS)))
def test_toml_loads_back_to_the_same_machine(model, variant, tmp_path):
    loaded = load(model, variant)
    path = tmp_path / "again.toml"
    path.write_text(loaded.to_toml(), encoding="utf-8")
    again = load_model(str(path))
    assert again.config == loaded.config
    assert list(again.config.tlb) == list(loaded.config.tlb)
    assert [(v.key, v.value, v.citation) for v in again.values] == [
        (v.key, v.value, v.citation) for v in loaded.values
    ]
    assert again.to_toml() == loaded.to_toml()


@pytest.mark.parametrize("model", MODELS)
def test_each_stage_can_be_ideal_at_once(model):
    config = load_model(model, ["ideal-tlb", "fixed-walk", "ideal-crossbar", "ideal-dram"]).config
    assert [tlb.ideal for tlb in config.tlb.values()] == [True]
    assert (config.walk.cost, config.walk.cache) == ("fixed", None)
    assert config.crossbar.ideal
    assert config.dram.ideal


@pytest.mark.parametrize("model", MODELS)
def test_every_variant_says_what_it_is(model):
    for variant in variants_of(read_document(find_data("models", model))).values():
        assert variant["description"]


def test_numbers_of_the_papers():
    kepler = load_model("kepler-uvm").config
    assert (kepler.sm.count, kepler.clock, kepler.l2.size) == (16, 1_400_000_000, 1536 << 10)
    assert [(t.entries, t.ways) for t in kepler.tlb.values()] == [(64, 4), (512, 16)]
    assert load_model("kepler-uvm", ["l1-tlb-256"]).config.tlb["L1"].entries == 256
    assert load_model("kepler-uvm", ["huge-pages"]).config.memory.page == 2 << 20

    apu = load_model("apu-hsa").config
    assert [(t.entries, t.ports) for t in apu.tlb.values()] == [(32, 1), (512, 1)]
    large = load_model("apu-hsa", ["large-per-cu"]).config
    assert [(t.entries, t.ways) for t in large.tlb.values()] == [(128, 128), (16384, 16)]
    # 64 bytes in 2 clocks on each channel: 192 GB/s
    assert apu.dram.clock * apu.dram.channels * apu.dram.burst // 2 == 192_000_000_000

    mask = load_model("maxwell-mask").config
    assert (mask.sm.count, mask.l2.banks, mask.l2.ports, mask.walk.walkers) == (30, 16, 2, 64)
    pwcache = load_model("maxwell-mask", ["pwcache"]).config
    assert list(pwcache.tlb) == ["L1"]
    assert (pwcache.walk.cache.size, pwcache.walk.cache.ways) == (8192, 16)
    assert pwcache.walk.cache.blocks == 1024  # entries of 8 bytes
    late = load_model("maxwell-mask", ["pwcache-late"]).config
    assert late.walk.cache.latency == late.l2.entry, "of one source"
    assert mask.walk.cache is None
    assert load_model("maxwell-mask", ["huge-pages"]).config.memory.page == 2 << 20

    fermi = load_model("fermi").config
    assert (fermi.sm.count, fermi.clock, fermi.l2.size) == (15, 1_400_000_000, 768 << 10)
    # 64 bytes in 2 clocks on each channel: 177.4 GB/s
    assert fermi.dram.clock * fermi.dram.channels * fermi.dram.burst // 2 == 177_408_000_000
    integrated = load_model("integrated").config
    assert integrated.l2.latency.cycles(integrated.clock) == 91  # 130 ns at 700 MHz
    assert integrated.tlb["L2"].latency.cycles(integrated.clock) == 91
    for other in (fermi, integrated):  # MASK's translation on other GPUs
        for level, tlb in other.tlb.items():
            of_mask = mask.tlb[level]
            assert (tlb.entries, tlb.ways, tlb.ports) == (
                of_mask.entries,
                of_mask.ways,
                of_mask.ports,
            )
        assert (other.walk.cost, other.walk.memory, other.memory.levels) == ("memory", "l2", 4)

    star = load_model("a100-mig").config
    assert [(t.scope, t.entries, t.sub_entries) for t in star.tlb.values()] == [
        ("tpc", 16, 1),
        ("slices", 896, 16),
        ("gpu", 1024, 16),
    ]
    assert star.l2.size == 7 * (2 << 20)
    assert (star.mig.slices, star.mig.sizes) == (7, (1, 2, 3, 4, 7))
    assert star.instance(1).sm.count == 14
    assert star.instance(3).walk.walkers == 24
    (_, second, last) = star.instance(3).tlb.values()
    assert (second.entries, second.ways, second.ports) == (3 * 128, 3 * 8, 3 * 2)
    assert last == star.tlb["L3"]
    assert star.memory.page == 4 << 10, "as Table II needs it, not §III-A"


def bandwidth(config):
    """Of all channels, in GB/s."""
    dram = config.dram
    bits = dram.channels * dram.pseudo_channels * dram.burst * dram.clock
    return bits / dram.timing.BL.cycles(dram.clock) / 1e9


@pytest.mark.parametrize(
    ("model", "sms", "l2", "memory", "gigabytes", "reach"),
    [  # what the makers state; the reach of the TLBs in pages of 2 MiB
        ("v100", 80, 6 << 20, 16, 898, (16, 4096, 16384)),
        ("rtx3070", 46, 4 << 20, 8, 448, (16, 16384, 32768)),
        ("a100", 108, 40 << 20, 40, 1555, (16, 32768, 65536)),
        ("rtx4090", 128, 72 << 20, 24, 1008, (16, 16384, 32768)),
        ("l40", 142, 96 << 20, 48, 864, (16, 16384, 32768)),
        ("b200", 148, 126 << 20, 120, 7672, (128, 1024, 1024)),
        ("h100", 132, 50 << 20, 80, 3351, (128, 32768, 65536)),
        ("p100", 56, 4 << 20, 16, 732, (16, 1024)),
        ("k80", 13, 1536 << 10, 12, 240, (1, 64, 1024)),
        ("mi210", 104, 8 << 20, 64, 1638, (32, 8192)),
        ("mi300x", 304, 32 << 20, 128, 5325, (32, 8192)),
    ],
)
def test_numbers_of_products(model, sms, l2, memory, gigabytes, reach):
    config = load_model(model).config
    assert (config.sm.count, config.l2.size, config.memory.size >> 30) == (sms, l2, memory)
    assert bandwidth(config) == pytest.approx(gigabytes, rel=0.001)
    pages = [one.entries * one.sub_entries * config.memory.page for one in config.tlb.values()]
    assert tuple(size >> 21 for size in pages) == reach
    dram = config.dram
    channel = dram.banks_per_channel * dram.rows * dram.row
    assert dram.channels * channel == config.memory.size
