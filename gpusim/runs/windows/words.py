"""The words and bounds of a sampling plan."""

UNITS = ("cycles", "instructions")
"""Units of the length of a window that is no whole launch."""

LAUNCH = "launch"
"""The length of a window that is one, and an order."""

ORDERS = ("program", LAUNCH)
"""Orders of places: as the program runs, or launches of one signature side by side."""

LEAST_WINDOWS = 2
MOST_WINDOWS = 100_000

LEAST_WAVES = 4
"""Least thread blocks that are timed of a launch, as multiples of those that the SMs hold at once:
the first ones, the last ones, and two between them, which stand for all others and are compared."""
