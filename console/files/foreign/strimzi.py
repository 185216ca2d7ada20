"""Reads and writes Strimzi's KafkaTopic, KafkaUser and KafkaConnector.

Sources for the fields and how the operators treat them: Strimzi's CustomResourceDefinitions (043-Crd-kafkatopic.yaml,
044-Crd-kafkauser.yaml, 047-Crd-kafkaconnector.yaml, v1beta2 and v1), its topic operator's BatchingTopicController, and
its user operator's KafkaUserModel, KafkaUserOperator and SimpleAclRule. A user has the name of its resource, or
``CN=NAME`` if it logs in with a certificate. The operators remove from a topic, user or connector everything that its
resource does not list.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from msgspec import Struct

from console.files import foreign_form
from console.files.read import DescribedCluster, Read
from console.files.wanted import Value, Wanted, WantedConnector, WantedTopic, owned_lines
from console.files.writing import key_text, number_text, quoted
from console.model import connect
from console.model.acl import CLUSTER_NAME, LITERAL, PREFIXED, Acl
from console.model.changes import Target
from console.model.config import ConfigResource, topic_resource
from console.model.numbers import has_number_form, is_natural
from console.model.quota import USER, QuotaEntity
from console.model.yaml_places import Document, FileProblem, Node
from console.plan.values import parse_quota
from console.present import names
from widgets.cells import clean

GROUP = "kafka.strimzi.io"
CLUSTER_LABEL = "strimzi.io/cluster"
_TOPIC, _USER, _CONNECTOR_KIND = "KafkaTopic", "KafkaUser", "KafkaConnector"
_CONNECTOR = (
    *("class", "tasksMax", "config", "state", "pause", "autoRestart", "version"),
    *("alterOffsets", "listOffsets"),
)
_MAX_TASKS = "tasks.max"
_KAFKA, _POOL = "Kafka", "KafkaNodePool"
_NAMED = {_KAFKA: "name", _POOL: CLUSTER_LABEL}
"""Kind of a resource -> the key of its metadata, or of its labels, whose value is the name of the cluster."""
_MOST_BROKERS = 1_000
_VERSIONS = tuple(f"{GROUP}/{version}" for version in ("v1", "v1beta2", "v1beta1", "v1alpha1"))
_VERSION = f"{GROUP}/v1"
"""The API version that kac writes: Strimzi accepts it since 0.49, and no other version since 1.0."""
_MANAGED = "strimzi.io/managed"
_LEFT_ALONE = {_MANAGED: "false", "strimzi.io/pause-reconciliation": "true"}
"""Annotation -> the value with which it makes Strimzi's operators ignore a resource."""
_TOP = ("apiVersion", "kind", "metadata", "spec", "status")
_MOST_PARTITIONS, _MOST_REPLICAS = 1_000_000, 32_767
_QUOTAS = {
    "producerByteRate": "producer_byte_rate",
    "consumerByteRate": "consumer_byte_rate",
    "requestPercentage": "request_percentage",
    "controllerMutationRate": "controller_mutation_rate",
}
_TYPES = {"topic": "TOPIC", "group": "GROUP", "cluster": "CLUSTER", "transactionalId": "TRANSACTIONAL_ID"}
_PATTERNS = {"literal": LITERAL, "prefix": PREFIXED}
_OPERATIONS = {
    "Read": "READ",
    "Write": "WRITE",
    "Create": "CREATE",
    "Delete": "DELETE",
    "Alter": "ALTER",
    "Describe": "DESCRIBE",
    "ClusterAction": "CLUSTER_ACTION",
    "AlterConfigs": "ALTER_CONFIGS",
    "DescribeConfigs": "DESCRIBE_CONFIGS",
    "IdempotentWrite": "IDEMPOTENT_WRITE",
    "All": "ALL",
}
_TLS_EXTERNAL, _BY_PASSWORD = "tls-external", "scram-sha-512"
_BY_CERTIFICATE = ("tls", _TLS_EXTERNAL)
_CN = "CN="
_PRINCIPAL = "User:"


# -- reading -----------------------------------------------------------------------------------------------------------


def _owns(data: Any) -> bool:
    return isinstance(data, dict) and {"apiVersion", "kind"} <= data.keys()


