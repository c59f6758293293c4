"""A paper's figures and claims, made again: what it says beside what is measured here."""

from gpusim.studies.reproduce.figure import Figure, Material, Survey
from gpusim.studies.reproduce.measures import (
    AVERAGE,
    all_of,
    counted,
    gain,
    mean_points,
    most,
    normalised,
    number,
    one,
    points,
    reduction,
    with_average,
)
from gpusim.studies.reproduce.programs import programs_of
from gpusim.studies.reproduce.verdict import Measured

__all__ = [
    "AVERAGE",
    "Figure",
    "Material",
    "Measured",
    "Survey",
    "all_of",
    "counted",
    "gain",
    "mean_points",
    "most",
    "normalised",
    "number",
    "one",
    "points",
    "programs_of",
    "reduction",
    "with_average",
]
