"""Kafka Connect by its REST API: reading whole Connect clusters, and changing their connectors.

All workers of a Connect cluster give the same answers, so a read goes to the next worker if one can't be reached. A
change is sent once, to the worker that answered last. A value that may be a secret leaves this module only as a hidden
entry. A change sends only the keys that an operator edited, by PATCH (KIP-477, Kafka 3.8); to older workers it sends,
by PUT, these keys together with the config that the worker itself has.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote
from weakref import WeakKeyDictionary

from msgspec import Struct, field

from console.admin import delivery, errors
from console.admin.link import Link
from console.admin.rest import Answer, RestClient, RestFailed, Service
from console.admin.settings import ConnectSettings
from console.flight import connect_answer
from console.flight.answer import CONNECT
from console.model import codes, connect
from console.model import config as model_config
from console.model.changes import ConfigOp, Outcome, Status
from console.model.failure import Failure
from console.model.foreign_json import json_as
from console.model.identity import same_cluster
from console.model.numbers import json_text
from console.model.secret import Secret
from console.sensitive import holds_a_secret, is_mask, seems_sensitive
from console.sensitive import without_secrets as without_looks

SERVICE = Service("the Connect worker", "Connect worker")
LARGEST = 64 << 20
"""Maximum size in bytes of the response with all connectors of a cluster."""
MOST_CONNECTORS = 5_000
MOST_TRACE = 16_000
"""Maximum number of characters of a stack trace that are kept."""
CHECK_SECONDS = 60.0
"""Timeout in seconds of a config's validation, during which connectors may connect to their databases."""
CHANGE_SECONDS = 90.0
"""Timeout in seconds of a change: a worker itself waits this long for its cluster
(ConnectResource.DEFAULT_REST_REQUEST_TIMEOUT_MS).
"""
BUSY_SECONDS = 20.0
"""Seconds for which a change is sent again while workers refuse it because of a rebalance (409), which means that it
was not applied.
"""
STOP_SECONDS = 30.0
"""Maximum seconds to wait until the tasks of a stopped connector have ended; its offsets can be changed only
afterwards.
"""
SLOW_SECONDS = 60.0
"""Seconds between two reads of plugins, their config definitions, and the topics of connectors."""
AT_ONCE = 4
LOGGERS = "/admin/loggers"
PATCH_SINCE = (3, 8)
CLUSTER_LOGGERS_SINCE = (3, 7)
"""The first Kafka release whose workers can set a logger's level on all workers at once (KIP-976)."""
SHORTEST_SECRET = 4
"""Minimum number of characters of a hidden value for which it is removed from other texts; shorter values occur in
ordinary words.
"""

_RELEASE = re.compile(r"(\d{1,4})\.(\d{1,4})")
_UNCLEAR = "It may have been applied: look at the connector before you repeat it."

T = TypeVar("T")
log = logging.getLogger(__name__)


# -- the answers -------------------------------------------------------------------------------------------------------


class _Root(Struct, frozen=True):
    """The answer to ``GET /``."""

    version: str = ""
    commit: str = ""
    kafka_cluster_id: str = ""


class _Instance(Struct, frozen=True):
    """The state of a connector or of a task."""

    state: str
    worker_id: str = ""
    id: int = -1
    trace: str = ""


class _Status(Struct, frozen=True):
    connector: _Instance
    tasks: list[_Instance] = field(default_factory=list)
    type: str = ""


class _Info(Struct, frozen=True):
    config: dict[str, Any] = field(default_factory=dict)
    type: str | None = None


class _Expanded(Struct, frozen=True):
    """A connector in the response to ``GET /connectors?expand=info&expand=status`` (KIP-465). A connector that was just
    created may have no status yet.
    """

    info: _Info = field(default_factory=_Info)
    status: _Status | None = None


class _Plugin(Struct, frozen=True):
    class_name: str = field(name="class")
    type: str = ""
    version: str | None = None


class Definition(Struct, frozen=True):
    """A config key that a plugin defines (KIP-769)."""

    name: str
    type: str = "STRING"
    default: str | None = field(name="default_value", default=None)
    importance: str = ""
    documentation: str = ""


class _Checked(Struct, frozen=True):
    """A config key's value and errors in the response to a validation."""

    name: str = ""
    errors: list[str] = field(default_factory=list)


class _CheckedKey(Struct, frozen=True):
    value: _Checked = field(default_factory=_Checked)


class _Check(Struct, frozen=True):
    error_count: int = 0
    configs: list[_CheckedKey] = field(default_factory=list)


class _Topics(Struct, frozen=True):
    topics: list[str] = field(default_factory=list)


class ConnectOffset(Struct, frozen=True):
    """An offset of a connector, in the connector's own format (KIP-875)."""

    partition: dict[str, Any]
    offset: dict[str, Any] | None = None


class _Logger(Struct, frozen=True):
    """The level of a logger, and the time of its last change, which workers before Kafka 3.7 don't return."""

    level: str = ""
    last_modified: int | None = None


class _Offsets(Struct, frozen=True):
    offsets: list[ConnectOffset] = field(default_factory=list)


# -- one Connect cluster -----------------------------------------------------------------------------------------------


