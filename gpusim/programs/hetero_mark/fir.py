"""fir: a filter of 16 taps."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

BLOCK = 256
"""As in MGPUSim."""
TAPS = 16
START, TAP, LAST, END = 30, 21, 13, 1
"""Instructions before the first tap; for addresses, conditions and the sum of each, and of the last
one; after the store.  With the loads of coefficient and sample 392 a wavefront, as in MGPUSim's
trace, which has 23 from tap to tap."""


@gpu.kernel("fir_cuda", registers=28, block=BLOCK, in_step=True)
def fold(
    k: gpu.BlockTracer,
    signal: gpu.Floats,
    coefficients: gpu.Floats,
    history: gpu.Floats,
    result: gpu.Floats,
    samples: int,
) -> gpu.Steps:
    """A sample a thread: the sum of coefficient[i] times the sample i places before.

    For each tap L coeff[i] (the same for all; scalar in GCN3) and L input[t - i], or
    history[16 - (i - t)] where t < i; both are waited for, then multiplied and added.  At the end
    S output[t].

    Takes `signal` (the samples of this launch), `coefficients` ((16,) the filter), `history`
    ((16,) the samples before), `result` (as long as the signal, `samples`).
    """
    inside = gpu.threads_below(k, samples, START)
    total = np.zeros(k.threads, dtype=np.float32)
    for tap in range(TAPS):
        place = k.t - tap
        here, before = inside & (place >= 0), inside & (place < 0)
        coefficient = k.load(coefficients, tap, inside)
        value = k.load(signal, place, here)
        if before.any():
            value = np.where(here, value, k.load(history, TAPS + place, before))
        k.wait(0, inside)
        total += coefficient * value
        k.compute(TAP if tap < TAPS - 1 else LAST, inside)
        yield
    k.store(result, k.t, total, inside)
    k.compute(END, inside)


@gpu.program("fir")
def fir(
    memory: gpu.AddressSpace,
    seed: int,
    samples: int = gpu.number(1024, TAPS, 1 << 28),
    launches: int = gpu.number(1024),
) -> gpu.Launches:
    """A filter of 16 taps: the host copies each piece of the signal into `input` and launches.

    Arrays in the order input, output, coeff, history.  Signal and coefficients are random in 0..1
    (our choice); before the signal there are zeros.

    Parameters:
        samples: of a launch; both arrays are so long (the suite: 1024).
        launches: the signal has ``samples * launches`` samples (the suite: 1024).
    """
    generator = np.random.default_rng(seed)
    host = generator.random((launches, samples), dtype=np.float32)
    signal = memory.zeros("input", samples, np.float32)
    result = memory.zeros("output", samples, np.float32)
    coefficients = memory.allocate("coeff", generator.random(TAPS, dtype=np.float32))
    history = memory.zeros("history", TAPS, np.float32)
    for piece in host:
        signal.data[:] = piece
        yield fold[samples](signal, coefficients, history, result, samples)
        history.data[:] = piece[-TAPS:]
