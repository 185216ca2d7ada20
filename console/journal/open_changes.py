"""Whether a journal has anything open, without decoding its changes: a start must not read years to say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from console.journal.lines import BadLine, record
from console.journal.records import Answered, Closed, Sending, Settled
from console.model.changes import Status

_INTENT = re.compile(rb'\{"v":\s*1,\s*"kind":\s*"intent",\s*"change":\s*(\d{1,18}),')
_REVERTS = re.compile(rb'"reverts":\s*\[(\d{1,18}),\s*(\d{1,9})\]')
_UNTIL = re.compile(rb'"until":')


def anything_open(lines: Iterable[bytes]) -> bool:
    """False only where no change is unfinished and nothing is to be taken back. True is worth a closer look, and a line
    that can't be read is. lines: of the journal, whole or not."""
    sent: set[tuple[int, int]] = set()
    answered: set[tuple[int, int]] = set()
    doubtful: set[int] = set()
    settled: set[int] = set()
    until: dict[int, int] = {}
    back: dict[int, set[int]] = {}
    for line in lines:
        if found := _INTENT.match(line):
            if count := len(_UNTIL.findall(line)):
                until[int(found[1])] = count
            for change, edit in _REVERTS.findall(line):
                back.setdefault(int(change), set()).add(int(edit))
        elif line:
            try:
                note = record(line)
            except BadLine:
                return True
            match note:
                case Sending():
                    sent.add((note.change, note.request))
                case Answered():
                    answered.add((note.change, note.request))
                    if any(ended.status is Status.UNKNOWN for ended in note.edits.values()):
                        doubtful.add(note.change)
                case Settled():
                    settled.add(note.change)
                case Closed():
                    back.setdefault(note.place.change, set()).add(note.place.edit)
    unheard = {number for number, _ in sent - answered} | doubtful
    return bool(unheard - settled) or any(count > len(back.get(number, ())) for number, count in until.items())
