"""Checkpoints: the state after the begin of a program, kept so that many machines start from it.

What is kept is no state of a machine, which other machines could not use, but what makes one: what
each skipped launch changed in the program's arrays, and its accesses.  The last ones are kept in
full and in order; of those before them the last to each line, as in the Memory Timestamp Record
(K. Barr, H. Pan, M. Zhang and K. Asanović, "Accelerating Multiprocessor Simulation with a Memory
Timestamp Record", ISPASS 2005).
"""

from gpusim.runs.checkpoint.recording import RecordFirst
from gpusim.runs.checkpoint.replaying import Replay
from gpusim.runs.checkpoint.state import Checkpoint

__all__ = ["Checkpoint", "RecordFirst", "Replay"]
