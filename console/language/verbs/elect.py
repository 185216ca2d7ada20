"""``elect``: elects preferred or unclean leaders."""

from __future__ import annotations

from collections.abc import Iterable

from console.language import arguments, statements
from console.language.reader import Reader
from console.language.snapshot_parts import Needs, the_topic, whole_parts
from console.language.staging import SAID, Staging
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.config import broker_resource
from console.model.parts import Part
from console.plan.edits import Edit, ElectPreferred, ElectUnclean


class Elect(statements.EditStatement, frozen=True):
    """The statement ``elect``. `broker`, `topic` and `partition` limit the elections to those of a broker, a topic
    or one partition; None for no such limit. An unclean election always names a partition.
    """

    unclean: bool = False
    broker: int | None = None
    topic: statements.Name | None = None
    partition: int | None = None


def _parse(reader: Reader) -> Elect:
    if reader.need_keyword("preferred", "unclean") == "unclean":
        name = arguments.topic_name(reader)
        reader.need_keyword("partition")
        return Elect(unclean=True, topic=name, partition=arguments.partition_number(reader, name))
    scope = reader.need_keyword("all", "broker", "topic")
    if scope == "broker":
        return Elect(broker=arguments.need_number(reader, arguments.BROKER, arguments.INT_MAX))
    if scope == "topic":
        name = arguments.plain_name(reader, arguments.TOPIC, "topics")
        return Elect(topic=name, partition=arguments.optional_partition(reader, name))
    return Elect()


def _text(statement: Elect) -> str:
    kind = "unclean" if statement.unclean else "preferred"
    if statement.topic is not None:
        return statements.joined(
            "elect",
            kind,
            "topic",
            statements.name_text(statement.topic),
            statements.partition_text(statement.partition),
        )
    return f"elect {kind} " + ("all" if statement.broker is None else f"broker {statement.broker}")


def _needs(statement: Elect, _selected: statements.Subject | None) -> Needs:
    """Return the parts to read: the topics, and for an unclean election also the ranges of the replicas' logs."""
    if statement.topic is None:
        return whole_parts(Part.TOPICS)
    need = the_topic(statement.topic)
    return need | Needs(replica_logs=need.topics) if statement.unclean else need


def _edits(statement: Elect, staging: Staging) -> Iterable[Edit]:
    """Return an election for the partition that the statement names, else for each partition that its preferred replica
    does not lead. If the preferred replicas lead all partitions, return elections for the first few (`SAID`), which
    staging reports as unchanged.
    """
    from console.plan.kinds.leaders import preferred_brokers, preferred_elections

    topics = staging.snapshot.topics
    if statement.topic is not None:
        name = staging.topic(statement.topic)
        if statement.partition is not None:
            return ((ElectUnclean if statement.unclean else ElectPreferred)(name, statement.partition),)
        topics = {name: topics[name]} if name in topics else {}
    if statement.broker is not None and statement.broker not in preferred_brokers(topics.values()):
        staging.require(broker_resource(statement.broker), statement.span)
    needed = preferred_elections(topics, statement.broker)
    return needed or preferred_elections(topics, statement.broker, needed=False)[:SAID]


_ELECT = StatementKind(
    statement=Elect,
    text=_text,
    needs=_needs,
    edits=_edits,
    of_edits={
        ElectPreferred: lambda edit: Elect(topic=statements.Name(edit.topic), partition=edit.partition),
        ElectUnclean: lambda edit: Elect(unclean=True, topic=statements.Name(edit.topic), partition=edit.partition),
    },
)

VERBS = (
    Verb(
        "elect",
        CHANGE,
        (
            "elect preferred (all | broker ID | topic NAME [partition N])",
            "elect unclean topic NAME partition N",
        ),
        "Stage elections of leaders",
        "`preferred` makes the first replica of a partition its leader, if another replica leads. With `broker "
        "ID` kac elects only replicas on that broker. A first replica that is not in the ISR, the set of in-sync "
        "replicas, can't lead. Its partition keeps its leader.\n\n"
        "`unclean` is for a partition without a leader whose in-sync replicas do not come back. Another replica "
        "then leads. The records that this replica lacks are lost.",
        (
            "elect preferred all",
            "elect preferred broker 3",
            "elect preferred topic orders partition 4",
            "elect unclean topic orders partition 4",
        ),
        noun="leader leaders elect-leaders leader-election kafka-leader-election",
        stands_for={"elect preferred all": "leader list, leader alter"},
        parse=_parse,
        statements=(_ELECT,),
    ),
)
