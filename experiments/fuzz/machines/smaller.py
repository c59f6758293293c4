"""Smaller designs that fail as a large one does: what a person can read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from attrs import evolve

from experiments.fuzz.machines.designs import Design
from experiments.fuzz.machines.knobs import Setting
from experiments.fuzz.machines.models import MadeModel
from experiments.fuzz.machines.programs import App, Work
from gpusim.core.errors import UserError

_SECONDS = 40.0
"""Of a processor, for all that is tried."""

Maker = Callable[[], Design]
"""Makes a smaller design; raises `UserError` where there is none."""


def smaller(design: Design, fails: Callable[[Design], bool]) -> Design:
    """The smallest design that is found, one thing less at a time, which still fails.

    Args:
        design: which fails.
        fails: whether another one does.
    """
    end = time.process_time() + _SECONDS
    tried: set[str] = set()
    while (less := _first_that_fails(design, fails, tried, end)) is not None:
        design = less
    return design


def _first_that_fails(
    design: Design, fails: Callable[[Design], bool], tried: set[str], end: float
) -> Design | None:
    for make in _less(design):
        if time.process_time() > end:
            return None
        try:
            one = make()
        except UserError:
            continue
        text = one.text()
        if text not in tried:
            tried.add(text)
            if fails(one):
                return one
    return None


def _less(design: Design) -> Iterator[Maker]:
    """Designs with one thing less, large things first."""
    work = design.work
    for index in range(len(work.apps) if len(work.apps) > 1 else 0):
        apps = work.apps[:index] + work.apps[index + 1 :]
        yield partial(design.with_work, Work(apps, work.relaunch))
    if design.options:
        yield partial(evolve, design, options={})
    if design.records:
        yield partial(evolve, design, records=())
    for index in range(len(design.events)):
        events = design.events[:index] + design.events[index + 1 :]
        yield partial(evolve, design, events=events)
    yield from _less_of_a_model(design)
    if work.relaunch:
        yield partial(design.with_work, Work(work.apps))
    for index, app in enumerate(work.apps):
        for less in _less_of_an_app(app):
            apps = (*work.apps[:index], less, *work.apps[index + 1 :])
            yield partial(design.with_work, Work(apps, work.relaunch))


def _less_of_a_model(design: Design) -> Iterator[Maker]:
    made = design.made
    for index in range(len(made.recipes)):
        recipes = made.recipes[:index] + made.recipes[index + 1 :]
        yield partial(_on_model, design, recipes, made.settings)
    names = list(made.settings)
    half = len(names) // 2
    halves = [names[:half], names[half:]] if half > 1 else []
    for gone in halves + [[name] for name in names]:
        settings = {name: value for name, value in made.settings.items() if name not in gone}
        yield partial(_on_model, design, made.recipes, settings)


def _on_model(design: Design, recipes: tuple[str, ...], settings: Mapping[str, Setting]) -> Design:
    return design.with_model(MadeModel.of(design.made.base, recipes, settings))


def _less_of_an_app(app: App) -> Iterator[App]:
    if app.place:
        yield evolve(app, place={})
    for name, value in app.parameters.items():
        if name == "number":
            continue
        rest = {key: one for key, one in app.parameters.items() if key != name}
        yield evolve(app, parameters=rest)
        if isinstance(value, int) and value > 1:
            yield evolve(app, parameters={**rest, name: value // 2})
            yield evolve(app, parameters={**rest, name: value - 1})
