"""bandwidth: all SMs stream through an array, from whichever memory it fits into."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu

OPERATIONS = {"read": (1, 0), "write": (0, 1), "scale": (1, 1), "triad": (2, 1)}
"""Arrays that are loaded, and stored."""

WORDS = (4, 8, 16)


@frozen
class Stream:
    """How blocks go through arrays.

    Attributes:
        loaded, stored: the arrays.
        elements: of an array.
        piece: elements that a block goes through.
        step: elements from one thread's to the next one's.
        unroll: loads that a thread has under way.
    """

    loaded: list[gpu.Vectors]
    stored: list[gpu.Vectors]
    elements: int
    piece: int
    step: int
    unroll: int


def go_through(k: gpu.BlockTracer, of: Stream, before: int, together: bool) -> gpu.Steps:
    """Each block goes through its piece of the arrays, some loads at a time.

    Takes `before` (pieces before that of the first block), `together` (whether all blocks go
    through the first piece).
    """
    first = 0 if together else (before + k.bx) * of.piece
    for number, start in enumerate(range(0, of.piece, k.shape.threads), 1):
        index = (first + start + k.tid) * of.step % of.elements
        for array in of.loaded:
            k.load(array, index)
        if of.stored:
            k.wait()
        for array in of.stored:
            k.store(array, index, 1)
        if number % of.unroll == 0:
            k.wait()
            yield
    k.wait()


@frozen
class BandwidthParameters:
    """What is streamed through.

    Attributes:
        footprint: bytes of each array.
        operation: one of `OPERATIONS`.
        blocks, threads: of the grid; threads a block.
        piece: bytes that a block goes through, round and round if it is more than the array.
        together: whether all blocks go through the same bytes (else: each through the next piece).
        word: bytes of a load.
        stride: bytes from one thread's word to the next one's; as many as the words if they are
            neighbours, more to ask few banks and channels.
        unroll: loads that a thread has under way.
        registers: of a thread; many let fewer blocks run at once.
        warm: blocks of the first launch, each through its own piece, where the second one goes on;
            0: both are alike.
    """

    footprint: int = gpu.number(1 << 20, 1024, 1 << 36)
    operation: str = gpu.choice("read", OPERATIONS)
    blocks: int = gpu.number(64, 1, 1 << 24)
    threads: int = gpu.number(256, 32, 1024)
    piece: int = gpu.number(1 << 16, 1024)
    together: bool = False
    word: int = gpu.choice(8, WORDS)
    stride: int = gpu.number(8, 4, multiple="word")
    unroll: int = gpu.number(4, 1, 64)
    registers: int = gpu.number(32, 1, 255)
    warm: int = gpu.number(0, 0, 1 << 24)

    @property
    def bytes_a_block(self) -> int:
        """What the threads of a block load and store."""
        rounds = -(-(self.piece // self.word) // self.threads)
        return rounds * self.threads * self.word * sum(OPERATIONS[self.operation])


@gpu.program("bandwidth", BandwidthParameters)
def bandwidth(
    memory: gpu.AddressSpace, parameters: BandwidthParameters, _seed: int
) -> gpu.Launches:
    """Two launches of one kernel: ``warm``, and ``stream``, whose time tells the bandwidth."""
    loads, stores = OPERATIONS[parameters.operation]
    elements, word = parameters.footprint // parameters.word, np.dtype((np.void, parameters.word))
    loaded = [memory.blank(f"read{i}", elements, word) for i in range(loads)]
    stored = [memory.blank("written", elements, word) for _ in range(stores)]
    of = Stream(
        loaded=loaded,
        stored=stored,
        elements=elements,
        piece=parameters.piece // parameters.word,
        step=parameters.stride // parameters.word,
        unroll=parameters.unroll,
    )
    warm, stream = (
        gpu.kernel(name, registers=parameters.registers, in_step=True)(go_through)
        for name in ("warm", "stream")
    )
    together, threads = parameters.together, parameters.threads
    alike = not parameters.warm
    yield warm[parameters.warm or parameters.blocks, threads](of, 0, together and alike)
    yield stream[parameters.blocks, threads](of, parameters.warm, together)
