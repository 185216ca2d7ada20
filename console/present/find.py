"""Full-text search over everything that a console has read; the hits are rows of panes. Pure.

Values that brokers hide are unknown, so they are not found. A staged edit is not found by a secret in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from console.model.config import ConfigEntry, ConfigResource, ConfigSet, is_override
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.amounts import number
from console.plan.diff import diff
from console.plan.plan import Plan
from console.present import acls, quotas
from console.present.names import acl as acl_text
from console.present.names import plural, quota_entity, resource, target
from console.present.plan_rows import RowKey
from console.present.text import clean
from console.present.transactions import transaction_rows
from console.present.triage import subject_text
from console.triage.diagnosis import Verdict
from console.triage.events import Event
from widgets.row_table import TextSearch

MOST = 200
"""Maximum number of hits that are listed for a pane; all are counted."""


class Hit(NamedTuple):
    """A row of a pane that contains the text."""

    pane: str
    """The name of the pane, as the pane of the search shows it."""
    row: Hashable
    """The key of the row in that pane, or the entity that Enter opens."""
    name: str
    """The name of the row, with invisible characters escaped."""
    shows: str = ""
    """Another text of the row, with invisible characters escaped. The text that was found may be neither in `name`
    nor in `shows`.
    """


class Hits(NamedTuple):
    """The hits in one pane."""

    pane: str
    total: int
    """The number of hits in the pane, also those that are not listed."""
    hits: tuple[Hit, ...]
    """The first `MOST` hits."""


class Known(NamedTuple):
    """The data that a search covers."""

    snapshot: Snapshot
    plan: Plan
    events: Sequence[Event] = ()
    verdict: Verdict | None = None


Texts = tuple[Sequence[str], Callable[[int], Hit]]
"""The texts of a pane's rows, and a function that returns the hit for the index of a text."""


def find(wanted: str, known: Known) -> Iterator[Hits]:
    """Yield the hits of each pane, in the order of `PANES`; leave out panes without hits.

    Args:
        wanted: a query in the syntax of a table's filter.
        known: the data to search.

    Raises:
        BadQuery: `wanted` is not a valid query.
    """
    for pane, texts_of in PANES.items():
        texts, hit = texts_of(known)
        places = TextSearch(texts).hits(wanted)
        if places:
            yield Hits(pane, len(places), tuple(hit(place) for place in places[:MOST]))


# -- the panes ---------------------------------------------------------------------------------------------------------


def _causes(known: Known) -> Texts:
    named = known.verdict.causes if known.verdict is not None else ()
    texts = [f"{each.claim.cause} {each.claim.title} {subject_text(each.claim.subject)}" for each in named]

    def hit(place: int) -> Hit:
        claim = named[place].claim
        return Hit("now", (claim.cause, claim.subject), claim.cause, clean(claim.title, 300))

    return texts, hit


def _brokers(known: Known) -> Texts:
    rows = known.snapshot.cluster.brokers
    texts = [f"{each.id} {each.host}:{each.port} {each.rack or ''}" for each in rows]

    def hit(place: int) -> Hit:
        broker = rows[place]
        return Hit("brokers", str(broker.id), f"broker {broker.id}", clean(f"{broker.host}:{broker.port}"))

    return texts, hit


def _topics(known: Known) -> Texts:
    names = sorted(known.snapshot.topics)
    topics = known.snapshot.topics
    return names, lambda place: Hit(
        "topics", names[place], clean(names[place]), plural(len(topics[names[place]].partitions), "partition")
    )


def _configs(known: Known) -> Texts:
    """Return the texts of configs that entities override. Defaults are not searched: one would match for 100,000
    topics.
    """
    rows: list[tuple[ConfigResource, ConfigEntry]] = []
    own: dict[tuple[int, int], list[ConfigEntry]] = {}  # keyed by id, as equal sets are one object
    for entity, entries in known.snapshot.configs.items():
        set_ = own.get((id(entries), entity.type))
        # Include the type in the key: an override for one type of entities is a default for another.
        if set_ is None:
            set_ = own[id(entries), entity.type] = _own(entries, entity)
        rows += [(entity, entry) for entry in set_]
    texts = [f"{entry.name}={_value(entry)}" for _, entry in rows]

    def hit(place: int) -> Hit:
        entity, entry = rows[place]
        shown = "is hidden" if entry.sensitive else f"= {clean(_value(entry), 200)}"
        return Hit("configs", (entity, entry.name), resource(entity), f"{clean(entry.name)} {shown}")

    return texts, hit


