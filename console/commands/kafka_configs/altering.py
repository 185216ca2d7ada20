"""Carries out --alter: reads what is there, makes the edits a plan, and lets the session check and apply it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from console.commands.kafka_configs.changes import (
    config_changes,
    is_scram,
    near_keys,
    quota_changes,
    scram_changes,
)
from console.commands.kafka_configs.entities import QUOTA_TYPES, entity_of, resource_of
from console.commands.kafka_configs.options import BROKER_LOGGERS
from console.commands.kafka_configs.reading import quota_filter, read_configs, read_quotas
from console.commands.kafka_configs.request import ConfigsRequest
from console.commands.session import Refused, Session
from console.model.config import ConfigResource, ConfigSet, broker_resource, is_override
from console.plan.edits import ConfigEdit, QuotaEdit, ScramEdit, SetConfig, SetQuota
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Staged, Was
from console.plan.values import same_value
from console.session.apply_report import ApplyReport

_SEEN_TRIES, _SEEN_SECONDS = 20, 0.05
"""A broker may describe a change some milliseconds after the controller took it."""


@dataclass(frozen=True, slots=True)
class Altered:
    """How it went. report: None where there was nothing to change; hint: what was probably meant, ``""`` if unknown."""

    report: ApplyReport | None
    hint: str = ""


Send = Callable[[], Awaitable[ApplyReport]]
"""Checks or applies what is staged."""


async def alter(
    session: Session, request: ConfigsRequest, added: Mapping[str, str], deleted: Sequence[str], send: Send
) -> Altered:
    """Stage the change and send it. Raises UsageError before anything is sent, Refused, AdminError."""
    session.refuse_if_read_only()
    if request.type in QUOTA_TYPES:
        quotas = await _quotas_or_credentials(session, request, added, deleted)
        report = await _send(session, quotas, send)
        if report is not None and report.sent and report.ok:
            await _until_quotas_seen(session, request, quotas)
        return Altered(report)
    resource = resource_of(request)
    await _describe(session, resource)
    known = session.snapshot.configs.get(resource)
    if known is None and request.type == BROKER_LOGGERS:
        listing = await read_configs(session.client, [resource])
        if resource in listing.failures:
            raise Refused(listing.failures[resource])
    edits = config_changes(request, added, deleted, session.snapshot)
    report = await _send(session, _as_written(edits, known), send)
    if report is not None and report.sent and report.ok and request.type != BROKER_LOGGERS:
        await _until_seen(session, resource, edits)
    return Altered(report, near_keys((*added, *deleted), known) if report is not None and not report.ok else "")


async def _describe(session: Session, resource: ConfigResource) -> None:
    """What is there; of the brokers' default a broker tells more: which keys are secrets."""
    if not resource.is_cluster_default:
        await session.read_configs([resource])
        return
    await session.read_cluster()
    brokers = [broker_resource(broker.id) for broker in session.snapshot.cluster.brokers[:1]]
    await session.read_configs([resource, *brokers])


async def _send(session: Session, staged: Sequence[Staged], send: Send) -> ApplyReport | None:
    if not staged:
        return None
    session.replan(Plan(tuple(staged)))
    return await send()


def _as_written(edits: Sequence[ConfigEdit], known: ConfigSet | None) -> list[Staged]:
    """Staged without the plan's own rules: values as they are, nothing left out as needless. The brokers judge them,
    and to write a broker's value again is how it is told to read a key store again."""

    def was(key: str) -> Was:
        return UNREAD if known is None else known.get(key)

    return [Staged(edit, was(edit.key)) for edit in edits]


async def _quotas_or_credentials(
    session: Session, request: ConfigsRequest, added: Mapping[str, str], deleted: Sequence[str]
) -> list[Staged]:
    if is_scram(request, added, deleted):
        credentials = await _credentials(session, request.names[0])
        return [Staged(edit, credentials(edit)) for edit in scram_changes(request, added, deleted)]
    if not added and not deleted:
        return []
    known = (await read_quotas(session.client, quota_filter(request))).get(entity_of(request), {})
    return [Staged(edit, known.get(edit.key)) for edit in quota_changes(request, added, deleted, known)]


async def _credentials(session: Session, user: str) -> Callable[[ScramEdit], Was]:
    from console.admin import scram
    from console.admin.errors import AdminError

    try:
        found = (await session.client.run(scram.describe_scram, [user])).get(user, ())
    except AdminError:
        return lambda _: UNREAD
    return lambda edit: next((each for each in found if each.mechanism == edit.user.mechanism), None)


async def _until_seen(session: Session, resource: ConfigResource, edits: Sequence[ConfigEdit]) -> None:
    """Wait until the broker that describes has the change: what is described next is not what was before."""
    for _ in range(_SEEN_TRIES):
        known = (await read_configs(session.client, [resource])).sets.get(resource)
        if known is None or all(_is_seen(edit, known) for edit in edits):
            return
        await asyncio.sleep(_SEEN_SECONDS)


async def _until_quotas_seen(session: Session, request: ConfigsRequest, staged: Sequence[Staged]) -> None:
    edits = [each.edit for each in staged if isinstance(each.edit, QuotaEdit)]
    wanted = {edit.key: edit.value if isinstance(edit, SetQuota) else None for edit in edits}
    for _ in range(_SEEN_TRIES if wanted else 0):
        known = (await read_quotas(session.client, quota_filter(request))).get(entity_of(request), {})
        if all(known.get(key) == value for key, value in wanted.items()):
            return
        await asyncio.sleep(_SEEN_SECONDS)


def _is_seen(edit: ConfigEdit, known: ConfigSet) -> bool:
    entry = known.get(edit.key)
    is_own = entry is not None and is_override(entry, edit.resource)
    if not isinstance(edit, SetConfig):
        return not is_own
    if entry is None or not is_own or entry.value is None or not isinstance(edit.value, str):
        return is_own
    return same_value(entry.type, edit.value, entry.value)
