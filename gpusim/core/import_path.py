"""Where processes look for modules: not in the current folder, whose files may be untrusted.

Python puts that folder first for ``-m`` and ``-c``, with which most child processes are started.
What a user's file names there is found nevertheless where it may run (`gpusim.core.user_code`).
This module imports only what Python has imported before it: others could lie in that folder.
"""

import os
import sys

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Environment of child processes: with it, Python leaves the current folder out."""

_HOME = os.path.realpath(__file__ + "/../../..")


def is_started_as_module() -> bool:
    """Whether this process is ``python -m gpusim``, and has just begun to import it."""
    if sys.argv[:1] != ["-m"]:
        return False
    word = sys.orig_argv[-len(sys.argv)]
    return word == "gpusim" or (word.startswith("-") and word.endswith("mgpusim"))


def leave_out_current_folder() -> None:
    """Take what Python adds for ``-m`` and ``-c`` off this process's search path.

    A gpusim that lies in the current folder, and is not installed, is still found, last of all.
    """
    added = {"", os.curdir}
    if is_started_as_module() and not sys.flags.safe_path:
        added.add(sys.path[0])
    sys.path[:] = [place for place in sys.path if place not in added]
    if _HOME not in sys.path:
        sys.path.append(_HOME)
