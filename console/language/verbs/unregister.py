"""``unregister``: the cluster forgets a broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from console.language.arguments import INT_MAX, need_number
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import Needs, whole_parts
from console.language.statements import EditStatement, Subject
from console.language.verb import CHANGE, StatementKind, Verb

if TYPE_CHECKING:
    from console.language.staging import Staging
    from console.plan.edits import Edit


class Unregister(EditStatement, frozen=True):
    """``unregister broker``."""

    broker_id: int


def _parse(reader: Reader) -> Unregister:
    reader.need_keyword("broker")
    return Unregister(need_number(reader, Expected(What.BROKER, "the number of a broker", detail="down"), INT_MAX))


def _text(statement: Unregister) -> str:
    return f"unregister broker {statement.broker_id}"


def _needs(_statement: Unregister, _selected: Subject | None) -> Needs:
    return whole_parts("cluster", "quorum", "topics")


def _edits(statement: Unregister, _staging: Staging) -> Iterator[Edit]:
    from console.plan.kinds.registrations import RemoveRegistration

    yield RemoveRegistration(statement.broker_id)


def _of_edits() -> Mapping[type[Edit], Callable[[Any], Unregister]]:
    from console.plan.kinds.registrations import RemoveRegistration

    return {RemoveRegistration: lambda edit: Unregister(edit.broker_id)}


_UNREGISTER = StatementKind(statement=Unregister, text=_text, needs=_needs, edits=_edits, of_edits=_of_edits)

VERBS = (
    Verb(
        name="unregister",
        group=CHANGE,
        usage=("unregister broker ID",),
        summary="Stage that the cluster forgets a broker which is down and does not come back",
        about=(
            "KRaft only, from Kafka 3.0 on. A broker that is alive is refused. Replicas stay assigned to it until "
            "they are moved. It registers again when it starts."
        ),
        examples=("unregister broker 4",),
        takes_away=True,
        parse=_parse,
        statements=(_UNREGISTER,),
    ),
)
