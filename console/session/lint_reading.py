"""Read the parts of a cluster that the rules of lint need. If brokers refuse a part, the snapshot has the failure, and
the report says which rules could not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.admin.errors import AdminError, BrokerError
from console.lint.rule import Rule, Seen
from console.model import snapshot as refresh
from console.model.certificates import Certificate
from console.model.cluster import Group, GroupPolls
from console.model.codes import BROKER, GROUP, TOPIC, ResourceType
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.failure import Failure
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.session.parts import SERVICES
from console.session.schema_reads import read_schema_texts
from console.session.slow_polls import tls_listeners
from console.session.snapshot_reader import Client, Learned, SnapshotReader

if TYPE_CHECKING:
    from console.contexts import Context

_BY_THEMSELVES = frozenset({Part.CLUSTER, Part.CONFIGS, Part.LAGS, Part.CERTIFICATES})
"""Parts that are read separately, before or after all others."""
MOST_SUBJECTS = 100
"""Maximum number of a schema registry's subjects whose versions are compared."""
_LARGE = frozenset({Part.QUOTAS, Part.ACLS, Part.LOG_DIRS})


async def read_for_lint(
    reader: SnapshotReader, rules: Iterable[Rule], old: timedelta | None = None, subjects: Iterable[str] = ()
) -> Seen:
    """Read all parts that the rules need, unless the reader's snapshot has them already. Return the input of the rules.

    Args:
        old: the age from which on a part is read again; None to read no part again.
        subjects: subjects whose versions are compared in addition to the first `MOST_SUBJECTS`.

    Raises:
        Refused: the cluster is not the expected one.
        AdminError: the cluster can't be reached.
    """
    chosen = tuple(rules)
    needed = {part for rule in chosen for part in (*rule.reads, *rule.also)}
    types = {type_ for rule in chosen for type_ in rule.configs_of}
    if Part.CERTIFICATES in needed:  # the listeners are in the brokers' configs
        types.add(BROKER)
    if any({Part.TOPICS, Part.CONFIGS} <= {*rule.reads} for rule in chosen):
        types.add(TOPIC)
    oldest = reader.clock.now() - old if old is not None else None
    fresh = {part for part, at in reader.snapshot.read_at.items() if oldest is None or at > oldest}
    if Part.CLUSTER not in fresh:
        await reader.read_cluster()

    async def read(part: Part) -> None:
        try:
            await reader.read_whole(part)
        except AdminError as error:
            failed = [("", error.failure)]
            reader.learn(lambda known, _at: refresh.with_failures(known, part, failed))

    parts = needed - _BY_THEMSELVES - fresh - absent_parts(reader.context)
    # Read large parts last: their answers could hold up the small ones until these time out.
    for some in (parts - _LARGE, parts & _LARGE):
        await asyncio.gather(*map(read, sorted(some)))
    if Part.SCHEMAS in needed:
        names = dict.fromkeys([*subjects, *[*reader.snapshot.schemas][:MOST_SUBJECTS]])
        await reader.keep(read_schema_texts(reader.client, reader.snapshot, names, whole=bool(subjects)))
    resources = [*_resources(reader.snapshot, types)]
    if GROUP in types:
        resources += await reader.list_resources((GROUP,))
    # Read all configs at once: copying 100,000 configs into the snapshot for each chunk would take as long as reading
    # them.
    await reader.read_configs([each for each in resources if each not in reader.snapshot.configs], at_once=True)
    if Part.LAGS in needed:
        groups = reader.snapshot.groups.items()  # triage describes them again
        wanted = {name: each for name, each in groups if old is None or each.members is None}
        await reader.keep(_members(reader.client, wanted))
    certificates = None
    known = reader.snapshot.configs
    if Part.CERTIFICATES in needed and any(broker_resource(b.id) in known for b in reader.snapshot.cluster.brokers):
        certificates, silent = await _certificates(reader.client, reader.snapshot, reader.context)
        reader.learn(lambda known, _at: refresh.with_failures(known, Part.CERTIFICATES, silent))
    return seen_by(reader.snapshot, reader.clock.now(), reader.context, certificates)


async def _members(client: Client, groups: Mapping[str, Group]) -> Learned:
    """Read the members of groups, but not their lag. A group counts as one without members if it no longer exists, or
    if its coordinator has only offsets of it.

    Args:
        groups: group name -> the group as listed.
    """
    from console.admin.groups import describe_groups

    types = {name: group.type for name, group in groups.items()}
    try:
        found = await client.run(describe_groups, [*groups], types)
    except BrokerError as error:
        failed = [("", error.failure)]
        return lambda known, _at: refresh.with_failures(known, Part.LAGS, failed)
    absent = {name for name, failure in found.failures.items() if failure.name in refresh.GONE}
    described = {**found.groups, **{name: replace(groups[name], members=()) for name in absent}}
    polls = GroupPolls(described, {}, {name: why for name, why in found.failures.items() if name not in absent})
    return lambda known, at: refresh.with_group_polls(known, polls, {}, at)


def seen_by(
    snapshot: Snapshot, at: datetime, context: Context, certificates: tuple[Certificate, ...] | None = None
) -> Seen:
    """Return the input of the rules: the snapshot, and the context's settings for lint.

    Args:
        at: the present time, UTC.
        certificates: the listeners' certificates; None if they were not read.
    """
    return Seen(snapshot, at, certificates, context.throttles, context.lint, absent_parts(context))


def absent_parts(context: Context) -> frozenset[Part]:
    """Return the parts of HTTP services that the context's settings do not name."""
    return frozenset(part for part, named in SERVICES.items() if not named(context.settings))


async def _certificates(
    client: Client, snapshot: Snapshot, context: Context
) -> tuple[tuple[Certificate, ...], list[tuple[str, Failure]]]:
    """Read the certificates of the listeners with TLS. Return them, and (address, failure) for each listener that
    presented none.
    """
    from console.admin.certificates import shown_certificates

    listeners = tls_listeners(snapshot, context)
    found = await client.run(shown_certificates, listeners) if listeners else ()
    shown = {each.listener for each in found}
    failure = Failure("NO_CERTIFICATE", "it shows no certificate", "Look at its address, and at the log of its broker.")
    return found, [(each.address, failure) for each in listeners if each not in shown]


def _resources(snapshot: Snapshot, types: Collection[ResourceType]) -> Iterable[ConfigResource]:
    if BROKER in types or TOPIC in types:  # a topic's value may come from either
        yield CLUSTER_DEFAULT
        yield from (broker_resource(broker.id) for broker in snapshot.cluster.brokers)
    if TOPIC in types:
        yield from map(topic_resource, snapshot.topics)
