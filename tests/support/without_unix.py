"""
What only Unix has is gone from the process that imports this: much as on Windows.

To be imported before all else.
"""

from __future__ import annotations

import asyncio  # noqa: F401 (it is another one there, and asks while it is imported)
import os
import select
import signal
import socket
import sys
import time
from types import ModuleType

#: Of each module, what "Availability: Unix" or "not Windows" is written of.
ABSENT: dict[ModuleType, str] = {
    os: "chown chroot confstr ctermid fchdir fchown fork forkpty getegid geteuid "
    "getgid getgroups getloadavg getpgid getpgrp getpriority getuid killpg lchown "
    "lockf major mkfifo mknod nice openpty pathconf posix_fadvise posix_spawn "
    "posix_spawnp pread pwrite register_at_fork sched_getaffinity sched_yield "
    "sendfile setegid seteuid setgid setpgid setpriority setsid setuid statvfs "
    "sync sysconf tcgetpgrp uname wait wait3 wait4 waitid",
    signal: "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP "
    "SIGUSR1 SIGUSR2 SIGWINCH alarm getitimer pause pthread_kill pthread_sigmask "
    "setitimer siginterrupt sigpending sigtimedwait sigwait",
    select: "epoll poll",
    socket: "AF_UNIX SCM_RIGHTS SO_REUSEPORT sethostname",
    time: "clock_gettime clock_settime pthread_getcpuclockid tzset",
}
MODULES = "crypt fcntl grp pty pwd readline resource spwd syslog termios tty"

for module, names in ABSENT.items():
    for name in filter(module.__dict__.__contains__, names.split()):
        delattr(module, name)
for name in MODULES.split():
    # Importing it raises ImportError then.
    sys.modules[name] = None  # type: ignore[assignment]


def _dup(number: int) -> int:
    """Fail as there: sockets have no numbers of files."""
    raise OSError(9, "Bad file descriptor")


os.dup = _dup
