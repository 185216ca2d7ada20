"""The event that receivers get about a cause that is new, got worse or is gone: as JSON, and as fields for a
template. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from console.answers.triage import cause_data, moment, step_command
from console.contexts.receivers import FIELDS
from console.model.numbers import Data
from console.present.text import clean
from console.present.triage import subject_text
from console.sensitive import without_secrets
from console.telling.news import News, What

MOST = 10
"""Maximum number of entries of each list in an event: evidence, steps, examples."""
LONGEST = 400
"""Maximum number of characters of each text in an event."""
_DOTS = "······"


class Event(NamedTuple):
    """The event that a receiver gets about a cause."""

    data: Mapping[str, Data]
    """The event as a JSON object. The meaning of a field never changes, because receivers rely on it."""
    fields: Mapping[str, str]
    """Name of a field -> its text, for a template."""

    @property
    def text(self) -> str:
        """The event as one line of text."""
        return self.fields["text"]


def event(each: News, context: str, cluster_id: str) -> Event:
    """Return the event for a change of a cause.

    Args:
        context: the name of the cluster's context.
        cluster_id: the id of the cluster; ``""`` if no broker has answered yet.
    """
    named, claim = each.row.named, each.row.claim
    title, severity = _plain(claim.title), claim.severity.value
    kept = {
        **cause_data(named, moment(each.at)),
        "id": each.id,
        "since": moment(claim.since) if claim.since is not None else None,
    }
    data: dict[str, Data] = {
        "v": 1,
        "event": each.what.value,
        "at": moment(each.at),
        "context": clean(context, LONGEST),
        "cluster": clean(cluster_id, LONGEST),
        "title": title,
        "was": each.was.value if each.was is not None else None,
        **{key: _bounded(value) for key, value in kept.items()},
    }
    evidence = "\n".join(_plain(fact.fact) for fact in claim.evidence[:MOST])
    steps = "\n".join(_plain(": ".join(filter(None, (step.text, step_command(step))))) for step in claim.next[:MOST])
    fields = {
        "event": each.what.value,
        "id": _plain(each.id),
        "cause": claim.cause,
        "subject": _plain(subject_text(claim.subject)) or "the cluster",
        "severity": severity,
        "was": each.was.value if each.was is not None else "",
        "certainty": claim.certainty.value,
        "title": title,
        "since": _time(claim.since),
        "at": _time(each.at),
        "context": clean(context, LONGEST),
        "cluster": clean(cluster_id, LONGEST),
        "evidence": evidence,
        "next": steps,
        "text": f"{_begin(each)} {title} ({clean(context, LONGEST)})",
    }
    return Event(data, {name: fields[name] for name in FIELDS})


def _begin(each: News) -> str:
    severity = each.row.claim.severity.value.upper()
    if each.what is What.GONE:
        return "GONE"
    return severity if each.was is None else f"{severity}, was {each.was.value.upper()}:"


def _time(at: datetime | None) -> str:
    return moment(at) if at is not None else ""


def _plain(text: str) -> str:
    """Return a text on one line, without control characters, and with parts that look like a secret replaced."""
    return clean(without_secrets(text[: 4 * LONGEST], _DOTS), LONGEST)


def _bounded(value: Data) -> Data:
    """Return a copy of a JSON value for an event: each text as `_plain` returns it, at most `LONGEST` (400)
    characters; each list and object cut to `MOST` (10) entries.
    """
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, dict):
        return {key: _bounded(each) for key, each in [*value.items()][:MOST]}
    return [_bounded(each) for each in value[:MOST]] if isinstance(value, list) else value
