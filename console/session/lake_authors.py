"""Who made the changes of a lake that are not built yet, where the journal of this host says so.

Never guessed: a change of the journal is the author of one that fits in place, content and time. The build asks all
journals and request logs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import takewhile

from console.history.journal_edits import Setting, principal_of, settings_of
from console.history.reader.tables import Change
from console.journal import history
from console.journal.file import JournalFile, journal_path
from console.journal.history import State, latest_changes
from console.journal.records import still_runs
from console.journal.segments import JournalError
from console.log_file import state_directory
from console.plan.edit_json import edit_json

log = logging.getLogger(__name__)

SLACK = timedelta(seconds=5)
"""How far this host's clock and the controllers' may be apart."""
_DEFAULT = "-1"
"""What the creation of a topic asks for where the brokers' default shall hold."""
_STATES = (State.APPLIED, State.UNKNOWN, State.UNDER_WAY)


def with_own_authors(changes: Sequence[Change]) -> list[Change]:
    """The changes; those that are not built yet with their author where this host's journal has it."""
    new = [change for change in changes if not change.is_built]
    found: dict[Change, str] = {}
    for cluster_id in {change.cluster_id for change in new}:
        journal = JournalFile(journal_path(state_directory(os.environ), cluster_id))
        of_cluster = [change for change in new if change.cluster_id == cluster_id]
        try:
            found |= authors(of_cluster, latest_changes(journal.latest(), still_runs))
        except JournalError as error:  # the changes are shown all the same
            log.warning("authors are not known: %s", error.failure)
    return [
        change._replace(principal=found[change], attribution="journal") if change in found else change
        for change in changes
    ]


def authors(changes: Sequence[Change], latest: Iterator[history.Change]) -> dict[Change, str]:
    """The principals of these changes, of one cluster. latest: the changes of the journal, the latest first; only as
    many are read as may fit."""
    if not changes:
        return {}
    earliest = min(change.valid_from for change in changes) - SLACK
    found: dict[Change, str] = {}
    for made in takewhile(lambda each: (each.last_sent or each.intent.at) >= earliest, latest):
        name = principal_of(made.intent.who.principal)
        if name is None or made.last_sent is None:
            continue
        since, until = made.intent.at - SLACK, made.last_sent + SLACK
        settings = list(_settings(made))
        for change in changes:
            if since <= change.valid_from <= until and any(_fits(change, each) for each in settings):
                found.setdefault(change, name)
    return found


def _settings(made: history.Change) -> Iterable[Setting]:
    for place in made.in_state(*_STATES):
        entry = made.entries[place]
        yield from settings_of(edit_json(entry.staged.edit, entry.secret), None)


def _fits(change: Change, setting: Setting) -> bool:
    """Whether an edit makes this change. A topic's deletion deletes all of it, its creation gives it an id."""
    if (change.entity_type, change.entity_key) != (setting.entity_type, setting.entity_key):
        return False
    if setting.op == "delete":
        return change.is_deleted and setting.attr in (change.attr, ":topic_id")
    if change.is_deleted:
        return False
    if setting.attr == ":replication" and change.attr == ":topic_id":
        return True
    asked, became = setting.value, change.new_value
    hidden = asked is None or became is None or (asked == _DEFAULT and change.attr.startswith(":"))
    return setting.attr == change.attr and (setting.op != "set" or hidden or asked == became)
