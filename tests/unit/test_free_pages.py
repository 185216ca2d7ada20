"""Tests that kac returns free pages within the heap to the operating system."""

import subprocess
import sys

from tests.support.patience import PATIENCE

HOLES = """
from pathlib import Path
from console.session.kept_record import return_free_pages

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

held = [bytearray(4000) for _ in range(8000)]
kept = held[::100]
del held
before = resident()
return_free_pages()
print(before - resident())
"""


def test_holes_between_objects_that_stay_are_returned() -> None:
    ran = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert int(ran.stdout) > 16 << 20
