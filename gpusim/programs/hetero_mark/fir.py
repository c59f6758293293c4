"""fir: a filter of 16 taps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import threads_below
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 256
"""As in MGPUSim."""
TAPS = 16
START, TAP, LAST, END = 30, 21, 13, 1
"""Instructions before the first tap; for addresses, conditions and the sum of each, and of the last
one; after the store.  With the loads of coefficient and sample 392 a wavefront, as in MGPUSim's
trace, which has 23 from tap to tap."""

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class FirKernel(Kernel):
    """A sample a thread: the sum of coefficient[i] times the sample i places before.

    For each tap L coeff[i] (the same for all; scalar in GCN3) and L input[t - i], or
    history[16 - (i - t)] where t < i; both are waited for, then multiplied and added.  At the end
    S output[t].

    Attributes:
        signal: the samples of this launch.
        result: as long as the signal.
        coefficients, history: (16,) the filter, and the samples before the signal.
        samples: their number.
    """

    signal: Floats
    result: Floats
    coefficients: Floats
    history: Floats
    samples: int
    name: str = "fir_cuda"
    registers_per_thread: int = 28
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        inside = threads_below(k, self.samples, START)
        total = np.zeros(k.threads, dtype=np.float32)
        for tap in range(TAPS):
            total += self._product(k, tap)
            k.wait(0, inside)
            k.compute(TAP if tap < TAPS - 1 else LAST, inside)
            yield
        k.store(self.result, k.t, total, inside)
        k.compute(END, inside)

    def _product(self, k: BlockTracer, tap: int) -> NDArray[np.float32]:
        inside = k.t < self.samples
        place = k.t - tap
        here, before = inside & (place >= 0), inside & (place < 0)
        coefficient = k.load(self.coefficients, tap, inside)
        value = k.load(self.signal, place, here)
        if before.any():
            value = np.where(here, value, k.load(self.history, TAPS + place, before))
        return coefficient * value


@frozen
class FirParameters:
    """Size and length of fir.

    Attributes:
        samples: of a launch; both arrays are so long (the suite: 1024).
        launches: the signal has ``samples * launches`` samples (the suite: 1024).
    """

    samples: int = field(default=1024, validator=[ge(TAPS), le(1 << 28)])
    launches: int = field(default=1024, validator=ge(1))


@program("fir", FirParameters)
class Fir(Program):
    """A filter of 16 taps: the host copies each piece of the signal into `input` and launches.

    Arrays in the order input, output, coeff, history.  Signal and coefficients are random in 0..1
    (our choice); before the signal there are zeros.
    """

    def __init__(self, parameters: FirParameters, seed: int) -> None:
        super().__init__("fir")
        self.samples = samples = parameters.samples
        generator = np.random.default_rng(seed)
        self.host = generator.random((parameters.launches, samples), dtype=np.float32)
        self.signal = self.memory.allocate("input", np.zeros(samples, dtype=np.float32))
        self.result = self.memory.allocate("output", np.zeros(samples, dtype=np.float32))
        factors = generator.random(TAPS, dtype=np.float32)
        self.coefficients = self.memory.allocate("coeff", factors)
        self.history = self.memory.allocate("history", np.zeros(TAPS, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        kernel = FirKernel(
            shape=Shape.linear(self.samples, BLOCK),
            signal=self.signal,
            result=self.result,
            coefficients=self.coefficients,
            history=self.history,
            samples=self.samples,
        )
        self.history.data[:] = 0
        for piece in self.host:
            self.signal.data[:] = piece
            yield kernel
            self.history.data[:] = piece[-TAPS:]
