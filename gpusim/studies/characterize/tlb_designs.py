"""Designs of TLBs to look at: a model as it is, its recipes, and grids of its keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from attrs import evolve, field, frozen

from gpusim.config.load import LoadedModel
from gpusim.config.recipe import recipe_names
from gpusim.config.schema import GpuConfig
from gpusim.config.translation import TlbConfig
from gpusim.core.errors import UserError, nearest
from gpusim.files.units import cycles
from gpusim.machine.load import load_model
from gpusim.studies.characterize.tlb_levels import untimed

BASE: Final = "base"
"""The word for the model as it is."""
RECIPES: Final = "recipes"
"""The word for all recipes that change only translation, and fit the model."""


@frozen(eq=False)
class Design:
    """A machine whose TLBs are looked at.

    Attributes:
        name: for tables and pictures.
        model: from `gpusim.load_model`.

    Raises:
        UserError: its lookups cannot be known without a clock.
    """

    name: str
    model: LoadedModel = field()

    @model.validator
    def _check(self, _: object, model: LoadedModel) -> None:
        why = refusal(model.config)
        if why:
            raise UserError(f"design {self.name!r} of {model.name}: {why}")

    @property
    def config(self) -> GpuConfig:
        """The machine."""
        return self.model.config


def refusal(config: GpuConfig) -> str:
    """Why lookups of a machine cannot be known without a clock; empty: they can."""
    if config.stage:
        return f"stage.{next(iter(config.stage))} asks for pages when it has time to"
    if config.l1.translation == "after-l2":
        return 'with l1.translation = "after-l2" the TLBs are asked for what misses the L2 cache'
    if config.fbt is not None:
        return "the forward table (fbt) answers while lines are in the L2 cache"
    if config.node is not None:
        return "GPUs of a node ([node]) place pages and blocks as time goes on"
    if config.paging is not None:
        return "demand paging moves pages when they are asked for in time"
    return ""


def designs_of(
    name_or_path: str,
    text: str,
    variants: Sequence[str] = (),
    overrides: Mapping[str, object] | None = None,
) -> list[Design]:
    """The designs that words stand for.

    Args:
        name_or_path: a shipped model, or a TOML file.
        text: words: ``base``; a variant or recipe, or several as ``a+b``; ``recipes``; and
            settings ``KEY=VALUE,…``, of which all combinations are taken, each upon the model as
            it is.  A key without a dot is one of the last TLB level, one with a level's name
            before the dot of that level (``L1.entries``), any other one of the model.
            Without any word: ``base recipes``.
        variants: laid over the model first, as `load_model` does.
        overrides: then these.

    Raises:
        UserError: a word stands for nothing, or a design cannot be.
    """
    model = load_model(name_or_path, variants, overrides)
    words = text.split() or [BASE, RECIPES]
    found: dict[str, Design] = {}
    for word in (one for one in words if "=" not in one):
        if word == BASE:
            found[BASE] = Design(BASE, model)
        elif word == RECIPES:
            found.update((one.name, one) for one in _recipes(model, name_or_path, variants))
        else:
            again = load_model(name_or_path, [*variants, word], overrides)
            found[word] = Design(word, again)
    axes = [_axis(word, model) for word in words if "=" in word]
    _refuse_twice([key for key, _ in axes])
    for values in product(*(values for _, values in axes)) if axes else ():
        settings = dict(zip((key for key, _ in axes), values, strict=True))
        name = " ".join(f"{_short(key, model)}={value}" for key, value in settings.items())
        again = load_model(name_or_path, variants, {**(overrides or {}), **settings})
        found[name] = Design(name, again)
    return list(found.values())


def _recipes(model: LoadedModel, name_or_path: str, variants: Sequence[str]) -> Iterator[Design]:
    """Recipes that fit a model, change its translation, and have lookups known without a clock."""
    for name in recipe_names():
        try:
            changed = load_model(name_or_path, [*variants, name], model.overrides)
        except UserError:  # made for other machines
            continue
        if _changes_translation(changed.config, model.config) and not refusal(changed.config):
            yield Design(name, changed)


def _changes_translation(changed: GpuConfig, base: GpuConfig) -> bool:
    """Whether a machine differs in its TLBs, perhaps in walks and pages, and in nothing else."""
    memory = evolve(base.memory, page=changed.memory.page, frames=changed.memory.frames)
    same = evolve(
        base,
        tlb=changed.tlb,
        walk=changed.walk,
        memory=memory,
        block_scheduler=changed.block_scheduler,
    )
    if same != changed or any(tlb.ideal for tlb in changed.tlb.values()):
        return False
    return _tlbs(changed) != _tlbs(base) or changed.memory != base.memory


def _tlbs(config: GpuConfig) -> list[tuple[str, TlbConfig]]:
    return [(name, untimed(evolve(tlb, latency=cycles(1)))) for name, tlb in config.tlb.items()]


def _axis(word: str, model: LoadedModel) -> tuple[str, list[str]]:
    """Key of the model and values of a word such as ``L2.entries=512,1024``."""
    key, _, text = word.partition("=")
    values = [one for one in text.split(",") if one]
    if not key or not values:
        raise UserError(f"--tlbs: {word!r} is no KEY=VALUE,VALUE,…")
    levels = list(model.config.tlb)
    level, dot, rest = key.partition(".")
    if not dot:
        key = f"tlb.{levels[-1]}.{key}"
    elif level in levels:
        key = f"tlb.{level}.{rest}"
    if key not in model.origins:
        near = nearest(key, model.origins)
        raise UserError(
            f"--tlbs: {model.name} has no key {key!r}{near}; a word is KEY=VALUES (of the last "
            f"level, {levels[-1]}), LEVEL.KEY=VALUES with one of {', '.join(levels)}, a variant, a "
            f"recipe, {BASE!r} or {RECIPES!r}"
        )
    return key, values


def _refuse_twice(keys: Sequence[str]) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise UserError(f"--tlbs: {key} is given twice")


def _short(key: str, model: LoadedModel) -> str:
    """A key as a user writes it."""
    prefix = f"tlb.{list(model.config.tlb)[-1]}."
    return key.removeprefix(prefix).removeprefix("tlb.")
