"""Stages of translation for scenes; named in tests as "tests.machine.own_stages:..."."""

from __future__ import annotations

from typing import Any

import attrs

from gpusim.config.schema import GpuConfig, StageConfig
from gpusim.core.mapping import Mapping
from gpusim.core.policy import Option, PolicyConfig
from gpusim.core.request import Purpose, Translation
from gpusim.core.stage import StageSite
from gpusim.core.stage_process import StageProcess

EACH_WAY = 3


class PassOn(StageProcess):
    """Passes translations on, and answers back, after three cycles each way."""

    def asked(self, translation: Translation) -> bool:
        if not self.room:
            return False
        self.send_on(translation, delay=EACH_WAY)
        return True

    def answered(self, translation: Translation) -> None:
        self.pass_back(translation, delay=EACH_WAY)


class NextPage(StageProcess):
    """Asks for the next page, too, and keeps it until a translation asks for that.

    Attributes:
        kinds: why it was asked, of all translations that came.
    """

    def __init__(self, site: StageSite, *, entries: int = 8) -> None:
        super().__init__(site)
        self.entries = entries
        self.kept: dict[int, Mapping] = {}
        self.awaited: set[int] = set()
        self.kinds: list[int] = []

    def asked(self, translation: Translation) -> bool:
        mapping = self.kept.pop(translation.tag, None)
        if mapping is not None:
            self.reply(translation, mapping, delay=1)
        elif self.room:
            self.send_on(translation)
        else:
            return False
        self.kinds.append(translation.kind)
        ahead = translation.tag + 1
        if (
            translation.kind == Purpose.DEMAND
            and not {ahead} & (self.kept.keys() | self.awaited)
            and self.prefetch(ahead, translation)
        ):
            self.awaited.add(ahead)
        return True

    def answered(self, translation: Translation) -> None:
        if translation.back is not None:
            self.pass_back(translation)
        elif translation.tag in self.awaited:
            self.awaited.discard(translation.tag)
            if translation.mapping is not None and len(self.kept) < self.entries:
                self.kept[translation.tag] = translation.mapping

    def shoot_down(self, tag: int | None) -> None:
        for one in [*self.kept] if tag is None else [tag]:
            self.kept.pop(one, None)
        self.awaited -= self.awaited if tag is None else {tag}


class Invents(StageProcess):
    """Answers every page with one of its own."""

    def asked(self, translation: Translation) -> bool:
        self.reply(translation, Mapping(translation.tag, 7))
        return True


class Swaps(PassOn):
    """Passes on another mapping than the one that it was given."""

    def answered(self, translation: Translation) -> None:
        translation.mapping = Mapping(translation.tag, 7)
        self.pass_back(translation)


class Nothing(StageProcess):
    """Answers None, as if that meant that the next stage has to be asked."""

    def asked(self, translation: Translation) -> bool:
        self.reply(translation, None)
        return True


class Forgets(PassOn):
    """Passes None on in the place of each answer."""

    def answered(self, translation: Translation) -> None:
        translation.mapping = None
        self.pass_back(translation)


class Loses(StageProcess):
    """Takes translations, and neither answers them nor sends them on."""

    def asked(self, translation: Translation) -> bool:
        return True


def with_stage(
    config: GpuConfig,
    kind: str,
    *stages: str,
    scope: str = "gpu",
    queue: int = 64,
    **options: Option,
) -> GpuConfig:
    """A machine with a stage named "own" of a class of this file; `stages` is the order of all."""
    policy = PolicyConfig(f"{__name__}:{kind}", options)
    own: dict[str, Any] = {"own": StageConfig(policy, scope, queue)}
    return attrs.evolve(config, stage=own, stages=stages)
