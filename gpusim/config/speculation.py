"""Speculative fetches as data: the table ``[speculation]`` of a model file."""

from __future__ import annotations

from attrs import frozen

from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, policy_of


@frozen
class SpeculationConfig:
    """Loads whose translation is awaited fetch their line at a guessed frame meanwhile.

    Attributes:
        guess: frame guess policy: in which frame a page may lie.
        entries: lines of an SM that are fetched, or kept until they are used.
    """

    guess: PolicyConfig = policy_of(Slot.FRAME_GUESS, "contiguous")
    entries: int = 32
