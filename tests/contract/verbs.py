"""Requests in short, and what is looked at in their answers: errors as ``(name, message)``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from tests.contract.target import Target

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
EXACT, DEFAULT, ANY = 0, 1, 2
FINE = ("NONE", None)
Error = tuple[str, str | None]
Op = tuple[str, int, str | None]
Resource = tuple[int, str]


def error(answer: Mapping[str, Any]) -> Error:
    """The error of an answer or of an item in it."""
    return answer["error_code"], answer["error_message"]


def describe(
    target: Target, resources: Iterable[Resource], keys: Sequence[str] | None = None, *, docs: bool = False, **to: Any
) -> list[dict[str, Any]]:
    """DescribeConfigs v4 with synonyms: the result of each resource, in the order of the answer's plain form."""
    answer = target.ask(
        "describe_configs",
        4,
        lambda m: m.DescribeConfigsRequest(
            resources=tuple(
                m.DescribeConfigsResource(
                    resource_type=kind, resource_name=name, configuration_keys=None if keys is None else tuple(keys)
                )
                for kind, name in resources
            ),
            include_synonyms=True,
            include_documentation=docs,
        ),
        **to,
    )
    results: list[dict[str, Any]] = answer["results"]
    return results


def entries(target: Target, kind: int, name: str, keys: Sequence[str] | None = None, **to: Any) -> dict[str, Any]:
    """One resource's entries by name. It has to be described without an error."""
    (result,) = describe(target, [(kind, name)], keys, **to)
    assert result["error_code"] == "NONE", result
    return {entry["name"]: entry for entry in result["configs"]}


def values(target: Target, kind: int, name: str, **to: Any) -> dict[str, str | None]:
    """What is set on the resource itself: not what it inherits, nor what stands in a file."""
    own = {TOPIC: 1, BROKER: 2 if name else 3, BROKER_LOGGER: 6, CLIENT_METRICS: 7, GROUP: 8}[kind]
    told = entries(target, kind, name, **to).values()
    return {entry["name"]: entry["value"] for entry in told if entry.get("config_source") == own}


def synonyms(entry: Mapping[str, Any]) -> list[tuple[str, str | None, int]]:
    """(name, value, source) in the order of precedence."""
    return [(each["name"], each["value"], each["source"]) for each in entry["synonyms"]]


def alter_each(
    target: Target, wanted: Sequence[tuple[Resource, Sequence[Op]]], *, dry: bool = False, **to: Any
) -> list[tuple[Resource, Error]]:
    """IncrementalAlterConfigs v1: (resource, error) as often as the answer names it."""
    answer = target.ask(
        "incremental_alter_configs",
        1,
        lambda m: m.IncrementalAlterConfigsRequest(
            resources=tuple(
                m.AlterConfigsResource(
                    resource_type=kind,
                    resource_name=name,
                    configs=tuple(
                        m.AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in ops
                    ),
                )
                for (kind, name), ops in wanted
            ),
            validate_only=dry,
        ),
        **to,
    )
    return [((each["resource_type"], each["resource_name"]), error(each)) for each in answer["responses"]]


def alter(target: Target, kind: int, name: str, *ops: Op, dry: bool = False, **to: Any) -> Error:
    """The same for one resource: its error."""
    ((_, told),) = alter_each(target, [((kind, name), ops)], dry=dry, **(_to(kind, name) | to))
    return told


@contextmanager
def configured(target: Target, kind: int, name: str, configs: Mapping[str, str]) -> Iterator[None]:
    """Inside, these configs are set on the resource; afterwards none of them is."""
    assert alter(target, kind, name, *((key, SET, value) for key, value in configs.items())) == FINE
    try:
        yield
    finally:
        assert alter(target, kind, name, *((key, DELETE, None) for key in configs)) == FINE
        target.until(lambda: not configs.keys() & values(target, kind, name, **_to(kind, name)).keys())


def _to(kind: int, name: str) -> dict[str, int]:
    """Who has to be asked about the resource."""
    return {"broker": int(name)} if kind in (BROKER, BROKER_LOGGER) and name.isdigit() else {}


def replace(
    target: Target, wanted: Sequence[tuple[Resource, Mapping[str, str | None]]], *, dry: bool = False, **to: Any
) -> dict[Resource, Error]:
    """AlterConfigs v2, which replaces all: errors by resource."""
    answer = target.ask(
        "alter_configs",
        2,
        lambda m: m.AlterConfigsRequest(
            resources=tuple(
                m.AlterConfigsResource(
                    resource_type=kind,
                    resource_name=name,
                    configs=tuple(m.AlterableConfig(name=key, value=value) for key, value in configs.items()),
                )
                for (kind, name), configs in wanted
            ),
            validate_only=dry,
        ),
        **to,
    )
    return {(each["resource_type"], each["resource_name"]): error(each) for each in answer["responses"]}


