"""What a half-typed text lacks, so that its keys, values and names can be completed."""

from __future__ import annotations

from console.commands.grammar import read
from console.commands.needs import Needs, needs
from console.commands.reader import Expected, What
from console.commands.statements import Subject
from console.commands.verbs import Where
from console.model.codes import TOPIC
from console.model.config import ConfigResource
from console.model.snapshot import Snapshot

_PARTS = {
    What.TOPIC: "topics",
    What.ACL_NAME: "topics",
    What.BROKER: "cluster",
    What.BROKER_OR_DEFAULT: "cluster",
    What.USER: "quotas",
    What.CLIENT: "quotas",
    What.IP: "quotas",
    What.USER_NAME: "quotas",
    What.CLIENT_NAME: "quotas",
    What.SCRAM_USER: "scram",
    What.PRINCIPAL: "acls",
    What.HOST: "acls",
    What.GROUP: "groups",
}
"""Which part of the snapshot names what can stand at a place."""


def lacking(text: str, where: Where, snapshot: Snapshot, selected: Subject | None = None) -> Needs:
    """What to read for it, less what was read already. selected: what an entity that is left out stands for."""
    wanted = Needs()
    for one in read(text, where).statements:
        if one.statement is not None:
            wanted |= needs(one.statement, selected)
        for _, expected in one.expected:
            wanted |= _for_expected(expected, selected)
    return _not_yet(wanted, snapshot)


def _for_expected(expected: Expected, selected: Subject | None) -> Needs:
    if expected.what in (What.KEY, What.ASSIGN):
        subject = expected.subject or selected
        if isinstance(subject, ConfigResource):
            broker = subject.is_cluster_default
            return Needs(resources=frozenset({subject}), a_broker=broker, documentation=True)
        return Needs(parts=frozenset({"quotas"}))
    if expected.what is What.CREATE_ASSIGN:
        return Needs(a_topic=True, documentation=True)
    part = _PARTS.get(expected.what)
    return Needs(parts=frozenset({part})) if part else Needs()


def _not_yet(wanted: Needs, snapshot: Snapshot) -> Needs:
    """Without what has been read: typing must not read the same again for each key."""
    types = {resource.type for resource in wanted.resources}
    documented = all(any(code == type_ for code, _ in snapshot.documentation) for type_ in types)
    unread = frozenset(
        resource
        for resource in wanted.resources
        if (resource not in snapshot.configs or not documented)
        and (resource.type != TOPIC or not snapshot.topics or resource.name in snapshot.topics)
    )
    return Needs(
        parts=frozenset(part for part in wanted.parts if part not in snapshot.read_at),
        resources=unread,
        a_broker=wanted.a_broker and bool(unread),
        a_topic=wanted.a_topic and not any(resource.type == TOPIC for resource in snapshot.configs),
        documentation=wanted.documentation,
    )
