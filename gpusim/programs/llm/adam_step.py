"""adam_step: an optimizer's step over a model's parameters."""

from __future__ import annotations

from attrs import frozen

from gpusim.programs import writing as gpu

THREADS = 512
VECTOR = 4
"""Numbers that a thread loads at once."""
CHUNK = 65536
"""Numbers of a thread block."""


@frozen
class State:
    """Numbers of 4 bytes, four a piece.

    Attributes:
        parameters: of the model.
        gradients: of the loss.
        means, squares: running means of the gradients, and of their squares.
    """

    parameters: gpu.Vectors
    gradients: gpu.Vectors
    means: gpu.Vectors
    squares: gpu.Vectors


@gpu.kernel("fused_adam", registers=32, block=THREADS, in_step=True)
def step(k: gpu.BlockTracer, at: State, pieces: int) -> gpu.Steps:
    """A chunk of 65,536 numbers a thread block, four at a time a thread.

    L parameters, gradients, means, squares; twelve instructions and a root for a number; S
    parameters, means, squares.  Registers are our choice.

    Takes `at`, `pieces` (of each array).
    """
    own = CHUNK // VECTOR
    k.compute(2 * gpu.PROLOGUE)
    for first in range(0, own, THREADS):
        place = k.bx * own + first + k.tid
        where = place < pieces
        if not where.any():
            break
        for array in (at.parameters, at.gradients, at.means, at.squares):
            k.load(array, place, where)
        k.wait(0, where)
        k.arithmetic(gpu.Unit.FP32, 12 * VECTOR, 10, where)
        k.arithmetic(gpu.Unit.SPECIAL, 2 * VECTOR, 2, where)
        for array in (at.parameters, at.means, at.squares):
            k.store(array, place, 0, where)
        yield


@gpu.program("adam_step")
def adam_step(
    memory: gpu.AddressSpace,
    _seed: int,
    numbers: int = gpu.number(1 << 26, VECTOR, 1 << 36, multiple=VECTOR),
) -> gpu.Launches:
    """A step of Adam, as PyTorch's fused optimizer takes it (multi_tensor_apply), in one launch.

    Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015.  All parameters are one
    array, as sharded optimizers have it.  Arrays have no contents; in the order parameters,
    gradients, means, squares.

    Parameters:
        numbers: of the model, or of a GPU's share of it; 16 bytes of memory each.
    """
    pieces = numbers // VECTOR
    names = ("parameters", "gradients", "means", "squares")
    at = State(*(memory.blank(name, pieces, gpu.FLOAT4) for name in names))
    yield step[-(-numbers // CHUNK), THREADS](at, pieces)
