"""The result of `watch`: a table, from a snapshot that has the parts which the statement needs."""

from __future__ import annotations

from datetime import UTC, datetime

from console.answers.results import Table, table_of
from console.language.errors import CommandError
from console.language.verbs.watch import Watch
from console.language.vocabulary import problems
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.model.topic_readers import TopicLags
from console.present.watched import NOT_NAMED, WATCHED, Beside, watch_rows
from console.triage.symptoms import Poll
from console.triage.trouble import troubles


def watch(statement: Watch, snapshot: Snapshot) -> Table:
    """Return a row for each watched entity.

    Raises:
        CommandError: the statement names no entity; or it names a set, which only the command line and the screen can
            resolve.
    """
    if not statement.subjects:
        hint = "name the subjects, or on the command line: kac watch SET"
        raise CommandError("what is to be watched? sets are of a context", hint, statement.span)
    absent = {
        part: why for part, why in NOT_NAMED.items() if part not in snapshot.read_at and not problems(snapshot, part)
    }
    found = troubles(Poll(datetime.now(UTC), snapshot))
    beside = Beside(lags=TopicLags().after(snapshot), troubles=found, absent=absent)
    rows = watch_rows(statement.subjects, snapshot, beside)
    parts = (Part.TOPICS, Part.GROUPS, Part.LAGS, Part.CLUSTER, Part.LOG_DIRS, Part.CONNECT, Part.SCHEMAS)
    return table_of("watched", WATCHED, rows, problems=problems(snapshot, *parts))