def _take(document: Document, read: Read) -> Iterator[FileProblem]:
    problems: list[FileProblem] = []
    of = document.root.named()
    nodes = foreign_form.tried(problems, _resources, document.root)
    if nodes is not None and not nodes:
        read.notes.append(document.root.problem("the list is empty", f"{_READ} are read"))
    for node in nodes or ():
        try:
            _resource(node, of, read, problems)
        except FileProblem as problem:
            problems.append(problem)
    yield from problems


FORM = foreign_form.DocumentForm("Strimzi's KafkaTopic, KafkaUser and KafkaConnector", _owns, _take)


def _resources(root: Node) -> list[Node]:
    """Return the resources of a document; if it is a list, as kubectl prints it, the items of the list."""
    parts = root.named()
    return parts["items"].items() if parts["kind"].text().endswith("List") and "items" in parts else [root]


def _resource(node: Node, of: Mapping[str, Node], read: Read, problems: list[FileProblem]) -> None:
    """Add the wanted state of one resource to `read`, and its errors to `problems`. of: the document with the resource;
    items of a typed list may take their version and kind from it.
    """
    parts = {"apiVersion": of["apiVersion"], **node.named()}
    kind = parts["kind"].text() if "kind" in parts else of["kind"].text().removesuffix("List")
    version = parts["apiVersion"].text()
    group = version.rpartition("/")[0]
    if group == GROUP and kind in (_KAFKA, _POOL):
        hint = "kac sets no value of a broker's file; kac lint --offline judges it"
        note = node.problem(f"{kind} of {GROUP} is no wanted state", hint)
        read.notes.append(note)
        _describe(kind, node, read).notes.append(note)
        return
    if group != GROUP or kind not in _KINDS:
        what = f"{kind[:80] or '?'} of {(group or version)[:80]} is not read"
        hint = f"of {GROUP} it is" if kind in _KINDS else f"{_READ} are"
        read.leave_out(node.problem(what, hint), foreign_form.kinds_about(kind))
        return
    if version not in _VERSIONS:
        parts["apiVersion"].fail(f"{version[:80]} is not known", f"known here: {', '.join(_VERSIONS)}")
    problems += node.unknown(_TOP)
    if "metadata" not in parts:
        node.fail("metadata is missing", "add it, with a name")
    metadata = foreign_form.given(parts["metadata"])
    if "name" not in metadata:
        parts["metadata"].fail("name is missing", "add it")
    name = foreign_form.shown(metadata["name"])
    labels = _texts_of(metadata, "labels")
    # The label of a connector names a KafkaConnect, which may belong to any cluster.
    labelled = CLUSTER_LABEL in labels and kind != _CONNECTOR_KIND
    part = read.of_cluster(foreign_form.shown(labels[CLUSTER_LABEL]) if labelled else "")
    spec = parts["spec"] if "spec" in parts and not parts["spec"].is_null else None
    if why := _why_left_alone(metadata):
        read.notes.append(node.problem(f"{kind} {name} is left out", why))
        if kind == _CONNECTOR_KIND:
            runs_in = foreign_form.shown(labels[CLUSTER_LABEL]) if CLUSTER_LABEL in labels else ""
            part.alone.add(connect.connector_resource(runs_in, name))
        else:
            part.alone.update(_of_topic(name, spec) if kind == _TOPIC else _of_user(name))
        return
    _KINDS[kind](name, node, spec, part, read, problems)


def _why_left_alone(metadata: Mapping[str, Node]) -> str:
    """Return the reason why Strimzi's operators ignore a resource, by its annotations; ``""`` if they do not ignore
    it.
    """
    if "deletionTimestamp" in metadata:
        return "it is being deleted"
    annotations = _texts_of(metadata, "annotations")
    for key, value in _LEFT_ALONE.items():
        if key in annotations and annotations[key].text().lower() == value:
            return f"it has {key}: {value}"
    return ""


def _of_topic(name: str, spec: Node | None) -> list[Target]:
    found = foreign_form.given(spec) if spec is not None else {}
    return [topic_resource(foreign_form.shown(found["topicName"]) if "topicName" in found else name)]


def _of_user(name: str) -> list[Target]:
    """Return both users that a resource may mean (``NAME`` and ``CN=NAME``), because its operator manages either."""
    return [QuotaEntity.of({USER: user}) for user in (name, f"{_CN}{name}")]


def _texts_of(metadata: Mapping[str, Node], name: str) -> Mapping[str, Node]:
    """Return the labels or the annotations of a resource; empty if it has none. name: ``labels`` or ``annotations``."""
    return metadata[name].named() if name in metadata else {}


