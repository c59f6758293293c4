"""Graph files: every format, every kind of damage, and round trips."""

import bz2
import gzip
import itertools
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from gpusim.core.errors import UserError
from gpusim.programs.graphs.files import read_graph
from gpusim.programs.graphs.graph import Graph


def neighbours(graph: Graph) -> list[list[int]]:
    return [graph.col[a:b].tolist() for a, b in zip(graph.row, graph.row[1:], strict=False)]


def read(tmp_path: Path, name: str, text: str) -> Graph:
    path = tmp_path / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return read_graph(path)


METIS = "% a comment\n5 3\n2 3\n1\n% inside\n1 5\n\n3\n"
RODINIA = "3\n0 2\n2 1\n3 0\n\n1\n\n3\n1 5\n2 6\n0 7\n"
MATRIX = "%%MatrixMarket matrix coordinate pattern symmetric\n%c\n4 4 4\n2 1\n3 1\n2 2\n4 3\n"
DIMACS = "c about\np sp 4 3\na 1 2 7\na 2 1 8\na 4 3 9\n"
SNAP = "# Nodes: 3 Edges: 4\n# a\tb\n30\t7\n30\t100\n7\t30\n100\t7\n"


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_metis(tmp_path: Path, packed: str) -> None:
    graph = read(tmp_path, "g.graph" + packed, METIS)
    assert neighbours(graph) == [[1, 2], [0], [0, 4], [], [2]]
    assert (graph.vertices, graph.arcs, graph.weight, graph.source) == (5, 6, None, None)
    assert graph.name == "g.graph" + packed


def test_metis_isolated_vertices_first_last_and_alone(tmp_path: Path) -> None:
    assert neighbours(read(tmp_path, "a.graph", "4 1\n\n3\n2\n\n")) == [[], [2], [1], []]
    assert neighbours(read(tmp_path, "b.graph", "2 0\n\n\n")) == [[], []]
    assert neighbours(read(tmp_path, "c.graph", "2 1\n2\n1")) == [[1], [0]]
    assert neighbours(read(tmp_path, "d.graph", "2 1\r\n2\r\n1\r\n\r\n")) == [[1], [0]]


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("3 2 1\n2 5 3 6\n1 5\n1 6\n", [5, 6, 5, 6]),
        ("3 2 10\n9 2 3\n9 1\n9 1\n", None),
        ("3 2 11\n9 2 5 3 6\n9 1 5\n9 1 6\n", [5, 6, 5, 6]),
        ("3 2 011 2\n9 8 2 5 3 6\n9 8 1 5\n9 8 1 6\n", [5, 6, 5, 6]),
        ("3 2 100\n4 2 3\n4 1\n4 1\n", None),
    ],
)
def test_metis_weights(tmp_path: Path, text: str, weights: list[int] | None) -> None:
    graph = read(tmp_path, "g.graph", text)
    assert neighbours(graph) == [[1, 2], [0], [0]]
    assert weights == (None if graph.weight is None else graph.weight.tolist())


def test_rodinia(tmp_path: Path) -> None:
    graph = read(tmp_path, "graph3.txt", RODINIA)
    assert neighbours(graph) == [[1, 2], [0], []]
    assert graph.source == 1
    assert graph.weight is not None
    assert graph.weight.tolist() == [5, 6, 7]


def test_matrix_market(tmp_path: Path) -> None:
    graph = read(tmp_path, "m.mtx.gz", MATRIX)
    assert neighbours(graph) == [[1, 2], [0], [0, 3], [2]]
    general = MATRIX.replace("symmetric", "general")
    assert neighbours(read(tmp_path, "m.mtx", general)) == [[], [0], [0], [2]]


