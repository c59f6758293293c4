"""ORCH's Figures 3 to 6: translation reuse of thread blocks, made from our programs.

``python -m experiments.orchestrated_characterization [--scale quick] [-o FOLDER]``

No TLB and no clock takes part: the figures tell what the programs ask for.  With a folder, the
pictures and an HDF5 file for each program are put there.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from attrs import frozen
from rich.console import Console
from rich.progress import track
from rich.table import Table

import gpusim
from gpusim.characterize import ApplicationCharacterization, characterize
from gpusim.characterize.characterization import TLB_MARK
from gpusim.characterize.intensity import BIN_NAMES
from gpusim.characterize.plot import plot_bins, plot_distances
from gpusim.errors import UserError
from gpusim.plots import new_figure, save, style
from gpusim.programs.library import workload_names
from gpusim.programs.tables import SCALES

MODEL = "kepler-uvm"
"""ORCH Table III."""

PROGRAMS = {
    "bfs": "bfs", "color": "color_max", "mis": "mis", "nw": "nw", "pagerank": "pagerank",
    "3dconv": "3dconv", "atax": "atax", "bicg": "bicg", "gemm": "gemm", "mvt": "mvt",
}  # fmt: skip
"""ORCH Table II, in its order: the paper's name of a program and ours."""

MATRIX = ("atax", "bicg", "gemm", "mvt")
IRREGULAR = ("bfs", "color", "mis", "nw", "pagerank", "3dconv")

OVERRIDES: Mapping[tuple[str, str], Mapping[str, object]] = {("bfs", "quick"): {"sample": 8}}
"""By program and scale.  At quick scale bfs runs one block on each SM; here it is two."""

NOTABLE = 0.05
"""A bin counts as used from this share of the blocks (our choice)."""

Found = Mapping[str, ApplicationCharacterization]


@frozen
class Claim:
    """A statement of the paper, and what to set beside it.

    Attributes:
        id: of the claim.
        where: figure and observation.
        statement: what the paper says.
        programs: whom it is about.
        ours: the same measure of ours, of those programs that are there.
        agrees: whether the direction is the same; None where the paper gives plain numbers.
    """

    id: str
    where: str
    statement: str
    programs: tuple[str, ...]
    ours: Callable[[Found], str]
    agrees: Callable[[Found], bool] | None = None


def beyond(app: ApplicationCharacterization, measure: str) -> float:
    """Share of a block's reuses at distances larger than the L1 TLB's entries."""
    return 1 - app.distributions[measure].at_most(TLB_MARK)


def intensity(shares: np.ndarray) -> float:
    """Mean intensity, from the middles of the bins."""
    return float(shares @ (np.arange(len(shares)) + 0.5) / len(shares))


def stronger_within(found: Found) -> list[str]:
    """Programs whose blocks reuse more within themselves than between each other."""
    return [
        name for name, app in found.items()
        if intensity(app.intra_shares) > intensity(app.inter_shares)
    ]  # fmt: skip


def shortened(found: Found) -> list[str]:
    """Programs of which fewer reuses lie beyond the TLB when blocks run one at a time."""
    return [
        name for name, app in found.items()
        if beyond(app, "distance_alone") < beyond(app, "distance_interleaved")
    ]  # fmt: skip


def used_bins(app: ApplicationCharacterization) -> int:
    """Bins of intra-block reuse that hold a notable share of the blocks."""
    return int((app.intra_shares >= NOTABLE).sum())


def each(tell: Callable[[ApplicationCharacterization], str]) -> Callable[[Found], str]:
    """The same number of each program."""
    return lambda found: ", ".join(f"{name} {tell(app)}" for name, app in found.items())


