"""What the process sets for itself before any command runs."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

_LIMITS = """
import resource, sys
import console.cli.main
from console.__main__ import OPEN_FILES, main

def limits(argv):
    print(*resource.getrlimit(resource.RLIMIT_CORE), *resource.getrlimit(resource.RLIMIT_NOFILE), OPEN_FILES)
    return 0

console.cli.main.run = limits
sys.exit(main())
"""


def limits(core: int, files: int) -> list[int]:
    """The limits when a command begins, of a process that was started with these."""

    def begin() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (core, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    done = subprocess.run([sys.executable, "-c", _LIMITS], check=True, capture_output=True, text=True, preexec_fn=begin)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_CORE)[1] == 0, reason="no core files may be had here")
def test_no_command_leaves_a_core_file() -> None:
    assert limits(core=resource.getrlimit(resource.RLIMIT_CORE)[1], files=256)[:2] == [0, 0]


def test_every_command_may_open_as_many_files_as_its_user() -> None:
    _, _, soft, hard, longest = limits(core=0, files=256)
    assert soft == (longest if hard == resource.RLIM_INFINITY else min(hard, longest))
    assert soft > 256
