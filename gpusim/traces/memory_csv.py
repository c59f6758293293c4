"""Memory traces as CSV: a row an access, columns by their names, or by what they hold."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.traces.memory_lines import says_something
from gpusim.traces.text import Line
from gpusim.traces.thread_records import ThreadRecords
from gpusim.traces.unread import COLUMNS, Unread

_ADDRESSES = (
    "addr address vaddr va vaddress virtualaddress virtaddr paddr pa physicaladdress memaddr "
    "memaddress byteaddress addresshex"
)
_WRITES = "iswrite write iswr isstore store wr"
_READS = "isread isload read load"
_KINDS = "rw type op kind access accesstype operation cmd command request"
_SIZES = "bytes size width len length accesssize"
_WARPS = "warp warpid wavefront wave thread threadid tid core coreid cpu"
_KNOWN = {
    name: what
    for names, what in (
        (_ADDRESSES, "address"),
        (_WRITES, "store"),
        (_READS, "load"),
        (_KINDS, "kind"),
        (_SIZES, "size"),
        (_WARPS, "warp"),
    )
    for name in names.split()
}
"""What a column is, by its name in small letters and without other signs."""

_STORES = frozenset({"1", "w", "wr", "write", "s", "st", "store", "true", "yes", "p_mem_wr"})
_LOADS = frozenset({"0", "r", "rd", "read", "l", "ld", "load", "false", "no", "p_mem_rd"})
_HEX = re.compile(r"[0-9a-fA-F]+")
_DEFAULT_BYTES = 4


@frozen
class CsvLayout:
    """Where things stand in a row.

    Attributes:
        places: of address, store, load, kind, size and warp, as far as they are there.
        delimiter: between columns.
        header: whether the first row has their names.
        width: columns of the first row.
        says_hex: whether the name of the addresses says that they are hex.
        others: names of columns that are not read.
    """

    places: dict[str, int]
    delimiter: str
    header: bool
    width: int
    says_hex: bool = False
    others: tuple[str, ...] = ()


def csv_layout(lines: Iterable[str]) -> CsvLayout | None:
    """The layout of a file by its first lines; None: it is no CSV with addresses."""
    filled = [line for line in lines if says_something(line)][:64]
    if not filled:
        return None
    delimiter = next((one for one in ",;\t" if one in filled[0]), ",")
    rows = [[cell.strip() for cell in row] for row in csv.reader(filled, delimiter=delimiter)]
    names = [re.sub(r"[^a-z]", "", cell.lower()) for cell in rows[0]]
    if any(_KNOWN.get(name) == "address" for name in names):
        places: dict[str, int] = {}
        for place, name in enumerate(names):
            if name in _KNOWN:
                places.setdefault(_KNOWN[name], place)
        others = tuple(
            cell for place, cell in enumerate(rows[0]) if place not in places.values() and cell
        )
        says_hex = names[places["address"]].endswith("hex")
        return CsvLayout(places, delimiter, True, len(names), says_hex, others)
    return _by_content(rows, delimiter)


def _by_content(rows: Sequence[Sequence[str]], delimiter: str) -> CsvLayout | None:
    """A file without names: an address, and perhaps a kind."""
    width = len(rows[0])
    if width > 2 or any(len(row) != width for row in rows):
        return None
    columns = [[row[place].lower() for row in rows] for place in range(width)]
    kinds = [all(cell in _STORES | _LOADS for cell in column) for column in columns]
    numbers = [
        all(_HEX.fullmatch(cell.removeprefix("0x")) for cell in column) for column in columns
    ]
    if width == 1:
        return CsvLayout({"address": 0}, delimiter, False, 1) if numbers[0] else None
    for address, kind in ((0, 1), (1, 0)):
        if numbers[address] and kinds[kind]:
            return CsvLayout({"address": address, "kind": kind}, delimiter, False, 2)
    return None


def read_csv(
    path: object, layout: CsvLayout, lines: Iterable[Line], unread: Unread
) -> tuple[ThreadRecords, bool]:
    """All accesses of a file, and whether its addresses are hex without a 0x.

    Args:
        path: of the file, for messages.
        layout: of its rows.
        lines: its numbered lines.
        unread: counts columns that are not read.

    Raises:
        UserError: a row is wrong; names file and line.
    """
    for name in layout.others:
        unread.note(COLUMNS, name)
    rows = list(_rows(layout, lines))
    if layout.header and rows:
        rows.pop(0)
    place = layout.places["address"]
    cells = [row[place].lower() for _, row in rows if len(row) > place]
    base = 16 if layout.says_hex or any(map(_is_bare_hex, cells)) else 10
    prefixed = any(cell.startswith("0x") for cell in cells)
    records = ThreadRecords()
    for number, row in rows:
        try:
            _check_width(layout, row)
            if prefixed:
                _check_prefix(row[place])
            _add(records, layout.places, row, base)
        except ValueError as error:
            raise UserError(f"{path}:{number}: {','.join(row)[:80]!r}: {error}") from error
    return records, base == 16 and not prefixed


def _rows(layout: CsvLayout, lines: Iterable[Line]) -> Iterator[tuple[int, list[str]]]:
    for number, text in lines:
        if says_something(text):
            (row,) = csv.reader(io.StringIO(text), delimiter=layout.delimiter)
            yield number, [cell.strip() for cell in row]


def _check_width(layout: CsvLayout, row: Sequence[str]) -> None:
    """Refuse a row with fewer or more columns than the first; empty ones at its end are none."""
    if len(row) < layout.width or any(row[layout.width :]):
        raise ValueError(f"{len(row)} columns; the first row has {layout.width}")


def _check_prefix(cell: str) -> None:
    """Refuse an address without the 0x that others have, unless it is 0."""
    if not cell.lower().startswith("0x") and cell != "0":
        raise ValueError(f"address {cell!r} is without the 0x that others have")


def _is_bare_hex(cell: str) -> bool:
    """Whether digits, in small letters, are hex without saying so."""
    return not cell.startswith("0x") and bool(re.search("[a-f]", cell))


def _add(records: ThreadRecords, places: dict[str, int], row: Sequence[str], base: int) -> None:
    address = _number("address", row[places["address"]], base)
    size = _number("size", row[places["size"]], 10) if "size" in places else _DEFAULT_BYTES
    warp = _number("warp", row[places["warp"]], 10) if "warp" in places else 0
    records.access(address, size, _stores(places, row), warp)


def _stores(places: dict[str, int], row: Sequence[str]) -> bool:
    """Whether an access is a store, by the columns that say so.

    Raises:
        ValueError: one of them says something else, or two contradict each other.
    """
    said = {
        what: _says_yes(row[places[what]]) for what in ("store", "kind", "load") if what in places
    }
    stores = {yes == (what != "load") for what, yes in said.items()}
    if len(stores) > 1:
        raise ValueError(f"columns {' and '.join(said)} contradict each other")
    return True in stores


def _says_yes(cell: str) -> bool:
    """Whether a cell is of a store, or says yes."""
    word = cell.lower()
    if word not in _STORES and word not in _LOADS:
        raise ValueError(f"kind {cell!r}; allowed: 0, 1, R, W, read, write, load, store")
    return word in _STORES


def _number(what: str, cell: str, base: int) -> int:
    try:
        return int(cell, 16) if cell.lower().startswith("0x") else int(cell, base)
    except ValueError as error:
        raise ValueError(f"{what} {cell!r}: must be a whole number") from error