def _own(entries: ConfigSet, entity: ConfigResource) -> list[ConfigEntry]:
    return [entry for entry in entries if is_override(entry, entity)]


def _value(entry: ConfigEntry) -> str:
    """Return the value of an entry; ``""`` for a secret, even if a broker returned it."""
    return "" if entry.sensitive else entry.value or ""


def _quotas(known: Known) -> Texts:
    entities = list(known.snapshot.quotas)
    texts = [f"{quotas.search_text(each)} {' '.join(known.snapshot.quotas[each])}" for each in entities]

    def hit(place: int) -> Hit:
        entity = entities[place]
        values = ", ".join(f"{clean(key)}={number(value)}" for key, value in known.snapshot.quotas[entity].items())
        return Hit("quotas", entity, quota_entity(entity), values)

    return texts, hit


def _acls(known: Known) -> Texts:
    rows = known.snapshot.acls
    return [acls.search_text(each) for each in rows], lambda place: Hit(
        "acls", rows[place], clean(rows[place].principal), acl_text(rows[place])
    )


def _groups(known: Known) -> Texts:
    rows = sorted(known.snapshot.groups.values(), key=lambda group: group.name)
    texts = [
        " ".join((each.name, each.state, each.type, *(f"{m.client_id}@{m.host}" for m in each.members or ())))
        for each in rows
    ]
    return texts, lambda place: Hit("groups", rows[place].name, clean(rows[place].name), clean(rows[place].state))


def _transactions(known: Known) -> Texts:
    rows = transaction_rows(known.snapshot, None)
    texts = [f"{row.place[0]}/{row.place[1]} {row.producer_id} {row.word} {row.transactional_id}" for row in rows]

    def hit(place: int) -> Hit:
        row = rows[place]
        where = f"{clean(row.place[0])}/{row.place[1]}"
        shows = f"{clean(row.transactional_id)} producer {row.producer_id}: {row.word}"
        return Hit("transactions", (row.place, row.producer_id), where, shows.strip())

    return texts, hit


def _plan(known: Known) -> Texts:
    rows = [(group.target, line) for group in diff(known.plan, known.snapshot) for line in group.lines]
    texts = [f"{target(about)} {line.key}" for about, line in rows]

    def hit(place: int) -> Hit:
        about, line = rows[place]
        return Hit("plan", RowKey(line.staged.edit.slot, line.key), target(about), clean(f"{line.verb} {line.key}"))

    return texts, hit


def _events(known: Known) -> Texts:
    from console.present.events import what_text, words

    rows = known.events

    def hit(place: int) -> Hit:
        event = rows[place]
        key = (event.until, event.kind, event.place, event.was, event.became)
        return Hit("events", key, what_text(event), f"{clean(event.was or '–', 80)} → {clean(event.became or '–', 80)}")

    return [words(event) for event in rows], hit


PANES: Mapping[str, Callable[[Known], Texts]] = {
    "now": _causes,
    "brokers": _brokers,
    "topics": _topics,
    "groups": _groups,
    "configs": _configs,
    "quotas": _quotas,
    "plan": _plan,
    "transactions": _transactions,
    "events": _events,
    "acls": _acls,
}
"""Name of a pane -> a function that returns the texts of its rows; in the order of the search, the fastest first."""

READ = (Part.CLUSTER, Part.TOPICS, Part.GROUPS, Part.QUOTAS, Part.ACLS)
"""Parts of the snapshot that the pane of the search reads if they are missing; in a missing part nothing is found."""


def unread(snapshot: Snapshot, parts: Iterable[str] = READ) -> list[str]:
    """Return those of the parts that have not been read."""
    return [part for part in parts if part not in snapshot.read_at]