def create_topics(
    target: Target,
    topics: Mapping[str, tuple[int, int] | Mapping[int, Sequence[int]]],
    configs: Mapping[str, str | None] | None = None,
    *,
    dry: bool = False,
    timeout: float = 20.0,
    **to: Any,
) -> dict[str, Error]:
    """CreateTopics v4: name -> (partitions, replication) or broker ids by partition; errors by name.

    What newer versions tell of configs depends on when the controller heard of the brokers' own.
    """
    shapes = list(topics.items())
    answer = create_topics_answer(target, shapes, configs, dry=dry, timeout=timeout, version=4, **to)
    return {each["name"]: error(each) for each in answer}


def create_topics_answer(
    target: Target,
    topics: Sequence[tuple[str, tuple[int, int] | Mapping[int, Sequence[int]]]],
    configs: Mapping[str, str | None] | None = None,
    *,
    dry: bool = False,
    timeout: float = 20.0,
    version: int = 7,
    **to: Any,
) -> list[dict[str, Any]]:
    """The same, and everything that is told of each topic."""
    answer = target.ask(
        "create_topics",
        version,
        lambda m: m.CreateTopicsRequest(
            topics=tuple(
                m.CreatableTopic(
                    name=name,
                    num_partitions=shape[0] if isinstance(shape, tuple) else -1,
                    replication_factor=shape[1] if isinstance(shape, tuple) else -1,
                    assignments=()
                    if isinstance(shape, tuple)
                    else tuple(
                        m.CreatableReplicaAssignment(partition_index=index, broker_ids=tuple(brokers))
                        for index, brokers in shape.items()
                    ),
                    configs=tuple(
                        m.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
                    ),
                )
                for name, shape in topics
            ),
            timeout=timedelta(seconds=timeout),
            validate_only=dry,
        ),
        **to,
    )
    told: list[dict[str, Any]] = answer["topics"]
    return told


def delete_topics(target: Target, *names: str, timeout: float = 20.0, **to: Any) -> list[tuple[str, Error]]:
    """DeleteTopics v5, by name: (name, error) as often as the answer names it."""
    answer = target.ask(
        "delete_topics",
        5,
        lambda m: m.DeleteTopicsRequest(topic_names=names, timeout=timedelta(seconds=timeout)),
        **to,
    )
    return [(each["name"], error(each)) for each in answer["responses"]]


def partitions(target: Target, name: str, **to: Any) -> dict[int, list[int]]:
    """Replicas by partition, from Metadata v8; empty where there is no such topic."""
    answer = target.ask(
        "metadata",
        8,
        lambda m: m.MetadataRequest(
            topics=(m.MetadataRequestTopic(name=name),),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        ),
        **to,
    )
    return {
        each["partition_index"]: each["replica_nodes"] for topic in answer["topics"] for each in topic["partitions"]
    }


def grow(
    target: Target, name: str, count: int, assignments: list[list[int]] | None = None, *, dry: bool = False, **to: Any
) -> Error:
    """CreatePartitions v3."""
    answer = target.ask(
        "create_partitions",
        3,
        lambda m: m.CreatePartitionsRequest(
            topics=(
                m.CreatePartitionsTopic(
                    name=name,
                    count=count,
                    assignments=None
                    if assignments is None
                    else tuple(m.CreatePartitionsAssignment(broker_ids=tuple(each)) for each in assignments),
                ),
            ),
            timeout=timedelta(seconds=20),
            validate_only=dry,
        ),
        **to,
    )
    (result,) = answer["results"]
    return error(result)


Entity = Mapping[str, str | None] | Sequence[tuple[str, str | None]]


def _components(entity: Entity) -> Sequence[tuple[str, str | None]]:
    return list(entity.items()) if isinstance(entity, Mapping) else entity


def alter_quotas(
    target: Target, wanted: Sequence[tuple[Entity, Mapping[str, float | None]]], *, dry: bool = False, **to: Any
) -> list[Error]:
    """AlterClientQuotas v1, a value of None removes: errors, in the order of the entities where they are told so."""
    answer = target.ask(
        "alter_client_quotas",
        1,
        lambda m: m.AlterClientQuotasRequest(
            entries=tuple(
                m.EntryData(
                    entity=tuple(
                        m.EntityData(entity_type=kind, entity_name=name) for kind, name in _components(entity)
                    ),
                    ops=tuple(
                        m.OpData(key=key, value=0.0 if value is None else value, remove=value is None)
                        for key, value in ops.items()
                    ),
                )
                for entity, ops in wanted
            ),
            validate_only=dry,
        ),
        **to,
    )
    return [error(each) for each in answer["entries"]]


def quotas(
    target: Target, components: Sequence[tuple[str, int, str | None]], *, strict: bool = False, **to: Any
) -> tuple[Error, list[tuple[dict[str, str | None], dict[str, float]]]]:
    """DescribeClientQuotas v1, of (type, match, name): the answer's error, and (entity, values) for each."""
    answer = target.ask(
        "describe_client_quotas",
        1,
        lambda m: m.DescribeClientQuotasRequest(
            components=tuple(
                m.ComponentData(entity_type=kind, match_type=match, match=name) for kind, match, name in components
            ),
            strict=strict,
        ),
        **to,
    )
    found = [
        (
            {each["entity_type"]: each["entity_name"] for each in entry["entity"]},
            {each["key"]: each["value"] for each in entry["values"]},
        )
        for entry in answer["entries"] or ()
    ]
    return error(answer), found
