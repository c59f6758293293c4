"""Graphs as sparse or dense matrices: Matrix Market."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.programs.graphs.arc_lines import check_lonely, per_line
from gpusim.programs.graphs.graph import MOST_ARCS, Graph, Weights, graph_from_arcs
from gpusim.programs.graphs.tokens import Lines, Tokens

_FORMATS = ("coordinate", "array")
_VALUES = {"pattern": 0, "integer": 1, "unsigned-integer": 1, "real": 1, "double": 1, "complex": 2}
"""Numbers of a value, by the field of the header."""

_INTEGERS = frozenset({"integer", "unsigned-integer"})
_MIRRORED = {"symmetric": 1, "hermitian": 1, "skew-symmetric": -1}
"""Symmetries that leave out half of the matrix, and the sign of a weight in the other half."""

_SYMMETRIES = ("general", *_MIRRORED)


def read_matrix_market(lines: Lines, name: str) -> Graph:
    """Matrix Market: square matrices, ``coordinate`` or ``array``, of any field and symmetry.

    An entry (i, j) is an arc from i to j, and one back unless the matrix is general; entries on the
    diagonal are left out, and those of an array that are 0.  Complex values are no weights: the
    structure alone is read.

    Raises:
        UserError: the file is damaged, or of another kind.
    """
    form, field, symmetry = _header(lines)
    lines.blank(np.flatnonzero(lines.first_bytes() == ord("%")))
    tokens = Tokens.of(lines)
    sizes = tokens[tokens.line == tokens.line[0]] if len(tokens) else tokens
    size_line = "rows columns entries" if form == "coordinate" else "rows columns"
    if not len(tokens):
        raise UserError(f"graph file {lines.path} has no line {size_line!r}")
    if len(sizes) != len(size_line.split()):
        raise sizes.fail(0, f"{len(sizes)} numbers; must be {size_line!r}")
    rows, columns, *entries = sizes.integers("size", 0, MOST_ARCS).tolist()
    if rows != columns:
        raise sizes.fail(0, f"{rows} rows and {columns} columns; a graph's matrix is square")
    tokens = tokens[len(sizes) :]
    if form == "array":
        one, other, weight = _array(tokens, sizes, rows, field, symmetry)
    else:
        one, other, weight = _coordinates(tokens, sizes, field, rows, entries[0])
        if symmetry in _MIRRORED:
            _check_halves(tokens, one, other, rows)
    keep = one != other
    one, other = one[keep], other[keep]
    weight = None if weight is None else weight[keep]
    if symmetry in _MIRRORED:
        one, other = np.concatenate((one, other)), np.concatenate((other, one))
        sign = _MIRRORED[symmetry]
        weight = None if weight is None else np.concatenate((weight, sign * weight))
    check_lonely(lines, rows, len(one))
    return graph_from_arcs(name, rows, one, other, weight)


def _header(lines: Lines) -> tuple[str, str, str]:
    """Format, field and symmetry."""
    words = lines.line(0).split()
    if len(words) != 5 or words[0].lower() != "%%matrixmarket":
        raise lines.fail(0, "must be '%%MatrixMarket matrix FORMAT FIELD SYMMETRY'")
    named = [word.lower() for word in words[1:]]
    for word, allowed in zip(named, (("matrix",), _FORMATS, _VALUES, _SYMMETRIES), strict=True):
        if word not in allowed:
            raise lines.fail(0, f"{word!r} is not supported; allowed: {', '.join(allowed)}")
    _, form, field, symmetry = named
    if form == "array" and field == "pattern":
        raise lines.fail(0, "an array of the field 'pattern' has no values; it cannot be")
    return form, field, symmetry


def _weights(tokens: Tokens, field: str) -> Weights | None:
    """The values of all entries, if they are weights."""
    if field in _INTEGERS:
        return tokens.integers("value", -MOST_ARCS, MOST_ARCS)
    values = tokens.numbers("value") if field != "pattern" else None
    return None if field == "complex" else values


def _coordinates(
    tokens: Tokens, sizes: Tokens, field: str, rows: int, entries: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Weights | None]:
    """Row, column and weight of each entry."""
    words = 2 + _VALUES[field]
    tokens = per_line(tokens, words, "row column" + " value" * _VALUES[field])
    if len(tokens) != entries * words:
        raise sizes.fail(2, f"{entries} entries promised; the file has {len(tokens) // words}")
    one = tokens[::words].integers("row", 1, rows) - 1
    other = tokens[1::words].integers("column", 1, rows) - 1
    values = tokens[np.arange(len(tokens)) % words > 1]
    return one, other, _weights(values, field)


def _check_halves(
    tokens: Tokens, one: NDArray[np.int64], other: NDArray[np.int64], rows: int
) -> None:
    """Refuse a matrix that leaves out half of its entries, and has both of a pair."""
    above = np.flatnonzero(one < other)
    twice = np.isin(one[above] * rows + other[above], other * rows + one)
    if twice.any():
        which = int(above[np.argmax(twice)])
        row, column = int(one[which]) + 1, int(other[which]) + 1
        raise tokens.fail(
            which * (len(tokens) // len(one)),
            f"({row}, {column}) and ({column}, {row}) are both there; of a matrix that is not "
            "general one stands for both",
        )


def _array(
    tokens: Tokens, sizes: Tokens, rows: int, field: str, symmetry: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], Weights | None]:
    """Row, column and weight of the entries that are not 0; columns stand one after the other."""
    words = _VALUES[field]
    kept = {"general": rows * rows, "skew-symmetric": rows * (rows - 1) // 2}
    count = kept.get(symmetry, rows * (rows + 1) // 2)
    if len(tokens) != words * count:
        raise sizes.fail(0, f"{count} values promised; the file has {len(tokens) / words:g}")
    first = {"general": -rows, "skew-symmetric": 1}.get(symmetry, 0)
    column, row = np.nonzero(np.arange(rows) - np.arange(rows)[:, None] >= first)
    nonzero = (tokens.numbers("value").reshape(-1, words) != 0).any(axis=1)
    weight = _weights(tokens, field)
    return row[nonzero], column[nonzero], None if weight is None else weight[nonzero]