class _Cluster:
    """The Connect cluster of a link, with a cache of responses that seldom change."""

    def __init__(self, settings: ConnectSettings) -> None:
        self.name = settings.name
        self.workers = [RestClient(each, SERVICE) for each in settings.workers]
        self.plugins: tuple[connect.Plugin, ...] = ()
        self.plugins_at = float("-inf")
        self.definitions: dict[str, Mapping[str, Definition]] = {}
        """Class -> its definition, which is empty for a class that the worker can't describe."""
        self.topics: Mapping[str, tuple[str, ...]] = {}
        self.topics_at = float("-inf")
        self.slots = asyncio.Semaphore(AT_ONCE)

    async def read(self, path: str, form: type[T], *, method: str = "GET", body: object = None) -> T:
        """Send a read to a worker and return its decoded response. If a worker can't be reached, or answers with a
        status of 500 or more, try the next worker. Such a status counts as the answer only if the last worker
        returns it.

        Raises:
            Unreachable: no worker can be reached.
            BrokerError: a worker refuses the request.
            BadAnswer: the response has another form.
        """
        if not self.workers:  # the Connect cluster comes from a record and has no workers to ask
            raise _unrecorded(f"{method} {path}")
        data = None if body is None else json_text(body).encode()
        seconds = CHECK_SECONDS if data is not None else None
        problems = []
        order = tuple(self.workers)
        for worker in order:
            try:
                async with self.slots:
                    answer = await worker.exchange(method, _path(worker, path), data, largest=LARGEST, seconds=seconds)
            except RestFailed as problem:
                problems.append(f"{worker.settings}: {problem}")
                continue
            if answer.status >= 500 and worker is not order[-1]:
                problems.append(f"{worker.settings}: answers {answer.status}{answer.said}")
                continue
            self._prefer(worker)
            return _decoded(self, answer, form)
        raise errors.Unreachable.of(
            f"Connect {self.name}: {'; '.join(problems)}",
            f"See that its workers run; the addresses are in the context, [contexts.….connect.{self.name}].",
        )

    async def each(self, method: str, path: str, body: object = None) -> list[tuple[RestClient, Answer | RestFailed]]:
        """Send a request to each worker, one after another. Return each worker's client with its response, or with the
        failure.
        """
        data = None if body is None else json_text(body).encode()
        found: list[tuple[RestClient, Answer | RestFailed]] = []
        for worker in sorted(self.workers, key=lambda each: str(each.settings)):
            try:
                async with self.slots:
                    found.append((worker, await worker.exchange(method, _path(worker, path), data, largest=LARGEST)))
            except RestFailed as problem:
                found.append((worker, problem))
        return found

    async def change(self, method: str, path: str, body: object = None) -> Answer:
        """Send a change once. Send it again only while workers refuse it because of a rebalance.

        Raises:
            Unreachable: no worker can be reached; nothing was sent.
            OutcomeUnknown: it was sent, and no usable response came.
        """
        data = None if body is None else json_text(body).encode()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + BUSY_SECONDS
        while True:
            answer = await self._change_once(method, path, data)
            is_busy = answer.status == 409 and "rebalance" in answer.said.lower()
            if not is_busy or loop.time() > deadline:
                return answer
            await asyncio.sleep(0.5)

    async def _change_once(self, method: str, path: str, data: bytes | None) -> Answer:
        problems = []
        for worker in tuple(self.workers):
            try:
                return await worker.exchange(method, _path(worker, path), data, largest=LARGEST, seconds=CHANGE_SECONDS)
            except RestFailed as problem:
                if problem.was_sent:
                    raise errors.OutcomeUnknown.of(
                        f"Connect {self.name}: {problem}", _UNCLEAR, name="OUTCOME_UNKNOWN"
                    ) from None
                problems.append(f"{worker.settings}: {problem}")
        raise errors.Unreachable.of(f"Connect {self.name}: {'; '.join(problems)}", "Nothing was sent.")

    def _prefer(self, worker: RestClient) -> None:
        if self.workers[0] is not worker:
            self.workers.remove(worker)
            self.workers.insert(0, worker)

    async def define(self, class_name: str) -> Mapping[str, Definition]:
        """Return config key -> its definition for a connector class. Empty if the worker lacks the plugin, or is older
        than Kafka 3.2 and returns no definitions.
        """
        if class_name not in self.definitions:
            path = f"/connector-plugins/{quote(class_name, safe='')}/config"
            try:
                found = await self.read(path, list[Definition])
            except errors.BrokerError as error:
                log.info("Connect %s does not define %s: %s", self.name, class_name, error.failure)
                found = []
            self.definitions[class_name] = {each.name: each for each in found}
        return self.definitions[class_name]


def _path(worker: RestClient, path: str) -> str:
    return quote(worker.settings.path) + path


def _of_connector(name: str, below: str = "") -> str:
    return f"/connectors/{quote(name, safe='')}{below}"


_HINTS = {
    401: "Check the login of the context's Connect cluster.",
    403: "The login has no right to it.",
    404: "Refresh: it may be gone, or its worker is too old for this.",
    405: "The worker is too old for this.",
    409: "Its cluster rebalances, or the connector is not in the state that this needs: look at it and try again.",
}


def _failure(cluster: _Cluster, answer: Answer) -> Failure:
    return answer.refusal(f"Connect {cluster.name}", _HINTS, "The worker's log says more.")


