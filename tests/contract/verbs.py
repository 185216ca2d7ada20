"""Functions that send a request to a target and return the relevant fields of the answer. Errors are ``(name,
message)``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tests.contract.target import Target
from tests.support.kafka_messages import with_fields

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
EXACT, DEFAULT, ANY = 0, 1, 2
FINE = ("NONE", None)
Error = tuple[str, str | None]
Op = tuple[str, int, str | None]
Resource = tuple[int, str]


def error(answer: Mapping[str, Any]) -> Error:
    """Return (name, message) of the error in an answer, or in an item of one. The message is None if there is none."""
    return answer["error_code"], answer["error_message"]


def describe(
    target: Target, resources: Iterable[Resource], keys: Sequence[str] | None = None, *, docs: bool = False, **to: Any
) -> list[dict[str, Any]]:
    """Send DescribeConfigs v4, and return its results, with synonyms, sorted by resource as in a plain answer. keys:
    the config keys to describe; None for all.
    """
    wanted = [(kind, name, keys) for kind, name in resources]
    asked = with_fields(resources=wanted, include_synonyms=True, include_documentation=docs)
    results: list[dict[str, Any]] = target.ask("describe_configs", 4, asked, **to)["results"]
    return results


def entries(target: Target, kind: int, name: str, keys: Sequence[str] | None = None, **to: Any) -> dict[str, Any]:
    """Describe one resource; return config key -> its entry. Raises AssertionError if the resource has an error. keys:
    None for all keys.
    """
    (result,) = describe(target, [(kind, name)], keys, **to)
    assert result["error_code"] == "NONE", result
    return {entry["name"]: entry for entry in result["configs"]}


def values(target: Target, kind: int, name: str, **to: Any) -> dict[str, str | None]:
    """Describe one resource; return key -> value of the configs that are set on the resource itself, not inherited and
    not from a properties file.
    """
    own = {TOPIC: 1, BROKER: 2 if name else 3, BROKER_LOGGER: 6, CLIENT_METRICS: 7, GROUP: 8}[kind]
    told = entries(target, kind, name, **to).values()
    return {entry["name"]: entry["value"] for entry in told if entry.get("config_source") == own}


def synonyms(entry: Mapping[str, Any]) -> list[tuple[str, str | None, int]]:
    """Return (name, value, source) of each synonym of a config entry, in the order of precedence."""
    return [(each["name"], each["value"], each["source"]) for each in entry["synonyms"]]


def alter_each(
    target: Target, wanted: Sequence[tuple[Resource, Sequence[Op]]], *, dry: bool = False, **to: Any
) -> list[tuple[Resource, Error]]:
    """Send IncrementalAlterConfigs v1; return the (resource, error) pairs of the answer, in which a resource may be
    more than once. dry: whether brokers only validate the request.
    """
    asked = with_fields(resources=[(*resource, ops) for resource, ops in wanted], validate_only=dry)
    answer = target.ask("incremental_alter_configs", 1, asked, **to)
    return [((each["resource_type"], each["resource_name"]), error(each)) for each in answer["responses"]]


def alter(
    target: Target, kind: int, name: str, *ops: Op | Mapping[str, str | None], dry: bool = False, **to: Any
) -> Error:
    """Send IncrementalAlterConfigs v1 for one resource; return its error. A mapping in `ops` sets its keys to their
    values, and deletes the keys with the value None. dry: whether brokers only validate the request.
    """
    wanted = [op for each in ops for op in (_ops(each) if isinstance(each, Mapping) else [each])]
    ((_, told),) = alter_each(target, [((kind, name), wanted)], dry=dry, **(_to(kind, name) | to))
    return told


def _ops(values: Mapping[str, str | None]) -> list[Op]:
    return [(key, DELETE if value is None else SET, value) for key, value in values.items()]


@contextmanager
def configured(target: Target, kind: int, name: str, configs: Mapping[str, str]) -> Iterator[None]:
    """Set these configs on a resource, and delete them at the end of the block."""
    assert alter(target, kind, name, configs) == FINE
    try:
        yield
    finally:
        assert alter(target, kind, name, dict.fromkeys(configs)) == FINE
        target.until(lambda: not configs.keys() & values(target, kind, name, **_to(kind, name)).keys())


def _to(kind: int, name: str) -> dict[str, int]:
    """Return ``{"broker": id}`` for a resource that only its own broker can describe or alter; empty if any broker
    can.
    """
    return {"broker": int(name)} if kind in (BROKER, BROKER_LOGGER) and name.isdigit() else {}


def replace(
    target: Target, wanted: Sequence[tuple[Resource, Mapping[str, str | None]]], *, dry: bool = False, **to: Any
) -> dict[Resource, Error]:
    """Send AlterConfigs v2, which replaces all configs of each resource; return resource -> error. dry: whether brokers
    only validate the request.
    """
    asked = with_fields(resources=[(*resource, configs.items()) for resource, configs in wanted], validate_only=dry)
    answer = target.ask("alter_configs", 2, asked, **to)
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
    """Send CreateTopics v4; return topic -> error. Newer versions are not used: their answers also have the topics'
    configs, which depend on whether the controller already knows the brokers' configs.

    Args:
        topics: name -> (number of partitions, replication factor), or name -> partition -> broker ids.
        configs: the configs of each topic; None for no configs.
        dry: whether brokers only validate the request.
        timeout: seconds that the broker may wait for the controller.
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
    """Send CreateTopics; return the answer for each topic with all its fields. Arguments as for `create_topics`."""
    shapes = ((shape, {}) if isinstance(shape, tuple) else ((-1, -1), shape) for _, shape in topics)
    wanted = [
        (name, *counts, assigned.items(), (configs or {}).items())
        for (name, _), (counts, assigned) in zip(topics, shapes, strict=True)
    ]
    asked = with_fields(topics=wanted, timeout=timeout, validate_only=dry)
    told: list[dict[str, Any]] = target.ask("create_topics", version, asked, **to)["topics"]
    return told


