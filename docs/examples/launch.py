"""What the host does: random rows of a table of 4 MiB, one a thread."""

import numpy as np


def launch(kernel):
    """Called by `gpusim trace`."""
    rng = np.random.default_rng(1)
    index = rng.integers(0, 1 << 18, 512).astype(np.int32)
    table = rng.random((1 << 18, 4), dtype=np.float32)
    out = np.zeros(512, np.float32)
    kernel.launch(2, 256, index, table, out, 512)  # grid, block, arguments
    assert np.allclose(out, table[index].sum(1))
