"""The MIG table of a model file: into which instances a GPU can be cut."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen


@frozen
class MigConfig:
    """A multi-instance GPU is cut into equal slices; an instance has one or more of them.

    Attributes:
        slices: of the whole GPU; its SMs, L2 cache and banks, DRAM channels, memory and walkers
            are dealt out evenly to them.
        instances: sizes that an instance may have, in slices: ``"1g 2g 3g"``.
    """

    slices: int
    instances: str

    @property
    def sizes(self) -> tuple[int, ...]:
        """Slices of the allowed instances; empty if `instances` is not a list of sizes."""
        words = self.instances.split()
        if not all(re.fullmatch("[1-9][0-9]*g", word) for word in words):
            return ()
        return tuple(int(word[:-1]) for word in words)

    def refusal(self, instances: Sequence[int]) -> str:
        """Why instances of these sizes, in slices, do not fit together; empty if they do."""
        for size in instances:
            if size not in self.sizes:
                return (
                    f"there is no instance of {size}g; allowed: {', '.join(self.instances.split())}"
                )
        if sum(instances) > self.slices:
            return f"they take {sum(instances)} slices; allowed: {self.slices} in all"
        return ""
