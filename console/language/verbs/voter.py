"""``add voter`` and ``remove voter``: change the voters in the quorum of controllers."""

from __future__ import annotations

from collections.abc import Iterator

from console.language.arguments import INT_MAX, need_number
from console.language.quoting import quote
from console.language.reader import Candidate, Expected, Reader, What
from console.language.snapshot_parts import Needs, whole_parts
from console.language.staging import Staging
from console.language.statements import EditStatement, joined
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.cluster import address_text
from console.model.config import broker_resource
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import Edit
from console.plan.kinds.voters import JoinQuorum, LeaveQuorum

_READS = whole_parts(Part.CLUSTER, Part.QUORUM, Part.FEATURES)
_DIRECTORY, _AT = "directory", "at"


class AddVoter(EditStatement, frozen=True):
    """The statement ``add voter``."""

    voter_id: int
    directory: str = ""
    """The id of the controller's log directory; ``""`` for the one that it reports as an observer of the quorum."""
    at: tuple[str, str, int] | None = None
    """The listener, host and port of the controller; None for the endpoint that the controllers know."""


class RemoveVoter(EditStatement, frozen=True):
    """The statement ``remove voter``."""

    voter_id: int
    directory: str = ""
    """The id of the voter's log directory; ``""`` if it has only one."""


# -- grammar -----------------------------------------------------------------------------------------------------------


def _observers(snapshot: Snapshot) -> list[Candidate]:
    from console.model.quorum import observing_controllers

    return [Candidate(str(each.id), f"{each.lag:,} records behind") for each in observing_controllers(snapshot)]


def _voters(snapshot: Snapshot) -> list[Candidate]:
    found = snapshot.quorum.voters if snapshot.quorum is not None else ()
    return [Candidate(str(each.id), each.directory_id) for each in found]


def _parse_add(reader: Reader) -> AddVoter:
    reader.need_keyword("voter")
    node = need_number(
        reader, Expected(What.ARGUMENT, "the id of a controller", offers=_observers, reads=_READS), INT_MAX
    )
    given = _pairs(reader, (_DIRECTORY, _AT))
    return AddVoter(node, given.get(_DIRECTORY, ""), _endpoint(reader, given[_AT]) if _AT in given else None)


def _parse_remove(reader: Reader) -> RemoveVoter:
    reader.need_keyword("voter")
    node = need_number(reader, Expected(What.ARGUMENT, "the id of a voter", offers=_voters, reads=_READS), INT_MAX)
    return RemoveVoter(node, _pairs(reader, (_DIRECTORY,)).get(_DIRECTORY, ""))


def _pairs(reader: Reader, names: tuple[str, ...]) -> dict[str, str]:
    expected = Expected(What.PAIR, "directory=ID", words=tuple(f"{name}=" for name in names))
    found: dict[str, str] = {}
    while not reader.ended:
        word, name, value = reader.take_pair(expected, " or ".join(f"{each}=" for each in names))
        if name.text not in names:
            reader.fail(f"expected {' or '.join(f'{each}=' for each in names)}, not {reader.shown(word)}", word)
        if name.text in found:
            reader.fail(f"{name.text}= is given twice", word)
        if not value.text:
            reader.fail(f"{name.text}= is empty", word)
        found[name.text] = value.text
    reader.expect(expected)
    return found


def _endpoint(reader: Reader, text: str) -> tuple[str, str, int]:
    listener, found, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    number = int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else 0
    if not (found and colon and listener and host and 0 < number < 65536):
        reader.fail("at= is LISTENER://HOST:PORT, as CONTROLLER://controller4:9093")
    return listener, host, number


def _add_text(statement: AddVoter) -> str:
    return joined("add voter", str(statement.voter_id), *_directory(statement.directory), *_place(statement.at))


def _directory(directory: str) -> tuple[str, ...]:
    return (f"{_DIRECTORY}={quote(directory)}",) if directory else ()


