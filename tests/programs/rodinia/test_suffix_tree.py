"""mummer's genome, its suffix tree, and the texture in which it lies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.programs.rodinia.mummer import make_genome, texel
from gpusim.programs.rodinia.suffix_tree import NOWHERE, ROOT, suffix_tree


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


def test_the_genome_has_the_stated_bases_and_repeats() -> None:
    text = make_genome(1_000_000, np.random.default_rng(2))
    share = np.bincount(text[:-1], minlength=5) / 1_000_000
    assert share == pytest.approx([0, 0.325, 0.175, 0.175, 0.325], abs=0.01)
    copied = text[2000:2200].tobytes()
    assert text.tobytes().count(copied) == 3, "the sequence itself, and two copies"


def test_texels_are_shuffled_within_tiles_of_2_kib() -> None:
    place = texel(np.arange(1024))
    assert sorted(place.tolist()) == list(range(1024))
    assert (place // 128 == np.arange(1024) // 128).all()
    assert place[[0, 1, 8, 32]].tolist() == [0, 4, 32, 1]
