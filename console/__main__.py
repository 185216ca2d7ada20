"""The entry point of `python -m console` and of the `kac` command."""

from __future__ import annotations

import os
import pwd
import resource
import sys

OPEN_FILES = 65_536
"""Maximum number of open files and sockets that kac sets: the hard limit may be a billion, and child processes inherit
the value."""


def main() -> int:
    """Run the command line of this process, and return its exit code."""
    from console.cli.main import FAILED, run
    from console.terminal import never_fail, standard_streams

    set_limits()
    set_home()
    leave_out()
    never_fail(standard_streams())
    try:
        return run([_as_typed(word) for word in sys.argv[1:]])
    except Exception:
        import logging

        from console.log_file import INTERNAL, open_log
        from console.terminal import leave

        if not logging.getLogger().handlers:
            open_log(os.environ)
        logging.getLogger("console").exception("kac itself failed")
        return leave(FAILED, INTERNAL)


def _as_typed(word: str) -> str:
    """Return an argument decoded as UTF-8, if Python left its bytes undecoded because the locale is ASCII. Return any
    other argument unchanged.
    """
    try:
        return word.encode("ascii", "surrogateescape").decode("utf-8")
    except UnicodeError:  # characters of the locale's encoding, or bytes that are not text
        return word


def set_limits() -> None:
    """Disable core files, which would contain passwords. Raise the limit of open files to the hard limit, but at most
    to OPEN_FILES.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def set_home() -> None:
    """Set HOME to the root folder if it is not set and this host has no entry for the user, as in some containers."""
    if not os.environ.get("HOME"):
        try:
            pwd.getpwuid(os.getuid())
        except KeyError:
            os.environ["HOME"] = "/"


def leave_out() -> None:
    """Keep kio from importing hypothesis if it is installed: that import would take 10 MiB of memory, and longer than
    all other imports together.
    """
    sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
