"""One value of a resolved model, and where it comes from."""

from __future__ import annotations

from attrs import frozen


@frozen
class Value:
    """One value of a resolved model, as it would be written in a file.

    Attributes:
        key: dotted key.
        value: with its unit.
        origin: ``"models/x.toml"``, ``"variant NAME"``, ``"recipe NAME"``, ``"--set"`` or
            ``"default"``.
        citation: the comment beside it: a table of a paper, or why it was chosen.
    """

    key: str
    value: int | float | str | bool
    origin: str
    citation: str

    @property
    def table(self) -> str:
        """The table that it stands in; empty at the top of the file."""
        return self.key.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The key inside its table."""
        return self.key.rpartition(".")[2]
