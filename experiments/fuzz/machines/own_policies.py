"""Classes of users that inherit policies of gpusim, and only hear what happens."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from experiments.fuzz.machines.agreement import changed, differ, run
from experiments.fuzz.machines.designs import Design
from experiments.fuzz.machines.knobs import policies
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, find_policy
from gpusim.core.user_code import Imports, importing
from gpusim.plugin import Signals
from gpusim.results.result import Result


def own_policy(random: Random, design: Design, result: Result) -> Iterator[str]:
    """A class that inherits a policy, and hears every signal, does what the policy does."""
    key, slot, config = random.choice(list(_policies(design)))
    own = _inherited(find_policy(slot, config.policy))
    globals()[own.__name__] = own
    named = {key: f"{__name__}:{own.__name__}"}
    options = {f"{key}.{name}": value for name, value in config.options.items()}
    with importing(Imports.ALL), run(changed(design, {**named, **options})) as other:
        for line in differ(result, other):
            yield f"a class that inherits {config.policy!r} at {key}: {line}"


def _policies(design: Design) -> Iterator[tuple[str, Slot, PolicyConfig]]:
    """Keys of policies that may be inherited from, their slots, and what there is."""
    for key, slot, value in policies(design.model.config):
        if value is not None and slot != Slot.TLB_SET:  # own ones count how full entries were
            yield key, slot, value


def _inherited(base: Any) -> type:
    """A class of the same name, which listens to all that its machine announces."""

    def attach(self: Any, signals: Signals) -> None:
        base.attach(self, signals)
        for name in signals.names():
            signals.listen(name, _ignore, everywhere=True)

    return type(base.__name__, (base,), {"attach": attach, "__module__": __name__})


def _ignore(*_what: object) -> None:
    pass