def _decoded(cluster: _Cluster, answer: Answer, form: type[T]) -> T:
    if not answer.is_ok:
        raise errors.BrokerError(_failure(cluster, answer))
    try:
        return json_as(answer.body, form)
    except ValueError:
        raise errors.BadAnswer.of(
            f"Connect {cluster.name} answers in another form than Connect's",
            "Check that url leads to a worker of Kafka Connect.",
        ) from None


_clusters: WeakKeyDictionary[Link, dict[str, _Cluster]] = WeakKeyDictionary()


def _clusters_of(link: Link) -> Mapping[str, _Cluster]:
    return _clusters.setdefault(link, {each.name: _Cluster(each) for each in link.settings.connect})


def _recorded(link: Link) -> connect.ConnectListing | None:
    """Return the listing of the Connect clusters in a flight record; None if the link is to a live cluster. Raises
    BrokerError if the record has no such listing.
    """
    body = link.routes.connections.service_recorded(CONNECT)
    try:
        return None if body is None else connect_answer.listing_of(connect_answer.read(body))
    except ValueError:
        raise _unrecorded("this time") from None


def _unrecorded(what: str) -> errors.BrokerError:
    from console.admin.recorded import NOT_RECORDED

    return errors.BrokerError.of(
        f"not in the record: of Connect it has states and configs, and nothing of {what}", name=NOT_RECORDED
    )


def _cluster_named(link: Link, name: str) -> _Cluster:
    """Return the Connect cluster with this name. Raises BrokerError (UNKNOWN_CONNECT) if the settings do not name
    it.
    """
    known = _clusters_of(link)
    if name not in known:
        there = ", ".join(known) or "none"
        raise errors.BrokerError.of(
            f"the context has no Connect cluster {name or repr('')} (it has: {there})",
            "Name a connector as CLUSTER/NAME; clusters are in the context, [contexts.NAME.connect.CLUSTER].",
            name="UNKNOWN_CONNECT",
        )
    return known[name]


def _cluster_of(link: Link, name: str) -> tuple[_Cluster, str]:
    """Return the Connect cluster of a connector, and the connector's name within it. name: kac's name of the connector.
    Raises BrokerError (UNKNOWN_CONNECT) if the settings do not name the cluster.
    """
    cluster, connector = connect.split_name(name)
    return _cluster_named(link, cluster), connector


# -- reading -----------------------------------------------------------------------------------------------------------


async def describe_connect(link: Link) -> connect.ConnectListing:
    """Return all Connect clusters in the settings with their connectors and configs, and the failures of clusters that
    did not answer. The clusters are read concurrently. In a replay, raise BrokerError (NOT_RECORDED) if the record
    has no listing up to its present time.
    """
    if (recorded := _recorded(link)) is not None:
        return recorded
    began = time.monotonic()
    known = _clusters_of(link)
    found = await asyncio.gather(*map(_described, known.values()), return_exceptions=True)
    clusters: dict[str, connect.ConnectCluster] = {}
    configs: dict[model_config.ConfigResource, model_config.ConfigSet] = {}
    failures: dict[str, Failure] = {}
    for name, each in zip(known, found, strict=True):
        if isinstance(each, errors.AdminError):
            failures[name] = each.failure
        elif isinstance(each, BaseException):
            raise each
        else:
            clusters[name], sets = each
            configs |= sets
    listing = connect.ConnectListing(clusters, configs, failures)
    if known:
        took = time.monotonic() - began
        link.sender.keep_service(CONNECT, lambda: connect_answer.body_of(connect_answer.recorded(listing)), took)
    return listing


async def ask_workers(link: Link) -> Sequence[tuple[str, connect.Worker, float]]:
    """Ask each worker in the settings. Return for each the name of its Connect cluster, the worker with its answer
    or the failure, and the seconds until then.
    """

    async def ask(cluster: _Cluster, worker: RestClient) -> tuple[str, connect.Worker, float]:
        begun = time.monotonic()
        return cluster.name, await _worker(cluster, worker), time.monotonic() - begun

    clusters = _clusters_of(link).values()
    found = await asyncio.gather(*(ask(cluster, worker) for cluster in clusters for worker in cluster.workers))
    return sorted(found, key=lambda each: (each[0], each[1].address))


async def _workers(cluster: _Cluster) -> tuple[connect.Worker, ...]:
    workers = await asyncio.gather(*(_worker(cluster, each) for each in cluster.workers))
    return tuple(sorted(workers, key=lambda each: each.address))


async def _worker(cluster: _Cluster, worker: RestClient) -> connect.Worker:
    address = str(worker.settings)
    try:
        root = _decoded(cluster, await worker.exchange("GET", _path(worker, "/")), _Root)
    except RestFailed as problem:
        return connect.Worker(address, failure=Failure("UNREACHABLE", str(problem), "See that the worker runs."))
    except errors.AdminError as error:
        return connect.Worker(address, failure=error.failure)
    return connect.Worker(address, root.version[:60], root.commit[:60], root.kafka_cluster_id[:100])


