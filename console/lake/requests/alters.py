"""The changes in a logged request: a `Change` for each setting that it names, for every API that changes a cluster's
state.

Fields are those of Kafka's message schemas, as its request log writes them (RequestConvertToJson). Requests from Kafka
2.8 to 4.3 are supported; fields that a version lacks count as empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from console.lake import entities
from console.lake.redact import HIDDEN, is_secret
from console.model.numbers import commas

Body = Mapping[str, Any]
NO_ANSWER = -1
"""The error code (UNKNOWN_SERVER_ERROR) for an item without a valid code in the response."""
_BROKER_ATTRS = (":endpoints", ":rack", ":fenced")


@dataclass(frozen=True)
class Change:
    """The change of one attribute by a request, in the spelling of `console.lake.entities`."""

    entity_type: str
    entity_key: str
    attr: str
    op: str
    """``set``, ``delete``, ``append`` or ``subtract``."""
    value: str | None
    """The value; None for a deletion or a secret value."""
    is_sensitive: bool
    error_code: int
    """Kafka's error code; 0 for success."""


def changes(api: str, request: Body, response: Body) -> tuple[Change, ...]:
    """Return all changes of a request, in its order; empty for an API that changes nothing. api: Kafka's name of the
    API.
    """
    read = _READERS.get(api)
    return () if read is None else tuple(read(request, response))


def _error(answer: Body | None, response: Body) -> int:
    """Return the error code of an item's own result, else of the whole response; NO_ANSWER if neither has a valid
    code.
    """
    code = (answer or {}).get("errorCode", response.get("errorCode", NO_ANSWER))
    # Kafka's error codes have 16 bits: any other number is invalid.
    return int(code) if -(2**15) <= int(code) < 2**15 else NO_ANSWER


def _asked(
    request: Body, field: str, response: Body, answered: str, *keys: str, answer_keys: Sequence[str] = ()
) -> Iterator[tuple[Body, int]]:
    """Yield each item in the list `field` of a request, with the error code of its result in the list `answered` of the
    response.

    Args:
        keys: the fields that identify an item in the request.
        answer_keys: the fields that identify its result in the response; empty if they are the same.
    """
    answers = {tuple(each.get(key) for key in answer_keys or keys): each for each in response.get(answered) or ()}
    for each in request.get(field) or ():
        yield each, _error(answers.get(tuple(each[key] for key in keys)), response)


def _of_config(entity_type: str, entity_key: str, name: str, op: str, value: str | None, error: int) -> Change:
    secret = value == HIDDEN or is_secret(entity_type, name)
    return Change(entity_type, entity_key, name, op, None if secret or op == "delete" else value, secret, error)


def _plain(entity_type: str, key: str, attr: str, op: str, value: str | None, error: int) -> Change:
    return Change(entity_type, key, attr, op, value, False, error)


def _alter_configs(request: Body, response: Body) -> Iterator[Change]:
    """Yield the changes of INCREMENTAL_ALTER_CONFIGS or ALTER_CONFIGS. In the latter, every config is a `set`."""
    for resource, error in _asked(request, "resources", response, "responses", "resourceType", "resourceName"):
        entity_type = entities.named(entities.CONFIG_TYPES, resource["resourceType"])
        key = entities.config_key(entity_type, resource["resourceName"])
        for config in resource.get("configs") or ():
            op = entities.named(entities.CONFIG_OPS, config.get("configOperation", 0))
            yield _of_config(entity_type, key, config["name"], op, config.get("value"), error)


def _alter_quotas(request: Body, response: Body) -> Iterator[Change]:
    answers = {_entity(each): each for each in response.get("entries") or ()}
    for entry in request.get("entries") or ():
        key = _entity(entry)
        error = _error(answers.get(key), response)
        for op in entry.get("ops") or ():
            remove = op.get("remove", False)
            value = None if remove else entities.quota_value(float(op["value"]))
            yield _plain("quota", key, op["key"], "delete" if remove else "set", value, error)


def _entity(entry: Body) -> str:
    return entities.quota_key({part["entityType"]: part.get("entityName") for part in entry.get("entity") or ()})


def _create_acls(request: Body, response: Body) -> Iterator[Change]:
    results: Sequence[Body] = response.get("results") or ()
    for place, acl in enumerate(request.get("creations") or ()):
        error = _error(results[place] if place < len(results) else None, response)
        yield _acl(acl, "set", acl.get("resourcePatternType", 3), error)


def _delete_acls(_: Body, response: Body) -> Iterator[Change]:
    """Yield the deleted ACLs, from the response: the request has only filters."""
    for result in response.get("filterResults") or ():
        for acl in result.get("matchingAcls") or ():
            yield _acl(acl, "delete", acl.get("patternType", 3), _error(acl, result))


