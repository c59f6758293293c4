"""A machine whose two sides of the crossbar have event loops of their own."""

from gpusim.machine.sides.join import JoinedSides, join_sides, refuse_together

__all__ = ["JoinedSides", "join_sides", "refuse_together"]
