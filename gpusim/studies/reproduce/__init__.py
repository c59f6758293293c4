"""A paper's figures and claims, made again: what it says beside what is measured here."""

from gpusim.studies.reproduce.figure import Figure, Material, Survey, figure
from gpusim.studies.reproduce.pictures import Bars, Lines, panels
from gpusim.studies.reproduce.programs import programs_of
from gpusim.studies.reproduce.tables import (
    AVERAGE,
    compared,
    counted,
    gain,
    normalised,
    numbers,
    numbers_of_one,
    points,
    reduction,
    with_average,
)
from gpusim.studies.reproduce.verdict import Measured, all_of, mean_points, most, number, one

__all__ = [
    "AVERAGE",
    "Bars",
    "Figure",
    "Lines",
    "Material",
    "Measured",
    "Survey",
    "all_of",
    "compared",
    "counted",
    "figure",
    "gain",
    "mean_points",
    "most",
    "normalised",
    "number",
    "numbers",
    "numbers_of_one",
    "one",
    "panels",
    "points",
    "programs_of",
    "reduction",
    "with_average",
]
