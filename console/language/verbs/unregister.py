"""``unregister``: removes a broker's registration from the cluster."""

from __future__ import annotations

from console.language.arguments import INT_MAX, need_number
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import whole_parts
from console.language.statements import OneEdit
from console.language.verb import CHANGE, Verb, one_edit
from console.model.parts import Part
from console.plan.edits import RemoveRegistration


def _parse(reader: Reader) -> OneEdit:
    reader.need_keyword("broker")
    expected = Expected(What.BROKER, "the number of a broker", detail="down")
    return OneEdit(RemoveRegistration(need_number(reader, expected, INT_MAX)))


_UNREGISTER = one_edit(
    RemoveRegistration,
    lambda edit: f"unregister broker {edit.broker_id}",
    lambda _edit: whole_parts(Part.CLUSTER, Part.QUORUM, Part.TOPICS),
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
