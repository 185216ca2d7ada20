"""The failures of requests without a response, as texts for an operator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from console.admin.errors import Disconnected, RequestTimedOut, UnknownBroker, Unreachable
from console.admin.settings import Address, show_address
from console.model.failure import WRONG_BROKER, WRONG_CLUSTER, Failure
from console.model.identity import Node
from console.model.numbers import first_few

if TYPE_CHECKING:
    from console.wire.aiokafka_request import AiokafkaRequest
    from console.wire.connection import Connection

WAITS_FOR_CONTROLLER = "It waits for the active controller: look whether most of the controllers run."
_CHECK_FIRST = "It may have been applied: look before repeating it."


class TurnedAway(Disconnected):
    """The broker closed the connection at its first request, as listeners that require SASL do."""


def no_check(request: AiokafkaRequest) -> Failure:
    """Return the failure of a request that would change something, although the caller did not declare it as a
    change.
    """
    return Failure(
        "NOT_A_CHECK",
        f"{request.api} in version {request.version}, which this broker has, changes the cluster: its bytes do not say "
        "that it is a check",
        "Nothing was sent. While brokers of two releases run, another one may answer: try again.",
    )


def timed_out(api: str, connection: Connection, change: bool, *, asked: str, is_forwarded: bool = False) -> Failure:
    """Return the failure of a request without a response in time.

    Args:
        change: whether the request is a change, whose outcome is then unknown.
        asked: the word for its destination: ``broker`` or ``controller``.
        is_forwarded: whether the broker forwards the request to the active controller and waits for it.
    """
    remedy = WAITS_FOR_CONTROLLER if is_forwarded else f"Look at that {asked}'s load, and try again."
    if change:
        remedy = _CHECK_FIRST
    return Failure(
        "TIMED_OUT", f"{show_address((connection.host, connection.port))} did not answer {api} in time", remedy
    )


def flood(api: str, connection: Connection, error: Exception, *, asked: str) -> Failure | None:
    """Return the failure for a response of more than `MAX_FRAME` (100 MiB); None if the connection was lost for another
    reason.
    """
    from console.wire.connection import MAX_FRAME, too_long

    frame = too_long(error)
    if frame is None:
        return None
    return Failure(
        "ANSWER_TOO_LONG",
        f"{show_address((connection.host, connection.port))} answers {api} with {frame.size:,} bytes; "
        f"at most {MAX_FRAME:,} are read",
        f"No {asked} answers so much: check what listens there; if it is the {asked}, read less at a time.",
    )


def no_answer(addresses: Sequence[Address], within: float, *, asked: str) -> RequestTimedOut:
    """Return the error for addresses that did not answer within `within` seconds. asked: the word for them: ``broker``
    or ``controller``.
    """
    where = first_few(list(map(show_address, addresses)))
    remedy = f"The {asked}s hang, or the network drops what is sent to them: look at their logs and load."
    return RequestTimedOut.of(f"no answer from {where} within {within:g} s", remedy)


def not_told(reached: Sequence[Address], within: float, api: str) -> RequestTimedOut:
    """Return the error for open connections on which the request for the cluster's nodes got no response within
    `within` seconds. api: the name of that request.
    """
    where = first_few(list(map(show_address, reached)))
    remedy = "It may be busy with a request before: it is asked again on a new connection."
    return RequestTimedOut.of(f"{where} is connected, and did not answer {api} within {within:g} s", remedy)


def lost(api: str, connection: Connection, change: bool) -> Failure:
    """Return the failure of a request whose connection was lost before the response. change: whether it is a change,
    whose outcome is then unknown.
    """
    where = show_address((connection.host, connection.port))
    return Failure(
        "DISCONNECTED", f"{where} was lost before it answered {api}", _CHECK_FIRST if change else "Try again."
    )


def turned_away(connection: Connection) -> Failure:
    """Return the failure of a connection that the broker closed at its first request."""
    return Failure(
        "AUTHENTICATION_FAILED",
        f"{show_address((connection.host, connection.port))} closes the connection at the first request: "
        "it seems to want SASL",
        "Set security.protocol=SASL_SSL or SASL_PLAINTEXT, and sasl.mechanism with its credentials.",
    )


def not_at_its_address(broker_id: int, failure: Failure, *, controllers: bool = False) -> Unreachable:
    """Return the error for a broker, or controller, that does not answer at the address in Metadata."""
    if controllers:
        text = f"controller {broker_id} at {failure.message}"
        remedy = (
            "Look whether it runs, and whether this host reaches it; another one leads once most of the voters run."
        )
        return Unreachable.of(text, remedy, name=failure.name)
    remedy = (
        f"{failure.remedy} That address is advertised by broker {broker_id}; the bootstrap answered: see that broker's "
        "advertised.listeners, and whether this host reaches it."
    )
    return Unreachable.of(f"broker {broker_id} at {failure.message}", remedy, name=failure.name)


def no_such_broker(broker_id: int, alive: Iterable[int], *, controllers: bool = False) -> UnknownBroker:
    """Return the error that the cluster has no broker, or controller, with this id.

    Args:
        alive: the ids that the cluster has.
        controllers: whether these are ids of controllers.
    """
    if broker_id < 0:
        remedy = "Try again soon; if it lasts, look which controllers are down: most of the voters have to run."
        return UnknownBroker.of("the cluster has no controller just now", remedy)
    word = "controller" if controllers else "broker"
    message = f"no {word} {broker_id} is alive: there are {', '.join(map(str, sorted(alive)))}"
    if controllers:
        return UnknownBroker.of(message, "Controllers are asked here; for brokers give -b.", name="UNKNOWN_CONTROLLER")
    remedy = "Check the id, and whether that broker is down; a controller is asked with --bootstrap-controller."
    return UnknownBroker.of(message, remedy)


_UNEXPECTED = re.compile(r"Unexpected (?:broker|node) id[,.] [Ee]xpected (\d{1,10})\b")


def wrong_broker(broker_id: int, message: str | None, *, asked: str) -> Failure | None:
    """Return the failure if a broker's error message shows that it is another broker (or controller) than the expected
    one; None if the message is a different one. asked: ``broker`` or ``controller``.
    """
    found = _UNEXPECTED.match(message or "")
    if found is None or int(found[1]) == broker_id:
        return None
    return Failure(
        WRONG_BROKER,
        f"{asked} {found[1]} answers at the address that is advertised by {asked} {broker_id}; the bootstrap answered",
        f"Correct advertised.listeners of {asked} {broker_id}, or what its name leads to from here.",
    )


def another_node(address: Address, meant: Node, *, asked: str) -> Failure:
    """Return the failure of a connection whose peer denies being the expected node. asked: ``broker`` or
    ``controller``.
    """
    return Failure(
        WRONG_BROKER,
        f"{show_address(address)} says that it is not {asked} {meant.id} of cluster {meant.cluster_id}, which "
        "advertises this address",
        f"Correct advertised.listeners of {asked} {meant.id}, or what its name leads to from here.",
    )


def of_another_cluster(address: Address, found: str | None, expected: str | None) -> Failure:
    """Return the failure of a request whose connection leads to another cluster. found, expected: cluster ids; None if
    unknown.
    """
    where = show_address(address)
    answers = f"cluster {found}" if found else "a server without an id"
    message = f"{answers} answers at {where}, an address of cluster {expected}"
    return Failure(WRONG_CLUSTER, message, "It was not sent. Find out which cluster this address leads to.")
