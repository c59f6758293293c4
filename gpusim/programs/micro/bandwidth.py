"""bandwidth: all SMs stream through an array, from whichever memory it fits into."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, in_, le

from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    Launches,
    Steps,
    Vectors,
    kernel,
    program,
)

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

    loaded: list[Vectors]
    stored: list[Vectors]
    elements: int
    piece: int
    step: int
    unroll: int


def go_through(k: BlockTracer, of: Stream, before: int, together: bool) -> Steps:
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

    footprint: int = field(default=1 << 20, validator=[ge(1024), le(1 << 36)])
    operation: str = field(default="read", validator=in_(tuple(OPERATIONS)))
    blocks: int = field(default=64, validator=[ge(1), le(1 << 24)])
    threads: int = field(default=256, validator=[ge(32), le(1024)])
    piece: int = field(default=1 << 16, validator=ge(1024))
    together: bool = False
    word: int = field(default=8, validator=in_(WORDS))
    stride: int = field(default=8, validator=ge(4))
    unroll: int = field(default=4, validator=[ge(1), le(64)])
    registers: int = field(default=32, validator=[ge(1), le(255)])
    warm: int = field(default=0, validator=[ge(0), le(1 << 24)])

    @property
    def bytes_a_block(self) -> int:
        """What the threads of a block load and store."""
        rounds = -(-(self.piece // self.word) // self.threads)
        return rounds * self.threads * self.word * sum(OPERATIONS[self.operation])

    @stride.validator
    def _whole_words(self, _: object, stride: int) -> None:
        if stride % self.word:
            raise ValueError(f"'stride' must be a multiple of word = {self.word}: {stride}")


@program("bandwidth", BandwidthParameters)
def bandwidth(memory: AddressSpace, parameters: BandwidthParameters, _seed: int) -> Launches:
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
        kernel(name, registers=parameters.registers, in_step=True)(go_through)
        for name in ("warm", "stream")
    )
    together, threads = parameters.together, parameters.threads
    alike = not parameters.warm
    yield warm[parameters.warm or parameters.blocks, threads](of, 0, together and alike)
    yield stream[parameters.blocks, threads](of, parameters.warm, together)
