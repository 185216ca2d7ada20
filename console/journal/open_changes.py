"""Whether a journal has anything open, told from its bytes: a start must not decode years of changes to say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable

_INTENT = re.compile(rb'\{"v":\s*\d+,\s*"kind":\s*"intent",\s*"change":\s*(\d{1,18}),')
_NOTE = re.compile(rb'\{"v":\s*\d+,\s*"kind":\s*"(sending|outcome|settled)",\s*"change":\s*(\d{1,18}),')
_REQUEST = re.compile(rb'"request":\s*(\d{1,9})')
_CLOSED = re.compile(rb'\{"v":\s*\d+,\s*"kind":\s*"closed",\s*"place":\s*\[(\d{1,18}),\s*(\d{1,9})\]')
_MENDED = re.compile(rb'\{"v":\s*\d+,\s*"kind":\s*"mended"')
_REVERTS = re.compile(rb'"reverts":\s*\[(\d{1,18}),\s*(\d{1,9})\]')
_UNTIL = re.compile(rb'"until":')
_UNKNOWN = re.compile(rb'"status":\s*"unknown"')


def anything_open(lines: Iterable[bytes]) -> bool:
    """False only where no change is unfinished and nothing is to be taken back; True is worth a closer look. lines: of
    the journal, whole or not."""
    sent: set[tuple[int, int]] = set()
    answered: set[tuple[int, int]] = set()
    doubtful: set[int] = set()
    settled: set[int] = set()
    until: dict[int, int] = {}
    back: dict[int, set[int]] = {}
    for line in lines:
        if found := _INTENT.match(line):
            if count := sum(1 for _ in _UNTIL.finditer(line)):
                until[int(found[1])] = count
            for change, edit in _REVERTS.findall(line):
                back.setdefault(int(change), set()).add(int(edit))
        elif found := _CLOSED.match(line):
            back.setdefault(int(found[1]), set()).add(int(found[2]))
        elif found := _NOTE.match(line):
            kind, number = found[1], int(found[2])
            if kind == b"settled":
                settled.add(number)
            elif request := _REQUEST.search(line):
                (sent if kind == b"sending" else answered).add((number, int(request[1])))
                if kind == b"outcome" and _UNKNOWN.search(line):
                    doubtful.add(number)
        elif line and not _MENDED.match(line):
            return True  # what can't be read is to be told
    unheard = {number for number, _ in sent - answered} | doubtful
    return bool(unheard - settled) or any(count > len(back.get(number, ())) for number, count in until.items())