@pytest.mark.parametrize(("field", "value"), [("integer", -3), ("real", -2.5e-3)])
def test_matrix_market_values(tmp_path: Path, field: str, value: float) -> None:
    text = f"%%MatrixMarket matrix coordinate {field} symmetric\n2 2 1\n2 1 {value}\n"
    graph = read(tmp_path, "anything", text)
    assert neighbours(graph) == [[1], [0]]
    assert graph.weight is not None
    assert graph.weight.tolist() == [value, value]


def test_dimacs_with_and_without_its_p_line(tmp_path: Path) -> None:
    graph = read(tmp_path, "d.gr", DIMACS)
    assert neighbours(graph) == [[1], [0], [], [2]]
    assert graph.weight is not None
    assert graph.weight.tolist() == [7, 8, 9]
    one_based = DIMACS.replace("p sp 4 3\n", "")
    assert neighbours(read(tmp_path, "e.gr.gz", one_based)) == [[1], [0], [], [2]]
    zero_based = "a 0 1 7\na 1 0 8\na 3 2 9\n"
    assert neighbours(read(tmp_path, "by-content", zero_based)) == [[1], [0], [], [2]]


def test_snap_closes_gaps_in_the_numbers(tmp_path: Path) -> None:
    assert neighbours(read(tmp_path, "s.txt.gz", SNAP)) == [[1], [0, 2], [0]]
    assert neighbours(read(tmp_path, "bare.el", "5 9\n9 5\n")) == [[1], [0]]


HEAD = "%%MatrixMarket matrix"

