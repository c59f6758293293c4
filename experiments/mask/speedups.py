"""Weighted speedups of MASK's designs: of all pairs, of more applications, on other GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    AVERAGE,
    Bars,
    Material,
    Measured,
    compared,
    figure,
    number,
    with_average,
)
from gpusim.studies.reproduce.mixes import together
from gpusim.views.plots import bar_groups, new_figure

from .common import (
    BASE,
    BASELINES,
    CATEGORIES,
    DESIGNS,
    IDEAL,
    MAIN,
    MASK,
    OWN,
    PAIRS,
    PARTS,
    PWCACHE,
    STUDIED,
    WHOLE,
    by_category,
    gain,
    of_ideal,
    pair_sweep,
    speedups,
    variants,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

RELATIVE = Bars("weighted speedup,\nrelative to Ideal")


@figure(
    id="mask.fig3",
    title="Fig. 3: baselines and an ideal TLB",
    about="Weighted speedups, IPCs alone on SharedTLB, relative to those of Ideal.",
    sweeps=(MAIN,),
    table=compared(
        "weighted_speedup",
        PAIRS,
        variants({name: DESIGNS[name] for name in ("PWCache", "SharedTLB", IDEAL)}),
        {"variant": BASE},
        lambda table: by_category(of_ideal(table)),
    ),
    draw=RELATIVE,
)
def gap_of_baselines(table: pd.DataFrame) -> dict[str, Measured]:
    """What each loses on average."""
    lost = 100 * (1 - table.T[AVERAGE])
    return {"mask.fig3.baseline_gap": number(lost["PWCache"], lost["SharedTLB"])}


GAIN, OF_IDEAL, OWN_ALONE = " gain, %", " / Ideal", " (own alone)"


def speedups_and_gains(material: Material) -> pd.DataFrame:
    """Weighted speedups; gains over SharedTLB; parts of Ideal; all are means of the pairs' own."""
    all_pairs = speedups(material, PAIRS, variants(DESIGNS))
    own = material.compared("weighted_speedup", PAIRS, variants(WHOLE))
    gains = {f"{name}{GAIN}": gain(all_pairs, name) for name in (*PARTS, "MASK")}
    ideal = {
        f"{name}{OF_IDEAL}": all_pairs[name] / all_pairs[IDEAL] for name in ("SharedTLB", "MASK")
    }
    return by_category(all_pairs.assign(**gains, **ideal).join(own.add_suffix(OWN_ALONE)))


