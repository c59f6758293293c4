"""atomic_adds: every thread adds to one of a few words."""

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

WORD = 4


@define(kw_only=True, eq=False)
class AddKernel(Kernel):
    """Each thread adds 1, several times.

    Attributes:
        words: the array.
        cells: words that are added to.
        step: words from one of them to the next.
        times: that each thread adds.
        returning: whether the old value comes back, and is waited for.
    """

    words: DeviceArray[np.int32]
    cells: int
    step: int
    times: int
    returning: bool
    name: str = "add"
    registers_per_thread: int = 16
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        for turn in range(self.times):
            index = (k.t + turn) % self.cells * self.step
            if self.returning:
                k.atomic_add(self.words, index, 1)
                k.wait()
            else:
                k.reduce_add(self.words, index, 1)
            yield


@frozen
class AtomicAddsParameters:
    """Who adds to what.

    Attributes:
        cells: words that are added to: 1: all threads to the same one.
        stride: bytes from one of them to the next.
        blocks, threads: of the grid; threads a block.
        times: that each thread adds.
        returning: whether the old value comes back (ATOM), or not (RED).
    """

    cells: int = field(default=1024, validator=[ge(1), le(1 << 26)])
    stride: int = field(default=4, validator=[ge(WORD), le(1 << 20)])
    blocks: int = field(default=64, validator=[ge(1), le(1 << 20)])
    threads: int = field(default=256, validator=[ge(1), le(1024)])
    times: int = field(default=4, validator=[ge(1), le(1 << 20)])
    returning: bool = False

    @stride.validator
    def _whole_words(self, _: object, stride: int) -> None:
        if stride % WORD:
            raise ValueError(f"'stride' must be a multiple of {WORD}: {stride}")


@program("atomic_adds", AtomicAddsParameters)
class AtomicAdds(Program):
    """One launch; the words together then hold as many as there were additions."""

    def __init__(self, parameters: AtomicAddsParameters, seed: int) -> None:
        del seed  # nothing is random
        super().__init__("atomic_adds")
        step = parameters.stride // WORD
        self.words = self.memory.allocate("words", np.zeros(parameters.cells * step, np.int32))
        self._kernel = AddKernel(
            shape=Shape((parameters.blocks, 1, 1), (parameters.threads, 1, 1)),
            words=self.words,
            cells=parameters.cells,
            step=step,
            times=parameters.times,
            returning=parameters.returning,
        )

    def launches(self) -> Iterator[Launch]:
        yield self._kernel
