"""``create``: creates a topic or a connector."""

from __future__ import annotations

from collections.abc import Iterator

from console.language import statements
from console.language.arguments import INT_MAX, assigned, pair_count, plain_name, whole_number
from console.language.reader import Candidate, Expected, Form, Reader, What
from console.language.snapshot_parts import Needs, whole_parts
from console.language.staging import Staging, no_key_twice
from console.language.tokenizer import Word
from console.language.verb import CHANGE, StatementKind, Verb
from console.language.verbs import connector
from console.model.changes import NewTopic
from console.model.config import broker_resource, topic_resource
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.amounts import LONGEST_MS, duration_text, parse_duration
from console.plan.edits import CreateTopic, Edit

OWN_KEYS = {
    "partitions": "how many; left out: the cluster's num.partitions",
    "replication": "copies of each partition; left out: the cluster's default.replication.factor",
    "assign": "brokers of each partition, for example 1:2,2:3; instead of partitions and replication",
    "timeout": "how long the brokers may take, for example 30s",
}
REPLICATION_MAX = 2**15 - 1
MOST_MARKS = 4
"""If a new topic's name has at most this many dots and underscores, kac reads all names that would collide with it,
at most 15. If it has more, kac reads only the name itself.
"""


class Create(statements.EditStatement, frozen=True):
    """The statement ``create topic``."""

    name: statements.Name
    partitions: int = -1
    """The number of partitions; -1 for the broker's default."""
    replication: int = -1
    """The replication factor; -1 for the broker's default."""
    assignments: tuple[tuple[int, ...], ...] = ()
    """The broker ids of each partition's replicas; empty if `partitions` and `replication` are used instead."""
    timeout_ms: int | None = None
    """The timeout of the request in milliseconds; None for the client's default."""
    configs: tuple[statements.Assign, ...] = ()


# -- grammar -----------------------------------------------------------------------------------------------------------


def _parse(reader: Reader) -> Create | connector.CreateConnector:
    if reader.need_keyword("topic", "connector") == "connector":
        return connector.parse_creation(reader)
    name = plain_name(reader, Expected(What.TOPIC, "the NAME of the topic", detail="new"), "topics")
    numbers: dict[str, int] = {}
    assignments: tuple[tuple[int, ...], ...] = ()
    configs: list[statements.Assign] = []
    taken: dict[str, Word] = {}
    expected = Expected(
        What.ASSIGN,
        "partitions=, replication=, assign=, timeout= or a config's KEY=VALUE",
        subject=topic_resource(name.text or ""),
        offers=lambda _snapshot: [Candidate(key, "", text, Form.KEY) for key, text in OWN_KEYS.items()],
        values=_values,
        reads=Needs(a_topic=True, documentation=True),
    )
    while not reader.ended or not (taken or configs):
        word, key, value = reader.take_pair(expected)
        if not key.bare or key.text not in OWN_KEYS:
            configs.append(assigned(reader, word, key, value))
            continue
        if key.text in taken:
            reader.fail(f"{key.text}= is given twice", word)
        taken[key.text] = word
        if key.text == "assign":
            assignments = _assignments(reader, value)
        elif key.text == "timeout":
            numbers["timeout"] = _timeout(reader, value)
        else:
            highest = REPLICATION_MAX if key.text == "replication" else INT_MAX
            numbers[key.text] = pair_count(reader, key, value, highest)
    if "assign" in taken:
        for other in ("partitions", "replication"):
            if other in taken:
                reader.fail(f"assign= names each partition's brokers, so {other}= is not allowed", taken[other])
    return Create(
        name,
        numbers.get("partitions", -1),
        numbers.get("replication", -1),
        assignments,
        numbers.get("timeout"),
        tuple(configs),
    )


def _values(snapshot: Snapshot, key: str) -> list[Candidate] | None:
    """Return the values to offer for a key that the verb itself defines; None for a config's key."""
    texts = {
        "partitions": ("1", "3", "6", "12", "24", "48"),
        "replication": map(str, range(min(3, len(snapshot.cluster.brokers) or 3), 0, -1)),
        "assign": (),
        "timeout": ("30s", "1min", "5min"),
    }.get(key)
    return None if texts is None else [Candidate(text) for text in texts]


def _timeout(reader: Reader, value: Word) -> int:
    try:
        milliseconds = parse_duration(value.text)
    except ValueError as error:
        reader.fail(f"timeout=: {error}", value)
    if milliseconds > LONGEST_MS:
        reader.fail("timeout= is at most 24d", value)
    return milliseconds


