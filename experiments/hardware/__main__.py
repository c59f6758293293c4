"""Runs the microbenchmarks on models, beside measured curves if there are some.

``gpusim study hardware --model v100 [--reference FOLDER] [--out FOLDER] [--tests NAMES]``
``gpusim study hardware --model v100 --points FOLDER`` draws what was measured before
``gpusim study hardware --programs --reference FOLDER``
``gpusim study hardware --kernels --reference docs/tables/h100``
``gpusim study hardware --published``
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from math import isnan
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.counts import positive
from experiments.hardware.gpus import GPUS
from experiments.hardware.held import Held, median_error, read_points
from experiments.hardware.measure import (
    LINE,
    PARAMETERS,
    TESTS,
    TLB_STEPS,
    Point,
    measure,
    model_of,
)
from experiments.hardware.pictures import draw
from experiments.hardware.plateaus import wanted
from experiments.hardware.programs import MODEL, PROGRAMS, beside_hardware, run_program
from experiments.hardware.published import PUBLISHED, beside_published, rate
from experiments.hardware.real_kernels import KERNELS, beside_measured, run_kernel
from experiments.hardware.reference import Measured, read_curves
from experiments.hardware.stride_curves import POINTWISE, WORDS, read_stride_curves
from experiments.hardware.tlb_steps import TlbStep, read_tlb_steps
from gpusim.core.errors import UserError, nearest
from gpusim.studies.scripts import FOLDER

MIB = 1 << 20

GRIDS: dict[str, list[int]] = {
    "latency": [1 << shift for shift in range(13, 32)],
    "tlb": [1 << shift for shift in range(22, 37)],
    "l1-bandwidth": [1 << shift for shift in range(13, 20)],
    "l2-bandwidth": [1 << shift for shift in range(20, 28)],
    "stream-read": [32 * MIB, 96 * MIB],
    "stream-triad": [96 * MIB],
    "launch": [1, 64, 1024],
    "atomics": [1, 32, 1024, 65536],
    "camping": [128, 256, 1024, 4096, 16384],
    "strides": [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32, 33],
    "rows": [1, 2, 4, 8, 16, 32],
}
"""What is measured without a reference."""

LARGEST = {"latency": 1 << 36, "tlb": 1 << 37, TLB_STEPS: 1 << 37, "l1-bandwidth": 2 * MIB}
LARGEST_STREAM = 1 << 30
"""Footprints of more tell nothing new: of all SMs' L1 caches, and of DRAM."""


def points_of(
    tests: Iterable[str], curves: list[Measured], memory: int, steps: Iterable[TlbStep] = ()
) -> list[Point]:
    """What a model is asked for: our grid, or what the measured curves and steps need."""
    found = {
        Point(TLB_STEPS, x, step.entry, step.variant) for step in steps for x in step.footprints()
    }
    for test in tests:
        mine = [curve for curve in curves if curve.test == test]
        for one in mine:
            places = [x for x, _ in one.curve] if test in POINTWISE else wanted(one.curve)
            found.update(Point(test, x, one.stride, one.variant) for x in places)
        if not mine:
            stride = WORDS["float"] if test in POINTWISE else LINE
            found.update(Point(test, x, stride) for x in GRIDS.get(test, ()))
    return sorted(
        (one for one in found if _affordable(one, memory)),
        key=lambda one: (one.test, one.variant, one.stride, one.footprint),
    )


def _affordable(point: Point, memory: int) -> bool:
    if point.test in PARAMETERS:
        return True
    largest = LARGEST.get(point.test, LARGEST_STREAM)
    return point.footprint <= min(memory if point.test == TLB_STEPS else memory // 2, largest)


def _curves(reference: Path | None, model: str) -> list[Measured]:
    """All measured curves of the GPUs that a model stands for."""
    if reference is None:
        return []
    return [*read_curves(reference, model), *read_stride_curves(reference, model)]


def hold(model: str, tests: list[str], reference: Path | None, jobs: int) -> Held:
    """Run a model's measurements, each in a process of a pool."""
    curves = _curves(reference, model)
    stepwise = not {"tlb", TLB_STEPS}.isdisjoint(tests)
    steps = read_tlb_steps(reference, model) if reference and stepwise else []
    points = points_of(tests, curves, int(model_of(model).config.memory.size), steps)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(measure, model, point) for point in points]
        done = track(futures, f"{model}: {len(points)} runs", console=Console(stderr=True))
        taken = {point: future.result() for point, future in zip(points, done, strict=True)}
    return Held(model, taken, [one for one in curves if one.test in tests], steps)


def hold_again(model: str, tests: list[str], reference: Path | None, folder: Path) -> Held:
    """What an earlier call has measured, from its file.

    Raises:
        UserError: there is none, or it is not what this writes.
    """
    curves = _curves(reference, model)
    steps = read_tlb_steps(reference, model) if reference else []
    taken = {
        point: value
        for point, value in read_points(folder / f"{model}_points.csv").items()
        if point.test in tests
    }
    return Held(model, taken, [one for one in curves if one.test in tests], steps)


def programs(names: list[str], reference: Path, out: Path, jobs: int) -> None:
    """Run whole programs, and print them beside the hardware's."""
    chosen = [one for one in PROGRAMS if not names or one.workload in names]
    if not chosen:
        allowed = ", ".join(dict.fromkeys(one.workload for one in PROGRAMS))
        raise UserError(f"--programs {' '.join(names)}: none of them; allowed: {allowed}")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(run_program, one) for one in chosen]
        done = track(futures, f"{len(chosen)} programs", console=Console(stderr=True))
        ran = {one: future.result() for one, future in zip(chosen, done, strict=True)}
    table = beside_hardware(ran, reference)
    table.to_csv(out / "programs.csv", index=False)
    _print(table, f"{MODEL}: cycles of programs, simulated / hardware")


