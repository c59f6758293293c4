"""The experiment that makes ORCH's figures."""

import numpy as np
import pytest

from experiments import orchestrated_characterization as experiment
from gpusim.characterize import (
    ApplicationCharacterization,
    Distribution,
    KernelCounts,
    read_characterization,
)
from gpusim.characterize.characterization import DISTRIBUTIONS
from gpusim.programs.library import workload_names


def made_up(intra, inter, alone, interleaved):
    """A characterization with these bins, and these distances."""
    empty = Distribution.of(np.zeros(0, dtype=np.int64))
    distributions = dict.fromkeys(DISTRIBUTIONS, empty)
    distributions["distance_alone"] = Distribution.of(np.array(alone))
    distributions["distance_interleaved"] = Distribution.of(np.array(interleaved))
    bins = np.array(intra), np.array(inter)
    kernel = KernelCounts("k", 1, 10, 10, 10, 10, 10)
    return ApplicationCharacterization("x", 1, (kernel,), (), 5, *bins, 10, distributions)


LIKE_THE_PAPER = made_up([0, 0, 2, 0, 8], [5, 3, 2, 0, 0], [3, 64, 64, 64], [3, 65, 65, 65])
UNLIKE_THE_PAPER = made_up([10, 0, 0, 0, 0], [0, 0, 0, 0, 9], [3, 65, 65, 3], [3, 65, 65, 3])


@pytest.mark.parametrize("claim", experiment.CLAIMS, ids=lambda claim: claim.id)
def test_claims_tell_agreement_from_disagreement(claim):
    if claim.agrees:
        assert claim.agrees(dict.fromkeys(claim.programs, LIKE_THE_PAPER))
        assert not claim.agrees(dict.fromkeys(claim.programs, UNLIKE_THE_PAPER))


def test_numbers_beside_the_claims():
    claims = {claim.id: claim for claim in experiment.CLAIMS}
    found = {"bfs": LIKE_THE_PAPER, "nw": UNLIKE_THE_PAPER}
    assert claims["orch.fig3.bfs_inter_b1"].ours({"bfs": LIKE_THE_PAPER}) == "bfs b1 50%"
    assert claims["orch.fig4.bfs_intra_bins"].ours({"bfs": LIKE_THE_PAPER}) == "bfs b4 0%, b5 80%"
    assert claims["orch.fig5.distance_exceeds_tlb"].ours(found) == "bfs 75%, nw 50%"
    assert claims["orch.fig6.isolation_shrinks"].ours(found) == "1 of 2: bfs"
    assert claims["orch.fig4.irregular_varied"].ours(found) == "bfs 2, nw 1"
    assert claims["orch.fig3.matrix_inter"].ours(found) == "bfs 50%, nw 0%"


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(experiment, "PROGRAMS", {"bfs": "bfs", "mvt": "mvt", "zzz": "no_such"})
    assert experiment.main(["--scale", "smoke", "-o", str(tmp_path), "-j", "1"]) == 0
    told = capsys.readouterr()
    assert "there is no workload 'no_such'" in told.err
    assert "orch.fig4.nw_intra_bins" in told.out
    assert "left out" in told.out
    assert {path.name for path in tmp_path.iterdir()} == {
        "bfs.h5", "mvt.h5", "reuse_intensity.png", "reuse_distance.png",
    }  # fmt: skip
    assert read_characterization(tmp_path / "mvt.h5").provenance.model == experiment.MODEL


def test_a_folder_that_cannot_be(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert experiment.main(["--scale", "smoke", "-o", str(tmp_path / "file")]) == 2
    assert "file" in capsys.readouterr().err


def test_programs_that_are_there_have_the_overridden_parameters():
    assert {name for name, _ in experiment.OVERRIDES} <= set(workload_names())
