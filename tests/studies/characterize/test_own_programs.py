"""An error in a program of the user's own names its file and line."""

import pytest
from attrs import frozen

import gpusim
from gpusim.core.errors import UserError
from gpusim.studies.characterize import characterize
from gpusim.workloads.builder import ApplicationSpec
from tests.studies.characterize.listed import ListedLaunch


@frozen(eq=False)
class Failing:
    name: str = "failing"
    buffers: tuple = ()

    def launches(self):
        yield ListedLaunch([[[]]])
        raise ZeroDivisionError("by hand")


def test_a_failing_program():
    spec = ApplicationSpec("failing", Failing)
    workload = gpusim.Workload("failing", "smoke", 0, (spec,))
    with pytest.raises(UserError, match=r"test_own_programs.py, line \d+, in .*launches: ZeroDiv"):
        characterize(workload, gpusim.load_model("tiny"))
