"""backprop: a training step, and rows of 16 words with a pitch of 17."""

import numpy as np
import pytest

from gpusim.programs.rodinia.backprop import Backprop, BackpropParameters
from tests.programs.drain import drain, warp_operations


@pytest.mark.parametrize("inputs", [16, 160])
def test_a_training_step(inputs: int) -> None:
    program = Backprop(BackpropParameters(inputs=inputs), 5)
    x = program.units.data.astype(float)
    w = program.start_weights.reshape(-1, 17).astype(float)
    assert drain(program) == ["bpnn_layerforward_CUDA", "bpnn_adjust_weights_cuda"]
    hidden = 1 / (1 + np.exp(-(x @ w[:, 1:])))
    assert program.hidden == pytest.approx(hidden, rel=1e-5)
    delta = program.delta.data[1:].astype(float)
    out = program.output_weights.astype(float)
    output = 1 / (1 + np.exp(-(out[0] + hidden @ out[1:])))
    error = output * (1 - output) * (program.target - output)
    assert delta == pytest.approx(hidden * (1 - hidden) * out[1:] * error, rel=1e-4)
    change = 0.3 * x[:, None] * delta
    found = program.weights.data.reshape(-1, 17)
    assert found[:, 1:] == pytest.approx(w[:, 1:] + change, rel=1e-5)
    assert found[1:, 0] == pytest.approx(w[1:, 0]), "the bias column is not touched"
    assert program.old.data.reshape(-1, 17)[:, 1:] == pytest.approx(change, rel=1e-4, abs=1e-9)


def test_order_and_addresses() -> None:
    program = Backprop(BackpropParameters(inputs=64), 0)
    forward, adjust = program.launches()
    assert (forward.blocks, forward.threads_per_block, forward.registers_per_thread) == (4, 256, 20)
    assert (forward.shared_bytes, adjust.registers_per_thread, adjust.shared_bytes) == (1088, 27, 0)
    rows = [17 * (33 + 2 + y) + x + 1 for y in (0, 1) for x in range(16)]
    memory = [o for o in warp_operations(forward, program, block=2, warp=1) if o[2]]
    assert memory == [
        ("LOAD", "input", [35, 36]),
        ("LOAD", "weights", rows),
        ("STORE", "weights", rows),
        ("STORE", "partial", [34, 35]),
    ]
    kinds = [o[0] for o in warp_operations(forward, program, block=2, warp=1)]
    assert kinds.count("BARRIER") == 8
    units = [35] * 16 + [36] * 16
    deltas = list(range(1, 17)) * 2
    memory = [o for o in warp_operations(adjust, program, block=2, warp=1) if o[2]]
    assert memory == [
        ("LOAD", "delta", deltas),
        ("LOAD", "input", units),
        ("LOAD", "weights", rows),
        ("LOAD", "old", rows),
        ("STORE", "weights", rows),
        ("LOAD", "input", units),
        ("LOAD", "delta", deltas),
        ("LOAD", "old", rows),
        ("STORE", "old", rows),
    ]
    bias = [o for o in warp_operations(adjust, program, block=0, warp=0) if o[2]][9:]
    assert [(kind, name) for kind, name, _ in bias] == [
        ("LOAD", "weights"),
        ("LOAD", "old"),
        ("STORE", "weights"),
        ("STORE", "old"),
    ]
    assert all(lanes == list(range(1, 17)) for _, _, lanes in bias)


def test_inputs_fill_blocks() -> None:
    with pytest.raises(ValueError, match="multiple of 16"):
        BackpropParameters(inputs=40)
