"""IncrementalAlterConfigs (KIP-339), and AlterConfigs (KIP-133) where a broker has nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from console.admin.changes_delivery import Answer, deliver, refused
from console.admin.changes_verdicts import configs_verdict, listed
from console.admin.configs import describe_configs
from console.admin.link import Link
from console.admin.routing import ANY, Route, broker
from console.model.changes import AlterConfigs, ConfigOp, Outcome, Status
from console.model.codes import APPEND, BROKER_LOGGER, DELETE, SET, ResourceType
from console.model.config import ConfigResource, ConfigSet
from console.model.secret import Secret

_FEW_KEYS = 50


async def alter_configs(link: Link, request: AlterConfigs, *, validate_only: bool) -> tuple[Outcome, ...]:
    """One outcome for each resource: its keys are applied all or none. Raises AdminError where nothing was sent."""
    to = _route(request)
    if await link.version("incremental_alter_configs", to) is None:
        return await replace_configs(link, request, validate_only=validate_only)

    async def ask(resources: Sequence[ConfigResource]) -> Mapping[ConfigResource, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.IncrementalAlterConfigsRequest(
                resources=tuple(
                    kio.AlterConfigsResource(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        configs=tuple(
                            kio.AlterableConfig(name=op.key, config_operation=op.op, value=_revealed(op.value))
                            for op in request.ops[resource]
                        ),
                    )
                    for resource in resources
                ),
                validate_only=validate_only,
            )

        response = await link.call("incremental_alter_configs", build, to=to, change=not validate_only)
        return _answers(response)

    outcomes = await deliver(
        request.ops, ask, _look(link, request), validate_only=validate_only, secrets=_secrets(request)
    )
    return tuple(outcomes[resource] for resource in request.ops)


async def replace_configs(link: Link, request: AlterConfigs, *, validate_only: bool) -> tuple[Outcome, ...]:
    """The same by AlterConfigs, which deletes every override that it does not name, so all are read and carried over.

    Refused, each for its resource alone: broker loggers; a resource with a sensitive override that is not edited, since
    it can't be read back; one whose overrides are not those that the plan was made on; a key that is named twice; the
    last because such a request is never answered. Raises AdminError where nothing was sent.
    """
    to = _route(request)
    readable = [resource for resource in request.ops if resource.type != BROKER_LOGGER]
    listing = await describe_configs(link, readable)
    outcomes: dict[ConfigResource, Outcome] = {}
    whole: dict[ConfigResource, dict[str, str]] = {}
    for resource, ops in request.ops.items():
        known = listing.sets.get(resource)
        if resource.type == BROKER_LOGGER:
            outcomes[resource] = refused(
                resource, "UNSUPPORTED", "this broker can't alter its loggers", "It needs Kafka ≥ 2.4."
            )
        elif known is None:
            outcomes[resource] = Outcome(resource, Status.FAILED, listing.failures[resource])
        else:
            full = replacement(resource, ops, known, request.prior.get(resource))
            if isinstance(full, Outcome):
                outcomes[resource] = full
            else:
                whole[resource] = full

    async def ask(resources: Sequence[ConfigResource]) -> Mapping[ConfigResource, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.AlterConfigsRequest(
                resources=tuple(
                    kio.AlterConfigsResource(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        configs=tuple(
                            kio.AlterableConfig(name=key, value=value) for key, value in whole[resource].items()
                        ),
                    )
                    for resource in resources
                ),
                validate_only=validate_only,
            )

        return _answers(await link.call("alter_configs", build, to=to, change=not validate_only))

    outcomes |= await deliver(whole, ask, _look(link, request), validate_only=validate_only, secrets=_secrets(request))
    return tuple(outcomes[resource] for resource in request.ops)


def replacement(
    resource: ConfigResource, ops: Iterable[ConfigOp], known: ConfigSet, prior: Mapping[str, str | None] | None
) -> dict[str, str] | Outcome:
    """All overrides that the resource is to have, or why that can't be told. A secret is in it as plain text.

    known: what the resource has now. prior: the overrides that the plan was made on, None where that is not known.
    """
    own = {entry.name: entry.value for entry in known.overrides(resource)}
    before = own if prior is None else dict(prior)
    changed = sorted({key for key, _ in own.items() ^ before.items()})
    if changed:
        return refused(
            resource,
            "CHANGED_MEANWHILE",
            f"{', '.join(changed)} changed since the plan was made",
            "Refresh, look at the plan again and apply it.",
        )
    edited: set[str] = set()
    full: dict[str, str | None] = dict(own)
    for op in ops:
        if op.key in edited:
            return refused(resource, "DUPLICATE", f"{op.key} is named twice", "Keep one of the edits.")
        edited.add(op.key)
        if op.op == DELETE:
            full.pop(op.key, None)
        elif op.op == SET:
            full[op.key] = _revealed(op.value)
        else:
            entry = known.get(op.key)
            now = listed(entry.value if entry is not None else None)
            items = listed(_revealed(op.value))
            kept = [item for item in now if item not in items]
            full[op.key] = ",".join((*now, *(i for i in items if i not in now)) if op.op == APPEND else kept)
    hidden = sorted(key for key, value in full.items() if value is None)
    if hidden:
        return refused(
            resource,
            "SENSITIVE_OVERRIDE",
            f"this broker replaces all overrides at once, and {', '.join(hidden)} can't be read back to be kept",
            "Set these too in the same plan, or use kafka-configs on a newer broker.",
        )
    return {key: value for key, value in full.items() if value is not None}


def _look(link: Link, request: AlterConfigs) -> Callable[[Sequence[ConfigResource]], Any]:
    async def look(resources: Sequence[ConfigResource]) -> Mapping[ConfigResource, Status]:
        keys = list(dict.fromkeys(op.key for resource in resources for op in request.ops[resource]))
        listing = await describe_configs(link, resources, keys=keys if len(keys) <= _FEW_KEYS else None)
        return {
            resource: configs_verdict(resource, request.ops[resource], listing.sets.get(resource))
            for resource in resources
        }

    return look


def _route(request: AlterConfigs) -> Route:
    return ANY if request.broker is None else broker(request.broker)


def _secrets(request: AlterConfigs) -> list[Secret]:
    return [op.value for ops in request.ops.values() for op in ops if isinstance(op.value, Secret)]


def _revealed(value: str | Secret | None) -> str | None:
    return value.reveal() if isinstance(value, Secret) else value


def _answers(response: Any) -> dict[ConfigResource, Answer]:
    return {
        ConfigResource(ResourceType(result.resource_type), result.resource_name): (
            result.error_code,
            result.error_message,
        )
        for result in response.responses
    }
