"""A paper's figures and claims, made again: what it says beside what is measured here."""

from gpusim.reproduce.figure import Figure, Material, Survey
from gpusim.reproduce.measures import (
    AVERAGE,
    all_of,
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
from gpusim.reproduce.programs import programs_of
from gpusim.reproduce.verdict import Measured

__all__ = [
    "AVERAGE",
    "Figure",
    "Material",
    "Measured",
    "Survey",
    "all_of",
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
