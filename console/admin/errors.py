"""Errors of requests, and hints for an operator by a broker's error code.

AdminError                 everything below; `.failure` has the text for an operator
├── Unreachable            no connection: unknown host, timed out while connecting
│   ├── NothingListens     the connection was refused
│   ├── ClosedAtOnce       the connection was closed before the first answer
│   └── WayFailed          the proxy or the Kubernetes on the way was not reached, or refused the login
│       └── SshFailed      the SSH host on the way was not reached, or refused the login
├── TlsFailed              the TLS handshake failed, or one side speaks TLS and the other does not
├── AuthenticationFailed   the broker refused the credentials or the mechanism
├── NotKafkaBroker         the peer is not a Kafka broker
├── RequestTimedOut        sent, not answered in time (a read)
├── Disconnected           the connection was lost before the answer came (a read)
├── OutcomeUnknown         a change was sent and its answer never came: it may have been applied
├── BrokerError            a broker refused the request as a whole; the connection stays usable
│   └── Unsupported        it does not have the API, or not the version needed
├── WrongNode              another broker answers at a broker's address
├── WrongCluster           another cluster answers at a broker's address; the change was not sent
├── UnknownBroker          no broker of this id is in the cluster
├── ReadOnly               the client is read-only; nothing was sent
├── NotSendable            a value does not fit the request's format; nothing was sent
└── BadAnswer              the answer could not be read
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from console.model.failure import Failure, without_objects

if TYPE_CHECKING:
    from kio.schema.errors import ErrorCode

    from console.model.releases import Apis


class AdminError(Exception):
    """A request got no usable response. `failure` has the texts for an operator."""

    failure_name: ClassVar[str] = ""
    """The name of the failures of this class, unless `of` gets another."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure

    @classmethod
    def of(cls, message: str, remedy: str = "", *, name: str = "") -> Self:
        """Make an error of this class. name: the name of its failure; ``""`` for `failure_name`."""
        return cls(Failure(name or cls.failure_name, message, remedy))


class Unreachable(AdminError):
    """No connection to the address could be opened."""

    failure_name = "UNREACHABLE"


class NothingListens(Unreachable):
    """The host refused the connection: no process has the port."""


class ClosedAtOnce(Unreachable):
    """The peer closed the connection before its first response, because of a limit on connections, or because no Kafka
    listener has the port.
    """


class WayFailed(Unreachable):
    """The proxy, SSH host or Kubernetes through which connections go was not reached, or refused the login."""

    failure_name = "WAY_FAILED"


class SshFailed(WayFailed):
    """The SSH host through which connections go was not reached, or refused the login, or the connection to it
    ended.
    """

    failure_name = "SSH_FAILED"


class TlsFailed(AdminError):
    """The TLS handshake failed, or one side speaks TLS and the other does not."""

    failure_name = "TLS_FAILED"


class AuthenticationFailed(AdminError):
    """The broker refused the credentials or the mechanism. The login is not repeated, since repeated failures lock
    accounts.
    """

    failure_name = "AUTHENTICATION_FAILED"


class NotKafkaBroker(AdminError):
    """The peer is not a Kafka broker."""

    failure_name = "NOT_KAFKA"


class RequestTimedOut(AdminError):
    """A read was sent, and no response came in time."""

    failure_name = "TIMED_OUT"


class Disconnected(AdminError):
    """The connection was lost before the response to a read came."""

    failure_name = "DISCONNECTED"


class WrongCluster(AdminError):
    """A broker at one of this cluster's addresses belongs to another cluster; the change was not sent."""


class WrongNode(AdminError):
    """Another broker than the expected one answers at its address."""


class OutcomeUnknown(AdminError):
    """A change was sent and its response was lost: it may have been applied. Only a new read of the cluster can show
    that.
    """


class UnknownBroker(AdminError):
    """The cluster has no broker with this id."""

    failure_name = "UNKNOWN_BROKER"


class NotSendable(AdminError):
    """A value can't be encoded in the request's format; nothing was sent."""

    failure_name = "NOT_SENDABLE"


class BadAnswer(AdminError):
    """The response can't be decoded."""

    failure_name = "BAD_ANSWER"


class BrokerError(AdminError):
    """A broker refused a request as a whole, for example because a right or an authorizer is missing. The connection
    stays usable.
    """


def check(response: Any) -> None:
    """Raise BrokerError if the response has a top-level error code."""
    if code := getattr(response, "error_code", 0):
        raise BrokerError(failure(code, getattr(response, "error_message", None)))


