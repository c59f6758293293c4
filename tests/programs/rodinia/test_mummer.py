"""mummer: its suffix tree, its matches, and what its warps do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.programs.rodinia.mummer import Mummer, MummerParameters, make_genome, texel
from gpusim.programs.rodinia.suffix_tree import NOWHERE, ROOT, suffix_tree
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run_backwards, run_forwards

SMALL = MummerParameters(reference=3000, queries=300, query_length=20, min_match=5, matching=0.8)


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=60)
    | st.lists(st.integers(1, 2), min_size=1, max_size=60)
)
def test_every_substring_is_a_path_and_links_drop_a_letter(letters: list[int]) -> None:
    text = np.array([*letters, 0], dtype=np.uint8)
    tree = suffix_tree(text)
    path: dict[int, list[int]] = {ROOT: []}
    order = [ROOT]
    for node in order:
        for letter, child in enumerate(tree.children[node].tolist(), start=1):
            if child == NOWHERE:
                continue
            edge = text[tree.start[child] : tree.end[child] + 1].tolist()
            assert edge[0] == letter
            path[child] = path[node] + edge
            order.append(child)
    assert order == sorted(order), "breadth first, siblings by letter"
    leaves = {tuple(path[node]) for node in path if path[node][-1:] == [0]}
    inner = {tuple(letters_to_it) for letters_to_it in path.values()} - leaves
    suffixes = {(*letters[place:], 0) for place in range(len(letters))}
    assert leaves <= suffixes
    assert {suffix[:-1] for suffix in suffixes - leaves} <= inner, "the child '$' is left out"
    for node, letters_to_it in path.items():
        assert tree.depth[node] == len(letters_to_it)
        if node != ROOT and tuple(letters_to_it) not in leaves:
            assert path[int(tree.suffix[node])] == letters_to_it[1:]
            ends_here = letters[len(letters) - len(letters_to_it) :] == letters_to_it
            assert np.count_nonzero(tree.children[node]) + ends_here >= 2


def longest_match(text: bytes, query: bytes) -> int:
    length = 0
    while length < len(query) and query[: length + 1] in text:
        length += 1
    return length


def test_every_place_of_every_query_has_its_longest_match() -> None:
    program = Mummer(SMALL, 4)
    assert drain(program) == ["mummergpuKernel"]
    text = program.text.tobytes()
    queries = program.queries.data.reshape(300, 22)[:, 1:-1]
    matches = program.matches.data.reshape(300, 16)
    nodes = program.nodes.data[texel(np.arange(len(program.tree.start)))]
    reported = 0
    for query, found in zip(queries, matches, strict=True):
        for place, match in enumerate(found):
            expected = longest_match(text, query[place:].tobytes())
            if expected < 5:
                assert match["node"] == NOWHERE
                continue
            reported += 1
            node, edge = int(match["node"]), int(match["edge_match_length"])
            top = int(nodes["parent"][node]) if edge else node
            assert program.tree.depth[top] + edge == expected
            end = program.tree.start[node] + edge if edge else program.tree.end[node] + 1
            assert text[end - expected : end] == query[place : place + expected].tobytes()
    assert 0.5 < reported / matches.size < 1


def test_the_stated_share_of_queries_matches() -> None:
    program = Mummer(MummerParameters(20_000, 2000, 30, matching=0.7), 1)
    text = program.text.tobytes()
    whole = [row[1:-1].tobytes() in text for row in program.queries.data.reshape(2000, 32)]
    assert np.mean(whole) == pytest.approx(0.7, abs=0.04)


def test_the_genome_has_the_stated_bases_and_repeats() -> None:
    text = make_genome(1_000_000, np.random.default_rng(2))
    share = np.bincount(text[:-1], minlength=5) / 1_000_000
    assert share == pytest.approx([0, 0.325, 0.175, 0.175, 0.325], abs=0.01)
    copied = text[2000:2200].tobytes()
    assert text.tobytes().count(copied) == 3, "the sequence itself, and two copies"


def test_the_order_of_blocks_is_no_matter() -> None:
    assert run_forwards(Mummer(SMALL, 4)) == run_backwards(Mummer(SMALL, 4))


def test_the_walk_of_one_query() -> None:
    program = Mummer(MummerParameters(2000, 1, 21, 20, 1.0), 0)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (1, 256)
    query = program.queries.data[1:-1].tolist()
    tree = program.tree
    expected: list[tuple[str, str | int, list[int]]] = [
        ("COMPUTE", 8, []),
        ("LOAD", "query_lengths", [0]),
        ("LOAD", "query_addresses", [0]),
        ("WAIT", 0, []),
        ("COMPUTE", 18, []),
    ]

    def load(array: str, index: int) -> None:
        expected.extend([("LOAD", array, [index]), ("WAIT", 0, [])])

    def at(node: int) -> int:
        return int(texel(np.array(node)))

    def enter(node: int, letter: int) -> int:
        load("children", at(node))
        expected.append(("COMPUTE", 18, []))
        child = int(tree.children[node, letter - 1])
        load("nodes", at(child))
        expected.append(("COMPUTE", 36, []))
        return child

    node, parent, matched = ROOT, ROOT, 0
    load("queries", 1)
    while matched < 21:
        parent, node = node, enter(node, query[matched])
        matched += 1
        load("queries", 1 + matched)
        for place in range(int(tree.start[node]) + 1, int(tree.end[node]) + 1):
            if matched == 21:
                break
            load("reference", place)
            expected.append(("COMPUTE", 12, []))
            matched += 1
            load("queries", 1 + matched)
    expected += [("COMPUTE", 6, []), ("STORE", "match_coords", [0])]
    load("nodes", at(parent))
    expected.append(("COMPUTE", 12, []))
    operations = warp_operations(kernel, program)
    assert operations[: len(expected)] == expected
    second = operations[len(expected) :]
    assert second[0] == ("COMPUTE", 18, [])
    assert second[1] == ("LOAD", "queries", [1 + int(tree.depth[parent])]), "the rest is known"
    assert ("STORE", "match_coords", [1]) in second
    assert "reference" not in [op[1] for op in second]


def test_texels_are_shuffled_within_tiles_of_2_kib() -> None:
    place = texel(np.arange(1024))
    assert sorted(place.tolist()) == list(range(1024))
    assert (place // 128 == np.arange(1024) // 128).all()
    assert place[[0, 1, 8, 32]].tolist() == [0, 4, 32, 1]


def test_arrays_and_their_element_sizes() -> None:
    program = Mummer(SMALL, 0)
    sizes = {buffer.name: buffer.bytes for buffer in program.buffers}
    assert sizes == {
        "reference": 3001,
        "nodes": 2 << 20,
        "children": 2 << 20,
        "queries": 300 * 22,
        "query_addresses": 1200,
        "query_lengths": 1200,
        "match_coords": 300 * 16 * 8,
    }


def test_lengths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="'query_length' must be at most reference = 50: 100"):
        MummerParameters(reference=50)
    with pytest.raises(ValueError, match="'min_match' must be at most query_length = 10: 20"):
        MummerParameters(query_length=10)
