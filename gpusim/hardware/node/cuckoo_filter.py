"""A cuckoo filter: a set of numbers that may say yes where it should say no.

Fan et al., *Cuckoo Filter: Practically Better Than Bloom*, CoNEXT 2014.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = (1 << 62) - 1
_FIRST: Final = 0x1E3779B97F4A7C15
_SECOND: Final = 0x3F58476D1CE4E5B9


class CuckooFilter:
    """Keeps fingerprints of numbers in buckets; each may lie in two of them.

    A number whose buckets are full pushes another one to its other bucket, and so on; after `kicks`
    of that the last one is lost, and the filter says no of it where it should say yes.

    Args:
        buckets: a power of two.
        ways: fingerprints of a bucket.
        bits: of a fingerprint.
        kicks: fingerprints that are pushed on at most.

    Attributes:
        lost: fingerprints that found no place.
    """

    def __init__(self, buckets: int, ways: int, bits: int, kicks: int = 32) -> None:
        self._mask = buckets - 1
        self._ways = ways
        self._bits = bits
        self._kicks = kicks
        self._buckets: list[list[int]] = [[] for _ in range(buckets)]
        self._next = 0
        """Which way of a full bucket is pushed on next."""
        self.lost = 0

    def _place(self, number: int) -> tuple[int, int]:
        """The fingerprint of a number, which is not 0, and its first bucket."""
        mixed = _mix(number)
        print_ = (mixed >> 32) % ((1 << self._bits) - 1) + 1
        return print_, mixed & self._mask

    def _other(self, bucket: int, print_: int) -> int:
        return bucket ^ (_mix(print_) & self._mask)

    def add(self, number: int) -> None:
        """Take in a number, once more if it is there."""
        print_, bucket = self._place(number)
        for _ in range(2):
            if len(self._buckets[bucket]) < self._ways:
                self._buckets[bucket].append(print_)
                return
            bucket = self._other(bucket, print_)
        for _ in range(self._kicks):
            way = self._next = (self._next + 1) % self._ways
            print_, self._buckets[bucket][way] = self._buckets[bucket][way], print_
            bucket = self._other(bucket, print_)
            if len(self._buckets[bucket]) < self._ways:
                self._buckets[bucket].append(print_)
                return
        self.lost += 1

    def remove(self, number: int) -> None:
        """Take out a number that was taken in, once."""
        print_, bucket = self._place(number)
        for one in (bucket, self._other(bucket, print_)):
            if print_ in self._buckets[one]:
                self._buckets[one].remove(print_)
                return

    def has(self, number: int) -> bool:
        """Whether a number may be there."""
        print_, bucket = self._place(number)
        other = self._other(bucket, print_)
        return print_ in self._buckets[bucket] or print_ in self._buckets[other]


def _mix(number: int) -> int:
    """A number whose bits depend on all bits of another one (after Steele 2014, SplitMix)."""
    number = (number + _FIRST) & _MASK
    number = ((number ^ number >> 30) * _SECOND) & _MASK
    number = ((number ^ number >> 27) * _FIRST) & _MASK
    return number ^ number >> 31