async def _described(
    cluster: _Cluster,
) -> tuple[connect.ConnectCluster, dict[model_config.ConfigResource, model_config.ConfigSet]]:
    workers, expanded = await asyncio.gather(
        _workers(cluster), cluster.read("/connectors?expand=info&expand=status", dict[str, _Expanded])
    )
    if len(expanded) > MOST_CONNECTORS:
        raise errors.BadAnswer.of(
            f"Connect {cluster.name} has {len(expanded):,} connectors: kac reads at most {MOST_CONNECTORS:,}",
            "Its REST API shows them.",
        )
    await _read_slowly(cluster, expanded)
    connectors: dict[str, connect.Connector] = {}
    configs: dict[model_config.ConfigResource, model_config.ConfigSet] = {}
    for name, each in sorted(expanded.items()):
        config = _texts(each.info.config)
        hidden = _hidden_values(config, cluster.definitions.get(config.get(connect.CLASS, ""), {}))
        connectors[name] = _connector(name, each, cluster.topics.get(name, ()), hidden)
        configs[connect.connector_resource(cluster.name, name)] = config_set(
            config, cluster.definitions.get(config.get(connect.CLASS, ""), {})
        )
    return connect.ConnectCluster(cluster.name, workers, connectors, cluster.plugins), configs


async def _read_slowly(cluster: _Cluster, expanded: Mapping[str, _Expanded]) -> None:
    """Read data that seldom changes. Plugins and the topics of connectors are read again after `SLOW_SECONDS` (60
    s); topics also as soon as there is a new connector. The definitions of a class are read once, and again when
    the plugins change. Data that an older worker does not return stays empty.
    """
    now = time.monotonic()
    if now - cluster.plugins_at >= SLOW_SECONDS:
        cluster.plugins_at = now
        before = cluster.plugins
        try:
            found = await cluster.read("/connector-plugins?connectorsOnly=false", list[_Plugin])
        except errors.BrokerError:
            found = []
        cluster.plugins = tuple(
            connect.Plugin(each.class_name, each.type, each.version or "") for each in found[:MOST_CONNECTORS]
        )
        if cluster.plugins != before:  # a newer version of a plugin may define other keys
            cluster.definitions.clear()
    classes = {_texts(each.info.config).get(connect.CLASS, "") for each in expanded.values()} - {""}
    await asyncio.gather(*map(cluster.define, sorted(classes)))
    if now - cluster.topics_at >= SLOW_SECONDS or expanded.keys() - cluster.topics.keys():
        cluster.topics_at = now
        found_topics = await asyncio.gather(*(_topics(cluster, name) for name in expanded))
        cluster.topics = dict(zip(expanded, found_topics, strict=True))


async def _topics(cluster: _Cluster, name: str) -> tuple[str, ...]:
    try:
        answer = await cluster.read(_of_connector(name, "/topics"), dict[str, _Topics])
    except errors.BrokerError:  # workers before Kafka 2.5 lack this path, and topic.tracking.enable=false disables it
        return ()
    return tuple(sorted(answer.get(name, _Topics()).topics))


def _texts(config: Mapping[str, object]) -> dict[str, str]:
    """Return a config with all values as texts, as workers convert them, and without keys whose value is null. JSON
    values may have other types.
    """
    given = {key: value for key, value in config.items() if value is not None}
    return {key: value if isinstance(value, str) else json_text(value) for key, value in given.items()}


def _connector(name: str, described: _Expanded, topics: tuple[str, ...], hidden: Sequence[Secret]) -> connect.Connector:
    status = described.status or _Status(_Instance(connect.UNASSIGNED))

    def trace(instance: _Instance) -> str:
        return without_looks(delivery.without_secrets(instance.trace[:MOST_TRACE], hidden), delivery.DOTS)

    tasks = (
        connect.Task(each.id, each.state[:30], each.worker_id[:200], trace(each))
        for each in sorted(status.tasks, key=lambda task: task.id)
    )
    return connect.Connector(
        name,
        (status.type or described.info.type or "")[:30],
        status.connector.state[:30],
        status.connector.worker_id[:200],
        trace(status.connector),
        tuple(tasks),
        topics,
    )


# -- configs -----------------------------------------------------------------------------------------------------------


def is_hidden(key: str, value: str, defined: Mapping[str, Definition]) -> bool:
    """Return whether a config value may be a secret: by the key's definition, by the key's name, or by the form of the
    value. A reference to a config provider is no secret, since the worker replaces it by the value.
    """
    definition = defined.get(key)
    return holds_a_secret(key, value, is_password=definition is not None and definition.type == "PASSWORD")


def _hidden_values(config: Mapping[str, str], defined: Mapping[str, Definition]) -> list[Secret]:
    return [
        Secret(value)
        for key, value in config.items()
        if len(value) >= SHORTEST_SECRET and is_hidden(key, value, defined)
    ]


_TYPES = {name: codes.ConfigType(number) for number, name in codes.ConfigType.NAMES.items()}


