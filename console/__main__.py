"""`python -m console` and the `kac` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line of this process; the result is its exit code."""
    from console.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
