"""What retention deleted of a topic of request logs before it was read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

LOST = "are lost"
"""In the reason of each row that says what could not be read because it is gone: of files, too."""


class Skipped(NamedTuple):
    """Offsets of a partition that were not read, from `at` on."""

    partition: int
    at: int
    offsets: int
    why: str

    @property
    def reason(self) -> str:
        """The same as a text."""
        return f"{self.offsets:,} offsets {LOST}: {self.why}"


DELETED = "they were deleted before they were read"
MADE_AGAIN = "the topic was deleted and created again"


def skipped(start: Mapping[str, int], end: Mapping[str, int], first: Mapping[str, int]) -> list[Skipped]:
    """Return what a batch from `start` to `end` does not have. first: the first offset that there still is; all of them
    by partition. A partition that is new begins at 0. Of a topic that was created again the part that is below what was
    read is not read."""
    found = []
    for name, upto in sorted(end.items(), key=lambda each: int(each[0])):
        since = start.get(name, 0)
        begins = first.get(name, since)
        if upto < since:
            found.append(Skipped(int(name), begins, upto - begins, MADE_AGAIN))
        elif begins > since:
            found.append(Skipped(int(name), since, min(begins, upto) - since, DELETED))
    return [each for each in found if each.offsets > 0]
