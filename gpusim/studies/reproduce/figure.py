"""A figure of a paper, or a study: data, and the function that measures its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ParamSpec

from attrs import evolve, field, frozen

from gpusim.studies.reproduce.tables import Material, Table
from gpusim.studies.reproduce.verdict import Measured
from gpusim.studies.sweep.spec import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

Drawing = Callable[["pd.DataFrame"], "Picture"]
"""The picture of a table; `gpusim.studies.reproduce.pictures` has the usual kinds."""

Measure = Callable[["pd.DataFrame"], Mapping[str, Measured]]
"""Makes of a table what is set beside each claim, by the claim's id."""

Attributes = ParamSpec("Attributes")

__all__ = ["Drawing", "Figure", "Material", "Measure", "Survey", "figure"]


@frozen(kw_only=True)
class Survey:
    """Programs to characterize without a machine (`gpusim.studies.characterize`).

    Attributes:
        model: whose SMs, pages and frames count.
        variants: of the model.
        workloads: names.
        settings: keys of the model, as for ``--set``.
    """

    model: str
    workloads: tuple[str, ...]
    variants: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(factory=dict)


def _no_claims(_: pd.DataFrame) -> Mapping[str, Measured]:
    return {}


@frozen(kw_only=True)
class Figure:
    """A figure, or a study that has none in the paper.

    Attributes:
        id: the paper's short name, and that of the figure.
        title: of its part of the page.
        about: what is shown, for people.
        table: its numbers, a row a program.
        draw: the picture of its table.
        measure: what of the table is set beside each claim.
        sweeps: runs that it needs; the scale is that asked for.
        surveys: programs that it needs characterized.
        cell: how a number of the table is written.
        after: id of the figure that it follows on the page; default: figures stand in the order of
            their first claims, those without any in front.
    """

    id: str
    title: str
    about: str
    table: Table
    draw: Drawing
    measure: Measure = _no_claims
    sweeps: tuple[Sweep, ...] = ()
    surveys: tuple[Survey, ...] = ()
    cell: str = "{:.3f}"
    after: str = ""


def _decorator(
    make: Callable[Attributes, Figure],
) -> Callable[Attributes, Callable[[Measure], Figure]]:
    def decorator(
        *arguments: Attributes.args, **attributes: Attributes.kwargs
    ) -> Callable[[Measure], Figure]:
        made = make(*arguments, **attributes)
        return lambda measure: evolve(made, measure=measure)

    return decorator


figure = _decorator(Figure)
"""Makes the function that measures claims into a `Figure` with these attributes."""