def _acl(acl: Body, op: str, pattern_type: int, error: int) -> Change:
    key, attr = entities.acl_of({**acl, "patternType": pattern_type})
    return _plain("acl", key, attr, op, entities.ACL_SET if op == "set" else None, error)


def _create_topics(request: Body, response: Body) -> Iterator[Change]:
    for topic, error in _asked(request, "topics", response, "topics", "name"):
        name, assigned = topic["name"], topic.get("assignments") or ()
        partitions = len(assigned) or topic["numPartitions"]
        replicas = len(assigned[0]["brokerIds"]) if assigned else topic["replicationFactor"]
        yield _plain("topic", name, ":partitions", "set", str(partitions), error)
        yield _plain("topic", name, ":replication", "set", str(replicas), error)
        for config in topic.get("configs") or ():
            yield _of_config("topic", name, config["name"], "set", config.get("value"), error)


def _delete_topics(request: Body, response: Body) -> Iterator[Change]:
    """Yield the deletions of topics: up to version 5 a request names topics, later versions name them or give their
    ids. For a topic that was given by id, the name is taken from the response; if the response lacks it, the key is
    the id.
    """
    answers: Sequence[Body] = response.get("responses") or ()
    asked = request.get("topicNames") or request.get("topics") or ()
    if not answers:
        answers = [{"name": each} if isinstance(each, str) else each for each in asked]
    for answer in answers:
        key = answer.get("name") or answer.get("topicId")
        if key:
            yield _plain("topic", key, ":topic_id", "delete", None, _error(answer, response))


def _create_partitions(request: Body, response: Body) -> Iterator[Change]:
    for topic, error in _asked(request, "topics", response, "results", "name"):
        yield _plain("topic", topic["name"], ":partitions", "set", str(topic["count"]), error)


def _alter_scram(request: Body, response: Body) -> Iterator[Change]:
    """Yield the changes of SCRAM credentials. Their values have only the iterations: salt and saltedPassword must not
    be stored.
    """
    for field, op in (("deletions", "delete"), ("upsertions", "set")):
        for each, error in _asked(request, field, response, "results", "name", answer_keys=["user"]):
            value = entities.scram_value(each["iterations"]) if op == "set" else None
            yield _plain(
                "scram", each["name"], entities.named(entities.MECHANISMS, each["mechanism"]), op, value, error
            )


def _reassign(request: Body, response: Body) -> Iterator[Change]:
    """Yield the wanted replicas of each partition, as the attribute `:reassignment/0`; a deletion if the request
    cancels the reassignment.
    """
    failed = int(response.get("errorCode", 0))
    answers = {
        (topic.get("name"), partition.get("partitionIndex")): partition
        for topic in response.get("responses") or ()
        for partition in topic.get("partitions") or ()
    }
    for topic in request.get("topics") or ():
        for partition in topic.get("partitions") or ():
            index, replicas = partition["partitionIndex"], partition.get("replicas")
            error = failed or _error(answers.get((topic["name"], index)), response)
            value = None if replicas is None else commas(replicas)
            op = "delete" if replicas is None else "set"
            yield _plain("topic", topic["name"], f":reassignment/{index}", op, value, error)


def _update_features(request: Body, response: Body) -> Iterator[Change]:
    """Yield the changes of features. Level 0 removes a feature. From version 2 of the API on, the response has one
    error code for all features.
    """
    failed = int(response.get("errorCode", 0))
    for each, error in _asked(request, "featureUpdates", response, "results", "feature"):
        level = each["maxVersionLevel"]
        op, value = ("set", str(level)) if level > 0 else ("delete", None)
        yield _plain("feature", each["feature"], ":level", op, value, failed or error)


def _unregister_broker(request: Body, response: Body) -> Iterator[Change]:
    for attr in _BROKER_ATTRS:
        yield _plain("broker", str(request["brokerId"]), attr, "delete", None, _error(None, response))


_READERS: Mapping[str, Callable[[Body, Body], Iterator[Change]]] = MappingProxyType(
    {
        "CREATE_TOPICS": _create_topics,
        "DELETE_TOPICS": _delete_topics,
        "CREATE_ACLS": _create_acls,
        "DELETE_ACLS": _delete_acls,
        "ALTER_CONFIGS": _alter_configs,
        "CREATE_PARTITIONS": _create_partitions,
        "INCREMENTAL_ALTER_CONFIGS": _alter_configs,
        "ALTER_PARTITION_REASSIGNMENTS": _reassign,
        "ALTER_CLIENT_QUOTAS": _alter_quotas,
        "ALTER_USER_SCRAM_CREDENTIALS": _alter_scram,
        "UPDATE_FEATURES": _update_features,
        "UNREGISTER_BROKER": _unregister_broker,
    }
)
ALTER_APIS = frozenset(_READERS)
"""Kafka's names (ApiKeys) of the APIs whose requests the lake reads as changes."""
