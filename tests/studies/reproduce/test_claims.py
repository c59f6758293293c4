"""The claims as data: the shipped ones are whole, wrong ones are refused; what ids mean."""

import re

import pytest

from gpusim.core.errors import UserError
from gpusim.studies.reproduce.catalog import choose, figures_of, means
from gpusim.studies.reproduce.claims import papers, read_claims
from gpusim.studies.reproduce.programs import programs_of
from gpusim.workloads.library import find_workload, read_paper
from gpusim.workloads.sizes import size_of

PAPERS = papers()
NAMES = [paper.name for paper in PAPERS]
OTHER_GPUS = {("mask.table4", "fermi"), ("mask.table4", "integrated")}


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_each_claim_is_measured_once_or_says_why_not(paper):
    measured = [claim for figure in figures_of(paper) for claim in paper.claims_of(figure.id)]
    assert len(measured) == len(set(measured))
    assert set(measured) == {claim for claim in paper.claim if not claim.reason}


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_figures_and_their_machines(paper):
    assert read_paper(paper.programs).model == paper.model
    for figure in figures_of(paper):
        assert figure.id.startswith(f"{paper.paper}.")
        for sweep in figure.sweeps:
            assert set(sweep.models) == {paper.model} or (figure.id, *sweep.models) in OTHER_GPUS


def test_how_many():
    claims = {paper.name: len(paper.claim) for paper in PAPERS}
    assert claims["orchestrated"] == 30
    assert claims["compression"] == 19
    assert claims["mask"] == 42
    assert claims["star"] == 45
    heads = [claim.id for paper in PAPERS for claim in paper.claim if claim.headline]
    assert {"orch.fig11.full", "orch.fig12.plus_compression", "comp.abs.avg_gain"} <= set(heads)


def test_programs_are_short():
    """A design takes minutes; ORCH's graphs have 74 arcs a vertex and four waves of blocks."""
    for paper, most in (("orchestrated", 12_000_000), ("compression", 1_200_000)):
        for name in programs_of(paper).values():
            assert size_of(find_workload(name), "quick").transactions < most, name


def test_parameters_are_studied_on_irregular_programs():
    (comp,) = (paper for paper in PAPERS if paper.paper == "comp")
    (studied,) = (figure for figure in figures_of(comp) if figure.id == "comp.design.frames")
    (everything,) = (figure for figure in figures_of(comp) if figure.id == "comp.abs")
    assert len(everything.sweeps[0].workloads) == 22
    assert set(studied.sweeps[0].workloads) < set(programs_of("compression", "irregular").values())


GOOD = """
paper = "mine"
title = "t"
model = "kepler-uvm"
programs = "orchestrated"
intro = ""
[[claim]]
id = "mine.one"
role = "outcome"
where = "w"
statement = "s"
direction = "higher"
measured = "m"
"""


def choice(one: str, other: str, taken: str = "false", grade: str = "B", key: str = "x") -> str:
    """In front of the claims, a choice with two readings, the first of which is taken."""
    return f"""
[[choice]]
name = "c"
about = "a"
reading = [
    {{name = "{one}", set = {{x = 1}}, source = "s", grade = "A", taken = true}},
    {{name = "{other}", set = {{{key} = 2}}, source = "s", grade = "{grade}", taken = {taken}}},
]
[[claim]]"""


