"""``unregister``: removes a broker's registration from the cluster."""

from __future__ import annotations

from console.language.arguments import INT_MAX, need_number
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import whole_parts
from console.language.statements import OneEdit
from console.language.verb import CHANGE, Verb, one_edit
from console.model.parts import Part
from console.plan.kinds.registrations import RemoveRegistration


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
        "Stage that the cluster forgets a broker that is down and does not come back",
        "The verb needs Kafka 3.0 or newer in KRaft mode. kac refuses a broker that is alive. Replicas stay "
        "assigned to the broker until you move them. If the broker starts again, it registers again.",
        ("unregister broker 4",),
        takes_away=True,
        stands_for={"unregister broker ID": "broker delete"},
        parse=_parse,
        statements=(_UNREGISTER,),
    ),
)
