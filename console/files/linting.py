"""Prepares wanted files for lint: predicts the cluster after the files are applied, and selects the findings that
concern the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from console.files.read import Read
from console.files.staging import Staging, file_edits, staging_of
from console.files.subjects import WantedSubject, registry_of_files, unjudged, with_levels
from console.lint.rule import Found, Rule, Seen
from console.model.changes import NewTopic
from console.model.codes import BROKER
from console.model.config import ConfigResource
from console.model.inheritance import Inheritance
from console.model.numbers import long_number
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.compile import predict
from console.plan.edits import CreateTopic
from console.plan.plan import EMPTY, stage
from console.plan.staged import subject
from console.plan.stale_throttles import owned_by_moves


class Wished(NamedTuple):
    """The predicted cluster after files are applied, for lint."""

    after: Seen
    """The predicted state of the cluster, for rules."""
    staging: Staging
    """The result of staging the files, with the parts that can't be staged, which are not in `after`."""
    counts: Callable[[Rule, Found], bool]
    """A function from a rule and a finding to whether the finding is selected: the files list its entity or its key,
    or, in a lint of a real cluster, the finding would not exist without the files.
    """
    unjudged: tuple[str, ...]
    """The parts of the files that no rule checks, one line each."""


def wished(read: Read, seen: Seen, rules: Iterable[Rule], *, alone: bool = False) -> Wished:
    """Return the predicted cluster after the files are applied, the result of staging them, a function that selects the
    findings which concern the files, and the parts that no rule checks.

    Args:
        read: the files for one cluster.
        seen: the present cluster, in which everything that files can list was read.
        rules: the rules that will be run.
        alone: whether the cluster is only assumed (lint without a cluster), so that only findings on entities in the
            files are selected.
    """
    no_registry = Part.SCHEMAS in seen.absent and bool(read.schemas)
    if no_registry:
        seen = _with_registry(seen, read.schemas)
    seen = replace(seen, snapshot=with_levels(seen.snapshot, read.schemas))
    now = seen.snapshot
    wanted = file_edits(read.wanted, now, (), owned_by_moves(now))
    report = stage(EMPTY, wanted.edits, now)
    in_files = {target for target, key in read.places if not key}
    there = {(rule.name, found.subject, found.key) for rule in rules for found in rule.find(seen)}

    def counts(rule: Rule, found: Found) -> bool:
        new = not alone and (rule.name, found.subject, found.key) not in there
        # If other tools' files describe a broker, count only findings about keys in these files.
        return subject(found.subject) in in_files or (found.subject, found.key) in read.places or new

    made = [each.edit.topic for each in report.plan.staged if isinstance(each.edit, CreateTopic)]
    after = replace(seen, snapshot=_placed(predict(now, report.plan), made), accepted=(*seen.accepted, *read.accepted))
    lines = unjudged(read.schemas, after.snapshot, alone=no_registry)
    return Wished(after, staging_of(read, wanted, report, now), counts, tuple(lines))


def _with_registry(seen: Seen, wanted: Mapping[ConfigResource, WantedSubject]) -> Seen:
    """Return the state with a schema registry that has only the earlier versions that the files list."""
    snapshot = registry_of_files(seen.snapshot, wanted, seen.at)
    return replace(seen, snapshot=snapshot, absent=seen.absent - {Part.SCHEMAS})


def _placed(snapshot: Snapshot, made: Iterable[NewTopic]) -> Snapshot:
    """Return the snapshot with the replicas of new topics placed on brokers that are not fenced, alternating between
    racks, as a controller would place them; a prediction has only the number of replicas. New topics with
    assignments are not changed.
    """
    brokers = [broker for broker in snapshot.cluster.brokers if not broker.fenced]
    seen: Counter[str | None] = Counter()
    order: list[tuple[int, str, int]] = []
    for broker in brokers:
        order.append((seen[broker.rack], broker.rack or "", broker.id))
        seen[broker.rack] += 1
    ids = [broker for _, _, broker in sorted(order)]
    topics = dict(snapshot.topics)
    for new in made:
        if ids and not new.assignments:
            count = min(new.replication if new.replication > 0 else _default_factor(snapshot), len(ids))
            topics[new.name] = replace(
                topics[new.name],
                partitions=tuple(
                    each._replace(leader=where[0], replicas=where, isr=where)
                    for each in topics[new.name].partitions
                    if (where := tuple(ids[(each.number + n) % len(ids)] for n in range(count)))
                ),
            )
    return replace(snapshot, topics=topics)


def _default_factor(snapshot: Snapshot) -> int:
    entry = Inheritance(snapshot).sample(BROKER, "default.replication.factor")
    return (long_number(entry.value) if entry is not None else None) or 1


def place_of(read: Read, found: Found) -> str:
    """Return the ``FILE:LINE`` of a finding's key, or else of its entity; ``""`` if no file lists the entity."""
    source, line = read.place(subject(found.subject), found.key)
    return f"{source}:{line}" if source else ""