def _topic(name: str, node: Node, spec: Node | None, part: Read, _read: Read, problems: list[FileProblem]) -> None:
    found = foreign_form.given(spec) if spec is not None else {}
    if spec is not None:
        problems += spec.unknown(("topicName", "partitions", "replicas", "config"))
    topic = foreign_form.shown(found["topicName"]) if "topicName" in found else name
    resource, source = topic_resource(topic), node.document.source
    problems += part.begin(resource, f"topic {topic}", source, node.document.line(node.path))
    partitions = foreign_form.tried(problems, foreign_form.count(1, _MOST_PARTITIONS), found.get("partitions"))
    replicas = foreign_form.tried(problems, foreign_form.count(1, _MOST_REPLICAS), found.get("replicas"))
    values = foreign_form.tried(problems, Node.named, found.get("config"))
    configs = None
    if values is not None:
        texts = {key: foreign_form.tried(problems, foreign_form.config_value, each) for key, each in values.items()}
        configs = {key: text for key, text in texts.items() if text is not None}
        part.remember(resource, source, ((key, node.document.line(each.path)) for key, each in values.items()))
    part.topics[topic] = WantedTopic(partitions, replicas, configs)


def _describe(kind: str, node: Node, read: Read) -> DescribedCluster:
    """Add what a Kafka or a KafkaNodePool says of its cluster: the settings in the brokers' own files, or the number of
    brokers. Return the description of the cluster.
    """
    problems: list[FileProblem] = []
    parts = node.named()
    metadata = foreign_form.tried(problems, foreign_form.given, parts.get("metadata")) or {}
    labels = foreign_form.tried(problems, foreign_form.given, metadata.get("labels")) or {}
    name = foreign_form.tried(problems, foreign_form.shown, (metadata if kind == _KAFKA else labels).get(_NAMED[kind]))
    cluster = read.described.setdefault(name or "", DescribedCluster())
    cluster.problems += problems
    spec = foreign_form.tried(cluster.problems, foreign_form.given, parts.get("spec")) or {}
    source, line = node.document.source, node.document.line
    if kind == _POOL:
        roles = [each.text() for each in spec["roles"].items()] if "roles" in spec else []
        count = foreign_form.tried(cluster.problems, foreign_form.count(0, _MOST_BROKERS), spec.get("replicas"))
        cluster.brokers += (count or 0) if "broker" in roles else 0
        return cluster
    kafka = foreign_form.tried(cluster.problems, foreign_form.given, spec.get("kafka")) or {}
    cluster.places[""] = source, line(node.path)
    for key, each in (foreign_form.tried(cluster.problems, foreign_form.given, kafka.get("config")) or {}).items():
        value = foreign_form.tried(cluster.problems, foreign_form.config_value, each)
        if value is not None:
            cluster.configs[key] = value
            cluster.places[key] = source, line(each.path)
    return cluster


def _user(name: str, node: Node, spec: Node | None, part: Read, read: Read, problems: list[FileProblem]) -> None:
    if spec is None:
        node.fail("spec is missing", "add it")
    found = foreign_form.given(spec)
    problems += spec.unknown(("authentication", "authorization", "quotas", "template"))
    how = foreign_form.tried(problems, _logs_in, found.get("authentication"))
    if how == _BY_PASSWORD:
        what = f"the SCRAM-SHA-512 credential of {name} is left out: no file holds it"
        read.notes.append(found["authentication"].problem(what, "kac scram --create sets one"))
    user = f"{_CN}{name}" if how in _BY_CERTIFICATE else name
    of_rule = partial(_rule, user, node.named()["apiVersion"].text() == _VERSION)
    for rule in foreign_form.tried(problems, _rules, found.get("authorization")) or ():
        for acl in foreign_form.tried(problems, of_rule, rule) or ():
            part.acls[acl] = None
            part.places[acl, ""] = (node.document.source, node.document.line(rule.path))
    part.partial.add(QuotaEntity.of({USER: user}))  # the resource does not list the user's other limits
    if "quotas" in found:
        _limits(found["quotas"], user, part, problems)


_STATES = {"running": connect.RUNNING, "paused": connect.PAUSED, "stopped": connect.STOPPED}


