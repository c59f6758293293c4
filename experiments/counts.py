"""Numbers of things as options of studies."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """A whole number from 1 on: for ``type`` of an argument.

    Raises:
        argparse.ArgumentTypeError: it is less.
        ValueError: it is none.
    """
    return _from(1, text)


def any_number(text: str) -> int:
    """As `positive`, of which there may be none."""
    return _from(0, text)


def _from(least: int, text: str) -> int:
    number = int(text)
    if number < least:
        raise argparse.ArgumentTypeError(f"{text}: must be {least} or more")
    return number
