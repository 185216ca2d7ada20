"""Whether a journal has anything open, without decoding its changes: a start must not read years to say nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from console.journal.lines import BadLine, record
from console.journal.records import Answered, Closed, Sending, Settled
from console.model.changes import Status
from console.plan.staged import Place

_INTENT = re.compile(rb'\{"v":\s*1,\s*"kind":\s*"intent",\s*"change":\s*(\d{1,18}),')
_REVERTS = re.compile(rb'"reverts":\s*\[(\d{1,18}),\s*(\d{1,9})\]')
_REQUEST = re.compile(rb'"api":')
_UNTIL = re.compile(rb'"until":')


def anything_open(lines: Iterable[bytes]) -> bool:
    """False only where no change is unfinished and nothing is to be taken back. True is worth a closer look, and a line
    that can't be read is. lines: of the journal, whole or not."""
    sent: set[tuple[int, int]] = set()
    answered: set[tuple[int, int]] = set()
    doubtful: set[int] = set()
    settled: set[int] = set()
    until: dict[int, int] = {}
    requests: dict[int, int] = {}
    reverts: dict[int, list[Place]] = {}
    back: set[Place] = set()
    for line in lines:
        if found := _INTENT.match(line):
            if count := len(_UNTIL.findall(line)):
                until[int(found[1])] = count
            requests[int(found[1])] = len(_REQUEST.findall(line))
            reverts[int(found[1])] = [Place(int(change), int(edit)) for change, edit in _REVERTS.findall(line)]
        elif line:
            try:
                note = record(line)
            except BadLine:
                return True
            match note:
                case Sending():
                    sent.add((note.change, note.request))
                    settled.discard(note.change)
                case Answered():
                    answered.add((note.change, note.request))
                    statuses = {ended.status for ended in note.edits.values()}
                    if Status.UNKNOWN in statuses:
                        doubtful.add(note.change)
                    if statuses - {Status.APPLIED}:
                        reverts.pop(note.change, None)  # not all of it was taken back
                case Settled():
                    settled.add(note.change)
                case Closed():
                    back.add(note.place)
    for number, places in reverts.items():
        if all((number, request) in answered for request in range(requests[number])):
            back.update(places)
    taken_back = Counter(place.change for place in back)
    unheard = {number for number, _ in sent - answered} | doubtful
    return bool(unheard - settled) or any(count > taken_back[number] for number, count in until.items())