def names_no_broker(api: str, *, asked: str = "broker") -> BrokerError:
    """Return the error for a response that names no brokers, not even the one that sent it. Such a response proves
    nothing about the cluster, whatever its error code. asked: ``broker`` or ``controller``.
    """
    return BrokerError.of(
        f"the answer to {api} names no {asked}, not even the one that gave it: it failed inside",
        ("Producers and consumers get the same answer: " if asked == "broker" else "")
        + f"see that {asked}'s server.log at this time.",
        name="NO_BROKERS",
    )


NOT_ANSWERED = "NOT_ANSWERED"


def not_answered(what: str) -> Failure:
    """Return the failure for an item of a request that the response leaves out; this proves neither that the item
    exists nor that it does not.
    """
    return Failure(
        NOT_ANSWERED, f"the answer leaves {what} out, without an error", "See the broker's server.log at this time."
    )


class ReadOnly(AdminError):
    """The client is read-only and the request was a change; nothing was sent."""

    def __init__(self, api: str) -> None:
        super().__init__(
            Failure(
                "READ_ONLY",
                f"{api} would change the cluster, and this connection is read-only",
                "Use a context without read_only, or leave out --read-only.",
            )
        )


_NO_APIS: Apis = {}


class Unsupported(BrokerError):
    """The broker does not support the API, or not the version needed."""

    def __init__(
        self,
        api: str,
        needs: str,
        apis: Apis = _NO_APIS,
        newer: tuple[int, int] | None = None,
        *,
        controllers: bool = False,
    ) -> None:
        """Make the error.

        Args:
            api: kio's name of the API.
            needs: the first Kafka release that has the API; ``""`` if unknown.
            apis: all APIs of the server, which show whether it is a server other than Kafka's, for which no upgrade
                helps.
            newer: the broker's (lowest, highest version) of the API, if kac supports only older ones; None otherwise.
            controllers: whether the request went to a controller.
        """
        self.api = api
        self.needs = needs
        if controllers and newer is None:
            super().__init__(
                Failure("UNSUPPORTED", f"controllers do not answer {api}", "Ask brokers for it: name some with -b.")
            )
            return
        if newer is not None:
            whose = "controller" if controllers else "broker"
            message = f"this {whose}'s {api} ({newer[0]} to {newer[1]}) is newer than this kac"
            super().__init__(Failure("UNSUPPORTED", message, "Update kac to use it; everything else works."))
            return
        from console.model.releases import proven_release, release_number
        from console.wire.schemas import api_key

        release = proven_release(apis, {})
        if needs and release and release_number(release) < release_number(needs):
            message = f"{api} needs Kafka ≥ {needs}, and this is {release}"
            super().__init__(Failure("UNSUPPORTED", message, "Upgrade the brokers to use it; everything else works."))
            return
        message = f"this server does not have {api}"
        if apis and api_key(api) in apis:
            message = f"this server has {api} up to version {apis[api_key(api)][1]}, which is too low"
        super().__init__(Failure("UNSUPPORTED", message, "What needs it can't be known or done here; the rest works."))


# Kafka's error codes. kio has numbers, names and retriability; the hints for an operator are here.

_ACL_NEEDED = "Ask an administrator of the cluster for an ACL: {right}."
_PASSES = "Usually over in seconds: try again."
_COORDINATOR = "The group's coordinator is moving or loading; try again in a moment."

