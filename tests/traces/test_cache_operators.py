"""Cache operators of SASS."""

import pytest

from gpusim import load_model, load_workload, simulate
from gpusim.traces.cache_operators import CacheOperator, cache_operator
from tests.quick import quick
from tests.traces.writing import EXIT, block, header, write


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("LDG.E", CacheOperator.DEFAULT),
        ("LDG.E.SYS", CacheOperator.DEFAULT),
        ("LDG.E.128.CONSTANT", CacheOperator.DEFAULT),
        ("LDG.E.STRONG.SM", CacheOperator.DEFAULT),
        ("LDG.E.STRONG.GPU", CacheOperator.BYPASS_L1),
        ("LDG.E.64.STRONG.SYS", CacheOperator.BYPASS_L1),
        ("LD.E.STRONG.GPU", CacheOperator.BYPASS_L1),
        ("LDG.E.MMIO.SYS", CacheOperator.BYPASS_L1),
        ("LDGSTS.E.BYPASS.LTC128B.128", CacheOperator.BYPASS_L1),
        ("LDGSTS.E.LTC128B", CacheOperator.DEFAULT),
        ("STG.E", CacheOperator.DEFAULT),
        ("STG.E.STRONG.SYS", CacheOperator.WRITE_THROUGH),
        ("ATOMG.E.ADD.STRONG.GPU", CacheOperator.DEFAULT),
        ("RED.E.ADD.STRONG.GPU", CacheOperator.DEFAULT),
        ("CCTL.IVALL", CacheOperator.INVALIDATE_L1),
        ("CCTL.E.IV", CacheOperator.INVALIDATE_LINE),
        ("CCTL.C.IVALL", CacheOperator.DEFAULT),
        ("CCTL.E.PF2", CacheOperator.DEFAULT),
        ("LDS.STRONG.GPU", CacheOperator.DEFAULT),
    ],
)
def test_what_an_opcode_asks_of_the_l1_cache(opcode, expected):
    assert cache_operator(opcode) == expected


def counted(path, lines: list[str], model: str) -> dict[str, int]:
    """Counters of the L1 and L2 caches after a run of one warp."""
    text = [f"{16 * number:04x} {line}" for number, line in enumerate(lines)]
    write(path, header() + block([[*text, EXIT]]))
    with simulate(load_model(model), load_workload(str(path))) as run:
        table = run.counters
        return {
            name: int(table[(table.component == part) & (table.counter == counter)].value.sum())
            for name, part, counter in (
                ("hits", "l1", "hits"),
                ("misses", "l1", "misses"),
                ("coherent", "l1", "coherent_loads"),
                ("l2", "l2", "lookups"),
            )
        }


WAITED = "ffffffff 1 R5 IADD3 1 R4 0 0"


def load(opcode: str) -> list[str]:
    """A load of one line by all lanes, and an instruction that needs it."""
    return [f"ffffffff 1 R4 {opcode} 1 R2 4 1 0x7f1000000000 4 0", WAITED]


@pytest.mark.parametrize(
    "model", quick(["tiny", "kepler-uvm", "a100", "apu-hsa"], "tiny", "kepler-uvm", "apu-hsa")
)
def test_a_spinning_load_asks_the_l2_cache_each_time(tmp_path, model):
    plain = counted(tmp_path / "plain.traceg", load("LDG.E") * 20, model)
    strong = counted(tmp_path / "strong.traceg", load("LDG.E.STRONG.GPU") * 20, model)
    assert (plain["hits"], plain["misses"], plain["coherent"]) == (19, 1, 0)
    assert (strong["hits"], strong["misses"], strong["coherent"]) == (0, 0, 20)
    assert strong["l2"] == plain["l2"] + 19


def test_loads_after_an_invalidation_miss(tmp_path):
    lines = [*load("LDG.E"), *load("LDG.E"), "ffffffff 0 CCTL.IVALL 0 0 0", *load("LDG.E")]
    found = counted(tmp_path / "k.traceg", lines, "a100")
    assert (found["hits"], found["misses"]) == (1, 2)
