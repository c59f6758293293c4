"""Interleaving of numbered blocks of memory over banks or channels: in turn, or hashed.

Block *n* of *p* parts is block number ``q = n // p`` of the part ``hash(n % p, q)``.  For each *q*
the hash is a permutation of the parts, so no part has two blocks with the same *q*: what a part
holds is numbered by *q* alone, whatever the hash, and all of its sets or rows are used.

- ``"xor"``: the bits of *q*, cut into groups as wide as a part number, are XORed into it.  This is
  the bitwise hash of GPGPU-Sim, which takes the lowest group only; with all groups no power-of-two
  stride finds one part alone.  If *p* is no power of two, the groups are XORed with each other and
  then *added* to ``n % p`` modulo *p* [our choice], which is a permutation, too.
- ``"ipoly"``: the part is the remainder of *n*, read as a polynomial over GF(2), by a primitive
  polynomial of degree ``log2(p)`` (B. R. Rau, "Pseudo-Randomly Interleaved Memory", ISCA 1991; the
  IPOLY hash of GPGPU-Sim and Accel-Sim, with the same polynomials for 16, 32 and 64 parts).
- ``"random"``: each block goes to any part, whatever its neighbours do: the part is a fixed mixture
  of all bits of *n*.  It is no permutation of a turn: a part has as many blocks of one as chance
  gives (a Poisson distribution).  Caches alone can be divided so, as their lines have names.
"""

from __future__ import annotations

from functools import reduce
from operator import xor
from random import Random
from typing import Final

import numpy as np
from mypy_extensions import mypyc_attr
from numpy.typing import NDArray

XOR: Final = "xor"
IPOLY: Final = "ipoly"
HASHES: Final = (XOR, IPOLY)
"""Names of the hashes that are permutations of a turn."""

RANDOM: Final = "random"
"""Name of the one that is none."""

_DRAWN: Final = 30
"""Bits of the numbers in its tables."""
_ODD: Final = 0x2545F491
_MIDDLE: Final = (1 << 28) - 1

POLYNOMIALS: Final[dict[int, int]] = {
    1: 0b11,
    2: 0b111,
    3: 0b1011,
    4: 0b10011,
    5: 0b100101,
    6: 0b1000011,
    7: 0b10000011,
    8: 0b100011101,
    9: 0b1000010001,
    10: 0b10000001001,
}
"""By degree, a primitive polynomial over GF(2): bit *i* is the coefficient of x^i."""

_BYTES: Final = 8
"""Bytes of the largest number that is folded."""


def hash_refusal(name: str, parts: int) -> str:
    """Why blocks cannot be dealt out to `parts` parts by the hash `name`; empty if they can."""
    if name == IPOLY and (parts < 1 or parts & (parts - 1) or parts.bit_length() - 1 > 10):
        return f'"{IPOLY}" needs a power of two up to 1024, not {parts}; "{XOR}" takes any number'
    return ""


@mypyc_attr(allow_interpreted_subclasses=True)
class Interleaving:
    """Deals out blocks to parts."""

    def part(self, block: int) -> int:
        """The part that a block belongs to."""
        raise NotImplementedError


class RandomInterleaving(Interleaving):
    """Deals out blocks as if at random, the same way in every run.

    Each byte of a block number chooses a number from a table of its own, drawn once and for all
    (tabulation hashing: Carter and Wegman, 1979).  Of their XOR, multiplied by an odd number, the
    middle bits, modulo the parts, are the part.

    Args:
        parts: how many there are.
    """

    def __init__(self, parts: int) -> None:
        self._parts = parts
        draw = Random(0)  # noqa: S311 -- the same in every run, and no secret
        drawn = [[draw.getrandbits(_DRAWN) for _ in range(256)] for _ in range(_BYTES)]
        self._of_none = reduce(xor, (table[0] for table in drawn))
        self._tables = [[number ^ table[0] for number in table] for table in drawn]
        """By byte, by how much it is another number than that of a byte of zeros."""

    def part(self, block: int) -> int:
        mixed, place = self._of_none, 0
        while block and place < _BYTES:
            mixed ^= self._tables[place][block & 0xFF]
            block >>= 8
            place += 1
        return (mixed * _ODD >> _DRAWN & _MIDDLE) % self._parts


@mypyc_attr(allow_interpreted_subclasses=True)
class HashedInterleaving(Interleaving):
    """Deals out blocks by a hash that is a permutation of each turn.

    Args:
        name: one of `HASHES`, which does not refuse `parts`.
        parts: how many there are.
        wraps: if not 0, a power of two: *q* is taken modulo this, so that the hash repeats when
            each part has had this many blocks.
    """

    def __init__(self, name: str, parts: int, wraps: int = 0) -> None:
        self._parts = parts
        width = (parts - 1).bit_length()
        self._shift = width if parts == 1 << width else -1
        self._wraps = wraps - 1 if wraps else -1
        self._folds = _tables(name, width)

    def part(self, block: int) -> int:
        """The part that a block belongs to."""
        shift = self._shift
        if shift >= 0:
            return self._fold(block >> shift & self._wraps) ^ block & self._parts - 1
        turn = block // self._parts
        return (self._fold(turn & self._wraps) + block) % self._parts

    def _fold(self, turn: int) -> int:
        """A number folded to the width of a part number, a byte at a time."""
        folded = 0
        for table in self._folds:
            if not turn:
                break
            folded ^= table[turn & 0xFF]
            turn >>= 8
        return folded


class GroupedInterleaving(Interleaving):
    """Deals out groups of neighbouring blocks.

    Args:
        groups: how groups are dealt out; None: in turn.
        parts: how many parts there are.
        shift: blocks of a group, as a power of two.
    """

    def __init__(self, groups: Interleaving | None, parts: int, shift: int) -> None:
        self._groups = groups
        self._parts = parts
        self._shift = shift

    def part(self, block: int) -> int:
        group, groups = block >> self._shift, self._groups
        return group % self._parts if groups is None else groups.part(group)


def _tables(name: str, width: int) -> list[list[int]]:
    """For each byte of a number, what its 256 values fold to: sums of what their bits do."""
    bits = [_bit(name, width, place) for place in range(8 * _BYTES)]
    tables = []
    for first in range(0, len(bits), 8):
        table = [0]
        for bit in bits[first : first + 8]:
            table += [bit ^ before for before in table]
        tables.append(table)
    return tables


def _bit(name: str, width: int, place: int) -> int:
    """What bit number `place` of a turn adds to the part number."""
    if not width:
        return 0
    if name == XOR:
        return 1 << place % width
    polynomial, power = POLYNOMIALS[width], 1
    for _ in range(width + place):  # x^(width + place): the bit stands above the part number
        power <<= 1
        if power >> width:
            power ^= polynomial
    return power


def folded(blocks: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """The part of each block by `XOR`, of a power of two of parts: all at once, block by block.

    Groups of bits as wide as a part number are XORed pair by pair, pairs of pairs, and on.
    """
    bits = parts.bit_length() - 1
    if not bits:
        return np.zeros_like(blocks)
    found = blocks.copy()
    shift = bits
    while shift < 4 * _BYTES:
        shift *= 2
    while shift >= bits:
        found ^= found >> shift
        shift //= 2
    return found & parts - 1
