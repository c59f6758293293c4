"""triad: C = A + s B."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 128
FACTOR = 1.75

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class TriadKernel(Kernel):
    """An element a thread, without a bound: L A, L B, a multiplication with addition, S C.

    20 instructions: those of a vector addition in SASS of compute capability 6.1, 23 with a bound.

    Attributes:
        a, b, c: the operands.
    """

    a: Floats
    b: Floats
    c: Floats
    name: str = "triad"
    registers_per_thread: int = 12
    in_step = True

    def body(self, k: BlockTracer) -> None:
        k.compute(13)
        a = k.load(self.a, k.t)
        b = k.load(self.b, k.t)
        k.wait()
        k.compute(4)
        k.store(self.c, k.t, a + np.float32(FACTOR) * b)


@frozen
class TriadParameters:
    """Size of triad, and its pieces.

    Attributes:
        elements: of the whole vectors; every device array has room for all (the suite: 16 MiB).
        chunk: elements of a launch; the suite goes through 16 Ki to 4 Mi, powers of two.
    """

    elements: int = field(default=1 << 22, validator=[ge(BLOCK), le(1 << 28)])
    chunk: int = field(default=1 << 22, validator=ge(BLOCK))

    @chunk.validator
    def _fits(self, _: object, chunk: int) -> None:
        if chunk % BLOCK or self.elements % chunk:
            raise ValueError(
                f"'chunk' must be a multiple of {BLOCK} that divides elements = {self.elements}: "
                f"{chunk}"
            )


@program("triad", TriadParameters)
class Triad(Program):
    """STREAM's triad: the host copies a chunk into A and into B, and launches the kernel.

    Arrays in the order A0, B0, C0, A1, B1, C1; the launches take the two sets in turn.  The suite
    runs them in two streams, to copy one chunk while the other is computed; here they follow each
    other.  Values are random in 0..10.
    """

    def __init__(self, parameters: TriadParameters, seed: int) -> None:
        super().__init__("triad")
        self.chunk = parameters.chunk
        self.host = 10 * np.random.default_rng(seed).random(parameters.elements, dtype=np.float32)
        empty = np.zeros(parameters.elements, dtype=np.float32)
        self.sets = [
            tuple(self.memory.allocate(f"{name}{number}", empty) for name in "ABC")
            for number in (0, 1)
        ]

    def launches(self) -> Iterator[Launch]:
        shape = Shape.linear(self.chunk, BLOCK)
        for number, piece in enumerate(self.host.reshape(-1, self.chunk)):
            a, b, c = self.sets[number % 2]
            a.data[: self.chunk] = piece
            b.data[: self.chunk] = piece
            yield TriadKernel(shape=shape, a=a, b=b, c=c)
