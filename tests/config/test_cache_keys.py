"""What a model may say of real caches, and what is refused."""

import pytest

from gpusim.config.check import check_machine
from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, change
from tests.machine.instances import in_slices

SCALAR: dict[str, object] = {"scalar.size": "1KiB", "scalar.ways": 2}

REFUSED = [
    ("tiny", {"l2.hash": "ipol"}, "l2.hash = 'ipol': not allowed; did you mean 'ipoly'?"),
    ("kepler-uvm", {"l2.hash": "ipoly"}, 'power of two up to 1024, not 12; "xor" takes any'),
    ("kepler-uvm", {"dram.hash": "ipoly"}, 'power of two up to 1024, not 6; "xor" takes any'),
    ("tiny", {"dram.hash": "xro"}, "did you mean 'xor'?; allowed: none, xor, ipoly"),
    ("a100-mig", {"l2.hash": "ipoly", "l2.banks": 56}, "power of two up to 1024, not 56"),
    ("tiny", {"l1.hash": "xro"}, "did you mean 'xor'?; allowed: none, xor"),
    ("tiny", {"l1.hash": "xor", "l1.size": "24KiB"}, "needs a power of two of sets, not"),
    ("tiny", {"l1.at_launch": "invalid"}, "did you mean 'invalidate'?; allowed: invalidate, keep"),
    ("tiny", {"l1.writes": "evictt"}, "did you mean 'evict'?; allowed: update, allocate, evict"),
    ("tiny", {"l1.unified": "64KiB"}, "l1.carve_outs: is missing"),
    ("tiny", {"l1.carve_outs": "0KiB"}, "is of no effect without l1.unified"),
    ("kepler-uvm", {"l1.unified": "64KiB", "l1.carve_outs": "16KiB 0KiB"}, "the smallest first"),
    ("kepler-uvm", {"l1.unified": "64KiB", "l1.carve_outs": "0 8"}, "'0' is not a size"),
    (
        "kepler-uvm",
        {"l1.unified": "64KiB", "l1.carve_outs": "0KiB 6KiB 48KiB"},
        "6KiB of 64KiB must leave whole ways of 32 sets × 128B = 4KiB",
    ),
    (
        "kepler-uvm",
        {"l1.unified": "64KiB", "l1.carve_outs": "0KiB 64KiB"},
        "64KiB of 64KiB must leave whole ways",
    ),
    (
        "kepler-uvm",
        {"l1.unified": "64KiB", "l1.carve_outs": "0KiB 16KiB"},
        "sm.shared_memory = '48KiB': must be at most the largest of l1.carve_outs, 16KiB",
    ),
    (
        "kepler-uvm",
        {"l1.unified": "64KiB", "l1.carve_outs": "0KiB 16KiB 48KiB", "l1.replacement": "plru"},
        "'plru': halves a set again and again: ways must be a power of two, not 12",
    ),
    ("tiny", {"l2.partitions": 2}, "l2.far: is missing: how far l2.partitions = 2 are from"),
    ("tiny", {"l2.far": "9 cycles"}, "is of no effect with one of l2.partitions"),
    ("tiny", {"l2.partitions": 0}, "must be 1 or more"),
    ("tiny", {"l2.copies": "reads"}, "is of no effect with one of l2.partitions"),
    ("a100", {"l2.copies": "writes"}, "l2.copies = 'writes': not allowed"),
    ("tiny", {"dram.hash": "random"}, "allowed: none, xor, ipoly"),
    ("kepler-uvm", {"l2.partitions": 5, "l2.far": "9 cycles"}, "must divide l2.banks, 12"),
    (
        "kepler-uvm",
        {"l2.partitions": 2, "l2.far": "9 cycles", "tpcs_per_gpc": 16},
        "must be at most the number of GPCs (sm.count / sms_per_tpc / tpcs_per_gpc), 1",
    ),
    (
        "apu-hsa+vc",
        {"l2.partitions": 2, "l2.far": "9 cycles", "l2.copies": "reads"},
        "knows one place of each line",
    ),
    ("tiny", {"l1.allocate": "on-hit"}, "l1.allocate = 'on-hit': not allowed"),
    ("tiny", {"launch_overhead": 5000}, "must be a time with its unit"),
    ("tiny", {"l2.sector": "48B"}, "l2.sector = '48B': not allowed"),
    ("tiny", {"l2.sector": "256B"}, "allowed: 32B, 64B, 128B"),
    ("tiny", {"scalar.size": "1KiB"}, "scalar.ways: is missing"),
    ("tiny", SCALAR | {"scalar.latncy": "1 cycles"}, "did you mean 'latency'?"),
    ("tiny", SCALAR | {"scalar.ahead": 3}, "scalar.ahead = 3: unknown key"),
    ("tiny", SCALAR | {"scalar.scope": "gpu"}, "allowed: sm, tpc, gpc"),
    ("tiny", SCALAR | {"scalar.line": "256B"}, "allowed: 32B, 64B, 128B (up to l1.line)"),
    ("tiny", SCALAR | {"scalar.size": "100B"}, "multiple of 2 ways × 64B = 128B"),
    ("tiny", SCALAR | {"scalar.ports": 0}, "scalar.ports = 0: must be 1 or more"),
    ("tiny", SCALAR | {"scalar.translation": "befor"}, "did you mean 'before'?"),
    ("tiny", SCALAR | {"scalar.at_launch": "empty"}, "allowed: invalidate, keep"),
    ("tiny", SCALAR | {"scalar.tlb.entries": 12, "scalar.tlb.ways": 4}, "sets must be a power"),
    ("tiny", SCALAR | {"scalar.tlb.entries": 0, "scalar.tlb.ways": 4}, "must be 1 or more"),
    ("tiny", SCALAR | {"scalar.replacement": "lur"}, "did you mean 'lru'?"),
    (
        "tiny",
        {"instruction.size": "1KiB", "instruction.ways": 2, "instruction.line": "32B"},
        "allowed: 64B, 128B",
    ),
    (
        "tiny",
        {"instruction.size": "1KiB", "instruction.ways": 2, "instruction.ahead": -1},
        "instruction.ahead = -1: must be 0 or more",
    ),
    ("apu-hsa+vc", SCALAR, 'must be "after-l2" with l1.translation = "after-l2"'),
    ("tiny", SCALAR | {"scalar.translation": "after-l2"}, 'must not be "after-l2" with'),
    (
        "apu-hsa+vc",
        SCALAR
        | {"scalar.translation": "after-l2", "scalar.line": "128B"}
        | {"scalar.tlb.entries": 8, "scalar.tlb.ways": 8},
        "nothing is translated at an SM",
    ),
]


