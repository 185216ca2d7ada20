"""``grow``: more partitions for a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from console.language.arguments import pair_count, topic_name
from console.language.node_text import name_text
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import Needs, the_topic
from console.language.statements import EditStatement, Name, Subject
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.config import topic_resource
from console.plan.edits import Edit, GrowTopic

if TYPE_CHECKING:
    from console.language.staging import Staging


class Grow(EditStatement, frozen=True):
    """``grow topic``: to this many partitions in all."""

    name: Name
    partitions: int


def _parse(reader: Reader) -> Grow:
    name = topic_name(reader)
    expected = Expected(What.GROW_ASSIGN, "partitions=N", ("partitions=",), subject=topic_resource(name.text or ""))
    word, key, value = reader.take_pair(expected, "partitions=N")
    if not key.is_bare("partitions"):
        reader.fail(f"expected partitions=N, not {reader.shown(word)}", word)
    return Grow(name, pair_count(reader, key, value))


def _text(statement: Grow) -> str:
    return f"grow topic {name_text(statement.name)} partitions={statement.partitions}"


def _needs(statement: Grow, _selected: Subject | None) -> Needs:
    return the_topic(statement.name)


def _edits(statement: Grow, staging: Staging) -> Iterator[Edit]:
    yield GrowTopic(staging.topic(statement.name), statement.partitions)


def _of_edits() -> Mapping[type[Edit], Callable[[Any], Grow]]:
    return {GrowTopic: lambda edit: Grow(Name(edit.name), edit.partitions)}


_GROW = StatementKind(statement=Grow, text=_text, needs=_needs, edits=_edits, of_edits=_of_edits)

VERBS = (
    Verb(
        name="grow",
        group=CHANGE,
        usage=("grow topic NAME partitions=N",),
        summary="Stage more partitions for a topic, N in all",
        about="Partitions can't be removed again, and records with keys go to other partitions from then on.",
        examples=("grow topic orders partitions=24",),
        parse=_parse,
        statements=(_GROW,),
    ),
)