def config_set(config: Mapping[str, str], defined: Mapping[str, Definition]) -> model_config.ConfigSet:
    """Convert a connector's config to the model: its own values, and the defaults of keys that it does not set.

    Args:
        config: the config as the worker has it, with secrets.
        defined: the definitions of its class; empty if unknown.
    """
    own = model_config.own_source(connect.connector_resource("", ""))
    entries = []
    for key in sorted({*config, *defined}):
        definition = defined.get(key)
        type_ = _TYPES.get(definition.type, codes.ConfigType(0)) if definition is not None else codes.ConfigType(0)
        default = None if definition is None else definition.default
        value = config.get(key)
        hides = value is not None and is_hidden(key, value, defined)
        sensitive = hides or type_.name == "PASSWORD" or (definition is None and seems_sensitive(key))
        synonyms = [] if value is None else [model_config.Synonym(key, None if hides else value, own)]
        if definition is not None and default is not None:
            synonyms.append(model_config.Synonym(key, default, codes.DEFAULT_CONFIG))
        text = ""
        if definition is not None:
            text = f"{definition.documentation} Importance: {definition.importance.lower() or 'unknown'}.".strip()
        entries.append(
            model_config.ConfigEntry(
                key,
                (None if hides else value) if value is not None else default,
                own if value is not None else codes.DEFAULT_CONFIG,
                sensitive=sensitive,
                type=type_,
                synonyms=tuple(synonyms),
                documentation=text[:4000] or None,
            )
        )
    return model_config.ConfigSet(tuple(entries))


async def describe_configs(link: Link, resources: Iterable[model_config.ConfigResource]) -> model_config.ConfigListing:
    """Return the configs of connectors, and the loggers of Connect clusters, or the failures to read them."""
    if (recorded := _recorded(link)) is not None:
        wanted = {each: each in recorded.configs for each in resources}
        gone = _unrecorded("this connector").failure
        failures = {each: gone for each, is_there in wanted.items() if not is_there}
        return model_config.ConfigListing({each: recorded.configs[each] for each in wanted.keys() - failures}, failures)
    sets: dict[model_config.ConfigResource, model_config.ConfigSet] = {}
    failures = {}

    async def describe(resource: model_config.ConfigResource) -> None:
        try:
            if resource.type == codes.CONNECT_LOGGER:
                sets[resource] = await _levels(_cluster_named(link, resource.name), resource)
                return
            cluster, name = _cluster_of(link, resource.name)
            config = await _config(cluster, name)
            sets[resource] = config_set(config, await cluster.define(config.get(connect.CLASS, "")))
        except errors.AdminError as error:
            failures[resource] = error.failure

    await asyncio.gather(*map(describe, resources))
    return model_config.ConfigListing(sets, failures)


async def _levels(cluster: _Cluster, resource: model_config.ConfigResource) -> model_config.ConfigSet:
    """Return the log levels of a Connect cluster's workers, as far as these answer. If workers differ, the entry has
    the level at each worker. Raises AdminError if no worker answers.
    """
    if not cluster.workers:
        raise _unrecorded("loggers")
    levels: dict[str, Mapping[str, _Logger]] = {}
    problems = []
    for worker, answer in await cluster.each("GET", LOGGERS):
        address = f"{worker.settings.host}:{worker.settings.port}"
        try:
            if isinstance(answer, RestFailed):
                raise errors.Unreachable.of(f"{worker.settings}: {answer}", "See that the worker runs.")
            levels[address] = _decoded(cluster, answer, dict[str, _Logger])
        except errors.AdminError as error:
            problems.append(error)
    if not levels:
        raise problems[0]
    own = model_config.own_source(resource)
    names = sorted({name for each in levels.values() for name in each})[:MOST_CONNECTORS]
    entries = (model_config.ConfigEntry(name[:300], _level_text(name, levels), own) for name in names)
    return model_config.ConfigSet(tuple(entries))


def _level_text(logger: str, levels: Mapping[str, Mapping[str, _Logger]]) -> str:
    found = {at: each[logger].level[:30] if logger in each else "inherited" for at, each in levels.items()}
    same = set(found.values())
    return same.pop() if len(same) == 1 else ", ".join(f"{level} at {at}" for at, level in found.items())


async def _config(cluster: _Cluster, name: str) -> dict[str, str]:
    return _texts(await cluster.read(_of_connector(name, "/config"), dict[str, Any]))


class ClassListing(NamedTuple):
    """The config definitions by (Connect cluster, class), and the failures to read some of them."""

    sets: Mapping[tuple[str, str], model_config.ConfigSet]
    failures: Mapping[tuple[str, str], Failure]


async def describe_classes(link: Link, classes: Iterable[tuple[str, str]]) -> ClassListing:
    """Return the config keys that connector classes define, with their defaults.

    Args:
        classes: pairs of a Connect cluster and a class name. An unknown cluster or class gets a failure.
    """
    sets: dict[tuple[str, str], model_config.ConfigSet] = {}
    failures: dict[tuple[str, str], Failure] = {}

    async def describe(cluster: str, class_name: str) -> None:
        try:
            known, _ = _cluster_of(link, connect.full_name(cluster, class_name))
            sets[cluster, class_name] = config_set({}, await known.define(class_name))
        except errors.AdminError as error:
            failures[cluster, class_name] = error.failure

    await asyncio.gather(*(describe(*each) for each in classes))
    return ClassListing(sets, failures)


async def describe_offsets(link: Link, name: str) -> tuple[ConnectOffset, ...]:
    """Return the offsets of a connector in the connector's own format (KIP-875, Kafka 3.6). Raises AdminError.

    Args:
        name: kac's name of the connector.
    """
    cluster, connector = _cluster_of(link, name)
    return tuple((await cluster.read(_of_connector(connector, "/offsets"), _Offsets)).offsets)


