"""Pictures in one style: functions that take pandas and xarray and return matplotlib axes."""

from gpusim.views.plots.bars import bar_groups
from gpusim.views.plots.colours import PALETTE, STATE_COLOURS, state_colours
from gpusim.views.plots.distributions import cdf
from gpusim.views.plots.dots import Rows, height_of_dots, sorted_dots
from gpusim.views.plots.errors import PlotError
from gpusim.views.plots.files import check_picture, save
from gpusim.views.plots.lines import sweep_lines
from gpusim.views.plots.maps import heat_map
from gpusim.views.plots.pairs import pair_matrix
from gpusim.views.plots.reference_rows import Stated, stated_below
from gpusim.views.plots.stacks import stacked_bars
from gpusim.views.plots.style import Frame, PlotFigure, new_figure, style
from gpusim.views.plots.time import stacked_area, step_lines
from gpusim.views.plots.tornado import tornado

__all__ = [
    "PALETTE",
    "STATE_COLOURS",
    "Frame",
    "PlotError",
    "PlotFigure",
    "Rows",
    "Stated",
    "bar_groups",
    "cdf",
    "check_picture",
    "heat_map",
    "height_of_dots",
    "new_figure",
    "pair_matrix",
    "save",
    "sorted_dots",
    "stacked_area",
    "stacked_bars",
    "state_colours",
    "stated_below",
    "step_lines",
    "style",
    "sweep_lines",
    "tornado",
]