def _connector(name: str, node: Node, spec: Node | None, _part: Read, read: Read, problems: list[FileProblem]) -> None:
    """Add a connector to `read`. The label of the connector names its KafkaConnect, and kac takes this name as that
    of the Connect cluster.
    """
    if spec is None:
        node.fail("spec is missing", "add it")
    metadata, found = node.named()["metadata"], foreign_form.given(spec)
    labels = _texts_of(metadata.named(), "labels")
    if CLUSTER_LABEL not in labels:
        metadata.fail(f"the label {CLUSTER_LABEL} is missing", "it names the KafkaConnect that runs the connector")
    problems += spec.unknown(_CONNECTOR)
    if "class" not in found:
        spec.fail("class is missing", "add it")
    source = node.document.source
    resource = connect.connector_resource(foreign_form.shown(labels[CLUSTER_LABEL]), name)
    problems += read.begin(resource, f"connector {resource.name}", source, node.document.line(node.path))
    values = {connect.CLASS: found["class"], **({_MAX_TASKS: found["tasksMax"]} if "tasksMax" in found else {})}
    for key, each in (foreign_form.tried(problems, foreign_form.given, found.get("config")) or {}).items():
        if key in (connect.CLASS, _MAX_TASKS):
            problems.append(each.problem(f"Strimzi takes no {key} in config", "write class and tasksMax next to it"))
        values[key] = each
    texts = {key: foreign_form.tried(problems, foreign_form.config_value, each) for key, each in values.items()}
    read.remember(resource, source, ((key, node.document.line(each.path)) for key, each in values.items()))
    config = {key: text for key, text in texts.items() if text is not None}
    read.connectors[resource] = WantedConnector(config, _wanted_state(found))


def _wanted_state(spec: Mapping[str, Node]) -> str | None:
    if "state" in spec:
        return _STATES[spec["state"].choice(_STATES)]
    if "pause" in spec:  # the field's name before Strimzi 0.38
        return connect.PAUSED if spec["pause"].boolean() else connect.RUNNING
    return None


_KINDS = {_TOPIC: _topic, _USER: _user, _CONNECTOR_KIND: _connector}
_READ = f"{', '.join(list(_KINDS)[:-1])} and {list(_KINDS)[-1]} of {GROUP}"


def _logs_in(node: Node) -> str:
    """Return the type of a user's login. The validity of a certificate and the place of a password are accepted and
    ignored, since they do not concern brokers.
    """
    found = node.fields(("type",), ("password", "validityDays", "renewalDays"))
    return found["type"].choice((*_BY_CERTIFICATE, _BY_PASSWORD))


def _rules(node: Node) -> list[Node]:
    found = node.fields(("type", "acls"))
    found["type"].choice(("simple",))
    return found["acls"].items()


def _rule(user: str, is_newest: bool, node: Node) -> list[Acl]:
    found = node.fields(("resource",), ("operations", "operation", "host", "type"))
    resource = found["resource"].fields(("type",), ("name", "patternType"))
    type_ = resource["type"].choice(_TYPES)
    pattern = resource["patternType"].choice(_PATTERNS) if "patternType" in resource else "literal"
    if "name" in resource:
        name = foreign_form.shown(resource["name"])
    elif type_ == "cluster":
        name = CLUSTER_NAME
    else:
        found["resource"].fail("name is missing", "add it; * is every name")
    permission = found["type"].choice(("allow", "deny")) if "type" in found else "allow"
    host = foreign_form.shown(found["host"]) if "host" in found else "*"
    if is_newest and "operation" in found:
        found["operation"].fail(f"{_VERSION} has no operation", "write a list of operations")
    if ("operations" in found) == ("operation" in found):
        node.fail("operations is missing" if "operations" not in found else "operation and operations both stand here")
    # Older versions have a field with another name for a single operation.
    named = found["operations"].items() if "operations" in found else [found["operation"]]
    acls = []
    for each in named:
        operation = _OPERATIONS[each.choice(_OPERATIONS)]
        words = foreign_form.AclWords(
            _TYPES[type_], name, _PATTERNS[pattern].name, f"{_PRINCIPAL}{user}", host, operation, permission
        )
        try:
            acls.append(foreign_form.acl_of(words))
        except ValueError as error:
            node.fail(str(error))
    return acls