async def list_offsets(
    link: Link, names: Iterable[str]
) -> tuple[Mapping[str, tuple[connect.ConnectorOffset, ...]], Mapping[str, Failure]]:
    """Return kac's name of a connector -> its offsets; and kac's name -> the failure to read them."""
    found: dict[str, tuple[connect.ConnectorOffset, ...]] = {}
    failures: dict[str, Failure] = {}

    async def describe(name: str) -> None:
        try:
            found[name] = tuple((each.partition, each.offset) for each in await describe_offsets(link, name))
        except errors.AdminError as error:
            failures[name] = error.failure

    await asyncio.gather(*map(describe, names))
    return found, failures


async def describe_loggers(link: Link) -> tuple[Sequence[tuple[str, connect.Logger]], Mapping[str, Failure]]:
    """Return pairs of a Connect cluster and a logger, as the answering worker of each cluster has them; and Connect
    cluster -> the failure to read them.
    """
    failures: dict[str, Failure] = {}

    async def describe(cluster: _Cluster) -> list[tuple[str, connect.Logger]]:
        try:
            found = await cluster.read(LOGGERS, dict[str, _Logger])
        except errors.AdminError as error:
            failures[cluster.name] = error.failure
            return []
        return [
            (cluster.name, connect.Logger(name[:300], each.level[:30], each.last_modified))
            for name, each in sorted(found.items())[:MOST_CONNECTORS]
        ]

    found = await asyncio.gather(*map(describe, _clusters_of(link).values()))
    return [each for loggers in found for each in loggers], failures


# -- changing ----------------------------------------------------------------------------------------------------------


R = TypeVar("R", bound=Any)
X = TypeVar("X", bound=Any)


class _ConnectSender(delivery.ServiceSender[R, X]):
    """The base class of changes to connectors and workers."""

    async def require(self) -> None:
        """Raise ReadOnly if the client is read-only, and WrongCluster if the Connect cluster belongs to other brokers.
        Raise other AdminErrors as well.
        """
        await super().require()
        ours = self.link.routes.cluster_id
        for name in {self.place(target)[0].name for target in self.targets()}:
            root = await _clusters_of(self.link)[name].read("/", _Root)
            if not self.validate_only and not same_cluster(root.kafka_cluster_id or None, ours):
                raise errors.WrongCluster.of(
                    f"Connect {name} works with the Kafka cluster {root.kafka_cluster_id[:60]}, not with {ours}",
                    "Nothing was sent. Check url of the context's Connect cluster.",
                    name="WRONG_CLUSTER",
                )

    def place(self, target: X) -> tuple[_Cluster, str]:
        """Return the Connect cluster of a target, and the target's name within it. Raises BrokerError."""
        return _cluster_of(self.link, target.name)

    async def send_one(self, target: X) -> Outcome | Failure | None:
        cluster, name = self.place(target)
        answer = await self.ask(cluster, name, target)
        return answer if isinstance(answer, Outcome) else None if answer.is_ok else _failure(cluster, answer)

    async def ask(self, cluster: _Cluster, name: str, target: X) -> Answer | Outcome:
        """Send the change of a target, or its validation, and return the response; or return an outcome that refuses
        it.
        """
        raise NotImplementedError

    async def checked(self, cluster: _Cluster, target: X, config: Mapping[str, str]) -> Outcome:
        """Let the worker validate a whole config and return the outcome, with each error message under its key."""
        class_name = config.get(connect.CLASS, "")
        if not class_name:
            return delivery.refused(
                target, "INVALID_CONFIG", f"{connect.CLASS}: it is missing", "Name the connector's class."
            )
        path = f"/connector-plugins/{quote(class_name, safe='')}/config/validate"
        check = await cluster.read(path, _Check, method="PUT", body=config)
        problems = [f"{each.value.name}: {text}" for each in check.configs for text in each.value.errors]
        if not problems and not check.error_count:
            return Outcome(target, Status.VALID)
        defined = await cluster.define(class_name)
        hidden = [*self.secrets, *_hidden_values(config, defined)]
        text = delivery.without_secrets("; ".join(problems[:10]) or f"{check.error_count} errors", hidden)
        return delivery.refused(target, "INVALID_CONFIG", text, "Correct the values of these keys.")