DAMAGES = [
    ("g.graph", "", "is empty"),
    ("g.graph", " \n\n", "is empty"),
    ("g.graph", "% only\n", "only comments"),
    ("g.graph", METIS.removesuffix("3\n"), "line 7: the file ends after the lines of 4"),
    ("g.graph", METIS.removesuffix("\n3\n"), "lines of 3 vertices; line 2 promises 5"),
    ("g.graph", METIS + "1\n", "line 9: a line for vertex 6; line 2 promises 5"),
    ("g.graph", METIS.replace("1 5", "1 6"), "line 6: neighbour is '6'.* from 1 to 5"),
    ("g.graph", METIS.replace("1 5", "0 5"), "line 6: neighbour is '0'"),
    ("g.graph", METIS.replace("1 5", "1 -5"), "line 6: neighbour is '-5'"),
    ("g.graph", METIS.replace("1 5", "1 x5"), "line 6: neighbour is 'x5'"),
    ("g.graph", METIS.replace("1 5", "1 5.0"), "line 6: neighbour is '5.0'"),
    ("g.graph", METIS.replace("1 5", "1 " + "5" * 30), "line 6: neighbour is '555"),
    ("g.graph", METIS.replace("5 3\n", "5 4\n"), "line 2: .*4 edges; the file has 6 arcs"),
    ("g.graph", METIS.replace("5 3\n", "0 0\n"), "line 2: number of vertices is '0'"),
    ("g.graph", METIS.replace("5 3\n", "5\n"), "line 2: the header has 1 numbers"),
    ("g.graph", METIS.replace("5 3\n", "5 3 7\n"), "line 2: fmt is '7'"),
    ("g.graph", METIS.replace("5 3\n", "5 three\n"), "line 2: number of edges is 'three'"),
    ("g.graph", "2 1 1\n2 5 3\n1 5\n", "line 2: vertex 1 has 3 numbers"),
    ("g.graph", "2 1 10 2\n1\n1 1 1\n", "line 2: vertex 1 has 1 numbers; must be 2 of its own"),
    ("g.txt", RODINIA.removesuffix("0 7\n"), "line 10: the file ends here; .*2 numbers more"),
    ("g.txt", RODINIA[:8], "the file ends here"),
    ("g.txt", RODINIA + "4\n", "line 12: '4' after the last of 3 arcs"),
    ("g.txt", RODINIA.replace("2 1\n", "3 1\n", 1), "line 3: vertex 1 starts at 3; must be 2"),
    ("g.txt", RODINIA.replace("\n1\n", "\n3\n"), "line 6: source is '3'"),
    ("g.txt", RODINIA.replace("\n3\n1", "\n4\n1"), "line 8: M is 4; must be 3"),
    ("g.txt", RODINIA.replace("2 6", "3 6"), "line 10: target is '3'"),
    ("m.mtx", MATRIX.replace("pattern", "quaternion"), "line 1: 'quaternion' is not supported"),
    ("m.mtx", MATRIX.replace("%%MatrixMarket", "%%Matrix"), "line 1: must be"),
    ("m.mtx", MATRIX.replace("4 4 4", "4 5 4"), "line 3: 4 rows and 5 columns"),
    ("m.mtx", MATRIX.replace("4 4 4", "4 4"), "line 3: 2 numbers"),
    ("m.mtx", MATRIX.removesuffix("4 3\n"), "line 3: 4 entries promised; the file has 3"),
    ("m.mtx", MATRIX.removesuffix(" 3\n"), "line 7: '4' must be 'row column'"),
    ("m.mtx", MATRIX.replace("2 1", "2 9"), "line 4: column is '9'"),
    ("m.mtx", MATRIX.replace("2 1", "-2 1"), "line 4: row is '-2'"),
    ("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 nan\n", "is 'nan'"),
    ("m.mtx", "%%MatrixMarket matrix coordinate real general\n", "no line 'rows columns"),
    ("d.gr", DIMACS.replace("a 2 1 8", "b 2 1 8"), "line 4: 'b 2 1 8' must begin"),
    ("d.gr", DIMACS.replace("a 2 1 8", "a 2 1"), "line 4: 'a 2 1' must be"),
    ("d.gr", DIMACS.replace("a 2 1 8", "a12 1 8 9"), "line 4: 'a12' must be"),
    ("d.gr", DIMACS.replace("a 2 1 8", "a 2 5 8"), "line 4: vertex is '5'.* from 1 to 4"),
    ("d.gr", DIMACS.replace("a 2 1 8", "a 2 0 8"), "line 4: vertex is '0'"),
    ("d.gr", DIMACS.replace("a 2 1 8", "a 2 1 -8"), "line 4: weight is '-8'"),
    ("d.gr", DIMACS.removesuffix("a 4 3 9\n"), "line 2: 3 arcs promised; the file has 2"),
    ("d.gr", DIMACS.replace("p sp 4 3", "p sp 4"), "line 2: 'p sp 4'"),
    ("d.gr", DIMACS.replace("p sp 4 3", "p sp 0 0"), "vertex is '1'"),
    ("d.gr", "c nothing\n", "has no arcs"),
    ("d.gr", "p sp 0 0\n", "has no vertices"),
    ("s.txt", SNAP.removesuffix("100\t7\n"), "line 1: 3 nodes and 4 edges promised; .* 3 and 3"),
    ("s.txt", SNAP.removesuffix("\t7\n"), "line 6: '100' must be 'from to'"),
    ("s.txt", SNAP.replace("30\t100", "30\t1OO"), "line 4: vertex is '1OO'"),
    ("s.txt", SNAP.replace("30\t100", "-30\t100"), "line 4: vertex is '-30'"),
    ("s.txt", "# nothing\n", "has no arcs"),
    ("what", "lorem ipsum dolor\n", "no format that gpusim knows"),
    ("m.mtx", f"{HEAD} array pattern general\n2 2\n", "line 1: an array of the field 'pattern'"),
    ("m.mtx", f"{HEAD} array real general\n2 2\n1\n2\n", "line 2: 4 values promised; .* has 2"),
    ("m.mtx", f"{HEAD} array real general\n2000000000 2000000000\n1\n", "values promised"),
    ("m.mtx", f"{HEAD} coordinate complex general\n2 2 1\n1 2 1.0\n", "line 3: '1 2 1.0' must be"),
    ("m.mtx", f"{HEAD} coordinate pattern lower\n2 2 0\n", "'lower' is not supported"),
    ("g.col", "c x\np edge 3 3\ne 1 2\ne 2 4\ne 3 1\n", "line 4: vertex is '4'.* from 1 to 3"),
    ("g.col", "p edge 3 7\ne 1 2\n", "line 1: 7 edges promised; the file has 1"),
    ("g.col", "p edge 3 1\na 1 2\n", "line 2: 'a 1 2' must begin with"),
    ("g.col", "e 1 2\n", "has no line 'p edge"),
    ("g.wel", "0 1 3\n1 2\n", "line 2: '1 2' must be 'from to weight'"),
    ("g.wel", "0 1 3\n1 2 x\n", "line 2: weight is 'x'"),
    ("g.csv", "id,name\n1,2\n", "line 1: names of columns without source and target"),
    ("g.csv", "1,2\n2,three\n", "line 2: vertex is 'three'"),
    ("g.edges", "% c\n1 2 3 4 5\n", "line 2: '1 2 3 4 5' must be 'from to"),
]


