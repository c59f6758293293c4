"""tensor_parallel_mlp: feed-forward layers whose weights are cut over several GPUs."""

from __future__ import annotations

from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.llm.halves import HALF_BYTES, IN_A_VECTOR, vector
from gpusim.programs.llm.splitk_gemm import FLOATS, GemmParameters, add_up, multiply

TILE = 64


@frozen
class _Slice:
    """What a GPU has of a layer, and of what goes through it.

    Attributes:
        up, down: its part of the weights.
        tokens: of 16 bits; all GPUs have the same.
        inner: its part of what is between both products.
        sums, whole: of 32 bits, of the first and the second product.
    """

    up: gpu.Vectors
    down: gpu.Vectors
    tokens: gpu.Vectors
    inner: gpu.Vectors
    sums: gpu.Vectors
    whole: gpu.Vectors


@gpu.program("tensor_parallel_mlp")
def tensor_parallel_mlp(
    memory: gpu.AddressSpace,
    _seed: int,
    gpus: int = gpu.number(1, 1, 64),
    tokens: int = gpu.number(64, multiple=TILE),
    hidden: int = gpu.number(8192, multiple=TILE),
    ffn: int = gpu.number(28672, multiple=lambda gpus: TILE * gpus),
    layers: int = gpu.number(1, 1),
) -> gpu.Launches:
    """The feed-forward part of decoder layers, as Megatron-LM cuts it.

    Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model
    Parallelism", 2019, Section 3: columns of the first matrix, rows of the second one, an
    all-reduce of the results.  What is between the products takes no launch of its own.  Arrays
    have no contents; all layers have the same.

    Parameters:
        gpus: that take part; of a node as many at most.
        tokens: in the batch.
        hidden, ffn: numbers of a token outside, and inside.
        layers: one after the other.
    """
    own, wide = ffn // gpus, IN_A_VECTOR
    narrow = vector(FLOATS * HALF_BYTES)
    slices = []
    for one in range(gpus):
        with memory.on(one):
            slices.append(
                _Slice(
                    up=memory.blank(f"up_{one}", own * hidden // wide, vector()),
                    down=memory.blank(f"down_{one}", own * hidden // wide, vector()),
                    tokens=memory.blank(f"tokens_{one}", tokens * hidden // FLOATS, narrow),
                    inner=memory.blank(f"inner_{one}", tokens * own // FLOATS, narrow),
                    sums=memory.blank(f"sums_{one}", tokens * own // FLOATS, gpu.FLOAT4),
                    whole=memory.blank(f"whole_{one}", tokens * hidden // FLOATS, gpu.FLOAT4),
                )
            )
    first = GemmParameters(m=tokens, n=own, k=hidden, splits=1, tile=TILE)
    second = GemmParameters(m=tokens, n=hidden, k=own, splits=1, tile=TILE)
    for _ in range(layers):
        ready = []
        for one, at in enumerate(slices):
            rows = at.tokens.view(vector())
            yield _multiplied(rows, at.up, at.sums, first).on(gpu=one)
            yield add_up[tokens * own // FLOATS](at.sums, at.inner, tokens * own // FLOATS, 1).on(
                gpu=one
            )
            inner = at.inner.view(vector())
            ready.append(_multiplied(inner, at.down, at.whole, second).on(gpu=one))
            yield ready[-1]
        added = gpu.ring_all_reduce([at.whole for at in slices], after=ready)
        yield from added.launches
        pieces = tokens * hidden // FLOATS
        for one, at in enumerate(slices):
            narrowed = add_up[pieces](at.whole, at.tokens, pieces, 1)
            yield narrowed.on(gpu=one, after=added.arrived[one])


def _multiplied(
    a: gpu.Vectors, b: gpu.Vectors, c: gpu.Vectors, of: GemmParameters
) -> gpu.KernelLaunch:
    return multiply[(of.n // TILE, of.m // TILE), 128](a, b, c, of)
