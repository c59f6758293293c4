"""Storage of hardware structures: a number of entries, and the bits of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

VIRTUAL_BITS: Final = 48
"""Bits of a virtual address [our choice: x86-64's; COMP's tags of 31 bits fit it]."""


@frozen
class Dimensions:
    """The dimensions of a machine that decide how wide its structures are.

    Attributes:
        page_bits: of a virtual page number.
        frame_bits: of a physical frame number.
        sms: streaming multiprocessors.
        block_slots: thread blocks that an SM holds at most.
        page_table_levels: levels of a page walk, for the smallest pages.
        index_bits: of a page number that one of them takes.
    """

    page_bits: int
    frame_bits: int
    sms: int
    block_slots: int
    page_table_levels: int
    index_bits: int = 9


@frozen
class Storage:
    """One structure.

    Attributes:
        name: what it is, such as ``"entries"``.
        count: how many entries it has.
        fields: what an entry has, and how many bits that takes.
    """

    name: str
    count: int
    fields: Mapping[str, int]

    @property
    def entry_bits(self) -> int:
        """The bits of one entry."""
        return sum(self.fields.values())

    @property
    def bits(self) -> int:
        """The bits of all entries."""
        return self.count * self.entry_bits

    def times(self, number: int) -> Storage:
        """The storage of `number` such structures."""
        return Storage(self.name, self.count * number, self.fields)


def bits_for(values: int) -> int:
    """The bits of a number with `values` values."""
    return (values - 1).bit_length()