@pytest.mark.parametrize(("name", "text", "message"), DAMAGES)
def test_damaged_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path, name, text)
    assert str(tmp_path / name) in str(error.value)


def test_damaged_gzip_files_and_missing_ones(tmp_path: Path) -> None:
    path = tmp_path / "g.graph.gz"
    packed = gzip.compress(METIS.encode() * 50)
    for damaged in (packed[:-20], packed[:30], packed[:40] + b"\0\0\0\0" + packed[44:]):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"g\.graph\.gz is truncated or damaged"):
            read_graph(path)
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(UserError, match="is empty"):
        read_graph(path)
    with pytest.raises(UserError, match=r"cannot read graph file .*none: there is no such file"):
        read_graph(tmp_path / "none")


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "g.graph"
    path.write_bytes(b"2 1\n2\n\xff\xfe1\n")
    with pytest.raises(UserError, match="line 3: neighbour is"):
        read_graph(path)


RING = [[1], [2], [0]]
BOTH = [[1, 2], [2, 0], [0, 1]]
PATH = [[1], [0, 2], [1, 3], [2]]


@pytest.mark.parametrize(
    ("name", "text", "expected", "weights"),
    [
        (
            "a.mtx",
            f"{HEAD} coordinate complex general\n3 3 3\n1 2 1 .5\n2 3 2 0\n3 1 1 0\n",
            RING,
            None,
        ),
        (
            "b.mtx",
            f"{HEAD} coordinate double general\n3 3 3\n1 2 4\n2 3 5\n3 1 6\n",
            RING,
            [4, 5, 6],
        ),
        (
            "c.mtx",
            f"{HEAD.upper()} Coordinate unsigned-integer general\n%\n\n3 3 3\n1 2 4\n2 3 5\n3 1 6",
            RING,
            [4, 5, 6],
        ),
        (
            "d.mtx",
            f"{HEAD} coordinate complex hermitian\n4 4 4\n1 1 2 0\n2 1 1 -1\n3 2 1 1\n4 3 1 2\n",
            PATH,
            None,
        ),
        (
            "e.mtx",
            f"{HEAD} coordinate real skew-symmetric\n4 4 3\n2 1 1.5\n3 2 -2.5\n4 3 1\n",
            PATH,
            [-1.5, 1.5, 2.5, -2.5, -1, 1],
        ),
        ("f.mtx", f"{HEAD} array real general\n3 3\n9 0 7\n8 9 0\n0 6 9\n", RING, [8, 6, 7]),
        (
            "g.mtx",
            f"{HEAD} array integer symmetric\n3 3\n1\n2\n0\n1\n3\n1\n",
            [[1], [0, 2], [1]],
            [2, 2, 3, 3],
        ),
        ("h.mtx", f"{HEAD} array complex skew-symmetric\n2 2\n0 1\n", [[1], [0]], None),
        ("konect.txt", "% sym unweighted\n% 3 3 3\n1 2\n2 3\n3 1\n", BOTH, None),
        (
            "out.konect",
            "% asym positive\n1 2 3 1082040961\n2 3 1 1082040962\n3 1 2 1082040963\n",
            RING,
            [3, 1, 2],
        ),
        ("out.konect", "% bip unweighted\n1 1\n1 2\n2 1\n", [[2, 3], [2], [0, 1], [0]], None),
        ("t.txt", "1 2 1082040961\n2 3 1082155839\n3 1 1082414391\n", RING, None),
        ("w.wel", "0 1 3\n1 2 4\n2 0 5\n", RING, [3, 4, 5]),
        ("n.edges", "% comment\n1 2\n2 3\n3 1\n", RING, None),
        ("n.edges", "1 2 0.5\r\n2 3 0.25\r\n\r\n3 1 1\r\n", RING, [0.5, 0.25, 1]),
        ("n.edges", f"{HEAD} coordinate pattern general\n3 3 3\n1 2\n2 3\n3 1\n", RING, None),
        ("g.csv", "1,2\n2,3\n3,1\n", RING, None),
        ("any", "\ufeffSource;Target;Weight\n1;2;7\n2;3;8\n3;1;9\n", RING, [7, 8, 9]),
        ("g.csv", '"weight","to","from"\n7,2,1\n8,3,2\n9,1,3\n', RING, [7, 8, 9]),
        ("g.csv", "id,source,target\n0,1,2\n1,2,3\n2,3,1\n", RING, None),
        ("g.csv", "node,target\n1,2\n2,3\n3,1\n", RING, None),
        ("g.tsv", "# c\nfrom\tto\ttime\n1\t2\t5\n2\t3\t5\n3\t1\t5\n", RING, None),
        ("g.col", "c colouring\np edge 3 3\ne 1 2\ne 2 3\ne 3 1\n", BOTH, None),
        (
            "any",
            "c x\np col 3 6\nn 1 4\ne 1 2\ne 2 1\ne 2 3\ne 3 2\ne 3 1\ne 1 3\n",
            [[1, 2], [0, 2], [1, 0]],
            None,
        ),
        ("s.txt", "# Undirected graph: g.txt\n# Nodes: 3 Edges: 3\n1\t2\n2\t3\n3\t1\n", BOTH, None),
        ("s.txt", "# Undirected graph\n1 2\n2 1\n2 3\n", [[1], [0, 2], [1]], None),
        ("s.txt", "# Directed graph: g.txt\n1\t2\n2\t3\n3\t1\n", RING, None),
    ],
)
def test_formats(
    tmp_path: Path, name: str, text: str, expected: list[list[int]], weights: list[float] | None
) -> None:
    graph = read(tmp_path, name, text)
    assert neighbours(graph) == expected
    assert (None if graph.weight is None else graph.weight.tolist()) == weights


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        ("gz", gzip.compress),
        ("xz", lzma.compress),
        ("bz2", bz2.compress),
        ("zst", ZstdCompressor().compress),
    ],
)
def test_compressed_files(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    for name in (f"w.wel.{suffix}", "w.txt"):
        path = tmp_path / name
        path.write_bytes(pack(b"0 1 3\n1 2 4\n2 0 5\n"))
        assert neighbours(read_graph(path)) == RING
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(UserError, match=r"truncated or damaged|cannot read graph file"):
        read_graph(path)


def test_a_matrix_of_scipy(tmp_path: Path) -> None:
    matrix = scipy.sparse.random(20, 20, 0.2, random_state=1, format="coo")
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix)
    graph = read_graph(tmp_path / "m.mtx")
    rows = matrix.tocsr()
    assert [sorted(one) for one in neighbours(graph)] == [
        sorted(rows.indices[a:b].tolist()) for a, b in itertools.pairwise(rows.indptr)
    ]
    assert graph.weight is not None
    assert sorted(graph.weight.tolist()) == pytest.approx(sorted(matrix.data.tolist()))


