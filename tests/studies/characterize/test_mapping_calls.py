"""TLBs without a clock, while a program maps and unmaps pieces of its arrays."""

import numpy as np
import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.programs import writing as gpu
from gpusim.studies.characterize import Design, characterize_tlbs, designs_of

PAGE = 4096


@gpu.kernel("touch", registers=16, block=32)
def touch(k, cache, first):
    """L a number of a page."""
    k.load(cache, first + k.tid)
    k.wait(0)


@gpu.program("mapping_calls_of_a_test")
def program(memory, seed):
    """Two pages, of which the first one goes and comes again while the second one stays."""
    cache = memory.reserve("cache", 8 * PAGE, np.uint8, piece=PAGE)
    yield memory.map(cache, 0, 2 * PAGE)
    for page in (0, 1, 0, 1):
        yield touch[32](cache, page * PAGE)
    yield memory.unmap(cache, 0, PAGE)
    yield memory.map(cache, 0, PAGE)
    for page in (1, 0, 1, 0):
        yield touch[32](cache, page * PAGE)


@gpu.program("mapping_calls_gone")
def gone(memory, seed):
    """A page is accessed that has gone."""
    cache = memory.reserve("cache", 8 * PAGE, np.uint8, piece=PAGE)
    yield memory.map(cache, 0, PAGE)
    yield touch[32](cache, 0)
    yield memory.unmap(cache, 0, PAGE)
    yield touch[32](cache, 0)


def misses(work, *overrides):
    model = gpusim.load_model("tiny", overrides={"sm.count": 1, **dict(overrides)})
    (found,) = characterize_tlbs(work, [Design("base", model)]).designs
    return [level.total.misses for level in found.levels]


def test_what_is_unmapped_is_not_found_again():
    work = gpusim.load_workload(program)
    assert misses(work) == [3, 3]
    assert misses(work, ("tlb.L1.entries", 1), ("tlb.L1.ways", 1)) == [7, 3], "page 1 stays"
    timed = gpusim.simulate(gpusim.load_model("tiny", overrides={"sm.count": 1}), work)
    assert timed.summary["walks"] == 3


def test_what_is_not_mapped_is_refused():
    with pytest.raises(UserError, match="is reserved and not mapped"):
        misses(gpusim.load_workload(gone))


def test_designs_of_all_kinds_count_a_growing_cache():
    work = gpusim.load_workload("growing_decode", "smoke")
    model = gpusim.load_model("tiny")
    found = characterize_tlbs(work, designs_of("tiny", "base L2.entries=64,512 star"))
    timed = gpusim.simulate(model, work)
    base = found.designs[0].levels
    assert base[-1].total.misses <= timed.summary["walks"]
    assert len({one.levels[0].total.lookups for one in found.designs}) == 1


def test_beside_other_applications_or_with_virtual_names_it_is_refused(tmp_path):
    pair = tmp_path / "pair.toml"
    pair.write_text(
        '[[applications]]\nworkload = "growing_decode"\n[[applications]]\nworkload = "atax"\n'
    )
    base = Design("base", gpusim.load_model("tiny"))
    with pytest.raises(UserError, match="'k_cache_0' piece by piece, and other applications run"):
        characterize_tlbs(gpusim.load_workload(str(pair), "smoke"), [base])
    virtual = Design("base", gpusim.load_model("tiny", overrides={"l1.translation": "after"}))
    with pytest.raises(UserError, match="its L1 caches have virtual names"):
        characterize_tlbs(gpusim.load_workload("growing_decode", "smoke"), [virtual])
