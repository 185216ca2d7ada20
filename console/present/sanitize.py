"""Text that came from a cluster, made harmless for a terminal, and measured in its cells.

`widgets.cells` decides what is harmless and how wide; here stands how much of one value is worth showing.
"""

from __future__ import annotations

from widgets import cells
from widgets.cells import ELLIPSIS, cell_width

__all__ = ["ELLIPSIS", "LIMIT", "cell_width", "clean", "fit", "fit_middle", "is_harmless", "pad"]

LIMIT = 2_000
"""Characters of one value that are worth showing; a config value may have 32,767."""


def clean(text: str, limit: int = LIMIT) -> str:
    """`text` on one line with everything invisible made visible, cut to `limit` characters; see `widgets.cells`."""
    return cells.clean(text, limit)


def is_harmless(text: str) -> bool:
    """Whether `clean` changes nothing in it but its length."""
    return cells.clean(text) == text


fit = cells.truncate
"""A text in at most so many cells, ending in ``…`` where it was cut."""
fit_middle = cells.truncate_middle
"""The same with its middle left out, for names whose ends tell them apart."""
pad = cells.fit
"""A text cut or filled with spaces to exactly so many cells."""