def _limits(node: Node, user: str, part: Read, problems: list[FileProblem]) -> None:
    found = foreign_form.given(node)
    problems += node.unknown(_QUOTAS)
    entity = QuotaEntity.of({USER: user})
    problems += part.begin(entity, f"the quota of user {user}", node.document.source, node.document.line(node.path))
    limits = {key: foreign_form.tried(problems, partial(_limit, key), found.get(word)) for word, key in _QUOTAS.items()}
    lines = ((key, node.document.line(found[word].path)) for word, key in _QUOTAS.items() if word in found)
    part.remember(entity, node.document.source, lines)
    part.quotas[entity] = {key: limit for key, limit in limits.items() if limit is not None}


def _limit(key: str, node: Node) -> float:
    text = node.text()
    if not has_number_form(text):
        node.fail(f"{text[:40]!r} is no number", "write it without a unit")
    try:
        return parse_quota(key, text)
    except ValueError as error:
        node.fail(str(error))


# -- writing -----------------------------------------------------------------------------------------------------------

_NAME_PART = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_NAME_PART}(?:\.{_NAME_PART})*")
_LONGEST_NAME = 253
"""Maximum number of characters of a name in Kubernetes (a DNS subdomain)."""
_LABEL = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_MOST_INTEGER = 2**31 - 1
"""The largest quota in a KafkaUser: all quotas except the mutation rate are ints of Java."""
_TYPE_WORDS = {kafka: word for word, kafka in _TYPES.items()}
_PATTERN_WORDS = {kafka: word for word, kafka in _PATTERNS.items()}
_OPERATION_WORDS = {kafka: word for word, kafka in _OPERATIONS.items()}
_DIGEST = 8
_NOTHING = ["---", "apiVersion: v1", "kind: List", "items: []"]


class Written(Struct, frozen=True):
    """A wanted state as Strimzi's resources, and what they can't express."""

    text: str
    """The YAML text, with one document for each topic, user and connector."""
    left_out: tuple[str, ...]
    """The parts of the state that Strimzi's resources can't express, one line each."""
    to_do: tuple[str, ...] = ()
    """What an operator has to do before the resources are given to Strimzi's user operator, one line each."""


def is_label(text: str) -> bool:
    """Return whether Kubernetes accepts a text as the value of a label."""
    return _LABEL.fullmatch(text) is not None


def strimzi_text(
    wanted: Wanted, title: str, label: str | None, unread: Iterable[str] = (), by_password: Collection[str] | None = ()
) -> Written:
    """Return a wanted state as Strimzi's resources. Reading them yields the same state, except for `Written.left_out`.

    Args:
        title: a comment for the first line.
        label: the value of the label `CLUSTER_LABEL` of topics and users; None for no label. The label of a connector
            is the name of its Connect cluster instead.
        unread: parts that were not read completely, which comments name.
        by_password: the users with a SCRAM-SHA-512 credential; None if unknown.
    """
    left_out = owned_lines(wanted.owned)
    to_do: list[str] = []
    topics = list(_topics(wanted.topics, label, left_out))
    users = list(_users(wanted, label, by_password or (), left_out, to_do))
    if users and by_password is None:
        to_do.append("who has a password is not known: one without authentication in its KafkaUser loses it")
    documents = topics + users + list(_connectors(wanted.connectors, left_out)) or [_NOTHING]
    if wanted.configs:
        kinds = sorted({resource.type.entity.spoken for resource in wanted.configs})
        left_out.append(f"configs of {', '.join(kinds)}: Strimzi has no resource for them")
    unknown = (f"unknown {part}: they could not be read" for part in unread)
    said = (title, *unknown, *(f"left out: {each}" for each in left_out), *to_do)
    lines = [f"# {clean(line)}" for line in said]
    return Written(
        "\n".join([*lines, *(line for document in documents for line in document)]) + "\n",
        tuple(left_out),
        tuple(to_do),
    )


