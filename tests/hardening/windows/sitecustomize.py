"""Python imports this when it starts: what gpusim sees of its library is what Windows has.

Other packages see this system as it is.  Modules that Windows lacks cannot be imported by gpusim's,
functions that it lacks are not there, and files that are open can be neither removed nor replaced.
"""

import builtins
import os
import pathlib
import sys
from contextlib import suppress

MODULES = {
    *("crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource"),
    *("spwd", "syslog", "termios", "tty"),
}
ONLY_UNIX = {
    "os": {
        *("chown", "chroot", "confstr", "ctermid", "fchdir", "fchmod", "fchown", "fork", "forkpty"),
        *("getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp"),
        *("getpriority", "getresuid", "getsid", "getuid", "killpg", "lchown", "lockf", "mkfifo"),
        *("mknod", "nice", "openpty", "pathconf", "pipe2", "posix_fadvise", "posix_fallocate"),
        *("posix_spawn", "pread", "preadv", "pwrite", "pwritev", "readv", "register_at_fork"),
        *("sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile", "setgid", "setpgid"),
        *("setpriority", "setsid", "setuid", "statvfs", "fstatvfs", "sync", "sysconf", "tcgetpgrp"),
        *("ttyname", "uname", "wait", "wait3", "wait4", "waitid", "writev", "WNOHANG", "WIFEXITED"),
        *("O_CLOEXEC", "O_DIRECTORY", "O_DSYNC", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC"),
        *("fdatasync", "get_blocking", "set_blocking", "memfd_create", "getxattr", "setxattr"),
    },
    "signal": {
        *("alarm", "getitimer", "pause", "pidfd_send_signal", "pthread_kill", "pthread_sigmask"),
        *("setitimer", "siginterrupt", "sigpending", "sigtimedwait", "sigwait", "sigwaitinfo"),
        *("SIGALRM", "SIGBUS", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGIO", "SIGKILL", "SIGPIPE"),
        *("SIGPROF", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGUSR1", "SIGUSR2"),
        *("SIGWINCH", "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK", "ITIMER_PROF", "ITIMER_REAL"),
    },
    "faulthandler": {"register", "unregister"},
    "select": {"poll", "epoll", "kqueue"},
    "socket": {"AF_UNIX", "socketpair", "sendmsg"},
    "time": {"clock_gettime", "pthread_getcpuclockid", "tzset"},
}


class OnWindows:
    """A module as Windows has it."""

    def __init__(self, module: object) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        module = self._module.__name__
        if name in ONLY_UNIX[module]:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return "nt" if (module, name) == ("os", "name") else getattr(self._module, name)


def of_gpusim(scope: object) -> bool:
    """Whether code with these globals is gpusim's."""
    name = (scope or {}).get("__name__", "")
    return isinstance(name, str) and name.partition(".")[0] in {"gpusim", "experiments"}


def import_on_windows(name, scope=None, local=None, fromlist=(), level=0):  # type: ignore[no-untyped-def]
    """`__import__`."""
    if level == 0 and of_gpusim(scope):
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        found = imported(name, scope, local, fromlist, level)
        return OnWindows(found) if name in ONLY_UNIX else found
    return imported(name, scope, local, fromlist, level)


def refused_if_open(change):  # type: ignore[no-untyped-def]
    """A method of `Path` that Windows refuses for files that some process has open."""

    def changed(path, *arguments, **options):  # type: ignore[no-untyped-def]
        if of_gpusim(sys._getframe(1).f_globals):
            for one in (path, *arguments):
                if is_open(os.path.realpath(one)):
                    raise PermissionError(13, "another process uses the file", str(one))
        return change(path, *arguments, **options)

    return changed


def is_open(real: str) -> bool:
    """Whether a process of this user has a file open."""
    for process in pathlib.Path("/proc").iterdir():
        with suppress(OSError):  # no process, or it has ended, or is another user's
            if any(opened(place) == real for place in (process / "fd").iterdir()):
                return True
    return False


def opened(place: pathlib.Path) -> str:
    """What an open file is called; empty if it has been closed."""
    try:
        return str(place.readlink())
    except OSError:
        return ""


imported = builtins.__import__
builtins.__import__ = import_on_windows
for name in ("unlink", "replace", "rename"):
    setattr(pathlib.Path, name, refused_if_open(getattr(pathlib.Path, name)))
