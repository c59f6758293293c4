"""A policy as a model file names it, and what all policies have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from attrs import field, frozen
from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from gpusim.core.signals import Signals

Option = int | float | str | bool


@frozen
class PolicyConfig:
    """A policy by name, with its options.

    In a file either a string (``array = "set-associative"``) or a table with the key ``policy``
    and the options beside it.
    """

    policy: str
    options: Mapping[str, Option] = field(factory=dict)


@frozen(eq=False, repr=False)
class Ending:
    """A run that has ended, as its policies see it.

    Attributes:
        key: of the policy in the model, such as ``"tlb.L2.fill"``.
        cycles: length of the run.
        apps: names of the applications, in the order of their indices.
    """

    key: str
    cycles: int
    apps: Sequence[str]


@mypyc_attr(allow_interpreted_subclasses=True)
class Policy:
    """What decides in a slot of the machine."""

    __slots__ = ()

    def attach(self, signals: Signals) -> None:
        """The machine is built, and its first cycle is to come: listen to what is of use.

        Called once.  A policy that keeps other policies hands the signals on to them.
        """

    def acted(self) -> int | None:
        """How often it has decided otherwise than if it were not there; None: it does not say.

        Results keep the sum over all policies of one key of the model; a study of readings refuses
        those whose policies acted in no run.
        """
        return None

    @classmethod
    def warnings(cls, made: Sequence[Self], ending: Ending) -> Iterable[str]:  # noqa: ARG003
        """What a user should know: above all, that the policy never came to act in a run.

        Args:
            made: all policies that were made for one key of the model, such as those of all SMs.
            ending: the run.

        Returns:
            a sentence each, with the numbers, and the option that would change it.
        """
        return ()
