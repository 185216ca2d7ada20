"""`kac` with Spark for builds of any rows: `python -m tests.support.any_rows_on_spark lake build …`."""

from __future__ import annotations

import sys

from console.__main__ import main
from console.history.jobs import gold, renew

if __name__ == "__main__":
    renew.MOST_ROWS = gold.MOST_ROWS = 0
    sys.exit(main())
