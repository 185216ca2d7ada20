"""``python -m bundle [--arch …] [--with-lake]``: make bundles in dist/."""

from __future__ import annotations

import argparse
import os
import sys
import time
import tomllib
from pathlib import Path

from bundle.inputs import GO_NAMES, ROOT, Missing
from bundle.make import make
from bundle.packages import packages

PACKED = 19
"""The compression level of zstd: higher levels take minutes, and make the file only a few thousandths smaller."""


def first_ours(machine: str) -> list[str]:
    """Return all architectures; the architecture of this machine is the first, so that its bundle is made first."""
    return sorted(GO_NAMES, key=lambda arch: (arch != machine, arch))


def main() -> int:
    """Make the bundles that the options choose, and print their sizes. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bundle", description=__doc__)
    parser.add_argument("--arch", action="append", choices=sorted(GO_NAMES), help="default: both")
    parser.add_argument("--with-lake", action="store_true", help="with DuckDB, which reads lakes")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of what is made")
    parser.add_argument("--level", type=int, default=PACKED, help="zstd's level; low ones are for tests")
    options = parser.parse_args()
    cache = ROOT / "build" / "bundle"
    cache.mkdir(parents=True, exist_ok=True)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    for arch in options.arch or first_ours(os.uname().machine):
        begun = time.monotonic()
        print(f"{arch}: fetching and packing Python and the packages takes minutes", file=sys.stderr, flush=True)
        try:
            made = make(
                arch,
                os.uname().machine,
                options.out,
                cache,
                with_lake=options.with_lake,
                level=options.level,
                version=version,
            )
            packed = list(packages(made.tree, arch, version, options.out, with_lake=options.with_lake))
        except (Missing, RuntimeError, OSError) as error:
            print(f"bundle: {error}", file=sys.stderr)
            return 1
        took = time.monotonic() - begun
        print(f"{made.file}  {made.size / 1e6:.1f} MB, unpacked {made.unpacked / 1e6:.1f} MB, in {took:.0f} s")
        for each in packed:
            print(f"{each}  {each.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