def kernels(names: list[str], reference: Path, out: Path, jobs: int) -> None:
    """Run real kernels, and print them beside the measured ones."""
    for name in names:
        if name not in KERNELS:
            allowed = ", ".join(KERNELS)
            raise UserError(f"--kernels {name}{nearest(name, KERNELS)}; allowed: {allowed}")
    chosen = [(name, n) for name in names or KERNELS for n in KERNELS[name][1]]
    beside_measured({}, reference)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(run_kernel, *one) for one in chosen]
        done = track(futures, f"{len(chosen)} kernels", console=Console(stderr=True))
        ran = {one: future.result() for one, future in zip(chosen, done, strict=True)}
    table = beside_measured(ran, reference)
    table.to_csv(out / "kernels.csv", index=False)
    _print(table, "h100: cycles of kernels without their launch, simulated and of an H100")


def published(models: list[str], out: Path, jobs: int) -> None:
    """Run kernels of which rates are published, and print both."""
    allowed = dict.fromkeys(one.model for one in PUBLISHED)
    for name in models:
        if name not in allowed:
            raise UserError(f"--published {name}: none of them; allowed: {', '.join(allowed)}")
    chosen = {(one.model, one.ours) for one in PUBLISHED if one.model in (models or allowed)}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {one: pool.submit(rate, *one) for one in sorted(chosen)}
        done = track(futures.items(), f"{len(chosen)} kernels", console=Console(stderr=True))
        table = beside_published({one: future.result() for one, future in done})
    table.to_csv(out / "published.csv", index=False)
    _print(table.drop(columns="source"), "GB/s published and simulated, and our time by theirs")


def show(held: Held) -> None:
    """Print the comparison, or our points if there is nothing to compare with."""
    compared = held.table()
    _print(held.points() if compared.empty else compared, held.model)
    for what in ("plateau", "step", "tlb step", "tlb miss"):
        if not compared.empty and (error := median_error(compared, what)) is not None:
            Console().print(f"{held.model}: {what}: median error {error:.1%}")


def _print(frame: pd.DataFrame, title: str) -> None:
    table = Table(title=title)
    for column in frame:
        table.add_column(str(column), justify="right", no_wrap=True)
    for row in frame.itertuples(index=False):
        table.add_row(*map(_written, row))
    Console(width=max(180, Console().width)).print(table)


def _written(value: object) -> str:
    if isinstance(value, float):
        return "" if isnan(value) else f"{value:,.3g}" if abs(value) < 10 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model",
        action="append",
        help=f"default: all of {', '.join(GPUS)}; may come again",
    )
    parser.add_argument("--reference", type=Path, help="folder with curves/*.csv")
    parser.add_argument(
        "--out",
        type=Path,
        default=FOLDER / "hardware",
        help="folder of the results (default: %(default)s)",
    )
    parser.add_argument("--tests", default=",".join(TESTS), help=f"of {', '.join(TESTS)}")
    parser.add_argument(
        "--programs",
        nargs="*",
        metavar="WORKLOAD",
        help=f"run whole programs on {MODEL} instead: these, or all",
    )
    parser.add_argument(
        "--kernels",
        nargs="*",
        metavar="KERNEL",
        help="run real kernels on h100 instead: these, or all",
    )
    parser.add_argument(
        "--published",
        nargs="*",
        metavar="MODEL",
        help="run kernels of which rates are published instead: on these models, or all",
    )
    parser.add_argument(
        "--points",
        type=Path,
        metavar="FOLDER",
        help="take our points from MODEL_points.csv there, and run nothing",
    )
    parser.add_argument(
        "-j", "--jobs", type=positive, default=1, help="runs side by side (default 1)"
    )
    return parser


def _arguments() -> tuple[argparse.Namespace, list[str]]:
    """The options, and the tests that they choose."""
    parser = _parser()
    arguments = parser.parse_args()
    tests = arguments.tests.split(",")
    if unknown := [test for test in tests if test not in TESTS]:
        parser.error(
            f"there is no test {unknown[0]!r}{nearest(unknown[0], TESTS)}; "
            f"allowed: {', '.join(TESTS)}"
        )
    for option in ("programs", "kernels"):
        if getattr(arguments, option) is not None and arguments.reference is None:
            parser.error(f"--{option} needs --reference")
    return arguments, tests


def main() -> None:
    """Measure, compare, draw."""
    arguments, tests = _arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        if arguments.programs is not None:
            programs(arguments.programs, arguments.reference, arguments.out, arguments.jobs)
            return
        if arguments.published is not None:
            published(arguments.published, arguments.out, arguments.jobs)
            return
        if arguments.kernels is not None:
            kernels(arguments.kernels, arguments.reference, arguments.out, arguments.jobs)
            return
        for model in arguments.model or GPUS:
            if arguments.points is None:
                held = hold(model, tests, arguments.reference, arguments.jobs)
            else:
                held = hold_again(model, tests, arguments.reference, arguments.points)
            held.points().to_csv(arguments.out / f"{model}_points.csv", index=False)
            held.table().to_csv(arguments.out / f"{model}_compared.csv", index=False)
            draw(held, arguments.out / f"{model}.png")
            show(held)
    except UserError as error:
        sys.exit(f"gpusim study hardware: {error}")


if __name__ == "__main__":
    main()