def delete_topics(target: Target, *names: str, timeout: float = 20.0, **to: Any) -> list[tuple[str, Error]]:
    """Send DeleteTopics v5; return the (name, error) pairs of the answer, in which a name may be more than once.
    timeout: seconds.
    """
    answer = target.ask("delete_topics", 5, with_fields(topic_names=names, timeout=timeout), **to)
    return [(each["name"], error(each)) for each in answer["responses"]]


def metadata(target: Target, names: Sequence[str] | None, version: int = 8, *, rights: bool, **to: Any) -> Any:
    """Send Metadata, without creating topics, and return the answer. names: None for all topics. rights: whether to
    request the authorized operations.
    """
    asked = with_fields(
        topics=names,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=rights,
        include_topic_authorized_operations=rights,
    )
    return target.ask("metadata", version, asked, **to)


def partitions(target: Target, name: str, **to: Any) -> dict[int, list[int]]:
    """Return partition -> broker ids of its replicas, from Metadata v8; empty if the topic does not exist."""
    answer = metadata(target, [name], rights=False, **to)
    return {
        each["partition_index"]: each["replica_nodes"] for topic in answer["topics"] for each in topic["partitions"]
    }


def grow(
    target: Target, name: str, count: int, assignments: list[list[int]] | None = None, *, dry: bool = False, **to: Any
) -> Error:
    """Send CreatePartitions v3; return the topic's error.

    Args:
        count: the number of partitions that the topic shall have.
        assignments: broker ids of each new partition; None lets the controller choose.
        dry: whether brokers only validate the request.
    """
    asked = with_fields(topics=[(name, count, assignments)], timeout=20, validate_only=dry)
    (result,) = target.ask("create_partitions", 3, asked, **to)["results"]
    return error(result)


Entity = Mapping[str, str | None] | Sequence[tuple[str, str | None]]


def _components(entity: Entity) -> Sequence[tuple[str, str | None]]:
    return list(entity.items()) if isinstance(entity, Mapping) else entity


def alter_quotas(
    target: Target, wanted: Sequence[tuple[Entity, Mapping[str, float | None]]], *, dry: bool = False, **to: Any
) -> list[Error]:
    """Send AlterClientQuotas v1; return the error of each entry of the answer. wanted: (entity, key -> value), where
    the value None removes the key. dry: whether brokers only validate the request.
    """
    entries = [
        (_components(entity), [(key, value or 0.0, value is None) for key, value in ops.items()])
        for entity, ops in wanted
    ]
    answer = target.ask("alter_client_quotas", 1, with_fields(entries=entries, validate_only=dry), **to)
    return [error(each) for each in answer["entries"]]


def quotas(
    target: Target, components: Sequence[tuple[str, int, str | None]], *, strict: bool = False, **to: Any
) -> tuple[Error, list[tuple[dict[str, str | None], dict[str, float]]]]:
    """Send DescribeClientQuotas v1; return the error of the answer, and the (entity, key -> value) pairs. components:
    (entity type, match type, name). strict: whether to exclude entities with further types.
    """
    answer = target.ask("describe_client_quotas", 1, with_fields(components=components, strict=strict), **to)
    found = [
        (
            {each["entity_type"]: each["entity_name"] for each in entry["entity"]},
            {each["key"]: each["value"] for each in entry["values"]},
        )
        for entry in answer["entries"] or ()
    ]
    return error(answer), found
