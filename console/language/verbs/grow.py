"""``grow``: adds partitions to a topic."""

from __future__ import annotations

from console.language.arguments import pair_count, topic_name
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import the_topic
from console.language.statements import EditStatement, Name, name_text
from console.language.verb import CHANGE, StatementKind, Verb
from console.plan.edits import GrowTopic


class Grow(EditStatement, frozen=True):
    """The statement ``grow topic``."""

    name: Name
    partitions: int
    """The new total number of partitions."""


def _parse(reader: Reader) -> Grow:
    name = topic_name(reader)
    word, key, value = reader.take_pair(Expected(What.PAIR, "partitions=N", ("partitions=",)), "partitions=N")
    if not key.is_bare("partitions"):
        reader.fail(f"expected partitions=N, not {reader.shown(word)}", word)
    return Grow(name, pair_count(reader, key, value))


_GROW = StatementKind(
    statement=Grow,
    text=lambda statement: f"grow topic {name_text(statement.name)} partitions={statement.partitions}",
    needs=lambda statement, _selected: the_topic(statement.name),
    edits=lambda statement, staging: [GrowTopic(staging.topic(statement.name), statement.partitions)],
    of_edits={GrowTopic: lambda edit: Grow(Name(edit.name), edit.partitions)},
)

VERBS = (
    Verb(
        "grow",
        CHANGE,
        ("grow topic NAME partitions=N",),
        "Stage more partitions for a topic, N in all",
        "Kafka can't remove partitions again. After the change, partitioners put many keys into other partitions "
        "than before.",
        ("grow topic orders partitions=24",),
        rank=4,
        noun="partition partitions",
        stands_for={"grow topic NAME partitions=24": "topic grow, partition grow, partition create, partition alter"},
        parse=_parse,
        statements=(_GROW,),
    ),
)