CLAIMS = (
    Claim(
        "orch.fig3.bfs_inter_b1", "Fig. 3, Obs. 1", "87 % of the pairs of bfs are in b1",
        ("bfs",), each(lambda app: f"b1 {app.inter_shares[0]:.0%}"),
    ),
    Claim(
        "orch.fig4.bfs_intra_bins", "Fig. 4, Obs. 3", "bfs: 18 % of the blocks in b4, 82 % in b5",
        ("bfs",),
        each(lambda app: f"b4 {app.intra_shares[3]:.0%}, b5 {app.intra_shares[4]:.0%}"),
    ),
    Claim(
        "orch.fig4.nw_intra_bins", "Fig. 4, Obs. 3", "nw: 51 % of the blocks in b2, 48 % in b3",
        ("nw",), each(lambda app: f"b2 {app.intra_shares[1]:.0%}, b3 {app.intra_shares[2]:.0%}"),
    ),
    Claim(
        "orch.fig3_4.intra_gt_inter", "Figs. 3–4, Obs. 1",
        "most programs: much more reuse within blocks than between them",
        tuple(PROGRAMS),
        lambda found: f"{len(stronger_within(found))} of {len(found)}",
        lambda found: 2 * len(stronger_within(found)) > len(found),
    ),
    Claim(
        "orch.fig3.matrix_inter", "Fig. 3, Obs. 2",
        "sizable shares of pairs with 30 to 50 % reuse between blocks (bins b2 and b3)",
        MATRIX, each(lambda app: f"{app.inter_shares[1:3].sum():.0%}"),
        lambda found: all(app.inter_shares[1:3].sum() >= NOTABLE for app in found.values()),
    ),
    Claim(
        "orch.fig4.irregular_varied", "Fig. 4, Obs. 3",
        f"reuse within blocks spreads over several bins (ours: bins with {NOTABLE:.0%} or more)",
        IRREGULAR, each(lambda app: f"{used_bins(app)}"),
        lambda found: all(used_bins(app) > 1 for app in found.values()),
    ),
    Claim(
        "orch.fig5.distance_exceeds_tlb", "Fig. 5, Obs. 1",
        "most reuses within blocks at distances above 64 (ours: their share)",
        ("bfs", "mis", "nw", "atax", "bicg", "mvt"),
        each(lambda app: f"{beyond(app, 'distance_interleaved'):.0%}"),
        lambda found: all(beyond(app, "distance_interleaved") > 0.5 for app in found.values()),
    ),
    Claim(
        "orch.fig6.isolation_shrinks", "Figs. 5–6, Obs. 2",
        "most programs: shorter distances when one block runs at a time",
        tuple(PROGRAMS),
        lambda found: f"{len(shortened(found))} of {len(found)}: {', '.join(shortened(found))}",
        lambda found: 2 * len(shortened(found)) > len(found),
    ),
)  # fmt: skip
"""What the text on Figures 3 to 6 says; the bars themselves are only in the pictures."""


def measure(name: str, scale: str, folder: Path | None) -> ApplicationCharacterization:
    """Characterize one of the paper's programs."""
    ours = PROGRAMS[name]
    workload = gpusim.load_workload(ours, scale, overrides=OVERRIDES.get((ours, scale)))
    output = folder / f"{name}.h5" if folder else None
    (app,) = characterize(workload, gpusim.load_model(MODEL), output=output).applications
    return app


def measure_all(scale: str, folder: Path | None, workers: int, console: Console) -> Found:
    """All programs that there are, several at once."""
    there = set(workload_names())
    names = [name for name, ours in PROGRAMS.items() if ours in there]
    for name, ours in PROGRAMS.items():
        if ours not in there:
            console.print(f"{name}: there is no workload {ours!r} yet; left out")
    with ProcessPoolExecutor(workers) as pool:
        jobs = {pool.submit(measure, name, scale, folder): name for name in names}
        found = {
            jobs[job]: job.result()
            for job in track(
                as_completed(jobs), "characterizing", len(jobs), console=console,
                disable=not console.is_terminal, transient=True,
            )
        }  # fmt: skip
    return {name: found[name] for name in names}