REMEDIES: Mapping[str, str] = {
    "UNKNOWN_SERVER_ERROR": "The broker failed unexpectedly: see its server.log at this time.",
    "UNKNOWN_TOPIC_OR_PARTITION": (
        "Check the name. It takes a moment until all brokers know of a new or deleted topic. Without the right to "
        "DESCRIBE it, an existing topic gives the same error."
    ),
    "LEADER_NOT_AVAILABLE": "A leader is being elected: try again; if it lasts, look for brokers that are down.",
    "NOT_LEADER_OR_FOLLOWER": "Leadership has just moved: try again.",
    "REQUEST_TIMED_OUT": (
        "The brokers did not finish in time. It may still be carried out: look at the cluster before you repeat it."
    ),
    "BROKER_NOT_AVAILABLE": "That broker is down or restarting: look at its process and its server.log.",
    "REPLICA_NOT_AVAILABLE": "A replica is offline: look for brokers or log directories that are down.",
    "NETWORK_EXCEPTION": "A broker could not reach another one: look at the network between them.",
    "COORDINATOR_LOAD_IN_PROGRESS": _COORDINATOR,
    "COORDINATOR_NOT_AVAILABLE": _COORDINATOR,
    "NOT_COORDINATOR": _COORDINATOR,
    "INVALID_TOPIC_EXCEPTION": (
        "A topic's name has 1 to 249 of letters, digits, '.', '_' and '-', and must not differ from another's only in "
        "'.' and '_'."
    ),
    "TOPIC_AUTHORIZATION_FAILED": _ACL_NEEDED.format(
        right="the operation (DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS, CREATE, DELETE…) on TOPIC"
    ),
    "GROUP_AUTHORIZATION_FAILED": _ACL_NEEDED.format(right="DESCRIBE or READ on GROUP"),
    "CLUSTER_AUTHORIZATION_FAILED": _ACL_NEEDED.format(
        right="the operation (DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALTER, CREATE) on CLUSTER kafka-cluster"
    ),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _ACL_NEEDED.format(right="DESCRIBE or WRITE on TRANSACTIONAL_ID"),
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": _ACL_NEEDED.format(right="DESCRIBE on DELEGATION_TOKEN"),
    "UNSUPPORTED_SASL_MECHANISM": "Set sasl.mechanism to one that the listener has.",
    "ILLEGAL_SASL_STATE": "The listener takes no SASL: use the port of one that does.",
    "SASL_AUTHENTICATION_FAILED": "Check user name and password.",
    "UNSUPPORTED_VERSION": "This server does not have it, or it is not enabled there: do without it.",
    "TOPIC_ALREADY_EXISTS": "Choose another name, or alter the topic that is there.",
    "INVALID_PARTITIONS": "A topic can only grow: give more partitions than it has, and at least one.",
    "INVALID_REPLICATION_FACTOR": "Give at most as many replicas as brokers are alive, and at least one.",
    "INVALID_REPLICA_ASSIGNMENT": "Name each broker once, only brokers that are alive, and as many for each partition.",
    "INVALID_CONFIG": "Check the key's name and the value's type and range.",
    "NOT_CONTROLLER": "The controller has just moved: try again.",
    "INVALID_REQUEST": "The broker's message says which part it does not take.",
    "POLICY_VIOLATION": "A policy of this cluster forbids it (alter.config.policy, create.topic.policy), or the batch "
    "is larger than the controller takes: ask its administrators, or send less at once.",
    "SECURITY_DISABLED": "No authorizer runs on the brokers: without authorizer.class.name there are no ACLs.",
    "OPERATION_NOT_ATTEMPTED": "Something else in the same request failed first: correct that and send again.",
    "KAFKA_STORAGE_ERROR": "A log directory failed: look at that broker's disk and its server.log.",
    "LOG_DIR_NOT_FOUND": "The broker has no such log directory, or it is offline.",
    "REASSIGNMENT_IN_PROGRESS": "Wait until the running reassignment of the partition is done, or cancel it.",
    "NO_REASSIGNMENT_IN_PROGRESS": "There is nothing to cancel: the partition is not being moved.",
    "DELEGATION_TOKEN_AUTH_DISABLED": "Delegation tokens are off: the brokers have no delegation.token.secret.key.",
    "DELEGATION_TOKEN_NOT_FOUND": "The token is gone: it was cancelled or has expired. Make a new one.",
    "DELEGATION_TOKEN_OWNER_MISMATCH": "Only the token's owner and its renewers may do this: connect as one of them.",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "Ask for tokens over a connection with SASL or mTLS, not with a token.",
    "DELEGATION_TOKEN_EXPIRED": "The token has expired: make a new one.",
    "INVALID_PRINCIPAL_TYPE": "Write the principal as User:name.",
    "NON_EMPTY_GROUP": "The group has members: stop its consumers first.",
    "GROUP_DELETION_FAILED": "The broker's message says what failed beside it: correct that and delete it again.",
    "GROUP_ID_NOT_FOUND": "No such group: check its name; a group without members and offsets is forgotten.",
    "TOPIC_DELETION_DISABLED": "The brokers have delete.topic.enable=false.",
    "PREFERRED_LEADER_NOT_AVAILABLE": "The preferred replica is down or out of sync: bring its broker back first.",
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": "No replica in sync is alive: bring one back, or accept loss with unclean.",
    "ELECTION_NOT_NEEDED": "Nothing to do: the preferred replica leads already.",
    "UNSTABLE_OFFSET_COMMIT": "A transaction of this group is not finished: try again in a moment.",
    "THROTTLING_QUOTA_EXCEEDED": "A controller_mutation_rate quota holds it back: try again later, or raise the quota.",
    "RESOURCE_NOT_FOUND": "There is no such user or credential: check the name and the mechanism.",
    "DUPLICATE_RESOURCE": "The request names it twice: keep one.",
    "UNACCEPTABLE_CREDENTIAL": "Give a user name, and between 4096 and 16384 iterations.",
    "INVALID_UPDATE_VERSION": "The brokers do not support that feature level: see what each of them supports.",
    "FEATURE_UPDATE_FAILED": "Not every broker can do that feature level: see the brokers' versions.",
    "INCONSISTENT_CLUSTER_ID": "Another cluster answers at this address: check bootstrap.servers.",
    "DUPLICATE_VOTER": "The quorum has a voter of this id: remove that one first, if its storage was formatted again.",
    "VOTER_NOT_FOUND": "The quorum has no such voter: look at its directory ids (list quorum).",
    "UNKNOWN_TOPIC_ID": "The topic was deleted: refresh.",
    "BROKER_ID_NOT_REGISTERED": "No broker of this id is registered: check the id.",
    "INELIGIBLE_REPLICA": "A replica that was named can't be in sync now: its broker is down or shutting down.",
    "UNKNOWN_CONTROLLER_ID": "The quorum has no controller of that id.",
    "UNSUPPORTED_ENDPOINT_TYPE": "This address is a controller's: use a broker's listener.",
    "MISMATCHED_ENDPOINT_TYPE": "This address is a controller's: use a broker's listener.",
    "INVALID_REGULAR_EXPRESSION": "Correct the expression (RE2 syntax).",
    "REBOOTSTRAP_REQUIRED": "The known brokers are out of date: connect again.",
}
"""Kafka's name of an error -> the remedy for an operator. Retriable errors that are missing here have the remedy
`_PASSES`.
"""

