"""aes: AES-256 of 16 bytes a thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 64
ROUNDS = 14
STATE = np.dtype("u4,u4,u4,u4")
"""16 bytes, which a thread loads or stores at once."""
START, BEGIN, GATHER, MIX, KEYED, LAST, END = 16, 52, 58, 145, 36, 4, 33
"""Instructions of GCN3 as MGPUSim has them, scalar loads and waits included: before the load of the
bytes and after it; of a round beside its 16 loads of the substitution, between these and the load
of its key, and after that; of the last round before its key and after it."""

Bytes = NDArray[np.uint8]


def _doubled(values: Bytes) -> Bytes:
    """Twice each of some numbers of the field of 256, whose polynomial is 0x11b."""
    doubled: Bytes = values << np.uint8(1) ^ np.where(values & 0x80, 0x1B, 0).astype(np.uint8)
    return doubled


def substitution() -> Bytes:
    """(256,) the inverse of each number in the field, its bits mixed (FIPS 197)."""
    powers = np.ones(256, dtype=np.uint8)
    for place in range(1, 256):  # powers of 3 are all numbers but zero
        powers[place] = _doubled(powers[place - 1 : place])[0] ^ powers[place - 1]
    inverse = np.zeros(256, dtype=np.uint8)
    inverse[powers[:255]] = powers[255 - np.arange(255)]
    shifts = np.arange(1, 5, dtype=np.uint8)
    turned = [inverse << shift | inverse >> np.uint8(8) - shift for shift in shifts]
    mixed: Bytes = inverse ^ turned[0] ^ turned[1] ^ turned[2] ^ turned[3] ^ np.uint8(0x63)
    return mixed


def round_keys(key: Bytes, box: Bytes) -> Bytes:
    """(15, 16) the keys of all rounds, of a key of 32 bytes."""
    words = list(key.reshape(8, 4))
    constant = np.uint8(1)
    for number in range(8, 4 * (ROUNDS + 1)):
        word = words[-1]
        if number % 8 == 0:
            word = box[np.roll(word, -1)]
            word[0] ^= constant
            constant = _doubled(np.array([constant]))[0]
        elif number % 8 == 4:
            word = box[word]
        words.append(words[-8] ^ word)
    return np.concatenate(words).reshape(ROUNDS + 1, 16)


SHIFTED_ROWS = np.array([(place + 4 * (place % 4)) % 16 for place in range(16)])
"""Where each byte comes from; a column has four bytes one after the other."""


def _mixed_columns(state: Bytes) -> Bytes:
    columns = state.reshape(-1, 4, 4)
    twice = _doubled(columns)
    next_one = np.roll(columns, -1, axis=2)
    thrice = np.roll(twice, -1, axis=2) ^ next_one
    rest = np.roll(columns, -2, axis=2) ^ np.roll(columns, -3, axis=2)
    mixed: Bytes = (twice ^ thrice ^ rest).reshape(state.shape)
    return mixed


@gpu.kernel("Encrypt", registers=36, block=BLOCK, in_step=True)
def encrypt(k: gpu.BlockTracer, text: gpu.Vectors, keys: gpu.Vectors, box: gpu.Bytes) -> gpu.Steps:
    """A thread's bytes, encrypted in place.

    L 16 bytes; in each of 14 rounds 16 gathered L of the substitution, then L of the round's key,
    the same for all; S 16 bytes.  The first key is a scalar load in GCN3, which makes no traffic.

    Takes `text`, `keys` ((15,) the rounds' keys), `box` ((256,) the substitution).
    """
    inside = k.t < text.length
    k.compute(START, inside)
    loaded = k.load(text, k.t, inside)
    k.wait(0, inside)
    k.compute(BEGIN, inside)
    state = np.ascontiguousarray(loaded).view(np.uint8).reshape(-1, 16)
    state = state ^ keys.data[:1].view(np.uint8)
    for number in range(1, ROUNDS + 1):
        k.compute(GATHER, inside)
        gathered = [k.load(box, state[:, place].astype(np.int32), inside) for place in range(16)]
        k.wait(0, inside)
        state = np.stack(gathered, axis=1)[:, SHIFTED_ROWS]
        mixes = number < ROUNDS
        k.compute(MIX if mixes else LAST, inside)
        key = k.fetch(keys, number, inside)
        k.compute(KEYED if mixes else END, inside)
        if mixes:
            state = _mixed_columns(state)
        state = state ^ np.ascontiguousarray(key).view(np.uint8).reshape(-1, 16)
        yield
    k.store(text, k.t, np.ascontiguousarray(state).view(STATE).reshape(-1), inside)
    k.compute(1, inside)


@gpu.program("aes")
def aes(
    memory: gpu.AddressSpace,
    seed: int,
    length: int = gpu.number(65536, 16, 1 << 30, multiple=16),
) -> gpu.Launches:
    """Random bytes, encrypted with the key 0, 1, ..., 31, each 16 by themselves.

    Arrays in the order input, expanded_key, s.

    Parameters:
        length: bytes, a multiple of 16 (MGPUSim: 65536).
    """
    plain = np.random.default_rng(seed).integers(0, 256, length, dtype=np.uint8)
    box = substitution()
    text = memory.allocate("input", plain.view(STATE))
    keys = round_keys(np.arange(32, dtype=np.uint8), box)
    expanded = memory.allocate("expanded_key", keys.view(STATE).reshape(-1))
    table = memory.allocate("s", box)
    yield encrypt[length // 16](text, expanded, table)