def bins_table(found: Found) -> Table:
    """Figures 3 and 4."""
    table = Table(title="Reuse intensity: pairs of blocks (Fig. 3), blocks (Fig. 4)")
    table.add_column("program")
    for figure in ("3", "4"):
        for name in BIN_NAMES:
            table.add_column(f"Fig. {figure} {name[:2]}", justify="right")
    table.add_column("pairs counted", justify="right")
    for name, app in found.items():
        shares = [f"{share:.1%}" for share in (*app.inter_shares, *app.intra_shares)]
        table.add_row(name, *shares, f"{app.pairs_counted:,} of {app.pairs:,}")
    return table


def distances_table(found: Found) -> Table:
    """Figures 5 and 6."""
    powers = (3, 6, 8)
    table = Table(
        title="Share of reuses up to a distance: blocks interleaved (Fig. 5), alone (Fig. 6)"
    )
    table.add_column("program")
    for figure in ("5", "6"):
        for power in powers:
            table.add_column(f"Fig. {figure} ≤ 2^{power}", justify="right")
    for column in ("blocks", "transactions", "MiB of arrays", "pages accessed"):
        table.add_column(column, justify="right")
    for name, app in found.items():
        together, alone = (
            app.distributions[measure] for measure in ("distance_interleaved", "distance_alone")
        )
        table.add_row(
            name,
            *(f"{one.at_most(1 << power):.1%}" for one in (together, alone) for power in powers),
            f"{app.total('blocks'):,}", f"{app.total('transactions'):,}",
            f"{app.array_bytes / 2**20:.4g}", f"{app.pages:,}",
        )  # fmt: skip
    return table


def claims_table(found: Found) -> Table:
    """The paper's statements beside ours."""
    table = Table(title="What the paper says", show_lines=True)
    for column in ("claim", "where", "the paper", "here", "agree"):
        table.add_column(column, overflow="fold")
    for claim in CLAIMS:
        there = {name: found[name] for name in claim.programs if name in found}
        agree = ""
        if there and claim.agrees:
            agree = "yes" if claim.agrees(there) else "no"
        ours = claim.ours(there) if there else "left out"
        table.add_row(claim.id, claim.where, claim.statement, ours, agree)
    return table


def draw(found: Found, folder: Path, scale: str) -> list[Path]:
    """Figures 3 and 4 as one picture, 5 and 6 as another."""
    names = list(found)
    bins = new_figure("page", height=4)
    inter, intra = bins.subplots(2)
    for axes, title, what, shares in (
        (inter, "Reuse between blocks (ORCH Fig. 3)", "pairs",
         [app.inter_shares for app in found.values()]),
        (intra, "Reuse within blocks (ORCH Fig. 4)", "blocks",
         [app.intra_shares for app in found.values()]),
    ):  # fmt: skip
        plot_bins(axes, names, shares, title, what)
    distances = new_figure("page", height=3)
    for axes, title, measure in zip(
        distances.subplots(1, 2, sharey=True),
        ("Blocks of an SM interleaved (ORCH Fig. 5)", "One block at a time (ORCH Fig. 6)"),
        ("distance_interleaved", "distance_alone"),
        strict=True,
    ):
        plot_distances(axes, {n: app.distributions[measure] for n, app in found.items()}, title)
    written = []
    for figure, name in ((bins, "reuse_intensity.png"), (distances, "reuse_distance.png")):
        with style():
            figure.suptitle(f"Translation reuse on {MODEL}, scale {scale}")
        save(figure, folder / name)
        written.append(folder / name)
    return written


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.orchestrated_characterization",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--scale", default="quick", choices=SCALES)
    parser.add_argument("-o", "--output", type=Path, help="folder of pictures and HDF5 files")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args(arguments)
    folder: Path | None = options.output
    try:
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        found = measure_all(options.scale, folder, options.j, Console(stderr=True))
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    console = Console(width=None if sys.stdout.isatty() else 160)
    for table in (bins_table(found), distances_table(found), claims_table(found)):
        console.print(table)
    for path in draw(found, folder, options.scale) if folder else ():
        console.print(f"written to {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
