"""mm: a product, and columns of A and C far apart."""

import pytest

from gpusim.programs.parboil.mm import Mm, MmParameters
from tests.programs.drain import drain, warp_operations


@pytest.mark.parametrize("sizes", [(128, 16, 8), (256, 48, 40)])
def test_the_product(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    program = Mm(MmParameters(m=m, n=n, k=k), 1)
    assert drain(program) == ["mysgemmNT"]
    a = program.a.data.reshape(k, m).T.astype(float)
    b = program.b.data.reshape(k, n).T.astype(float)
    assert pytest.approx(a @ b.T, rel=1e-5) == program.c.data.reshape(n, m).T


def test_order_and_addresses() -> None:
    program = Mm(MmParameters(m=256, n=32, k=16), 0)
    kernel = next(program.launches())
    assert (kernel.blocks, kernel.threads_per_block) == (4, 128)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (44, 512)
    found = warp_operations(kernel, program, block=3, warp=2)  # bx = 1, by = 1
    memory = [(kind, name, lanes) for kind, name, lanes in found if lanes]
    rows = [128 + 64 + lane for lane in range(32)]
    b_row = [16 + lane for lane in range(16)]
    assert memory[0] == ("LOAD", "B", [x + 4 * 32 for x in b_row] + [x + 5 * 32 for x in b_row])
    assert memory[1:9] == [("LOAD", "A", [row + j * 256 for row in rows]) for j in range(8)]
    assert memory[9][:2] == ("LOAD", "B")
    last = [row + (16 + 15) * 256 for row in rows]
    assert memory[-2:] == [("LOAD", "C", last), ("STORE", "C", last)]
    assert len(memory) == 2 * 9 + 32
    assert [kind for kind, _, _ in found].count("BARRIER") == 4


def test_sizes_fill_tiles() -> None:
    with pytest.raises(ValueError, match="'n' must be a multiple of 16: 20"):
        MmParameters(n=20)
