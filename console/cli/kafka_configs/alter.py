"""`kac configs --alter`: the checks of keys and values (as ConfigCommand.alterConfig), the edits, and the wait for
their effect.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from console.cli.kafka_configs.command_line import BROKER_LOGGERS, CLIENTS, IPS, USERS, UsageError
from console.cli.kafka_configs.describe import quota_filter, read_configs, read_quotas
from console.cli.kafka_configs.request import QUOTA_TYPES, ConfigsRequest, entity_of, is_int, resource_of
from console.language.vocabulary import is_sensitive, known_entry
from console.model.changes import ScramUser
from console.model.codes import ConfigType, ScramMechanism
from console.model.config import ConfigResource, ConfigSet, broker_resource
from console.model.quota import CLIENT_KEYS, IP_KEYS, QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan import edits as plan_edits
from console.plan.current_state import wanted
from console.plan.staged import UNREAD, Staged, Was
from console.plan.values import parse_value
from console.session.snapshot_reader import Client, Refused

MECHANISMS = {"SCRAM-SHA-256": ScramMechanism(1), "SCRAM-SHA-512": ScramMechanism(2)}
DEFAULT_ITERATIONS, LEAST_ITERATIONS = 4096, 4096
"""Kafka's ConfigCommand.DefaultScramIterations, and ScramMechanism.minIterations of both mechanisms."""

_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_TWICE = "Error due to duplicate config keys"


def config_changes(
    request: ConfigsRequest, added: Mapping[str, str], deleted: Sequence[str], snapshot: Snapshot
) -> tuple[plan_edits.ConfigEdit, ...]:
    """Return the edits of the configs of a resource, or of the levels of a broker's loggers.

    Values are sent as written: only the brokers validate them.

    Args:
        added: key -> value.
        deleted: the keys to delete.
        snapshot: a snapshot with the resource's configs, if they could be read; they show which values are secrets.

    Raises:
        UsageError: a logger is unknown, or a key is given twice.
    """
    resource = resource_of(request)
    if request.type == BROKER_LOGGERS:
        loggers = {entry.name for entry in snapshot.configs.get(resource, ())}
        invalid = [key for key in (*deleted, *sorted(added)) if key not in loggers]
        if invalid:
            raise UsageError(f"Invalid broker logger(s): {','.join(invalid)}", _near(invalid[0], loggers))
    if len({*added, *deleted}) < len(added) + len(deleted):
        raise UsageError(_TWICE, "a key is named twice")
    edits: list[plan_edits.ConfigEdit] = []
    for key, value in added.items():
        secret = is_sensitive(resource, key, known_entry(snapshot, resource, key))
        edits.append(plan_edits.SetConfig(resource, key, Secret(value) if secret else value))
    return (*edits, *(plan_edits.UnsetConfig(resource, key) for key in deleted))


def near_keys(added: Mapping[str, str], known: ConfigSet | None) -> str:
    """Return a hint for each unknown key that resembles a known one, and for each amount with a unit; ``""`` without
    such keys and amounts. known: the configs of the resource; None if they could not be read.
    """
    names = {entry.name for entry in known or ()}
    hints = [_near(key, names) for key in added if names and key not in names]
    hints += [_without_unit(key, value) for key, value in added.items()]
    return "; ".join(hint for hint in hints if hint)


def _without_unit(key: str, value: str) -> str:
    """Return a hint if a value has a unit, else ``""``: `kac configs` sends values unchanged, as kafka-configs does,
    whereas `kac set` converts them.
    """
    try:
        bare = parse_value(key, ConfigType(0), value)
    except ValueError:
        return ""
    return f"{key} takes no unit here: write {key}={bare}" if bare != value else ""


