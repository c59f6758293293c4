"""DRAM address mapping: channel, pseudo channel, bank group, bank, row and column."""

from __future__ import annotations

from attrs import frozen

from gpusim.config.dram import DramConfig
from gpusim.core.errors import UserError, nearest

_BANK_FIELDS = ("bank", "bank-group", "pseudo-channel")
FIELDS = ("row", *_BANK_FIELDS, "channel", "column")

_Cut = tuple[int, int, int]
"""A field in an address: shift, mask, and the place of its lowest bit in what it belongs to."""


@frozen
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
                self._index_cuts[name].append((index_bits, mask, 0))
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

    Only the column may come twice: ``column`` for its high bits and ``column:n`` for the n lowest.
    """
    fields: list[tuple[str, int]] = []
    low = 0
    for word in text.split():
        name, colon, count = word.partition(":")
        if name not in FIELDS:
            raise UserError(
                f"dram.mapping: there is no field {name!r}{nearest(name, FIELDS)}; "
                f"allowed: {', '.join(FIELDS)}"
            )
        if not colon:
            fields.append((name, sizes[name]))
            continue
        if name != "column" or not count.isdigit() or int(count) > sizes["column"]:
            raise UserError(
                f"dram.mapping: {word!r}: only the column can be cut, "
                f"from 'column:0' to 'column:{sizes['column']}'"
            )
        low = int(count)
        fields.append(("low column", low))
    for name in FIELDS:
        times = [found for found, _ in fields].count(name)
        if times != 1 and not (times == 0 and sizes[name] == 0 and name != "channel"):
            raise UserError(f"dram.mapping: {text!r} names {name!r} {times} times; allowed: once")
    order = [name for name, _ in fields if "column" in name]
    if order not in (["column"], ["column", "low column"]):
        raise UserError(f"dram.mapping: {text!r}: 'column:{low}' comes once, below 'column'")
    widths = {"column": sizes["column"] - low}
    return [("column" if "column" in name else name, widths.get(name, w)) for name, w in fields]


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
