"""What a shorter retention deletes, in a line."""

from __future__ import annotations

from console.plan.effects.retention import Deletion
from console.present.failures import failure_text
from console.present.names import plural
from console.present.units import size_range


def deletion_text(found: Deletion) -> str:
    """``310–330 GiB are deleted within minutes``, of all replicas; that it is more, or not known, where that is so."""
    if found.partitions == 0 and found.why is not None:
        return f"how much is deleted is not known: {failure_text(found.why)}"
    of = f"; {found.partitions:,} of {plural(found.partitions + found.unknown, 'partition')} looked at"
    least, some = ("at least ", of) if found.unknown else ("", "")
    if found.most == 0:
        return f"no whole segment is deleted at once{some}"
    return f"{least}{size_range(found.least, found.most)} are deleted within minutes{some}"