def _topics(topics: Mapping[str, WantedTopic], label: str | None, left_out: list[str]) -> Iterator[list[str]]:
    taken: set[str] = set()
    for topic in sorted(topics, key=lambda name: (not _is_name(name), name)):
        if not topic or not topic.isprintable():
            left_out.append(f"topic {names.spoken(topic)}: its name has a character that does not show itself")
            continue
        wanted, name = topics[topic], _name_for(topic, taken)
        spec = [f"  topicName: {quoted(topic)}"] if name != topic else []
        counts = {"partitions": wanted.partitions, "replicas": wanted.replication}
        spec += [f"  {key}: {value}" for key, value in counts.items() if value is not None]
        if why := _why_not_said(wanted.configs):
            # Strimzi's topic operator removes configs that a topic's resource does not list, unless it is to ignore the
            # topic.
            left_out.append(f"configs of topic {clean(topic)}: {why}: {_MANAGED}: false")
            yield _document(_TOPIC, name, label, spec, is_managed=False)
            continue
        values = [f"    {key_text(key)}: {quoted(str(value))}" for key, value in sorted((wanted.configs or {}).items())]
        yield _document(_TOPIC, name, label, [*spec, "  config:", *values] if values else [*spec, "  config: {}"])


def _why_not_said(configs: Mapping[str, Value] | None) -> str:
    """Return the reason why a KafkaTopic can't express a topic's configs; ``""`` if it can."""
    if configs is None:
        return "they are not known"
    odd = next((key for key, value in configs.items() if not _shows(key, value)), None)
    return "" if odd is None else f"{clean(odd)} is secret, or does not show itself"


def _shows(key: str, value: object) -> bool:
    return key.isprintable() and bool(key) and isinstance(value, str) and value.isprintable()


def _users(
    wanted: Wanted, label: str | None, by_password: Collection[str], left_out: list[str], to_do: list[str]
) -> Iterator[list[str]]:
    rules: dict[str, list[Acl]] = {}
    for acl in sorted(wanted.acls):
        user = acl.principal.removeprefix(_PRINCIPAL)
        if user == acl.principal or user == "*" or not _is_rule(acl) or not _shows(user, user):
            left_out.append(f"ACL {names.acl(acl)}")
        else:
            rules.setdefault(user, []).append(acl)
    limits: dict[str, dict[str, float]] = {}
    for entity, values in sorted(wanted.quotas.items(), key=lambda each: repr(each[0])):
        user = entity[1] or ""
        if entity.types != (USER,) or not _shows(user, user):
            left_out.append(f"quota of {names.quota_entity(entity)}")
            continue
        said = {key: value for key, value in values.items() if _can_say(key, value)}
        left_out += [f"quota of {names.quota_entity(entity)}: {clean(key)}" for key in values if key not in said]
        if said:
            limits[user] = said
    taken: set[str] = set()
    for user in sorted({*rules, *limits}):
        name = _certified(user) or user
        if not _is_name(name) or name in taken:
            of_kubernetes = "Kubernetes does not accept its name, and Strimzi's users have no other"
            why = f"Strimzi's {name} is {_PRINCIPAL}{_CN}{name} already" if name in taken else of_kubernetes
            left_out.append(f"user {clean(user)}: {why}")
            continue
        taken.add(name)
        login = _TLS_EXTERNAL if name != user else _BY_PASSWORD if name in by_password else ""
        if login == _BY_PASSWORD:
            to_do.append(f"user {user} gets a new password, unless there is a Secret {user} with its own as password")
        elif name in by_password:
            to_do.append(f"user {name} loses its password: {user} logs in by a certificate")
        yield _user_document(name, login, rules.get(user, []), limits.get(user, {}), label)


def _connectors(connectors: Mapping[ConfigResource, WantedConnector], left_out: list[str]) -> Iterator[list[str]]:
    taken: set[str] = set()
    for resource in sorted(connectors):
        wanted, (cluster, name) = connectors[resource], connect.split_name(resource.name)
        if why := _why_no_connector(cluster, name, wanted, taken):
            left_out.append(f"connector {clean(resource.name)}: {why}")
            continue
        taken.add(name)
        spec = [f"  class: {quoted(str(wanted.config[connect.CLASS]))}"]
        if _MAX_TASKS in wanted.config:
            spec.append(f"  tasksMax: {wanted.config[_MAX_TASKS]}")
        if wanted.state is not None:
            spec.append(f"  state: {wanted.state.lower()}")
        rest = sorted(
            (key, str(value)) for key, value in wanted.config.items() if key not in (connect.CLASS, _MAX_TASKS)
        )
        spec += ["  config:", *(f"    {key_text(key)}: {quoted(value)}" for key, value in rest)] if rest else []
        yield _document(_CONNECTOR_KIND, name, cluster, spec)


