"""Numbers of things as options of studies."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """A whole number from 1 on: for ``type`` of an argument.

    Raises:
        argparse.ArgumentTypeError: it is less.
        ValueError: it is none.
    """
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be 1 or more")
    return number