def bound(values: str, most: str) -> str:
    """In place of what is measured, with values and their bounds."""
    return f'values = {values}\nbound = {most}\nderivation = "d"\nmeasured = "m"'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"mine.one"', '"other.one"', r"must begin with 'mine\.'"),
        ('"outcome"', '"outcomes"', "role: 'outcomes'; did you mean 'outcome'"),
        ('"higher"', '"heigher"', "direction: 'heigher'; did you mean 'higher'"),
        ('measured = "m"', 'measured = "m"\nscope = "simulated"', "did you mean 'simulate'"),
        ('measured = "m"', "", "either `measured` or `reason`"),
        ('measured = "m"', 'measured = "m"\nreason = "r"', "either `measured` or `reason`"),
        ('measured = "m"', 'reason = "r"\nfigure = "mine.fig"', "a `reason` why no figure"),
        ('measured = "m"', 'measured = "m"\nvalue = [1.0]', r"mine\.one"),
        ('where = "w"\n', "", r"mine\.one"),
        ('title = "t"', "", "title"),
        ('measured = "m"', 'measured = "m"\nbound = [1.0]', "both a `bound` and its `derivation`"),
        ('measured = "m"', 'measured = "m"\nderivation = "d"', "both a `bound` and its"),
        ('measured = "m"', bound("[40.0]", "[1.0, 2.0]"), r"as many numbers as `values`, 1"),
        ('measured = "m"', bound("[40.0]", "[30.0]"), "no value lies beyond its bound"),
        (
            '"higher"\nmeasured = "m"',
            '"ordering"\n' + bound("[40.0]", "[1.0]"),
            "an order has none",
        ),
        ("[[claim]]", choice("a", "a"), "choice 'c': two readings have one name"),
        ("[[claim]]", choice("a", "b", taken="true"), "choice 'c': exactly one reading"),
        ("[[claim]]", choice("a", "b", grade="E"), "b: grade 'E'; allowed: A, B, C, D"),
        ("[[claim]]", choice("a", "b", key="y"), "all readings must set the same keys"),
        ("[[claim]]", 'machines.quik = "a"\n[[claim]]', "machines: 'quik'; did you mean 'quick'"),
        ("[[claim]]", f"[[claim]]{GOOD.partition('[[claim]]')[2]}[[claim]]", "several claims"),
    ],
)
def test_wrong_claims(tmp_path, old, new, message):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(UserError, match=message) as error:
        read_claims(path)
    assert str(path) in str(error.value)


def test_good_claims(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    paper = read_claims(path)
    assert (paper.name, paper.claim[0].tolerance, paper.claim[0].values) == ("mine", 0.25, ())


def ids(chosen):
    return [figure.id for _, figures in chosen for figure in figures]


def test_ids():
    everything = ids(choose([]))
    assert len(everything) == 87
    assert ids(choose(["orch"])) == [name for name in everything if name.startswith("orch.")]
    assert ids(choose(["orch.fig11"])) == ["orch.fig11"]
    assert ids(choose(["orch.fig11.full"])) == ["orch.fig11"]
    assert ids(choose(["orch.fig3_4"])) == ["orch.fig4"]
    assert ids(choose(["comp.char", "orch.fig12"])) == [
        "comp.char.tlbs",
        "comp.char.pages",
        "orch.fig12",
    ]
    (chosen,) = choose(["comp.design.latency_hidden"])  # no figure, but it says why
    assert chosen[0].paper == "comp"
    assert chosen[1] == []


def test_an_id_is_whole_words():
    with pytest.raises(UserError, match=r"no figure or claim 'orch\.fig1'"):
        choose(["orch.fig1"])


def test_unknown_ids():
    with pytest.raises(UserError, match=re.escape("did you mean 'orch.fig11.full'")):
        choose(["orch.fig11.ful"])
    with pytest.raises(UserError, match=r"figures: .*orch\.fig12"):
        choose(["nothing"])


def test_meaning():
    assert means("orch.fig11.full", [])
    assert means("orch.fig11.full", ["comp", "orch.fig11"])
    assert not means("orch.fig11", ["orch.fig11.full"])


@pytest.mark.parametrize(
    "text",
    [
        "claim = [1]",
        "claim = [[1]]",
        "claim = 3",
        'claim = "many"',
        "claim = {}",
        "claim.x = 1",
        "[claim.0]\nid = 3",
        "[[claim]]\nid = 3",
        "[[claim]]\nid = []",
        "[[claim]]\n[claim.id]\nx = 1",
        "machines = 1",
        "choice = [[]]",
        "study = 4",
        "[paper]\nx = 1",
    ],
)
def test_files_of_another_shape_are_refused_with_their_name(tmp_path, text):
    path = tmp_path / "wrong.toml"
    path.write_text(f"{text}\n")
    with pytest.raises(UserError, match=r"wrong\.toml"):
        read_claims(path)