_NEWER_NAMES: Mapping[int, str] = {
    134: "GROUP_DELETION_FAILED",
    135: "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED",
    136: "CONTROLLER_ID_NOT_REGISTERED",
}
"""Error code -> its name, for codes of Kafka 4.4 that kio lacks."""


T = TypeVar("T")


def of_all_brokers(answers: Mapping[int, T | AdminError]) -> tuple[list[T], dict[str, Failure]]:
    """Combine the brokers' answers to a request for a list. Return the brokers' parts, and ``broker N`` -> the failure
    of broker N. If all brokers failed, raise the first error, because an empty list would mean that nothing exists.

    Args:
        answers: broker id -> its part of the list, or its error.
    """
    errors = {broker: answer for broker, answer in answers.items() if isinstance(answer, AdminError)}
    if errors and len(errors) == len(answers):
        raise next(iter(errors.values()))
    found = [answer for answer in answers.values() if not isinstance(answer, AdminError)]
    return found, {f"broker {broker}": error.failure for broker, error in errors.items()}


def error_name(code: int) -> str:
    """Return Kafka's name of an error code, such as ``INVALID_CONFIG``; ``UNKNOWN(n)`` for an unknown code n, ``NONE``
    for 0.
    """
    known = _known(code)
    return _NEWER_NAMES.get(code, f"UNKNOWN({code})") if known is None else known.name.upper()


def is_retriable(code: int) -> bool:
    """Return whether Kafka marks the error code as retriable (RetriableException): the same request may succeed
    later.
    """
    known = _known(code)
    return known is not None and known.retriable


def _known(code: int) -> ErrorCode | None:
    # Import kio late: code that only catches errors should not have to import it, and responses need it anyway.
    from kio.schema.errors import ErrorCode

    try:
        return ErrorCode(code)
    except ValueError:
        return None


MOST_WORDS = 4_000
"""Maximum number of characters of a broker's own message."""


def in_bounds(message: str) -> str:
    """Return a broker's own message, cut off after `MOST_WORDS` (4,000) characters; Kafka's own messages are
    shorter.
    """
    return message if len(message) <= MOST_WORDS else message[:MOST_WORDS] + "…"


def failure(code: int, message: str | None = None) -> Failure:
    """Return the failure for a broker's error code. message: the broker's own text, from which printed requests are
    removed; None if it sent no text.
    """
    name = error_name(code)
    remedy = REMEDIES.get(name, "")
    if not remedy and is_retriable(code):
        remedy = _PASSES
    if not remedy and name.startswith("UNKNOWN("):
        remedy = "This console does not know the error: the brokers are newer. See their documentation."
    return Failure(name, without_objects(in_bounds(message or "")), remedy)


MAY_PASS = (
    Unreachable,
    Disconnected,
    RequestTimedOut,
    OutcomeUnknown,
    UnknownBroker,
    WrongNode,
)
"""The classes of errors after which the same request may succeed."""