def _release(version: str) -> tuple[int, int]:
    found = _RELEASE.match(version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


class _Altering(_ConnectSender[connect.AlterConnectors, model_config.ConfigResource]):
    """Changes single keys of connectors' configs."""

    of = "ops"
    has_check = True

    def __init__(self, link: Link, request: connect.AlterConnectors, validate_only: bool) -> None:
        super().__init__(link, request, validate_only)
        self.secrets = [op.value for ops in request.ops.values() for op in ops if isinstance(op.value, Secret)]

    async def ask(self, cluster: _Cluster, name: str, target: model_config.ConfigResource) -> Answer | Outcome:
        before = await _config(cluster, name)
        # A worker's message may repeat a value, even one that this change replaces.
        defined = await cluster.define(before.get(connect.CLASS, ""))
        self.secrets = [*self.secrets, *_hidden_values(before, defined)]
        changes = _changed({**_defaults(defined), **before}, self.request.ops[target])
        whole = {key: value for key, value in {**before, **changes}.items() if value is not None}
        # A gateway in front of the worker may mask values: sent back, the masks would replace the real values.
        masked = [key for key, value in whole.items() if key not in changes and is_mask(value)]
        has_patch = _release((await cluster.read("/", _Root)).version) >= PATCH_SINCE
        if masked and not has_patch:
            return delivery.refused(
                target,
                "MASKED_CONFIG",
                f"the worker returns {', '.join(masked)} masked, and before Kafka 3.8 a change sends the whole config",
                "Nothing was sent. Give these keys their values in the same change.",
            )
        if self.validate_only:
            return Outcome(target, Status.UNCHECKED) if masked else await self.checked(cluster, target, whole)
        if has_patch:
            return await cluster.change("PATCH", _of_connector(name, "/config"), changes)
        return await cluster.change("PUT", _of_connector(name, "/config"), whole)

    async def describe_again(
        self, targets: Sequence[model_config.ConfigResource]
    ) -> dict[model_config.ConfigResource, Status]:
        found = {}
        for target in targets:
            cluster, name = _cluster_of(self.link, target.name)
            now = await _config(cluster, name)
            defaults = _defaults(await cluster.define(now.get(connect.CLASS, "")))
            changes = _changed({**defaults, **now}, self.request.ops[target])
            # Compare the values themselves, including secrets, here: they do not leave this function.
            found[target] = delivery.applied_if(all(now.get(key) == value for key, value in changes.items()))
        return found


class _AlteringLoggers(_ConnectSender[connect.AlterConnectLoggers, model_config.ConfigResource]):
    """Sets the level of each logger by a request of its own: for all workers at once; before Kafka 3.7, to each worker
    in the settings.
    """

    of = "ops"

    def place(self, target: model_config.ConfigResource) -> tuple[_Cluster, str]:
        return _cluster_named(self.link, target.name), ""

    async def ask(self, cluster: _Cluster, _name: str, target: model_config.ConfigResource) -> Answer | Outcome:
        at_once = _release((await cluster.read("/", _Root)).version) >= CLUSTER_LOGGERS_SINCE
        for op in self.request.ops[target]:
            path, body = f"{LOGGERS}/{quote(op.key, safe='')}", {"level": op.value}
            if not at_once:
                outcome = _of_all(cluster, target, await cluster.each("PUT", path, body))
                if outcome.status is not Status.APPLIED:
                    return outcome
            elif not (answer := await cluster.change("PUT", f"{path}?scope=cluster", body)).is_ok:
                return answer
        return Outcome(target, Status.APPLIED)

    async def describe_again(
        self, targets: Sequence[model_config.ConfigResource]
    ) -> dict[model_config.ConfigResource, Status]:
        ops = self.request.ops
        now = {target: await _levels(self.place(target)[0], target) for target in targets}
        return {target: delivery.configs_verdict(target, ops[target], now[target]) for target in targets}


def _of_all(
    cluster: _Cluster, target: model_config.ConfigResource, answers: Sequence[tuple[RestClient, Answer | RestFailed]]
) -> Outcome:
    """Return the outcome of a change that was sent to each worker: APPLIED if all workers applied it, FAILED if
    certainly none did, UNKNOWN otherwise.
    """
    problems, may_be_applied = [], False
    for worker, answer in answers:
        if isinstance(answer, RestFailed):
            problems.append(f"{worker.settings}: {answer}")
            may_be_applied |= answer.was_sent
        elif answer.is_ok:
            may_be_applied = True
        else:
            problems.append(f"{worker.settings}: {_failure(cluster, answer).message}")
    if not problems:
        return Outcome(target, Status.APPLIED)
    remedy = "Before Kafka 3.7 each worker has its own levels: look at them, and repeat the change."
    failure = Failure("SOME_WORKERS", "; ".join(problems), remedy)
    return Outcome(target, Status.UNKNOWN if may_be_applied else Status.FAILED, failure)


def _defaults(defined: Mapping[str, Definition]) -> dict[str, str]:
    return {key: each.default for key, each in defined.items() if each.default is not None}


def _changed(before: Mapping[str, str], ops: Iterable[ConfigOp]) -> dict[str, str | None]:
    """Return key -> its new value, None to remove the key, for each key that is changed. before: key -> its present or
    default value, to which changes of list items apply.
    """
    changes: dict[str, str | None] = {}
    for op in ops:
        value = op.value.reveal() if isinstance(op.value, Secret) else op.value
        if op.op == codes.DELETE:
            changes[op.key] = None
        elif op.op == codes.SET:
            changes[op.key] = value or ""
        else:
            now, items = delivery.list_items(before.get(op.key)), delivery.list_items(value)
            kept = [*now, *(each for each in items if each not in now)] if op.op == codes.APPEND else []
            changes[op.key] = ",".join(kept or [each for each in now if each not in items])
    return changes


class _OfOne(_ConnectSender[R, connect.ConnectorTarget]):
    """A change of one connector."""

    def targets(self) -> tuple[connect.ConnectorTarget]:
        return (connect.ConnectorTarget(self.request.name),)

    async def _status(self, name: str) -> _Status | None:
        """Return the state of a connector; None if the connector does not exist. name: its name within the Connect
        cluster.
        """
        cluster, connector = _cluster_of(self.link, name)
        try:
            return await cluster.read(_of_connector(connector, "/status"), _Status)
        except errors.BrokerError as error:
            if error.failure.name == "HTTP_404":
                return None
            raise

    async def describe_again(self, targets: Sequence[connect.ConnectorTarget]) -> dict[connect.ConnectorTarget, Status]:
        return {target: self.verdict(await self._status(target.name)) for target in targets}

    def verdict(self, now: _Status | None) -> Status:
        """Return the outcome of the change according to the connector's present state; None means a missing
        connector.
        """
        raise NotImplementedError


class _Creating(_OfOne[connect.CreateConnector]):
    has_check = True

    def __init__(self, link: Link, request: connect.CreateConnector, validate_only: bool) -> None:
        super().__init__(link, request, validate_only)
        self.secrets = [value for value in request.config.values() if isinstance(value, Secret)]

    async def ask(self, cluster: _Cluster, name: str, target: connect.ConnectorTarget) -> Answer | Outcome:
        config = {
            key: value.reveal() if isinstance(value, Secret) else value for key, value in self.request.config.items()
        }
        if self.validate_only:
            return await self.checked(cluster, target, {**config, "name": name})
        body: dict[str, object] = {"name": name, "config": config}
        if self.request.state:
            body["initial_state"] = self.request.state
        return await cluster.change("POST", "/connectors", body)

    def verdict(self, now: _Status | None) -> Status:
        return delivery.applied_if(now is not None)


class _Deleting(_OfOne[connect.DeleteConnector]):
    async def ask(self, cluster: _Cluster, name: str, _target: connect.ConnectorTarget) -> Answer:
        return await cluster.change("DELETE", _of_connector(name))

    def verdict(self, now: _Status | None) -> Status:
        return delivery.applied_if(now is None)


class _Steering(_OfOne[connect.SteerConnector]):
    def __init__(self, link: Link, request: connect.SteerConnector, validate_only: bool) -> None:
        super().__init__(link, request, validate_only)
        self.takes_seconds = STOP_SECONDS if request.state == connect.STOPPED else 0.0

    async def ask(self, cluster: _Cluster, name: str, _target: connect.ConnectorTarget) -> Answer:
        verb = {connect.RUNNING: "resume", connect.PAUSED: "pause", connect.STOPPED: "stop"}[self.request.state]
        return await cluster.change("PUT", _of_connector(name, f"/{verb}"))

    def verdict(self, now: _Status | None) -> Status:
        if now is None:
            return Status.UNKNOWN
        states = {now.connector.state, *(task.state for task in now.tasks)}
        if self.request.state == connect.RUNNING:  # a resumed connector may fail, and was resumed all the same
            return delivery.applied_if(states.isdisjoint({connect.PAUSED, connect.STOPPED}))
        # Wait for the tasks of a stopped connector to end: until then its offsets can't be changed.
        ended = self.request.state != connect.STOPPED or not now.tasks
        return delivery.applied_if(now.connector.state == self.request.state and ended)


class _Restarting(_OfOne[connect.RestartConnector]):
    async def ask(self, cluster: _Cluster, name: str, _target: connect.ConnectorTarget) -> Answer:
        request = self.request
        if request.task is not None:
            return await cluster.change("POST", _of_connector(name, f"/tasks/{request.task}/restart"))
        flags = f"includeTasks={str(request.tasks).lower()}&onlyFailed={str(request.only_failed).lower()}"
        return await cluster.change("POST", _of_connector(name, f"/restart?{flags}"))

    def verdict(self, _now: _Status | None) -> Status:
        return Status.UNKNOWN  # the state does not show a restart


class _AlteringOffsets(_ConnectSender[connect.AlterConnectorOffsets, connect.ConnectorOffsetsTarget]):
    def targets(self) -> tuple[connect.ConnectorOffsetsTarget]:
        return (connect.ConnectorOffsetsTarget(self.request.name),)

    async def ask(self, cluster: _Cluster, name: str, _target: connect.ConnectorOffsetsTarget) -> Answer:
        if self.request.offsets is None:
            return await cluster.change("DELETE", _of_connector(name, "/offsets"))
        offsets = [{"partition": partition, "offset": offset} for partition, offset in self.request.offsets]
        return await cluster.change("PATCH", _of_connector(name, "/offsets"), {"offsets": offsets})

    async def describe_again(
        self, targets: Sequence[connect.ConnectorOffsetsTarget]
    ) -> dict[connect.ConnectorOffsetsTarget, Status]:
        found = {}
        for target in targets:
            now = await describe_offsets(self.link, target.name)
            if self.request.offsets is None:
                found[target] = delivery.applied_if(not any(each.offset for each in now))
                continue
            there = {json_text(each.partition, sort_keys=True): each.offset for each in now}
            found[target] = delivery.applied_if(
                all(there.get(json_text(part, sort_keys=True)) == offset for part, offset in self.request.offsets)
            )
        return found


SENDERS: delivery.Senders = {
    connect.AlterConnectors: _Altering,
    connect.AlterConnectLoggers: _AlteringLoggers,
    connect.CreateConnector: _Creating,
    connect.DeleteConnector: _Deleting,
    connect.SteerConnector: _Steering,
    connect.RestartConnector: _Restarting,
    connect.AlterConnectorOffsets: _AlteringOffsets,
}