@st.composite
def adjacency(draw: st.DrawFn) -> list[list[int]]:
    """A simple undirected graph as sorted neighbour lists."""
    vertices = draw(st.integers(1, 25))
    vertex = st.integers(0, vertices - 1)
    pairs = draw(st.sets(st.tuples(vertex, vertex).filter(lambda p: p[0] < p[1]), max_size=60))
    lists: list[list[int]] = [[] for _ in range(vertices)]
    for one, other in pairs:
        lists[one].append(other)
        lists[other].append(one)
    return [sorted(found) for found in lists]


def as_metis(lists: list[list[int]]) -> str:
    edges = sum(map(len, lists)) // 2
    lines = [" ".join(str(v + 1) for v in found) for found in lists]
    return "\n".join([f"{len(lists)} {edges}", *lines]) + "\n"


def as_matrix(lists: list[list[int]]) -> str:
    entries = [f"{u + 1} {v + 1}" for u, found in enumerate(lists) for v in found if v < u]
    head = "%%MatrixMarket matrix coordinate pattern symmetric"
    return "\n".join([head, f"{len(lists)} {len(lists)} {len(entries)}", *entries]) + "\n"


def as_dimacs(lists: list[list[int]]) -> str:
    arcs = [f"a {u + 1} {v + 1} 1" for u, found in enumerate(lists) for v in found]
    return "\n".join([f"p sp {len(lists)} {len(arcs)}", *arcs]) + "\n"