def _why_no_connector(cluster: str, name: str, wanted: WantedConnector, taken: Collection[str]) -> str:
    """Return the reason why a connector can't be written; ``""`` if it can. taken: the names of the connectors that are
    written already.
    """
    if not _is_name(name):
        return "Kubernetes does not accept its name, and Strimzi's connectors have no other"
    if name in taken:
        return "another Connect cluster has one of its name: a namespace has a name once"
    if not is_label(cluster):
        return f"the label {CLUSTER_LABEL} can't have the name of its Connect cluster"
    # Strimzi's operator gives a connector exactly the config in its resource, so the connector would lose each value
    # that is left out.
    if odd := next((key for key, value in sorted(wanted.config.items()) if not _shows(key, value)), ""):
        return f"{clean(odd)} is secret, or does not show itself; a reference to a config provider can be written"
    if connect.CLASS not in wanted.config:
        return f"it has no {connect.CLASS}"
    tasks = str(wanted.config.get(_MAX_TASKS, 1))
    return "" if is_natural(tasks) and 0 < int(tasks) <= _MOST_INTEGER else f"{_MAX_TASKS} is no number of tasks"


def _certified(user: str) -> str:
    """Return NAME for a user ``CN=NAME``, which logs in with a certificate; ``""`` for other users."""
    bare = user.removeprefix(_CN)
    # Strimzi's operator would use only the first of several parts of a distinguished name.
    return bare if bare != user and not {",", "="} & set(bare) else ""


def _user_document(
    name: str, login: str, rules: list[Acl], limits: Mapping[str, float], label: str | None
) -> list[str]:
    spec = ["  authentication:", f"    type: {login}"] if login else []
    if rules:
        spec += ["  authorization:", "    type: simple", "    acls:"]
    for acl in rules:
        spec += ["      - resource:", f"          type: {_TYPE_WORDS[acl.resource_type.name]}"]
        if acl.resource_type.name != "CLUSTER":
            spec.append(f"          name: {quoted(acl.resource_name)}")
        spec.append(f"          patternType: {_PATTERN_WORDS[acl.pattern_type]}")
        spec += [f"        operations: [{_OPERATION_WORDS[acl.operation.name]}]"]
        spec += [f"        type: {acl.permission.name.lower()}", f"        host: {quoted(acl.host)}"]
    if limits:
        words = {word: key for word, key in _QUOTAS.items() if key in limits}
        spec += ["  quotas:", *(f"    {word}: {number_text(limits[key])}" for word, key in words.items())]
    return _document(_USER, name, label, spec)


def _document(kind: str, name: str, label: str | None, spec: list[str], *, is_managed: bool = True) -> list[str]:
    labels = [] if label is None else ["  labels:", f"    {CLUSTER_LABEL}: {quoted(label)}"]
    labels += [] if is_managed else ["  annotations:", f'    {_MANAGED}: "false"']
    head = ["---", f"apiVersion: {_VERSION}", f"kind: {kind}", "metadata:", f"  name: {key_text(name)}", *labels]
    return [*head, "spec:", *spec] if spec else [*head, "spec: {}"]


def _is_rule(acl: Acl) -> bool:
    return (
        acl.resource_type.name in _TYPE_WORDS
        and (acl.resource_type.name != "CLUSTER" or acl.resource_name == CLUSTER_NAME)
        and acl.pattern_type in _PATTERN_WORDS
        and acl.operation.name in _OPERATION_WORDS
        and acl.permission.name in ("ALLOW", "DENY")
        and _shows(acl.resource_name, acl.host)
        and bool(acl.host)
    )


def _can_say(key: str, value: float) -> bool:
    if key not in _QUOTAS.values():
        return False
    if key != "controller_mutation_rate" and not (value.is_integer() and value <= _MOST_INTEGER):
        return False
    try:
        return parse_quota(key, number_text(value)) == value
    except ValueError:
        return False


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


def _name_for(text: str, taken: set[str]) -> str:
    """Return a name that Kubernetes accepts and that is not in `taken`, and add it to `taken`: the text itself if it is
    acceptable.
    """
    name = text
    if not _is_name(text):
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        # A name can't contain any characters except for letters, digits and hyphens, nor end in a hyphen.
        plain = re.sub(r"[^a-z0-9-]+", "-", text.lower())[: _LONGEST_NAME - len(digest) - 1].strip("-")
        name, length = text, _DIGEST
        while name == text or name in taken:
            name, length = f"{plain}-{digest[:length]}".lstrip("-"), length + _DIGEST
    taken.add(name)
    return name
