"""Compiles config edits into AlterConfigs requests. Brokers without IncrementalAlterConfigs get all overrides of a
resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from console.model import codes
from console.model.changes import AlterConfigs, ConfigOp
from console.model.config import ConfigResource, entry_in
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan import requests
from console.plan.edits import AppendConfig, ConfigEdit, SetConfig, SubtractConfig, UnsetConfig
from console.plan.service_configs import BY_TYPE
from console.plan.staged import Staged
from console.plan.values import result_of


def config_steps(edits: Sequence[Staged], facts: requests.Facts) -> list[requests.Step]:
    """Return the requests for edits of configs: first to reachable brokers, then to Connect and schema registries, then
    to unreachable brokers.

    A change of a named broker's resource must be sent to that broker (KIP-226, KIP-412). All other changes of brokers'
    resources, topics and groups are added to the requests to reachable named brokers as far as they fit; a request to
    any broker carries the rest.
    """
    groups: dict[ConfigResource, list[Staged]] = {}
    for staged in edits:
        assert isinstance(staged.edit, ConfigEdit)
        groups.setdefault(staged.edit.resource, []).append(staged)
    of_services = _service_steps(groups)
    groups = {resource: group for resource, group in groups.items() if resource.type not in BY_TYPE}
    named: dict[int, requests.Bin] = {}
    rest: list[tuple[list[Staged], int]] = []
    for resource, group in groups.items():
        broker = _broker_of(resource)
        # The broker sets a logger's level at once, without a record in the metadata log.
        records = 0 if resource.type.entity.has_levels else len(group)
        if broker is None:
            rest.append((group, records))
        else:
            named.setdefault(broker, requests.Bin()).add(group, records)
    reachable = [broker for broker in named if facts.reachable is None or broker in facts.reachable]
    # Add resources that any broker accepts to the requests to named brokers: fewer requests.
    packed = requests.pack(rest, requests.RECORD_LIMIT, [named[broker] for broker in reachable])
    steps = []
    for place, each in enumerate(packed):
        to = reachable[place] if place < len(reachable) else None
        steps.append(
            requests.Step(_request(each.staged, to, facts), tuple(each.staged), _cut_note(place, packed, reachable))
        )
    steps += of_services
    # Unreachable brokers come last: their requests time out, and must not delay other requests.
    for broker, each in named.items():
        if broker not in reachable:
            note = f"broker {broker} could not be reached, and only it can take its configs"
            steps.append(requests.Step(_request(each.staged, broker, facts), tuple(each.staged), note))
    return steps


def _service_steps(groups: Mapping[ConfigResource, list[Staged]]) -> Iterator[requests.Step]:
    for type_, service in BY_TYPE.items():
        mine = [staged for resource, group in groups.items() if resource.type == type_ for staged in group]
        for sent in [[staged] for staged in mine] if service.is_apart else [mine] if mine else []:
            yield requests.Step(service.request(_ops(sent, _op)), tuple(sent), service.note)


def _broker_of(resource: ConfigResource) -> int | None:
    """Return the id of the broker to which a change of the resource must be sent; None if any broker may get it."""
    return int(resource.name) if resource.type.entity.at_broker and resource.name else None


def _cut_note(place: int, packed: Sequence[requests.Bin], reachable: Sequence[int]) -> str:
    if len(packed) > max(len(reachable), 1):
        return requests.cut_note(place, len(packed), requests.RECORD_LIMIT)
    return f"broker {reachable[place]}'s own configs have to go to broker {reachable[place]}" if place else ""


def _request(edits: Sequence[Staged], broker: int | None, facts: requests.Facts) -> AlterConfigs:
    lists = None if facts.incremental else Inheritance(Snapshot(configs=facts.configs))
    ops = _ops(edits, _op if lists is None else lambda edit: _whole(edit, facts, lists))
    # The legacy AlterConfigs replaces all overrides of a resource: overrides that the plan does not change have to be
    # sent again, or they are lost.
    prior = {} if facts.incremental else {resource: _overrides(resource, facts) for resource in ops}
    return AlterConfigs(
        ops,
        broker,
        {resource: overrides for resource, overrides in prior.items() if overrides is not None},
    )


def _ops(edits: Sequence[Staged], op: Callable[[ConfigEdit], ConfigOp]) -> dict[ConfigResource, tuple[ConfigOp, ...]]:
    ops: dict[ConfigResource, list[ConfigOp]] = {}
    for staged in edits:
        assert isinstance(staged.edit, ConfigEdit)
        ops.setdefault(staged.edit.resource, []).append(op(staged.edit))
    return {resource: tuple(each) for resource, each in ops.items()}


def _op(edit: ConfigEdit) -> ConfigOp:
    if isinstance(edit, SetConfig):
        return ConfigOp(edit.key, codes.SET, edit.value)
    if isinstance(edit, UnsetConfig):
        return ConfigOp(edit.key, codes.DELETE)
    return ConfigOp(edit.key, codes.APPEND if isinstance(edit, AppendConfig) else codes.SUBTRACT, edit.value)


def _whole(edit: ConfigEdit, facts: requests.Facts, lists: Inheritance) -> ConfigOp:
    """Return an edit as a SET of the complete value, because the legacy AlterConfigs has neither APPEND nor
    SUBTRACT.
    """
    if not isinstance(edit, AppendConfig | SubtractConfig):
        return _op(edit)
    entry = entry_in(facts.configs, edit.resource, edit.key)
    return ConfigOp(edit.key, codes.SET, result_of(edit, entry, lists))


def _overrides(resource: ConfigResource, facts: requests.Facts) -> Mapping[str, str | None] | None:
    """Return key -> value of the resource's overrides, with None for a hidden value; None if its configs were not
    read.
    """
    configs = facts.configs.get(resource)
    if configs is None:
        return None
    return {entry.name: entry.value for entry in configs.overrides(resource)}
