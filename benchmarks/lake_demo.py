"""Measures the time of `kac lake demo`, which makes a lake of one day of three clusters.

``python -m benchmarks.lake_demo [--rounds 1]``: needs Java.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile

from benchmarks.figures import report, report_ratio
from benchmarks.processes import cost_of, kac

MOST_SECONDS = 120.0


def main() -> None:
    """Run `kac lake demo` as often as the options say, and print its cost as lines of JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lake_demo", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    costs = []
    for _ in range(parser.parse_args().rounds):
        with tempfile.TemporaryDirectory() as folder:
            costs.append(cost_of(kac("lake", "demo", "--lake", f"{folder}/lake", "--master", "local[2]")))
        report("kac lake demo", **costs[-1].shown())
    report_ratio("kac lake demo: s", statistics.median(each.wall for each in costs), MOST_SECONDS)


if __name__ == "__main__":
    main()
