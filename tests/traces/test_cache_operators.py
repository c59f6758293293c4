"""Cache operators of SASS."""

import pytest

from gpusim.traces.cache_operators import CacheOperator, cache_operator


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
