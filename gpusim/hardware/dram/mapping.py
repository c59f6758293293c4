"""DRAM address mapping: channel, pseudo channel, bank group, bank, row and column."""

from __future__ import annotations

from attrs import frozen

from gpusim.config.dram import DramConfig
from gpusim.core.errors import UserError, nearest

_BANK_FIELDS = ("bank", "bank-group", "pseudo-channel")
FIELDS = ("row", *_BANK_FIELDS, "channel", "column")
_CUTTABLE = ("column", "bank", "bank-group")
"""Fields that may be in two places."""

_Cut = tuple[int, int, int]
"""A field in an address: shift, mask, and the place of its lowest bit in what it belongs to."""


@frozen(repr=False)
class Place:
    """One burst of DRAM.

    Attributes:
        channel, pseudo_channel, bank_group, bank: bank counts within its group.
        row: within the bank.
        column: in bursts.
    """

    channel: int
    pseudo_channel: int
    bank_group: int
    bank: int
    row: int
    column: int


class AddressMapping:
    """Cuts physical byte addresses into the fields of a mapping string.

    The channels may be any number: theirs is then a division by the number of channels instead of
    a bit field.  All other sizes are powers of two.  Addresses beyond the last row wrap around.

    Args:
        config: the DRAM table.

    Raises:
        UserError: a size is not a power of two, or the mapping string is not a mapping.
    """

    __slots__ = (
        "_bank_cut",
        "_bank_cuts",
        "_below",
        "_channel_mask",
        "_column_cuts",
        "_index_cuts",
        "_row_cut",
        "above",
        "banks",
        "channels",
        "contiguous_bytes",
    )

    def __init__(self, config: DramConfig) -> None:
        sizes = _field_bits(config)
        self.channels = config.channels
        self.banks = config.banks_per_channel
        self._channel_mask = config.channels - 1 if _is_power(config.channels) else -1
        self._below = 0
        self._row_cut = (0, 0)
        self._column_cuts: list[_Cut] = []
        self._bank_cuts: list[_Cut] = []
        self._index_cuts: dict[str, list[_Cut]] = {name: [] for name in _BANK_FIELDS}
        position = _bits("burst", config.burst)
        columns = index_bits = 0
        found: dict[str, int] = {}
        """Bits of each field of a bank so far."""
        self.contiguous_bytes = 0
        """Aligned blocks of this many bytes lie in one row of one channel."""
        for name, width in reversed(_parse(config.mapping, sizes)):
            mask = (1 << width) - 1
            if name == "column":
                self._column_cuts.append((position, mask, columns))
                columns += width
            elif name == "row":
                self._row_cut = (position, mask)
            elif name == "channel":
                self._below = position
            else:
                self._bank_cuts.append((position, mask, index_bits))
                self._index_cuts[name].append((index_bits, mask, found.get(name, 0)))
                found[name] = width
                index_bits += width
            if name != "column" and width and not self.contiguous_bytes:
                self.contiguous_bytes = 1 << position
            if name != "channel" or self._channel_mask >= 0:
                position += width
        channel_bits = self._channel_mask.bit_length() if self._channel_mask >= 0 else 0
        self.above = 1 << (position - self._below - channel_bits)
        """What the fields above the channel can tell apart."""
        self._bank_cut = _merged(self._bank_cuts)

    def channel(self, address: int) -> int:
        """The channel that `address` lies in."""
        if self._channel_mask >= 0:
            return (address >> self._below) & self._channel_mask
        return (address >> self._below) % self.channels

    def bank_and_row(self, address: int) -> tuple[int, int]:
        """Index of the bank among all of its channel, and row.

        Banks are numbered in the order of their addresses, whatever the mapping; `bank_place`
        tells which one an index is.
        """
        if self._channel_mask < 0:
            address = self._without_channel(address)
        shift, mask = self._row_cut
        row = (address >> shift) & mask
        if self._bank_cut is not None:
            shift, mask = self._bank_cut
            return (address >> shift) & mask, row
        return _gather(address, self._bank_cuts), row

    def bank_place(self, index: int) -> tuple[int, int, int]:
        """Pseudo channel, bank group and bank within its group of a bank index."""
        pseudo_channel, group, bank = (
            _gather(index, self._index_cuts[name])
            for name in ("pseudo-channel", "bank-group", "bank")
        )
        return pseudo_channel, group, bank

    def place(self, address: int) -> Place:
        """All fields of `address`."""
        index, row = self.bank_and_row(address)
        pseudo_channel, group, bank = self.bank_place(index)
        within = self._without_channel(address) if self._channel_mask < 0 else address
        column = _gather(within, self._column_cuts)
        return Place(self.channel(address), pseudo_channel, group, bank, row, column)

    def _without_channel(self, address: int) -> int:
        """The address within its channel, where the channel is not a bit field."""
        low = address & ((1 << self._below) - 1)
        return ((address >> self._below) // self.channels << self._below) | low


def _field_bits(config: DramConfig) -> dict[str, int]:
    """Width of each field; the channel's is rounded up if it is not a bit field."""
    if config.burst < 1 or config.row % config.burst:
        raise UserError(
            f"dram.row: {config.row} bytes are not a multiple of a burst of {config.burst} bytes"
        )
    if config.channels < 1:
        raise UserError(f"dram.channels: {config.channels}; allowed: 1 or more")
    return {
        "row": _bits("rows", config.rows),
        "bank": _bits("banks", config.banks),
        "bank-group": _bits("bank_groups", config.bank_groups),
        "pseudo-channel": _bits("pseudo_channels", config.pseudo_channels),
        "channel": (config.channels - 1).bit_length(),
        "column": _bits("row", config.row // config.burst),
    }


def _parse(text: str, sizes: dict[str, int]) -> list[tuple[str, int]]:
    """Fields of a mapping string with their widths, highest first.

    A column, bank or bank group may come twice: ``column`` for its high bits and, below,
    ``column:n`` for the n lowest.
    """
    fields: list[tuple[str, int]] = []
    low: dict[str, int] = {}
    for word in text.split():
        name, colon, count = word.partition(":")
        if name not in FIELDS:
            raise UserError(
                f"dram.mapping: there is no field {name!r}{nearest(name, FIELDS)}; "
                f"allowed: {', '.join(FIELDS)}"
            )
        times = [found for found, _ in fields].count(name)
        if colon:
            low[name] = _low_bits(word, name, count, sizes)
            if times != 1 or word in text.split()[: len(fields)]:
                raise UserError(f"dram.mapping: {text!r}: {word!r} comes once, below {name!r}")
        elif times:
            raise UserError(
                f"dram.mapping: {text!r} names {name!r} {times + 1} times; allowed: once"
            )
        fields.append((name, low.get(name, 0)))
    names = [found for found, _ in fields]
    for name in FIELDS:
        if name not in names and (sizes[name] != 0 or name == "channel"):
            raise UserError(f"dram.mapping: {text!r} names {name!r} 0 times; allowed: once")
    return [
        (name, cut if place and name in names[:place] else sizes[name] - low.get(name, 0))
        for place, (name, cut) in enumerate(fields)
    ]


def _low_bits(word: str, name: str, count: str, sizes: dict[str, int]) -> int:
    """How many low bits a word such as ``column:2`` names."""
    if name not in _CUTTABLE:
        raise UserError(
            f"dram.mapping: {word!r}: {name} cannot be cut; allowed: {', '.join(_CUTTABLE)}"
        )
    if not count.isdigit() or int(count) > sizes[name]:
        raise UserError(f"dram.mapping: {word!r}: allowed: '{name}:0' to '{name}:{sizes[name]}'")
    return int(count)


def _merged(cuts: list[_Cut]) -> tuple[int, int] | None:
    """Cuts that lie side by side as one ``(shift, mask)``; None if they do not."""
    shift, mask = cuts[0][0], 0
    for at, width_mask, left in cuts:
        if width_mask and at != shift + left:
            return None
        mask |= width_mask << left
    return shift, mask


def _gather(number: int, cuts: list[_Cut]) -> int:
    """The bits of `number` that `cuts` name, side by side."""
    gathered = 0
    for shift, mask, left in cuts:
        gathered |= ((number >> shift) & mask) << left
    return gathered


def _bits(key: str, size: int) -> int:
    if not _is_power(size):
        raise UserError(f"dram.{key}: {size} is not a power of two")
    return size.bit_length() - 1


def _is_power(size: int) -> bool:
    return size > 0 and size & (size - 1) == 0
