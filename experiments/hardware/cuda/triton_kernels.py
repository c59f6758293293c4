"""Kernels in Triton with fixed parameters, and their times: a reference for running PTX.

python triton_kernels.py FOLDER writes FOLDER/triton.csv and the PTX of each kernel; with `once`
behind it, each kernel is launched once, for a profiler.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from triton.testing import do_bench


@triton.jit
def vector_add(a, b, c, n, BLOCK: tl.constexpr):
    """Sums of two arrays, a block of elements a program."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(c + at, tl.load(a + at, inside) + tl.load(b + at, inside), inside)


@triton.jit
def softmax(a, c, columns, BLOCK: tl.constexpr):
    """Softmax of a row a program."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(a + row * columns + at, at < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(c + row * columns + at, e / tl.sum(e, 0), at < columns)


@triton.jit
def matmul(a, b, c, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """C = A B of square matrices of half floats, a tile of C a program."""
    rows = tl.program_id(1) * M + tl.arange(0, M)
    columns = tl.program_id(0) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, n, K):
        x = tl.load(a + rows[:, None] * n + k + inner[None, :])
        y = tl.load(b + (k + inner[:, None]) * n + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def attention(q, k, v, o, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Attention of one head a program row: tiles of queries, with running maximum and sum."""
    head = tl.program_id(1) * length * D
    rows, lanes = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    x = tl.load(q + head + rows[:, None] * D + lanes[None, :])
    most = tl.full((M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((M,), dtype=tl.float32)
    result = tl.zeros((M, D), dtype=tl.float32)
    for first in range(0, length, N):
        others = first + tl.arange(0, N)
        y = tl.load(k + head + others[None, :] * D + lanes[:, None])
        score = tl.dot(x, y) * scale
        new = tl.maximum(most, tl.max(score, 1))
        weight, old = tl.exp(score - new[:, None]), tl.exp(most - new)
        total = total * old + tl.sum(weight, 1)
        z = tl.load(v + head + others[:, None] * D + lanes[None, :])
        result = tl.dot(weight.to(tl.float16), z, result * old[:, None])
        most = new
    done = (result / total[:, None]).to(tl.float16)
    tl.store(o + head + rows[:, None] * D + lanes[None, :], done)


@triton.jit
def gather_rows(table, index, out, D: tl.constexpr):
    """A row of an embedding table a program."""
    row = tl.load(index + tl.program_id(0))
    at = tl.arange(0, D)
    tl.store(out + tl.program_id(0) * D + at, tl.load(table + row * D + at))


class Case(NamedTuple):
    """A kernel of one size: what launches it, what it makes, and what PyTorch makes."""

    name: str
    size: int
    run: Callable[[], Any]
    found: torch.Tensor
    expected: torch.Tensor
    tolerance: float


def add_case(n: int) -> Case:
    """Of n elements."""
    a, b = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
    c = torch.empty_like(a)
    grid = (triton.cdiv(n, 1024),)
    return Case("vector_add", n, lambda: vector_add[grid](a, b, c, n, BLOCK=1024), c, a + b, 1e-6)


def softmax_case(n: int) -> Case:
    """Of n rows of n."""
    a = torch.randn(n, n, device="cuda")
    c = torch.empty_like(a)
    run = partial(softmax[(n,)], a, c, n, BLOCK=n)
    return Case("softmax", n, run, c, torch.softmax(a, 1), 1e-5)


def matmul_case(n: int) -> Case:
    """Of n x n, in tiles of 128 x 128 x 32, three stages."""
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    tile = {"M": 128, "N": 128, "K": 32, "num_warps": 8, "num_stages": 3}
    run = partial(matmul[(n // 128, n // 128)], a, b, c, n, **tile)
    return Case("matmul", n, run, c, a.float() @ b.float(), 0.3)


def attention_case(length: int) -> Case:
    """Of 8 heads, 64 lanes each."""
    q, k, v = (torch.randn(8, length, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    o = torch.empty_like(q)
    right = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    tile = {"M": 64, "N": 64, "D": 64, "num_warps": 4, "num_stages": 2}
    run = partial(attention[(length // 64, 8)], q, k, v, o, length, 0.125, **tile)
    return Case("attention", length, run, o, right, 1e-2)


def gather_case(n: int) -> Case:
    """65,536 rows of a table of n."""
    table = torch.randn(n, 128, device="cuda")
    index = torch.randint(n, (1 << 16,), device="cuda", dtype=torch.int32)
    out = torch.empty(1 << 16, 128, device="cuda")
    run = partial(gather_rows[(1 << 16,)], table, index, out, D=128, num_warps=1)
    return Case("gather_rows", n, run, out, table[index.long()], 1e-6)


def cases() -> Iterator[Case]:
    """All that are measured, in order."""
    yield from map(add_case, (1 << 20, 1 << 22, 1 << 24))
    yield from map(softmax_case, (1024, 4096))
    yield from map(matmul_case, (512, 1024, 2048, 4096))
    yield from map(attention_case, (512, 1024, 2048))
    yield from map(gather_case, (1 << 16, 1 << 20))


def cold(run: Callable[[], Any], flush: torch.Tensor, times: int = 15) -> list[float]:
    """Microseconds with cold caches, in order."""
    spent = []
    for _ in range(times):
        flush.sum()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        spent.append(1e3 * begin.elapsed_time(end))
    return sorted(spent)


def measure_kernels() -> None:
    """Check each kernel against PyTorch, and time it: median, least and most of some runs."""
    folder, once = Path(sys.argv[1]), "once" in sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    rows = ["kernel,size,median,least,most,warm,unit,warps,stages,shared_bytes"]
    for case in cases():
        compiled = case.run()
        if once:
            print(f"{case.name},{case.size}", flush=True)
            continue
        expected, near = case.expected.float(), case.tolerance
        torch.testing.assert_close(case.found.float(), expected, rtol=near, atol=near)
        spent = cold(case.run, flush)
        warm = 1e3 * do_bench(case.run, warmup=10, rep=40, return_mode="median")
        times = ",".join(
            f"{one:.3f}" for one in (spent[len(spent) // 2], spent[0], spent[-1], warm)
        )
        meta = compiled.metadata
        shape = f"{meta.num_warps},{meta.num_stages},{meta.shared}"
        rows.append(f"{case.name},{case.size},{times},us,{shape}")
        print(rows[-1], flush=True)
        (folder / f"{case.name}.ptx").write_text(compiled.asm["ptx"])
    (folder / "triton.csv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    measure_kernels()
