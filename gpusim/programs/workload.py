"""Workload files: which programs run, on which input, at which size."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen
from attrs.validators import in_

from gpusim.config.document import Document, read_document
from gpusim.config.layers import parse_scalar
from gpusim.config.structure import StructureError, structure
from gpusim.config.units import Bytes
from gpusim.datafiles import data_names, find_data
from gpusim.errors import UserError, nearest
from gpusim.programs.builder import (
    ApplicationBuilder,
    ApplicationSpec,
    ApplicationTable,
    place,
)

SCALES = ("smoke", "quick", "paper")
"""Sizes of a workload: a simulation of seconds, of minutes, and the papers' sizes."""


PATTERNS = (
    "streaming", "strided", "stencil", "tiled dense", "separable filter", "layered stream",
    "butterfly", "wavefront", "reduction", "histogram scatter", "uniform random", "graph gather",
    "tree gather", "unstructured gather", "sparse matrix", "clustering scan",
)  # fmt: skip
"""Classes of access patterns."""


@frozen
class Footprints:
    """Bytes of all arrays of a workload, by scale."""

    smoke: Bytes
    quick: Bytes
    paper: Bytes


@frozen
class _WorkloadTable:
    """A workload file."""

    description: str
    applications: tuple[ApplicationTable, ...]
    footprint: Footprints | None = None
    suite: str = ""
    pattern: str = field(default="", validator=in_(("", *PATTERNS)))
    papers: tuple[str, ...] = ()


@frozen
class WorkloadSummary:
    """What a workload file says about itself.

    Attributes:
        name: the file's name without its ending.
        description, suite, papers: what it is, where it is from, which papers run it.
        footprint: bytes of all arrays, by scale.
    """

    name: str
    description: str
    suite: str
    papers: tuple[str, ...]
    footprint: Footprints | None


@frozen(eq=False)
class Workload:
    """One or more applications, at one size.

    Attributes:
        name, description, suite, papers: as in `WorkloadSummary`.
        scale: one of `SCALES`.
        seed: of everything random in the input.
        applications: in the order of their address spaces.
    """

    name: str
    description: str
    suite: str
    papers: tuple[str, ...]
    scale: str
    seed: int
    applications: tuple[ApplicationSpec, ...]


def workload_names() -> tuple[str, ...]:
    """Names of the shipped workloads, sorted."""
    return data_names("workloads")


def summarize_workload(name_or_path: str) -> WorkloadSummary:
    """What a workload file says about itself; no input is read or made.

    Raises:
        UserError: there is no such workload, or its file is wrong.
    """
    document = read_document(find_data("workloads", name_or_path))
    table = _read_table(document)
    return WorkloadSummary(
        document.path.stem, table.description, table.suite, table.papers, table.footprint
    )


def load_workload(
    name_or_path: str,
    scale: str = "quick",
    seed: int = 0,
    overrides: Mapping[str, object] | None = None,
) -> Workload:
    """A workload with its input graphs read or generated.

    Args:
        name_or_path: a shipped workload, or the path of a TOML file.
        scale: one of `SCALES`.
        seed: of everything random in the input; 0 or more.
        overrides: parameters that replace those of the scale, such as ``{"n": 4096}``,
            ``{"graph": "/path/to/file"}`` or ``{"graph.vertices": 5000}``; ``"NAME.n"`` is meant
            for the application of that name, any other for each that has the parameter.

    Raises:
        UserError: the workload, its file, the scale, an override or a graph is wrong.
    """
    if scale not in SCALES:
        raise UserError(
            f"there is no scale {scale!r}{nearest(scale, SCALES)}; allowed: {', '.join(SCALES)}"
        )
    if seed < 0:
        raise UserError(f"the seed is {seed}; must be 0 or more")
    document = read_document(find_data("workloads", name_or_path))
    table = _read_table(document)
    builders = [
        ApplicationBuilder(document, index, application, scale)
        for index, application in enumerate(table.applications)
    ]
    _check_names([builder.name for builder in builders], document)
    for key, value in (overrides or {}).items():
        _override(builders, key, value)
    return Workload(
        document.path.stem, table.description, table.suite, table.papers, scale, seed,
        tuple(builder.build(seed) for builder in builders),
    )  # fmt: skip


def _read_table(document: Document) -> _WorkloadTable:
    try:
        table = structure(document.data, _WorkloadTable)
    except StructureError as error:
        messages = [f"{place(document, p.key)}: {p.message}" for p in error.problems]
        raise UserError("\n".join(messages)) from error
    if not table.applications:
        raise UserError(f"{document.path}: has no [[applications]]; at least one is needed")
    shares = sum(application.share or 0 for application in table.applications)
    if shares > 1:
        raise UserError(f"{document.path}: the shares add up to {shares}; at most 1 is allowed")
    return table


def _check_names(names: list[str], document: Document) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UserError(
                f"{document.path}: there are two applications {name!r}; give each its own `name`"
            )


def _override(builders: list[ApplicationBuilder], dotted: str, value: object) -> None:
    """Set a parameter of those applications that have it."""
    first, _, rest = dotted.partition(".")
    chosen = [builder for builder in builders if builder.name == first and rest]
    key = rest if chosen else dotted
    chosen = [builder for builder in chosen or builders if builder.has(key.split(".")[0])]
    if not chosen:
        allowed = sorted({name for builder in builders for name in builder.allowed})
        raise UserError(
            f"--set workload.{dotted}: unknown parameter{nearest(key, allowed)}; "
            f"allowed: {', '.join(allowed)}"
        )
    for builder in chosen:
        builder.override(key, parse_scalar(value))