def _assignments(reader: Reader, value: Word) -> tuple[tuple[int, ...], ...]:
    partitions = []
    for number, part in enumerate(value.text.split(",")):
        brokers = [whole_number(broker) for broker in part.split(":")]
        if None in brokers:
            reader.fail(
                "assign= takes broker numbers, ':' between replicas and ',' between partitions",
                value,
                "for example assign=1:2,2:3: partition 0 on brokers 1 and 2, its preferred leader 1",
            )
        replicas = tuple(broker for broker in brokers if broker is not None)
        if len(set(replicas)) < len(replicas):
            reader.fail(f"assign= names a broker twice for partition {number}", value)
        partitions.append(replicas)
    return tuple(partitions)


def _text(statement: Create) -> str:
    partitions = f"partitions={statement.partitions}" if statement.partitions >= 0 else ""
    replication = f"replication={statement.replication}" if statement.replication >= 0 else ""
    lists = ",".join(":".join(map(str, brokers)) for brokers in statement.assignments)
    assign = f"assign={lists}" if lists else ""
    timeout = f"timeout={duration_text(statement.timeout_ms)}" if statement.timeout_ms is not None else ""
    configs = map(statements.assign_text, statement.configs)
    return statements.joined(
        "create topic", statements.name_text(statement.name), partitions, replication, assign, timeout, *configs
    )


# -- edits -------------------------------------------------------------------------------------------------------------


def _needs(statement: Create, _selected: statements.Subject | None) -> Needs:
    from console.plan.kinds.topic_creation import twins

    name = statement.name.text or ""
    # Read these names: brokers refuse a name that differs from another one only in dots and underscores.
    alike = twins(name) if sum(map(name.count, "._")) <= MOST_MARKS else None
    named = Needs(topics=frozenset({name, *(alike or ())}), a_topic=bool(statement.configs))
    return named | whole_parts(Part.CLUSTER) if statement.assignments else named


def _edits(statement: Create, staging: Staging) -> Iterator[Edit]:
    for broker in sorted({broker for replicas in statement.assignments for broker in replicas}):
        staging.require(broker_resource(broker), statement.span)
    no_key_twice(each.key for each in statement.configs)
    target = topic_resource(statement.name.text or "")
    configs = {
        each.key.name: staging.value(target, each, staging.entry(target, each.key)) for each in statement.configs
    }
    yield CreateTopic(
        NewTopic(
            target.name,
            statement.partitions,
            statement.replication,
            statement.assignments,
            configs,
            statement.timeout_ms,
        )
    )


def _of_creation(edit: CreateTopic) -> Create:
    topic = edit.topic
    configs = tuple(statements.assign_of(statements.Key(key), value) for key, value in topic.configs.items())
    return Create(
        statements.Name(topic.name), topic.partitions, topic.replication, topic.assignments, topic.timeout_ms, configs
    )


_CREATE = StatementKind(
    statement=Create,
    text=_text,
    needs=_needs,
    edits=_edits,
    of_edits={CreateTopic: _of_creation},
    secrets=lambda statement: statements.secrets_among(statement.configs, f"topic {statement.name.text} "),
)

VERBS = (
    Verb(
        "create",
        CHANGE,
        ("create topic NAME KEY=VALUE {KEY=VALUE}", connector.CREATION),
        "Stage a new topic or connector",
        "The keys of a topic:\n\n"
        "- `partitions=N` and `replication=N` set the numbers of partitions and replicas. The defaults are the "
        "cluster's.\n"
        "- `assign=1:2,2:3` lists the brokers of each partition instead, the preferred leader first.\n"
        "- `timeout=DURATION` is the time that the brokers may take.\n"
        "- Every other key is a config of the topic.\n\n"
        "A connector's config comes from FILE, from KEY=VALUE, or from both. KEY=VALUE overrides FILE. FILE has "
        "JSON for Connect's REST API, or properties. Give a secret as `KEY=@FILE`, as `KEY=?`, or as a reference "
        "`${provider:path:key}`. kac never shows a secret that is in FILE. The workers check the config before "
        "kac sends the connector.",
        (
            "create topic orders partitions=12 replication=3 retention.ms=7d",
            "create topic audit assign=1:2,2:3,3:1 timeout=30s",
            "create connector main/orders-sink @orders-sink.json connection.password=? stopped",
        ),
        rank=3,
        stands_for={"create topic NAME partitions=12 replication=3": "topic create"},
        parse=_parse,
        statements=(_CREATE, connector.CREATE),
    ),
)
