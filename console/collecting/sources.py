"""The lake's `sources.yaml` (format: docs/lake.md), which names its inputs other than polls; and the login of Spark's
Kafka source for request logs in a topic. A login that Spark's source does not support is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from console.admin.settings import ConnectionSettings, show_address, show_via
from console.contexts import jaas, load, resolve
from console.contexts.context import parse_bootstrap
from console.lake import inputs as lake_inputs
from console.lake.entities import id_problem
from console.lake.files import LakeError
from console.lake.kraft import LOG_FOLDER
from console.lake.requests.log_files import zone_problem
from console.model.numbers import is_natural
from console.model.yaml_places import FileProblem, FileProblems, Node, read_yaml

FILE = "sources.yaml"
_TOP = ("version", "clusters", "journals")
_CLUSTER = (
    *("id", "metadata-log", "controllers", "context", "request-logs", "request-topic", "authorizer-logs", "timezone"),
)
_TOPIC = ("name", "context")
_LOG_OF_BROKER = ("broker", "files", "timezone")
Log = TypeVar("Log", lake_inputs.RequestLog, lake_inputs.AuthorizerLog)
_USUAL = {lake_inputs.RequestLog: "kafka-request.log", lake_inputs.AuthorizerLog: "kafka-authorizer.log"}
"""Kind of log -> the name of its file in the logging configuration that Kafka contains."""
T = TypeVar("T")


def read_sources(text: str, source: str, folder: Path) -> lake_inputs.Inputs:
    """Parse the text of a `sources.yaml`.

    Args:
        source: the name of the file, for errors.
        folder: the folder for relative paths in it.

    Raises:
        FileProblems: all errors, each with its line.
    """
    reader = _Reader(folder)
    try:
        inputs = reader.inputs(read_yaml(text, source).root)
    except FileProblem as problem:
        raise FileProblems([problem]) from None
    if reader.problems:
        raise FileProblems(sorted(reader.problems, key=lambda each: each.line or 0))
    return inputs


def _path(text: str, folder: Path) -> str:
    return text if "://" in text else str(folder / Path(text).expanduser())


@dataclass
class _Reader:
    """A parser of the file that collects every error; a value with an error is omitted from the result."""

    folder: Path
    problems: list[FileProblem] = field(default_factory=list)

    def inputs(self, root: Node) -> lake_inputs.Inputs:
        top = self._fields(root, _TOP)
        version = top.get("version")
        if version is None or version.data != "1":
            self._add(version or root, "a file says its version", "write version: 1 at its top")
        parts = [self._cluster(each) for each in self._items(top.get("clusters"))]
        inputs = lake_inputs.Inputs(
            tuple(log for part in parts for log in part.metadata_logs),
            tuple(log for part in parts for log in part.request_logs),
            tuple(map(lake_inputs.Journals, self._paths(top.get("journals")))),
            tuple(each for part in parts for each in part.controllers),
            tuple(each for part in parts for each in part.request_topics),
            tuple(log for part in parts for log in part.authorizer_logs),
        )
        if not self.problems and not (inputs.paths or inputs.controllers or inputs.request_topics):
            self._add(
                root,
                "it names nothing to read",
                "name a metadata-log, controllers, request-logs, authorizer-logs or journals",
            )
        return inputs

    def _cluster(self, node: Node) -> lake_inputs.Inputs:
        read = self._fields(node, _CLUSTER)
        cluster_id = self._text(read.get("id")) or None
        if cluster_id is not None and (problem := id_problem(cluster_id)):
            self._add(read["id"], problem)
        zone = self._zone(read.get("timezone"), "UTC")
        context = self._text(read.get("context")) or None
        requests = self._items(read.get("request-logs"))
        decisions = self._items(read.get("authorizer-logs"))
        paths = self._paths(read.get("metadata-log"))
        addresses = self._texts(read.get("controllers"))
        topics = read.get("request-topic")
        if cluster_id is None and (requests or decisions or addresses or topics or not paths):
            self._add(node, "id is missing", "lines of brokers' logs do not say which cluster they are of")
        if paths and addresses:
            self._add(read["controllers"], "metadata-log and controllers are the same log: name one of them")
        try:
            parse_bootstrap(",".join(addresses)) if addresses else ()
        except ValueError as wrong:
            self._add(read["controllers"], str(wrong), "HOST:PORT, as in controller.quorum.bootstrap.servers")
        of = cluster_id or ""
        return lake_inputs.Inputs(
            tuple(lake_inputs.MetadataLog(path, cluster_id) for path in paths),
            tuple(self._log(each, lake_inputs.RequestLog, of, zone) for each in requests),
            (),
            (lake_inputs.Controllers(of, addresses, context),) if addresses else (),
            () if topics is None else (self._topic(topics, of, context, zone),),
            tuple(self._log(each, lake_inputs.AuthorizerLog, of, zone) for each in decisions),
        )

    def _topic(self, node: Node, cluster_id: str, context: str | None, zone: str) -> lake_inputs.RequestTopic:
        if isinstance(node.data, str):
            return lake_inputs.RequestTopic(self._text(node), cluster_id, context, zone)
        read = self._fields(node, _TOPIC)
        name = self._text(read.get("name"))
        if not name:
            self._add(node, "name is missing", "the topic that request logs are shipped to")
        return lake_inputs.RequestTopic(name, cluster_id, self._text(read.get("context")) or context, zone)

    def _log(self, node: Node, kind: type[Log], cluster_id: str, zone: str) -> Log:
        read = self._fields(node, _LOG_OF_BROKER)
        broker = self._text(read.get("broker"))
        if not is_natural(broker):
            self._add(read.get("broker", node), f"{broker!r} is no broker's id" if broker else "broker is missing")
        paths = self._paths(read.get("files"))
        if not paths:
            self._add(read.get("files", node), "files is missing", f"for example /logs/{_USUAL[kind]}*")
        zone = self._zone(read.get("timezone"), zone)
        return kind(paths, cluster_id, int(broker) if is_natural(broker) else 0, zone)

    def _zone(self, node: Node | None, default: str) -> str:
        zone = self._text(node) or default
        if node is not None and (wrong := zone_problem(zone)):
            self._add(node, wrong)
        return zone

    def _paths(self, node: Node | None) -> tuple[str, ...]:
        """Return the path or the list of paths in a node as a tuple; empty for None."""
        return tuple(_path(text, self.folder) for text in self._texts(node))

    def _texts(self, node: Node | None) -> tuple[str, ...]:
        nodes = self._items(node) if node is not None and isinstance(node.data, list) else [node]
        return tuple(text for each in nodes if (text := self._text(each)))

    def _fields(self, node: Node, legal: Sequence[str]) -> dict[str, Node]:
        none: dict[str, Node] = {}
        found = self._collecting(node.named, none)
        self.problems += node.unknown(legal) if found else []
        return found

    def _items(self, node: Node | None) -> list[Node]:
        return [] if node is None or node.is_null else self._collecting(node.items, [])

    def _text(self, node: Node | None) -> str:
        return "" if node is None or node.is_null else self._collecting(node.text, "")

    def _collecting(self, read: Callable[[], T], default: T) -> T:
        try:
            return read()
        except FileProblem as problem:
            self.problems.append(problem)
            return default

    def _add(self, node: Node, message: str, hint: str = "") -> None:
        self.problems.append(node.problem(message, hint))


def missing(inputs: lake_inputs.Inputs) -> Iterator[str]:
    """Yield a text for each metadata log that does not exist or is named by its parent folder, and for each journal
    that does not exist. Request and authorizer logs are not checked, since their patterns may match no file yet;
    URIs are not checked, since only Spark reads them.
    """
    for path in (each.path for each in inputs.metadata_logs if "://" not in each.path):
        if not Path(path).is_dir():
            yield f"there is no folder {path}"
        elif (Path(path) / LOG_FOLDER).is_dir():
            yield f"{path} is no metadata log but holds one: name {Path(path) / LOG_FOLDER}"
    for path in (each.path for each in inputs.journals if "://" not in each.path):
        if not Path(path).exists():
            yield f"there is no journal at {path}"


# -- logins for topics -------------------------------------------------------------------------------------------------


def topics_of(
    topics: Sequence[lake_inputs.RequestTopic], environ: Mapping[str, str]
) -> tuple[tuple[lake_inputs.Topic, ...], str]:
    """Return the topics in the form for Spark, and the text of the login file (JAAS) that they need; empty text if no
    topic needs a login.

    Raises:
        LakeError: Spark's source does not support a login, or the topics need several logins.
        ContextError: a context is unknown or unusable.
    """
    made, logins = [], set()
    for each in topics:
        context = resolve(load(environ, Path.home()), name=each.context, environ=environ)
        options, login = options_of(context.settings, context.name)
        made.append(lake_inputs.Topic(each.topic, options, each.cluster_id, each.time_zone))
        logins.add(login)
    if len(logins - {""}) > 1:
        raise LakeError(
            "The topics of request logs need several logins, and Java takes one for all: give them a context with one "
            "login, or read them into lakes of their own."
        )
    return tuple(made), max(logins, default="")


def options_of(settings: ConnectionSettings, name: str) -> tuple[dict[str, str], str]:
    """Return the options of Spark's Kafka source for a connection, and the text of the login file (JAAS); empty text
    if the connection needs no login. Raises LakeError: Spark's source does not support the login. name: the name
    of the context, for messages.
    """

    def refused(what: str) -> LakeError:
        return LakeError(
            f"The context {name} {what}, which Spark's Kafka source can't do: name another context for the "
            "request-topic in sources.yaml, one with PLAIN, SCRAM or TLS with PEM files, without via and addresses."
        )

    if settings.via is not None:
        raise refused(f"goes by {show_via(settings.via)}")
    if settings.addresses:
        raise refused("maps addresses")
    options = {
        "kafka.bootstrap.servers": ",".join(map(show_address, settings.bootstrap)),
        "kafka.security.protocol": settings.security_protocol,
        "kafka.client.id": settings.client_id,
    }
    login = ""
    if settings.security_protocol.startswith("SASL"):
        sasl = settings.sasl
        if sasl is None or sasl.mechanism not in jaas.MODULES or sasl.username is None or sasl.password is None:
            raise refused(f"logs in by {'nothing' if sasl is None else sasl.mechanism}")
        options["kafka.sasl.mechanism"] = sasl.mechanism
        words = {"username": sasl.username, "password": sasl.password.reveal()}
        if sasl.options.get("tokenauth") == "true":
            words["tokenauth"] = "true"
        login = f"KafkaClient {{\n  {jaas.login(sasl.mechanism, words)}\n}};\n"
    tls = settings.tls
    if settings.security_protocol.endswith("SSL") and tls is not None:
        if not tls.verify_chain:
            raise refused("trusts any certificate")
        if tls.key_file is not None:
            raise refused("has a private key in a file of its own")
        for kind, store in (("truststore", tls.trust), ("keystore", tls.key_store)):
            if store is None:
                continue
            if store.kind != "PEM" or store.path is None or store.password is not None or tls.key_password is not None:
                raise refused(f"has a {kind} that is no PEM file, or is locked")
            options |= {f"kafka.ssl.{kind}.type": "PEM", f"kafka.ssl.{kind}.location": str(store.path)}
        if not tls.verify_host:
            options["kafka.ssl.endpoint.identification.algorithm"] = ""
    return options, login
