"""bandwidth: all SMs stream through an array, from whichever memory it fits into."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, in_, le

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.micro.unread import allocate_unread
from gpusim.programs.tracer import BlockTracer, Shape

OPERATIONS = {"read": (1, 0), "write": (0, 1), "scale": (1, 1), "triad": (2, 1)}
"""Arrays that are loaded, and stored."""

WORDS = (4, 8, 16)


@define(kw_only=True, eq=False)
class StreamKernel(Kernel):
    """Each block goes through its piece of the arrays, some loads at a time.

    Attributes:
        loaded, stored: the arrays.
        elements: of an array.
        piece: elements that a block goes through.
        first: pieces before that of the first block.
        together: whether all blocks go through the first piece.
        step: elements from one thread's to the next one's.
        unroll: loads that a thread has under way.
    """

    loaded: list[DeviceArray[np.int8]]
    stored: list[DeviceArray[np.int8]]
    elements: int
    piece: int
    together: bool
    step: int
    unroll: int
    first: int = 0
    name: str = "stream"
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        first = 0 if self.together else (self.first + k.bx) * self.piece
        for number, start in enumerate(range(0, self.piece, self.threads_per_block), 1):
            index = (first + start + k.tid) * self.step % self.elements
            for array in self.loaded:
                k.load(array, index)
            if self.stored:
                k.wait()
            for array in self.stored:
                k.store(array, index, 1)
            if number % self.unroll == 0:
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

    @stride.validator
    def _whole_words(self, _: object, stride: int) -> None:
        if stride % self.word:
            raise ValueError(f"'stride' must be a multiple of word = {self.word}: {stride}")


@program("bandwidth", BandwidthParameters)
class Bandwidth(Program):
    """Two launches of one kernel: ``warm``, and ``stream``, whose time tells the bandwidth.

    Attributes:
        bytes_a_block: what the threads of a block load and store.
    """

    def __init__(self, parameters: BandwidthParameters, seed: int) -> None:
        del seed  # nothing is random
        super().__init__("bandwidth")
        self._parameters = parameters
        loads, stores = OPERATIONS[parameters.operation]
        size, word = parameters.footprint, parameters.word
        loaded = [allocate_unread(self.memory, f"read{i}", size, word) for i in range(loads)]
        empty = np.zeros(size // word if stores else 0, dtype=np.int8)
        stored = [self.memory.allocate("written", empty, word) for _ in range(stores)]
        self._kernel = StreamKernel(
            shape=Shape((parameters.blocks, 1, 1), (parameters.threads, 1, 1)),
            loaded=loaded,
            stored=stored,
            elements=size // word,
            piece=parameters.piece // word,
            together=parameters.together,
            step=parameters.stride // word,
            unroll=parameters.unroll,
            registers_per_thread=parameters.registers,
        )
        rounds = -(-self._kernel.piece // parameters.threads)
        self.bytes_a_block = rounds * parameters.threads * word * (loads + stores)

    def launches(self) -> Iterator[Launch]:
        kernel, parameters = self._kernel, self._parameters
        yield self._launch("warm", parameters.warm or parameters.blocks, not parameters.warm)
        kernel.first = parameters.warm
        yield self._launch("stream", parameters.blocks)

    def _launch(self, name: str, blocks: int, as_stream: bool = True) -> StreamKernel:
        """Of so many blocks, apart if it is not as the streaming one."""
        kernel, parameters = self._kernel, self._parameters
        kernel.name = name
        kernel.shape = Shape((blocks, 1, 1), (parameters.threads, 1, 1))
        kernel.together = parameters.together and as_stream
        return kernel
