"""Loading a model: read, and checked as the machine will be built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpusim.config.load import LoadedModel, read_model
from gpusim.machine.check_policies import check_policies


def load_model(
    name_or_path: str, variants: Iterable[str] = (), overrides: Mapping[str, object] | None = None
) -> LoadedModel:
    """Load a model, lay variants and recipes over it in the given order, then overrides.

    Args:
        name_or_path: a shipped model (``"kepler-uvm"``) or a TOML file.
        variants: each a name of its ``[variants.*]`` tables, of a recipe, or a recipe's path;
            ``"a+b"`` stands for a and then b.
        overrides: dotted key → value; strings are read like TOML values where they are any.

    Raises:
        UserError: no such file, variant or recipe, a machine that lacks what a recipe requires, or
            a key or value that cannot be; the message names the place, the key, the value, what
            is allowed and the nearest name.
    """
    return read_model(name_or_path, variants, overrides, check_policies)
