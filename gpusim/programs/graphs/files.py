"""Graph files: which format a file has, and reading it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpusim.core.errors import UserError
from gpusim.core.untrusted import untrusted
from gpusim.programs.graphs.edge_formats import read_dimacs, read_matrix_market, read_snap
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.graphs.list_formats import read_metis, read_rodinia
from gpusim.programs.graphs.tokens import Lines

_READERS: dict[str, Callable[[Lines, str], Graph]] = {
    "METIS": read_metis,
    "Matrix Market": read_matrix_market,
    "DIMACS": read_dimacs,
    "SNAP": read_snap,
    "Rodinia": read_rodinia,
}
_ENDINGS = {
    ".graph": "METIS",
    ".metis": "METIS",
    ".mtx": "Matrix Market",
    ".gr": "DIMACS",
    ".snap": "SNAP",
    ".el": "SNAP",
    ".edges": "SNAP",
}


def read_graph(path: Path) -> Graph:
    """Read a graph file, plain or gzipped.

    The ending tells the format (``.graph`` or ``.metis``: METIS, ``.mtx``: Matrix Market, ``.gr``:
    DIMACS, ``.snap``, ``.el`` or ``.edges``: SNAP edge list); any other ending, such as ``.txt``,
    leaves it to the content, where METIS is not recognised.

    Raises:
        UserError: the file cannot be read, or is damaged.
    """
    with untrusted(f"graph file {path}"):
        lines = Lines.of(path)
        ending = Path(path.name.removesuffix(".gz")).suffix.lower()
        reader = _READERS[_ENDINGS.get(ending) or _format_of(lines)]
        graph = reader(lines, path.name)
    if not graph.vertices:
        raise UserError(f"graph file {path} has no vertices; at least one is needed")
    return graph


def _format_of(lines: Lines) -> str:
    """The format, by the first line that says something."""
    first = next(line for line in map(lines.line, range(len(lines.start))) if line.strip())
    words = first.split()
    if first.startswith("%%MatrixMarket"):
        return "Matrix Market"
    if words[0] in ("a", "c", "p"):
        return "DIMACS"
    if words[0].startswith("#") or len(words) == 2:
        return "SNAP"
    if len(words) == 1 and words[0].isdigit():
        return "Rodinia"
    raise UserError(
        f"graph file {lines.path} has no format that gpusim knows: its first line is "
        f"{first[:40]!r}; known are {', '.join(_READERS)}"
    )
