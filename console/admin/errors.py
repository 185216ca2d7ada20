"""What can go wrong on the way to an answer.

AdminError                 everything below; `.failure` says it in plain words
├── Unreachable            no connection: unknown host, refused, timed out while connecting
├── TlsFailed              the TLS handshake failed, or one side speaks TLS and the other does not
├── AuthenticationFailed   the broker refused the credentials or the mechanism
├── NotKafkaBroker         something answered that is no Kafka broker
├── RequestTimedOut        sent, not answered in time (a read)
├── Disconnected           the connection was lost before the answer came (a read)
├── OutcomeUnknown         a change was sent and its answer never came: it may have been applied
├── BrokerError            a broker answered, and refused the request as a whole; everything else goes on
│   └── Unsupported        it does not have the API, or not the version needed
├── UnknownBroker          no broker of this id is in the cluster
├── ReadOnly               the client was told to change nothing; nothing was sent
├── NotSendable            the request holds what its format cannot carry; nothing was sent
└── BadAnswer              the answer could not be read
"""

from __future__ import annotations

from console.model.failure import Failure


class AdminError(Exception):
    """Something that kept a request from being answered. `failure` is what to show."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Unreachable(AdminError):
    """No connection could be made."""


class TlsFailed(AdminError):
    """The TLS handshake failed, or one side speaks TLS and the other does not."""


class AuthenticationFailed(AdminError):
    """The broker refused the credentials or the mechanism. Never tried again: accounts get locked."""


class NotKafkaBroker(AdminError):
    """Something answered that is no Kafka broker."""


class RequestTimedOut(AdminError):
    """A read was sent and not answered in time."""


class Disconnected(AdminError):
    """The connection was lost before a read was answered."""


class OutcomeUnknown(AdminError):
    """A change was sent and its answer never came: it may have been applied. Describe again before saying anything."""


class UnknownBroker(AdminError):
    """No broker of this id is in the cluster."""


class NotSendable(AdminError):
    """The request holds something that its format cannot carry; nothing was sent."""


class BadAnswer(AdminError):
    """The answer could not be read."""


class BrokerError(AdminError):
    """A broker answered, and refused the request as a whole (no right, no authorizer…). Everything else goes on."""


class ReadOnly(AdminError):
    """The client was told to change nothing, and this was a change: nothing was sent."""

    def __init__(self, api: str) -> None:
        super().__init__(
            Failure(
                "READ_ONLY",
                f"{api} would change the cluster, and this connection is read-only",
                "Use a context without read_only, or leave out --read-only.",
            )
        )


class Unsupported(BrokerError):
    """The broker does not have the API, or not the version that is needed."""

    def __init__(self, api: str, needs: str) -> None:
        self.api = api
        self.needs = needs
        super().__init__(
            Failure(
                "UNSUPPORTED",
                f"{api} needs Kafka ≥ {needs}" if needs else f"this broker has no {api}",
                "Nothing to do but to upgrade the brokers; everything else works.",
            )
        )
