"""Cheap cases of `experiments.fuzz`; ten thousands of others: ``python -m experiments.fuzz``."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from experiments.fuzz.cases import HANG, READ, REFUSED, TRACEBACK, WEIGHTS, run_case
from experiments.fuzz.corpus import KINDS, corpus
from experiments.fuzz.readers import READERS
from tests.quick import quick

SEED = 23
CHEAP = (
    "events",
    "graph",
    "traceg",
    "kernelslist",
    "nvbit",
    "memory trace",
    "claims",
    "folder",
    "sweep",
)


def test_every_kind_of_file_has_a_reader_and_a_weight():
    assert set(KINDS) == set(READERS) == set(WEIGHTS)
    assert set(CHEAP) < set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_good_files_are_read(kind: str, tmp_path: Path):
    for name, data in corpus(kind):
        path = tmp_path / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        READERS[kind](Random(1), path)


@pytest.mark.parametrize("cases", quick([500, 2_000], 500))
def test_no_mutated_file_gives_a_traceback(tmp_path: Path, cases: int):
    found = [run_case(SEED, number, tmp_path / "case", CHEAP) for number in range(cases)]
    bad = [one for one in found if one.what in {TRACEBACK, HANG}]
    assert not bad, bad[0].detail
    counts = Counter(one.what for one in found)
    assert counts[READ] > cases / 20, "mutations leave some files good"
    assert counts[REFUSED] > cases / 2, "and damage most"


@pytest.mark.long
def test_no_mutated_model_result_or_table_gives_a_traceback(tmp_path: Path):
    dear = tuple(kind for kind in KINDS if kind not in CHEAP)
    found = [run_case(SEED, number, tmp_path / "case", dear) for number in range(100)]
    bad = [one for one in found if one.what in {TRACEBACK, HANG}]
    assert not bad, bad[0].detail


def test_a_case_is_the_same_again(tmp_path: Path):
    one, other = (run_case(SEED, 7, tmp_path / name, ("traceg",)) for name in "ab")
    assert (one.name, one.what) == (other.name, other.what)