def _near(key: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches  # imported late, only after an error

    found = get_close_matches(key, names, n=1)
    return f"{key[:80]}: did you mean {found[0]}?" if found else ""


def is_scram(request: ConfigsRequest, added: Mapping[str, str], deleted: Sequence[str]) -> bool:
    """Return True if the change is about SCRAM credentials, False if it is about quotas.

    Raises:
        UsageError: the entity can't have one of the keys, or SCRAM credentials are given together with quotas or for
            the default user.
    """
    if request.type == IPS:
        unknown = [key for key in (*sorted(added), *deleted) if key not in IP_KEYS]
        if unknown:
            raise UsageError(
                f"Only connection quota configs can be added for '{IPS}' using --bootstrap-server. "
                f"Unexpected config names: {','.join(unknown)}",
                _near(unknown[0], IP_KEYS),
            )
        return False
    legal = CLIENT_KEYS if CLIENTS in request.types else (*CLIENT_KEYS, *MECHANISMS)
    kinds, who = ("quota", CLIENTS) if CLIENTS in request.types else ("quota and SCRAM credential", USERS)
    unknown_added = [key for key in sorted(added, key=lambda key: (key in MECHANISMS, key)) if key not in legal]
    unknown_deleted = [key for key in sorted(deleted, key=lambda key: key in MECHANISMS) if key not in legal]
    for verb, unknown, wrapper in (("added", unknown_added, "Set"), ("deleted", unknown_deleted, "ArrayBuffer")):
        if unknown:
            raise UsageError(
                f"Only {kinds} configs can be {verb} for '{who}' using --bootstrap-server. "
                f"Unexpected config names: {wrapper}({', '.join(unknown)})",
                _near(unknown[0], legal),
            )
    keys = {*added, *deleted}
    scram = bool(keys & MECHANISMS.keys())
    if scram and "" in request.names:
        raise UsageError(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials "
            "using --bootstrap-server."
        )
    if scram and keys - MECHANISMS.keys():
        raise UsageError(
            f"Cannot alter both quota and SCRAM credential configs simultaneously for '{USERS}' "
            "using --bootstrap-server."
        )
    return scram


def quota_changes(
    request: ConfigsRequest, added: Mapping[str, str], deleted: Sequence[str], known: Mapping[str, float]
) -> tuple[plan_edits.QuotaEdit, ...]:
    """Return the edits of an entity's quotas.

    Args:
        added: key -> number as text, in Kafka's unit.
        deleted: the keys to delete.
        known: key -> the entity's present quota.

    Raises:
        UsageError: a value is not a number, a quota to delete is not set, or a key is given twice.
    """
    missing = [key for key in deleted if key not in known]
    if missing:
        raise UsageError(f"Invalid config(s): {','.join(missing)}", "it is not set there: nothing was changed")
    entity = entity_of(request)
    if len({*added, *deleted}) < len(added) + len(deleted):
        raise UsageError(_TWICE, "a key is named twice")
    return (
        *(plan_edits.SetQuota(entity, key, _quota(key, text)) for key, text in added.items()),
        *(plan_edits.UnsetQuota(entity, key) for key in deleted),
    )


def _quota(key: str, text: str) -> float:
    """Return the number in a text, which is parsed like Java's Double.parseDouble. Raises UsageError: it is not a
    number, or it is NaN, which brokers would store with an undefined effect.
    """
    stripped = text.strip()
    if not _DOUBLE.fullmatch(stripped):
        raise UsageError(f"Cannot parse quota configuration value for {key}: {text}", "a plain number, as 1048576")
    value = float(stripped.rstrip("fFdD"))
    if value != value:
        raise UsageError(f"Cannot parse quota configuration value for {key}: {text}", "NaN is no limit")
    return value


def scram_changes(
    request: ConfigsRequest, added: Mapping[str, str], deleted: Sequence[str]
) -> tuple[plan_edits.ScramEdit, ...]:
    """Return the edits of a user's SCRAM credentials. Raises UsageError: a value is invalid; the message never contains
    a password.
    """
    user = request.names[0]
    if len({*added, *deleted}) < len(added) + len(deleted):
        raise UsageError(_TWICE, "a mechanism is named twice")
    edits: list[plan_edits.ScramEdit] = [plan_edits.DeleteScram(ScramUser(user, MECHANISMS[key])) for key in deleted]
    for key, text in added.items():
        found = _CREDENTIAL.fullmatch(text)
        if found is None:
            raise UsageError(
                f"Invalid credential property {key.replace('-', '_')}=······",
                f"write {key}=[password=…], in a file without the brackets",
            )
        iterations, password = found.groups()
        edits.append(
            plan_edits.UpsertScram(ScramUser(user, MECHANISMS[key]), _iterations(key, iterations), Secret(password))
        )
    return tuple(edits)


def _iterations(mechanism: str, text: str | None) -> int:
    if text is None or text == "-1":
        return DEFAULT_ITERATIONS
    if not is_int(text):
        raise UsageError(f'For input string: "{text}"', "iterations is a whole number from 4096 to 16384")
    if int(text) < LEAST_ITERATIONS:
        raise UsageError(f"Iterations {int(text)} is less than the minimum {LEAST_ITERATIONS} required for {mechanism}")
    return int(text)


# Runs --alter: the present values, the edits as a plan, and the wait until a broker describes the change.

_SEEN_TRIES, _SEEN_SECONDS = 20, 0.05
"""Number of attempts, and seconds between two: a broker may describe a change some milliseconds after the controller
accepted it."""


class Asked(Struct, frozen=True):
    """The requested change: its edits, and the configs before it."""

    staged: tuple[Staged, ...]
    known: ConfigSet | None = None
    """The configs before the change; None if unknown."""


async def quota_change(
    client: Client, request: ConfigsRequest, added: Mapping[str, str], deleted: Sequence[str]
) -> Asked:
    """Return the change of quotas or credentials.

    Args:
        added: key -> value, as written on the command line.

    Raises:
        UsageError: the change is invalid.
        AdminError: a request failed.
    """
    return Asked(tuple(await _quotas_or_credentials(client, request, added, deleted)))


def described_with(resource: ConfigResource, known: Snapshot) -> list[ConfigResource]:
    """Return the resources to describe before a change of `resource`: itself and, for the brokers' default, one broker,
    whose configs show which keys are secrets.
    """
    brokers = (
        [broker_resource(node.id) for node in (known.cluster.brokers or known.cluster.controllers)[:1]]
        if resource.is_cluster_default
        else []
    )
    return [resource, *brokers]


async def config_change(
    client: Client, request: ConfigsRequest, added: Mapping[str, str], deleted: Sequence[str], known: Snapshot
) -> Asked:
    """Return the change of configs or loggers, with their present values.

    Raises:
        UsageError: the change is invalid.
        Refused: the loggers can't be described.
        AdminError: a request failed.
    """
    resource = resource_of(request)
    configs = known.configs.get(resource)
    if configs is None and request.type == BROKER_LOGGERS:
        listing = await read_configs(client, [resource])
        if resource in listing.failures:
            raise Refused(listing.failures[resource])
    return Asked(tuple(_as_written(config_changes(request, added, deleted, known), configs)), configs)


async def until_described(client: Client, request: ConfigsRequest, change: Asked) -> None:
    """Wait until the brokers describe the new configs or quotas, so that a describe right after this command does
    not show the old ones; at most `_SEEN_TRIES` reads. Do not wait for loggers, whose change is visible at once,
    or for credentials.
    """
    if request.type in QUOTA_TYPES:
        await _until_quotas_seen(client, request, change.staged)
    elif request.type != BROKER_LOGGERS:
        await _until_seen(
            client,
            resource_of(request),
            [each.edit for each in change.staged if isinstance(each.edit, plan_edits.ConfigEdit)],
        )


def _as_written(edits: Sequence[plan_edits.ConfigEdit], known: ConfigSet | None) -> list[Staged]:
    """Return edits as staged, without the plan's own rules: values are unchanged, and an edit without an effect is
    kept.

    The rules do not apply here because the brokers validate the values, and because a broker that gets its own value
    again reloads a key store.
    """

    def was(key: str) -> Was:
        return UNREAD if known is None else known.get(key)

    return [Staged(edit, was(edit.key)) for edit in edits]


async def _quotas_or_credentials(
    client: Client, request: ConfigsRequest, added: Mapping[str, str], deleted: Sequence[str]
) -> list[Staged]:
    if is_scram(request, added, deleted):
        credentials = await _credentials(client, request.names[0])
        return [Staged(edit, credentials(edit)) for edit in scram_changes(request, added, deleted)]
    if not added and not deleted:
        return []
    known = (await read_quotas(client, quota_filter(request))).get(entity_of(request), {})
    return [Staged(edit, known.get(edit.key)) for edit in quota_changes(request, added, deleted, known)]


async def _credentials(client: Client, user: str) -> Callable[[plan_edits.ScramEdit], Was]:
    from console.admin import scram
    from console.admin.errors import AdminError

    try:
        listing = await client.run(scram.describe_scram, [user])
    except AdminError:
        return lambda _: UNREAD
    if listing.failures:
        return lambda _: UNREAD
    found = listing.users.get(user, ())
    return lambda edit: next((each for each in found if each.mechanism == edit.user.mechanism), None)


async def _until_seen(client: Client, resource: ConfigResource, edits: Sequence[plan_edits.ConfigEdit]) -> None:
    """Wait until the broker that answers describe requests has the new values; give up after `_SEEN_TRIES` reads."""
    for _ in range(_SEEN_TRIES):
        known = (await read_configs(client, [resource])).sets.get(resource)
        if known is None or all(_is_seen(edit, known) for edit in edits):
            return
        await asyncio.sleep(_SEEN_SECONDS)


async def _until_quotas_seen(client: Client, request: ConfigsRequest, staged: Sequence[Staged]) -> None:
    of_quotas = [each.edit for each in staged if isinstance(each.edit.target, QuotaEntity)]
    for _ in range(_SEEN_TRIES if of_quotas else 0):
        known = (await read_quotas(client, quota_filter(request))).get(entity_of(request), {})
        if all(wanted(edit, known.get(edit.key)) for edit in of_quotas):
            return
        await asyncio.sleep(_SEEN_SECONDS)


def _is_seen(edit: plan_edits.ConfigEdit, known: ConfigSet) -> bool:
    """Return whether the described configs have the value of an edit. A hidden value counts as equal."""
    return wanted(edit, known.get(edit.key)) is not False
