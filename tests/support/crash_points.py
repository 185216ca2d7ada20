"""Kills this process by SIGKILL at a chosen point: right before or after it writes a line of the journal, or sends a
request that changes the cluster.
"""

import os
import re
import signal
from pathlib import Path
from typing import Any

from console.admin import changes
from console.journal import file

_KIND = re.compile(rb'"kind":"(\w+)"')
ANY = "any"


def arm(point: str) -> None:
    """Set the point at which this process kills itself, as ``when:kind:number``.

    point: ``before:step:2`` is before the second journal line of kind step; ``after:AlterReassignments:1`` is after the
    answer to the first such request, before the journal line about it; the kind ``any`` counts every line and request.
    """
    when, what, nth = point.split(":")
    left = int(nth)

    def at(moment: str, name: str) -> None:
        nonlocal left
        if moment == when and what in (name, ANY):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    write, send = file._write, changes.send

    def writing(journal: Path, descriptor: int, data: bytes) -> None:
        found = _KIND.search(data)
        kind = found[1].decode() if found is not None else ""
        at("before", kind)
        write(journal, descriptor, data)
        at("after", kind)

    async def sending(link: Any, request: Any, *, validate_only: bool, **rest: Any) -> Any:
        name = "" if validate_only else type(request).__name__
        at("before", name)
        outcomes = await send(link, request, validate_only=validate_only, **rest)
        at("after", name)
        return outcomes

    file._write = writing
    changes.send = sending