def as_rodinia(lists: list[list[int]]) -> str:
    starts = np.cumsum([0, *map(len, lists)])
    nodes = [f"{start} {len(found)}" for start, found in zip(starts, lists, strict=False)]
    arcs = [f"{v} 1" for found in lists for v in found]
    return "\n".join([str(len(lists)), *nodes, "", "0", "", str(starts[-1]), *arcs]) + "\n"


@given(adjacency(), st.booleans())
def test_round_trips(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[int]], packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("graphs")
    ending = ".gz" if packed else ""
    writers = {".graph": as_metis, ".mtx": as_matrix, ".gr": as_dimacs, ".txt": as_rodinia}
    for name, write in writers.items():
        graph = read(folder, "g" + name + ending, write(lists))
        assert [sorted(found) for found in neighbours(graph)] == lists, name
        assert graph.col.dtype == graph.row.dtype == np.int32
        assert not graph.col.flags.writeable


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1))
def test_snap_round_trip(
    tmp_path_factory: pytest.TempPathFactory, arcs: list[tuple[int, int]]
) -> None:
    text = "".join(f"{a}\t{b}\n" for a, b in arcs)
    graph = read(tmp_path_factory.mktemp("graphs"), "g.el", text)
    order = sorted({v for arc in arcs for v in arc})
    expected: list[list[int]] = [[] for _ in order]
    for a, b in arcs:
        expected[order.index(a)].append(order.index(b))
    assert neighbours(graph) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.graph", "3 2\n2\n3\n1 2\n", "line 2: vertex 1 has the neighbour 2, which does not"),
        (
            "g.mtx",
            "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n3 1\n1 2\n2 1\n",
            r"line 4: \(1, 2\) and \(2, 1\) are both there",
        ),
        ("g.txt", "1 2\n\0", "is no text: it has bytes of 0, as archives"),
    ],
)
def test_what_contradicts_itself(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(tmp_path, name, text)


@pytest.mark.parametrize("names", ["id_1,id_2", "node_1,node_2", "v1,v2", '"Node2","Node1"'])
def test_columns_that_differ_in_their_numbers(tmp_path: Path, names: str) -> None:
    graph = read(tmp_path, "g.csv", f"{names}\n5,7\n")
    assert neighbours(graph) == ([[], [0]] if "Node2" in names else [[1], []])
