"""``unregister``: removes a broker's registration from the cluster."""

from __future__ import annotations

from console.language.arguments import INT_MAX, need_number
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import whole_parts
from console.language.statements import EditStatement
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.parts import Part
from console.plan.edits import RemoveRegistration


class Unregister(EditStatement, frozen=True):
    """``unregister broker``."""

    broker_id: int


def _parse(reader: Reader) -> Unregister:
    reader.need_keyword("broker")
    return Unregister(need_number(reader, Expected(What.BROKER, "the number of a broker", detail="down"), INT_MAX))


_UNREGISTER = StatementKind(
    statement=Unregister,
    text=lambda statement: f"unregister broker {statement.broker_id}",
    needs=lambda _statement, _selected: whole_parts(Part.CLUSTER, Part.QUORUM, Part.TOPICS),
    edits=lambda statement, _staging: [RemoveRegistration(statement.broker_id)],
    of_edits={RemoveRegistration: lambda edit: Unregister(edit.broker_id)},
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