@pytest.mark.parametrize(("model", "overrides", "words"), REFUSED)
def test_what_is_refused(model, overrides, words):
    name, *variants = model.split("+")
    with pytest.raises(UserError) as error:
        load_model(name, variants, overrides)
    assert words in str(error.value)


def test_instances_of_every_size_are_looked_at():
    config = in_slices(change(SMALL, l2={"hash": "ipoly"}, dram={"hash": "ipoly"}), 4)
    problems = [problem for problem in check_machine(config) if problem.key[-1] == "hash"]
    assert [problem.key for problem in problems] == [("l2", "hash"), ("dram", "hash")]
    for problem in problems:
        assert "not 3" in problem.message
        assert "an instance of 3g" in problem.message


def test_what_is_allowed():
    config = load_model("kepler-uvm", [], {"l2.hash": "xor", "dram.hash": "xor"}).config
    assert (config.l2.hash, config.dram.hash) == ("xor", "xor")
    loaded = load_model("kepler-uvm", [], {"l2.sector": "32B"})
    assert loaded.config.l2.sectored
    assert 'sector = "32B"' in loaded.to_toml()
    assert not load_model("kepler-uvm", [], {"l2.sector": "128B"}).config.l2.sectored
    config = load_model(
        "kepler-uvm", [], {"l2.hash": "none", "dram.hash": "none", "l2.sector": "none"}
    ).config
    assert config == load_model("kepler-uvm").config


@pytest.mark.parametrize(
    ("model", "overrides"),
    [
        ("a100", {"l2.sector": "none"}),
        ("a100", {"l2.sector": "128B", "l2.byte_masks": True}),
        ("a100", {"l2.byte_masks": True}),
        ("apu-hsa+vc", {"l2.partitions": 2, "l2.far": "9 cycles"}),
        ("apu-hsa+vc", {"l2.sector": "32B"}),
        ("apu-hsa+vc", {"l2.sector": "64B", "l2.byte_masks": True}),
        ("apu-hsa+vc", {"l2.partition": "ways"}),
    ],
)
def test_l2_keys_that_combine(model, overrides):
    name, *variants = model.split("+")
    l2 = load_model(name, variants, overrides).config.l2
    assert l2.partitions > 1 or l2.sectored or l2.partition == "ways"


def test_a_side_cache_is_taken_away_again():
    with_tlb = {**SCALAR, "scalar.tlb.entries": 8, "scalar.tlb.ways": 8}
    assert list(load_model("tiny", [], with_tlb).config.side_caches) == ["scalar"]
    assert load_model("tiny", [], {**SCALAR, "scalar.tlb": "none"}).config.scalar.tlb is None
    assert not load_model("tiny", [], {"scalar": "none"}).config.side_caches
