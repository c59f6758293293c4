"""data_parallel_step: a training step of a layer on several GPUs, each with rows of its own."""

from __future__ import annotations

from gpusim.programs import writing as gpu
from gpusim.programs.llm import adam_step as adam
from gpusim.programs.llm.halves import IN_A_VECTOR, vector
from gpusim.programs.llm.splitk_gemm import FLOATS, GemmParameters, multiply

TILE = 64


def _product(m: int, n: int, k: int) -> GemmParameters:
    """A product whose sums no two thread blocks share."""
    return GemmParameters(m=m, n=n, k=k, splits=1, tile=TILE)


def _multiplied(
    a: gpu.Vectors, b: gpu.Vectors, c: gpu.Vectors, of: GemmParameters
) -> gpu.KernelLaunch:
    return multiply[(of.n // TILE, of.m // TILE), 128](a, b, c, of)


@gpu.program("data_parallel_step")
def data_parallel_step(
    memory: gpu.AddressSpace,
    _seed: int,
    gpus: int = gpu.number(1, 1, 64),
    rows: int = gpu.number(2048, multiple=TILE),
    inputs: int = gpu.number(4096, multiple=TILE),
    outputs: int = gpu.number(4096, multiple=TILE),
) -> gpu.Launches:
    """A linear layer in a training step: forward, gradient of the weights, all-reduce, Adam.

    Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020.
    Each GPU has all weights of 16 bits, rows of its own, and gradients of 32 bits, which a ring of
    copies adds up; then each takes the same step.  Arrays have no contents.

    Parameters:
        gpus: that take part; of a node as many at most.
        rows: of a GPU.
        inputs, outputs: of the layer.
    """
    wide, numbers = IN_A_VECTOR, inputs * outputs
    layers = []
    for one in range(gpus):
        with memory.on(one):
            halves = {
                name: memory.blank(f"{name}_{one}", size // wide, vector())
                for name, size in (
                    ("rows", rows * inputs),
                    ("errors", rows * outputs),
                    ("weights", numbers),
                )
            }
            results = memory.blank(f"results_{one}", rows * outputs // FLOATS, gpu.FLOAT4)
            names = ("parameters", "gradients", "means", "squares")
            floats = [
                memory.blank(f"{name}_{one}", numbers // FLOATS, gpu.FLOAT4) for name in names
            ]
            layers.append((halves, results, adam.State(*floats)))
    ready = []
    for one, (halves, results, state) in enumerate(layers):
        forward = _product(rows, outputs, inputs)
        yield _multiplied(halves["rows"], halves["weights"], results, forward).on(gpu=one)
        back = _product(outputs, inputs, rows)
        ready.append(_multiplied(halves["errors"], halves["rows"], state.gradients, back))
        ready[-1] = ready[-1].on(gpu=one)
        yield ready[-1]
    added = gpu.ring_all_reduce([state.gradients for _, _, state in layers], after=ready)
    yield from added.launches
    for one, (_, _, state) in enumerate(layers):
        step = adam.step[-(-numbers // adam.CHUNK), adam.THREADS](state, numbers // FLOATS)
        yield step.on(gpu=one, after=added.arrived[one])