def _place(at: tuple[str, str, int] | None) -> tuple[str, ...]:
    if at is None:
        return ()
    listener, host, port = at
    return (f"{_AT}={quote(f'{listener}://{address_text(host, port)}')}",)


# -- edits -------------------------------------------------------------------------------------------------------------


def _add_edits(statement: AddVoter, staging: Staging) -> Iterator[Edit]:
    """Yield the edit with the directory and the endpoint that the statement names, else with those that the cluster
    reports for the controller. The edit has no directory, or no endpoint, if neither the statement nor the
    cluster names one.
    """
    quorum, node = staging.snapshot.quorum, statement.voter_id
    following = [each.directory_id for each in quorum.observers if each.id == node] if quorum is not None else []
    # Without a given directory, take the one with which the controller follows, if there is a single one.
    directory = statement.directory or (following[0] if len(following) == 1 else "")
    if not directory and quorum is not None:
        directory = next((each.directory_id for each in quorum.voters if each.id == node), "")
    known = next((each for each in quorum.endpoints if each.id == node), None) if quorum is not None else None
    if statement.at is not None:
        yield JoinQuorum(node, directory, *statement.at)
    elif known is not None:
        yield JoinQuorum(node, directory, known.listener, known.host, known.port)
    else:
        yield JoinQuorum(node, directory)


def _remove_edits(statement: RemoveVoter, staging: Staging) -> Iterator[Edit]:
    quorum = staging.snapshot.quorum
    voters = [each.directory_id for each in quorum.voters if each.id == statement.voter_id] if quorum else []
    yield LeaveQuorum(statement.voter_id, statement.directory or (voters[0] if voters else ""))


def _statement_of(edit: JoinQuorum) -> AddVoter:
    at = (edit.listener, edit.host, edit.port) if edit.host else None
    return AddVoter(edit.voter_id, edit.directory_id, at)


_ADD = StatementKind(
    statement=AddVoter,
    text=_add_text,
    needs=lambda _statement, _selected: _READS,
    edits=_add_edits,
    of_edits={JoinQuorum: _statement_of},
)
_REMOVE = StatementKind(
    statement=RemoveVoter,
    text=lambda statement: joined("remove voter", str(statement.voter_id), *_directory(statement.directory)),
    needs=lambda statement, _selected: _READS | Needs(resources=frozenset({broker_resource(statement.voter_id)})),
    edits=_remove_edits,
    of_edits={LeaveQuorum: lambda edit: RemoveVoter(edit.voter_id, edit.directory_id)},
)

VERBS = (
    Verb(
        "add",
        CHANGE,
        ("add voter ID [directory=ID] [at=LISTENER://HOST:PORT]",),
        "Stage that a controller becomes a voter of the quorum",
        "The verb needs Kafka 3.9 or newer, and kraft.version 1. The controller must have caught up with the metadata "
        "log. With the new voter, a majority of the voters must follow the log.\n\n"
        "kac knows the controller's address only if it is connected to controllers (`--bootstrap-controller`). "
        "Otherwise give the address with `at`. If a voter's storage was formatted again, the voter has a new "
        "directory id. Then remove the old voter in the same plan.",
        ("add voter 104", "add voter 104 at=CONTROLLER://controller4:9093"),
        stands_for={"add voter ID": "quorum create"},
        parse=_parse_add,
        statements=(_ADD,),
    ),
    Verb(
        "remove",
        CHANGE,
        ("remove voter ID [directory=ID]",),
        "Stage that a controller is no longer a voter of the quorum",
        "The verb needs Kafka 3.9 or newer, and kraft.version 1. The remaining voters that follow the log must be "
        "a majority; otherwise kac refuses the removal. The controller continues to run as an observer, without a "
        "vote, until you stop it.",
        ("remove voter 103", "remove voter 103 directory=rloNkQOaQTK2oXd5J6mFtQ; add voter 103"),
        takes_away=True,
        stands_for={"remove voter ID": "quorum delete"},
        parse=_parse_remove,
        statements=(_REMOVE,),
    ),
)
