"""Graph files: which format a file has, and reading it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from gpusim.core.errors import UserError
from gpusim.core.untrusted import untrusted
from gpusim.programs.graphs.dimacs import read_colouring, read_dimacs
from gpusim.programs.graphs.edge_list import read_edge_list
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.graphs.list_formats import read_metis, read_rodinia
from gpusim.programs.graphs.matrix_market import read_matrix_market
from gpusim.programs.graphs.tokens import Lines

_READERS: dict[str, Callable[[Lines, str], Graph]] = {
    "METIS": read_metis,
    "Matrix Market": read_matrix_market,
    "DIMACS": read_dimacs,
    "DIMACS colouring": read_colouring,
    "edge list": read_edge_list,
    "Rodinia": read_rodinia,
}
_ENDINGS = {
    ".graph": "METIS",
    ".metis": "METIS",
    ".mtx": "Matrix Market",
    ".gr": "DIMACS",
    ".col": "DIMACS colouring",
    ".snap": "edge list",
    ".el": "edge list",
    ".wel": "edge list",
    ".edges": "edge list",
    ".csv": "edge list",
    ".tsv": "edge list",
}
_PACKED = (".gz", ".xz", ".zst", ".bz2")


def read_graph(path: Path) -> Graph:
    """Read a graph file, plain or compressed.

    The ending tells the format (``.graph`` or ``.metis``: METIS, ``.mtx``: Matrix Market, ``.gr``:
    DIMACS, ``.col``: DIMACS colouring, ``.snap``, ``.el``, ``.wel``, ``.edges``, ``.csv`` or
    ``.tsv``: edge list); any other ending, such as ``.txt``, leaves it to the content, where METIS
    is not recognised.

    Raises:
        UserError: the file cannot be read, or is damaged.
    """
    with untrusted(f"graph file {path}"):
        lines = Lines.of(path)
        named = path.with_suffix("") if path.suffix.lower() in _PACKED else path
        reader = _READERS[_named(lines, named.suffix.lower()) or _format_of(lines)]
        graph = reader(lines, path.name)
    if not graph.vertices:
        raise UserError(f"graph file {path} has no vertices; at least one is needed")
    return graph


def _named(lines: Lines, ending: str) -> str | None:
    """The format that an ending tells, unless the first line says otherwise."""
    by_ending = _ENDINGS.get(ending)
    matrix = lines.line(0).lower().startswith("%%matrixmarket")
    return "Matrix Market" if by_ending == "edge list" and matrix else by_ending


def _format_of(lines: Lines) -> str:
    """The format, by the first line that says something."""
    first = next(line for line in map(lines.line, range(len(lines.start))) if line.strip())
    words = first.split()
    if first.lower().startswith("%%matrixmarket"):
        return "Matrix Market"
    if words[0] in ("a", "c", "p", "e"):
        return "DIMACS colouring" if _colours(lines) else "DIMACS"
    if words[0][0] in "#%/" or re.fullmatch(r"\d+([\s,;|]+[-+.\deE]+){1,3}\s*", first):
        return "edge list"
    if len(words) == 1 and words[0].isdigit():
        return "Rodinia"
    if re.fullmatch(r'"?[A-Za-z_ ]+"?([,;\t]"?[A-Za-z_ ]+"?)+\s*', first):
        return "edge list"
    raise UserError(
        f"graph file {lines.path} has no format that gpusim knows: its first line is "
        f"{first[:40]!r}; known are {', '.join(_READERS)}"
    )


def _colours(lines: Lines) -> bool:
    """Whether the first line of a DIMACS file that is no comment is one of a colouring."""
    for line in map(lines.line, range(len(lines.start))):
        words = line.split()
        if words and words[0] != "c":
            return words[0] == "e" or words[:2] in (["p", "edge"], ["p", "col"], ["p", "edges"])
    return False
