"""What `gpusim trace` records for: a file, and perhaps a machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.core.errors import UserError

if TYPE_CHECKING:
    from gpusim.core.warp_program import Asked


@frozen
class Recording:
    """A recording to be made.

    Attributes:
        output: its HDF5 file.
        machine: what its machine asks of programs; nothing, if none is named.
        warp_size: threads of a warp of the machine; 32, if none is named.
    """

    output: Path
    machine: Asked
    warp_size: int


def recording_for(
    output: Path,
    model: str | None,
    variants: list[str] | None,
    settings: dict[str, str] | None = None,
) -> Recording:
    """A recording for the machine that a user names, or for none.

    Args:
        output: its HDF5 file.
        model: name or path of the model; None: none.
        variants: of the model.
        settings: keys of the model that are set.

    Raises:
        UserError: the model is wrong, or variants or keys are of none.
    """
    from gpusim.config.asked import asked_of
    from gpusim.core.warp_program import NOTHING_ASKED
    from gpusim.machine.load import load_model

    if model is not None:
        config = load_model(model, variants or (), settings).config
        return Recording(output, asked_of(config), config.sm.warp_size)
    if settings:
        raise UserError(
            f"--set {next(iter(settings))}: no --model is named; allowed: workload.KEY=VALUE"
        )
    if variants:
        raise UserError(f"--variant {variants[0]}: no --model is named")
    return Recording(output, NOTHING_ASKED, 32)
