"""LULESH's kernels without neighbours: motion of nodes, and the elements' equation of state."""

from __future__ import annotations

import numpy as np

from gpusim.programs.proxy_apps.hexahedra import Reals
from gpusim.programs.proxy_apps.lulesh_kernel import Registers, Step, Stream

CUT = 1e-7
"""Energies, pressures, viscosities and velocities below it are 0."""

VOLUME_CUT = 1e-10
LEAST_ENERGY, LEAST_PRESSURE = -1e15, 0.0
SMALLEST_VOLUME, LARGEST_VOLUME = 1e-9, 1e9
DENSITY = 1.0

AXES = ("x", "y", "z")


def _cut(value: Reals) -> Reals:
    return np.where(np.abs(value) < CUT, 0.0, value)


def _energy(value: Reals) -> Reals:
    return np.maximum(_cut(value), LEAST_ENERGY)


def _squared_sound(v: Registers, pressure: str, volume: Reals) -> Reals:
    """(threads,) the squared speed of sound; not more than 0 where there is none."""
    return (v["pbvc"] * v["e_new"] + volume**2 * v["bvc"] * v[pressure]) / DENSITY


def _viscosity(v: Registers, pressure: str, volume: Reals) -> Reals:
    squared = _squared_sound(v, pressure, volume)
    sound = np.where(squared <= 0, 0.333333e-36, np.sqrt(np.maximum(squared, 0)))
    return sound * v["ql_old"] + v["qq_old"]


INIT_STRESS = (Step(("p", "q"), ("sigxx", "sigyy", "sigzz"), lambda v: -v["p"] - v["q"], 2),)


def _acceleration(axis: str) -> Step:
    force, result = f"f{axis}", f"{axis}dd"
    return Step((force, "nodalMass"), (result,), lambda v: v[force] / v["nodalMass"], 12)


ACCELERATION = tuple(_acceleration(axis) for axis in AXES)


def velocity_steps(dt: float) -> tuple[Step, ...]:
    """Of CalcVelocityForNodes."""

    def step(axis: str) -> Step:
        speed, rate = f"{axis}d", f"{axis}dd"
        return Step((speed, rate), (speed,), lambda v: _cut(v[speed] + v[rate] * dt), 3)

    return tuple(step(axis) for axis in AXES)


def position_steps(dt: float) -> tuple[Step, ...]:
    """Of CalcPositionForNodes."""

    def step(axis: str) -> Step:
        speed = f"{axis}d"
        return Step((axis, speed), (axis,), lambda v: v[axis] + v[speed] * dt)

    return tuple(step(axis) for axis in AXES)


def _deviator(name: str) -> Step:
    return Step((name,), (name,), lambda v: v[name] - v["vdov"] / 3)


STRAINS = (
    Step(("dxx", "dyy", "dzz"), ("vdov",), lambda v: v["dxx"] + v["dyy"] + v["dzz"], 14),
    *(_deviator(name) for name in ("dxx", "dyy", "dzz")),
)

CLIPPED_VOLUME = (
    Step(("vnew",), ("vnewc",), lambda v: np.clip(v["vnew"], SMALLEST_VOLUME, LARGEST_VOLUME), 4),
)


def _copy(source: str, target: str) -> Step:
    return Step((source,), (target,), lambda v: v[source], 0)


EOS_START = (
    _copy("e", "e_old"),
    _copy("delv", "delvc"),
    _copy("p", "p_old"),
    _copy("q", "q_old"),
    Step(("vnewc",), ("compression",), lambda v: 1 / v["vnewc"] - 1, 10),
    Step(
        ("vnewc", "delvc"), ("compHalfStep",), lambda v: 1 / (v["vnewc"] - v["delvc"] / 2) - 1, 12
    ),
    _copy("qq", "qq_old"),
    _copy("ql", "ql_old"),
    Step((), ("work",), lambda v: np.zeros_like(v["vnewc"]), 0),
)

ENERGY_1 = (
    Step(
        ("e_old", "delvc", "p_old", "q_old", "work"),
        ("e_new",),
        lambda v: np.maximum(
            v["e_old"] - v["delvc"] / 2 * (v["p_old"] + v["q_old"]) + v["work"] / 2, LEAST_ENERGY
        ),
        6,
    ),
)

