"""``unregister``: the cluster forgets a broker."""

from __future__ import annotations

from collections.abc import Iterator

from console.language.arguments import INT_MAX, need_number
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import whole_parts
from console.language.staging import Staging
from console.language.statements import EditStatement
from console.language.verb import CHANGE, OfEdits, StatementKind, Verb
from console.plan.edits import Edit


class Unregister(EditStatement, frozen=True):
    """``unregister broker``."""

    broker_id: int


def _parse(reader: Reader) -> Unregister:
    reader.need_keyword("broker")
    return Unregister(need_number(reader, Expected(What.BROKER, "the number of a broker", detail="down"), INT_MAX))


def _edits(statement: Unregister, _staging: Staging) -> Iterator[Edit]:
    from console.plan.kinds.registrations import RemoveRegistration

    yield RemoveRegistration(statement.broker_id)


def _of_edits() -> OfEdits:
    from console.plan.kinds.registrations import RemoveRegistration

    return {RemoveRegistration: lambda edit: Unregister(edit.broker_id)}


_UNREGISTER = StatementKind(
    statement=Unregister,
    text=lambda statement: f"unregister broker {statement.broker_id}",
    needs=lambda _statement, _selected: whole_parts("cluster", "quorum", "topics"),
    edits=_edits,
    of_edits=_of_edits,
)

VERBS = (
    Verb(
        "unregister",
        CHANGE,
        ("unregister broker ID",),
        "Stage that the cluster forgets a broker which is down and does not come back",
        "KRaft only, from Kafka 3.0 on. A broker that is alive is refused. Replicas stay assigned to it until "
        "they are moved. It registers again when it starts.",
        ("unregister broker 4",),
        takes_away=True,
        parse=_parse,
        statements=(_UNREGISTER,),
    ),
)