@figure(
    id="mask.fig11",
    title="Fig. 11: weighted speedups by category",
    about="IPCs alone are those of SharedTLB on as many SMs; under *own alone* those of each "
    "design, so that two applications cannot reach more than 2 but by helping each other.",
    sweeps=(MAIN, OWN),
    table=speedups_and_gains,
    draw=Bars("weighted speedup", lambda table: table[[*DESIGNS]]),
)
def speedups_by_category(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the pairs."""
    mean = table.T[AVERAGE]
    parts = mean[list(PARTS)]
    others = mean[["PWCache", "Static"]]
    return {
        "mask.fig11.mask_vs_sharedtlb": number(mean["MASK" + GAIN]),
        "mask.fig11.by_hmr": number(*table.loc[list(CATEGORIES), "MASK" + GAIN]),
        "mask.fig11.gap_to_ideal": number(100 * (1 - mean["MASK" + OF_IDEAL])),
        "mask.fig11.mask_cache": number(mean["MASK-Cache" + GAIN]),
        "mask.fig11.mask_dram": number(mean["MASK-DRAM" + GAIN]),
        "mask.fig11.components_order": Measured(
            holds=bool(mean["MASK"] > parts.max() and parts.min() > mean["SharedTLB"]),
            text=_listed(mean[["SharedTLB", *PARTS, "MASK"]]),
        ),
        "mask.fig11.best_baseline": Measured(
            holds=bool(mean["SharedTLB"] > others.max()),
            text=_listed(mean[["SharedTLB", *others.index]]),
        ),
    }


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def draw_by_category(table: pd.DataFrame) -> Picture:
    """A panel a category."""
    figure = new_figure("page", height=6.6)
    panels = figure.subplots(len(CATEGORIES))
    for axes, (category, pairs) in zip(panels, CATEGORIES.items(), strict=True):
        bar_groups(
            table.loc[list(pairs)], geomean=False, ylabel=f"weighted speedup,\n{category}", ax=axes
        )
    return figure


@figure(
    id="mask.fig12_14",
    title="Figs. 12 to 14: weighted speedups of each pair",
    about="IPCs alone are those of SharedTLB on as many SMs.",
    sweeps=(MAIN,),
    table=compared(
        "weighted_speedup",
        PAIRS,
        variants({name: variant for name, variant in DESIGNS.items() if name != IDEAL}),
        {"variant": BASE},
    ),
    draw=draw_by_category,
)
def speedups_of_pairs(table: pd.DataFrame) -> dict[str, Measured]:
    """Means of each category."""
    means = by_category(table).loc[list(CATEGORIES)]
    best = means[list(BASELINES)].max(axis=1)
    text = ", ".join(
        f"{category} {means.loc[category, 'MASK']:.2f} and {best[category]:.2f}"
        for category in means.index
    )
    return {
        "mask.fig12_14.beats_all_categories": Measured(
            holds=bool((means["MASK"] > best).all()), text=f"MASK and the best baseline: {text}"
        )
    }


SCALED = {"SharedTLB": BASE, "MASK": MASK, IDEAL: DESIGNS[IDEAL]}
MIXES = {str(count): f"mask/APPS{count}" for count in range(1, 6)}


def one_to_five(material: Material) -> pd.DataFrame:
    """Weighted speedups relative to Ideal's; of one application, its IPC."""
    import pandas as pd

    single = material.numbers("ipc", {"1": MIXES["1"]}, together(SCALED))
    shared_gpu = {name: workload for name, workload in MIXES.items() if name != "1"}
    several = speedups(material, shared_gpu, variants(SCALED))
    return of_ideal(pd.concat([single, several])).rename_axis("applications")


@figure(
    id="mask.table3",
    title="Table 3: one to five applications",
    about="Performance relative to Ideal: weighted speedups, of one application its IPC. The "
    "SMs are split into equal parts. CONS, then also RED, HISTO, SRAD and GUP (our "
    "choice: the paper does not name them).",
    sweeps=(pair_sweep(variants=SCALED.values(), workloads=MIXES.values()),),
    table=one_to_five,
    draw=Bars("performance,\nrelative to Ideal"),
)
def scaling(table: pd.DataFrame) -> dict[str, Measured]:
    """All five, and where MASK gains more."""
    ratio = table["MASK"] / table["SharedTLB"]
    few, many = ratio[["1", "2"]].mean(), ratio[["3", "4", "5"]].mean()
    return {
        "mask.table3.shared_scaling": number(*100 * table["SharedTLB"]),
        "mask.table3.mask_scaling": number(*100 * table["MASK"]),
        "mask.table3.gain_grows": Measured(
            holds=bool(many > few),
            text=f"{few:.2f} with one and two, {many:.2f} with three to five",
        ),
    }


ON_OTHER_GPUS = {"PWCache": PWCACHE, **SCALED}
GPUS = {"Fermi": "fermi", "integrated": "integrated"}


def on_other_gpus(material: Material) -> pd.DataFrame:
    """Weighted speedups relative to Ideal's."""
    import pandas as pd

    parts = []
    for gpu, model in GPUS.items():
        designs = {
            name: {"model": model, "variant": variant} for name, variant in ON_OTHER_GPUS.items()
        }
        parts.append(of_ideal(speedups(material, STUDIED, designs)).add_prefix(f"{gpu}, "))
    return with_average(pd.concat(parts, axis=1))


@figure(
    id="mask.table4",
    title="Table 4: other GPUs",
    about="Weighted speedups relative to Ideal's on the models `fermi` and `integrated`, one "
    "pair a category.",
    sweeps=tuple(
        pair_sweep(models=model, variants=ON_OTHER_GPUS.values(), workloads=STUDIED.values())
        for model in GPUS.values()
    ),
    table=on_other_gpus,
    draw=RELATIVE,
)
def other_gpus(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the pairs."""
    mean = 100 * table.T[AVERAGE]
    return {
        f"mask.table4.{model}": number(
            *(mean[f"{gpu}, {name}"] for name in ON_OTHER_GPUS if name != IDEAL)
        )
        for gpu, model in GPUS.items()
    }