PRESSURE = (
    Step(("squeeze",), ("bvc",), lambda v: (v["squeeze"] + 1) * 2 / 3, 2),
    Step((), ("pbvc",), lambda v: np.full_like(v["squeeze"], 2 / 3), 0),
    Step(
        ("bvc", "e_new", "vnewc"),
        ("pressure",),
        lambda v: np.where(
            v["vnewc"] >= LARGEST_VOLUME,
            0.0,
            np.maximum(_cut(v["bvc"] * v["e_new"]), LEAST_PRESSURE),
        ),
        6,
    ),
)
"""From the compression in `squeeze` to `pressure`: both stand for other arrays."""

ENERGY_2 = (
    Step(("compHalfStep", "delvc")),
    Step((), ("q_new",), lambda v: np.zeros_like(v["delvc"]), 0, lambda v: v["delvc"] > 0),
    Step(
        ("pbvc", "e_new", "bvc", "pHalfStep", "ql_old", "qq_old"),
        ("q_new",),
        lambda v: _viscosity(v, "pHalfStep", 1 / (1 + v["compHalfStep"])),
        45,
        lambda v: v["delvc"] <= 0,
    ),
    Step(
        ("e_new", "p_old", "q_old", "pHalfStep", "q_new"),
        ("e_new",),
        lambda v: (
            v["e_new"]
            + v["delvc"] / 2 * (3 * (v["p_old"] + v["q_old"]) - 4 * (v["pHalfStep"] + v["q_new"]))
        ),
        7,
    ),
    Step(("work",), ("e_new",), lambda v: _energy(v["e_new"] + v["work"] / 2), 6),
)

ENERGY_3 = (
    Step(("delvc",)),
    Step((), ("q_tilde",), lambda v: np.zeros_like(v["delvc"]), 0, lambda v: v["delvc"] > 0),
    Step(
        ("pbvc", "e_new", "vnewc", "bvc", "p_new", "ql_old", "qq_old"),
        ("q_tilde",),
        lambda v: _viscosity(v, "p_new", v["vnewc"]),
        45,
        lambda v: v["delvc"] <= 0,
    ),
    Step(
        ("e_new", "p_old", "q_old", "pHalfStep", "q_new", "p_new"),
        ("e_new",),
        lambda v: _energy(
            v["e_new"]
            - (
                7 * (v["p_old"] + v["q_old"])
                - 8 * (v["pHalfStep"] + v["q_new"])
                + v["p_new"]
                + v["q_tilde"]
            )
            * v["delvc"]
            / 6
        ),
        14,
    ),
)

ENERGY_4 = (
    Step(("delvc",)),
    Step(
        ("pbvc", "e_new", "vnewc", "bvc", "p_new", "ql_old", "qq_old"),
        ("q_new",),
        lambda v: _cut(_viscosity(v, "p_new", v["vnewc"])),
        45,
        lambda v: v["delvc"] <= 0,
    ),
)

EOS_END = (_copy("p_new", "p"), _copy("e_new", "e"), _copy("q_new", "q"))

SOUND = (
    Step(
        ("pbvc", "e_new", "vnewc", "bvc", "p_new"),
        ("ss",),
        lambda v: np.sqrt(np.maximum(_squared_sound(v, "p_new", v["vnewc"]), 1.111111e-36)),
        35,
    ),
)

VOLUMES = (
    Step(
        ("vnew",), ("v",), lambda v: np.where(np.abs(v["vnew"] - 1) < VOLUME_CUT, 1.0, v["vnew"]), 3
    ),
)


def _pressure(squeeze: str, result: str) -> Stream:
    renamed = {"squeeze": squeeze, "pressure": result}
    return Stream("CalcPressureForElems", PRESSURE, renamed=renamed)


EQUATION_OF_STATE = (
    Stream("EvalEOSForElemsPart1", EOS_START, by_material=True),
    Stream("CalcEnergyForElemsPart1", ENERGY_1),
    _pressure("compHalfStep", "pHalfStep"),
    Stream("CalcEnergyForElemsPart2", ENERGY_2),
    _pressure("compression", "p_new"),
    Stream("CalcEnergyForElemsPart3", ENERGY_3),
    _pressure("compression", "p_new"),
    Stream("CalcEnergyForElemsPart4", ENERGY_4),
    Stream("EvalEOSForElemsPart2", EOS_END, by_material=True),
    Stream("CalcSoundSpeedForElems", SOUND, by_material=True),
)
"""The kernels of EvalEOSForElems, in order."""
