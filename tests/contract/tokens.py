"""Requests about delegation tokens by several users to several brokers, and the functions that remove from the answers
what differs between clusters.

tests/scenarios/test_tokens.py sends these requests to real brokers and to embedded ones.
"""

import asyncio
import base64
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from console.model.secret import Secret
from console.wire.sasl import ScramAuthenticator
from tests.contract.answers import error_name, plain
from tests.contract.client import Client, NoAnswer
from tests.support.kafka_messages import Build, with_fields
from tests.support.patience import until

ADMIN, ALICE = "admin", "alice"
USERS = (ADMIN, ALICE, BOB := "bob")
SECOND, HOUR, DAY = 1_000, 3_600_000, 86_400_000
_TIMES = ("issue_timestamp", "expiry_timestamp", "max_timestamp")
_NEAR = 600 * SECOND
"""Milliseconds to a multiple of which times are rounded before a comparison: all requested times are such multiples,
and a test takes less than half of this time.
"""


class Proof(NamedTuple):
    """A token's id and HMAC, with which a client can log in."""

    id: str
    hmac: bytes


class Asking:
    """Connections to a cluster's brokers as several users, and the answers that were noted so far.

    Args:
        addresses: broker id -> (host, port).
        passwords: user -> password.
    """

    def __init__(self, addresses: Mapping[int, tuple[str, int]], passwords: Mapping[str, Secret]) -> None:
        self._addresses, self._passwords = addresses, passwords
        self._clients: dict[tuple[int, str], Client] = {}
        self._ids: dict[str, str] = {}
        self._seen: dict[bytes, dict[int, str]] = {}
        self._ends: dict[bytes, int] = {}
        self.answers: list[tuple[str, Any]] = []

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()

    def ask(self, what: str, broker: int, user: str, api: str, version: int, **fields: Any) -> Any:
        """Send a request to a broker as a user. Note the answer as plain values under the description `what`, and
        return it.
        """
        if (broker, user) not in self._clients:
            self._clients[broker, user] = Client(self._addresses[broker], (user, self._passwords[user]))
        return self._note(f"{what}, of broker {broker} v{version}", self._clients[broker, user], api, version, fields)

    def ask_by_token(self, what: str, broker: int, token: Proof, api: str, version: int, **fields: Any) -> None:
        """Log in to a broker with a token, send a request, and note the answer under the description `what`."""
        with closing(Client(self._addresses[broker])) as client:
            asyncio.run(log_in(client, token))
            self._note(f"{what}, of broker {broker}", client, api, version, fields)

    def log_in(self, what: str, broker: int, token: Proof, extensions: str = "tokenauth=true") -> None:
        """Log in to a broker with a token. Note under the description `what` whether the broker accepts it, and the
        lifetime of the session.
        """
        self.answers.append((f"{what}, at broker {broker}", self._let_in(broker, token, extensions)))

    def until_known(self, brokers: Iterable[int], *there: Proof, gone: Proof | None = None) -> None:
        """Wait until these brokers and the controller have all tokens in `there`, and no longer have the token
        `gone`. gone: None to wait only for tokens that are there. Brokers learn of tokens from the metadata log.
        """
        for broker in brokers:
            with closing(Client(self._addresses[broker], (ADMIN, self._passwords[ADMIN]))) as client:

                def is_known(proof: Proof, client: Client = client, broker: int = broker) -> bool:
                    told = client.ask("renew_delegation_token", 2, _request("renew", hmac=proof.hmac))
                    found = client.ask("describe_delegation_token", 3, _request("describe")).tokens
                    return (
                        error_name(told.error_code) != "DELEGATION_TOKEN_NOT_FOUND"
                        and proof.id in {each.token_id for each in found}
                        and self._let_in(broker, proof, "tokenauth=true").startswith("let in")
                    )

                until(lambda: all(map(is_known, there)) and not (gone is not None and is_known(gone)))

    def until_end_known(self, brokers: Iterable[int], proof: Proof) -> None:
        """Wait until each of these brokers has the expiry time that the last answer gave for a token, or no longer has
        the token. They learn it from the metadata log.
        """
        at = self._ends[proof.hmac]
        for broker in brokers:
            with closing(Client(self._addresses[broker], (ADMIN, self._passwords[ADMIN]))) as client:
                until(lambda client=client: self._end_at(client, proof, at) == at)  # type: ignore[misc]

    def until_ended(self, brokers: Iterable[int], proof: Proof) -> None:
        """Wait until each of these brokers has the last expiry time of a token or no longer has the token, and until
        this time has passed.
        """
        self.until_end_known(brokers, proof)
        until(lambda: time.time() * SECOND - 1 > self._ends[proof.hmac])

    @staticmethod
    def _end_at(client: Client, proof: Proof, gone: int) -> int:
        """Return the expiry time of a token as a broker has it, Unix milliseconds; `gone` if the broker does not have
        the token.
        """
        found = client.ask("describe_delegation_token", 3, _request("describe")).tokens
        return {each.token_id: plain(each)["expiry_timestamp"] for each in found}.get(proof.id, gone)

    def _let_in(self, broker: int, token: Proof, extensions: str) -> str:
        with closing(Client(self._addresses[broker])) as client:
            try:
                lifetime = asyncio.run(log_in(client, token, extensions))
            except NoAnswer as refused:
                return str(refused)
        return f"let in for {_near(lifetime)} s"

    def _note(self, what: str, client: Client, api: str, version: int, fields: Mapping[str, Any]) -> Any:
        began = time.time() * SECOND
        answer = client.ask(f"{api}_delegation_token", version, _request(api, **fields))
        told = plain(answer)
        if api == "create":
            self._seen[bytes(answer.hmac)] = {}
        known = self._seen.get(bytes(fields.get("hmac") or getattr(answer, "hmac", b"")))
        if known is not None and told["error_code"] == "NONE":
            known |= {told[key]: f"{key} of {what}" for key in _TIMES if key in told}
            if "expiry_timestamp" in told:
                self._ends[bytes(fields.get("hmac") or answer.hmac)] = told["expiry_timestamp"]
        if "tokens" in told:
            told["tokens"] = sorted((self._listed(each) for each in told["tokens"]), key=lambda each: each["token_id"])
        else:
            told = self._without_own(told) | {key: _since(told[key], began) for key in _TIMES if key in told}
        self.answers.append((what, told))
        return answer

    def _listed(self, token: dict[str, Any]) -> dict[str, Any]:
        """Return a token of a list with each time replaced by the name of the earlier answer that contained this time;
        ``unknown`` if none did.
        """
        known = self._seen.get(bytes.fromhex(token["hmac"]), {})
        return self._without_own(token) | {key: known.get(token[key], "unknown") for key in _TIMES}

    def _without_own(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer without values that differ between clusters: a number replaces the token's id, and the
        HMAC's length replaces the HMAC.
        """
        told = dict(answer)
        if told.get("token_id"):
            told["token_id"] = self._ids.setdefault(told["token_id"], f"token {len(self._ids)}")
        if "hmac" in told:
            told["hmac"] = f"{len(told['hmac']) // 2} bytes"
        return told


def _since(milliseconds: int, at: float) -> str:
    if milliseconds < DAY:
        return str(milliseconds)
    return f"{_near(milliseconds - at)} s later"


def _near(milliseconds: float) -> int:
    return round(milliseconds / _NEAR) * _NEAR // SECOND


async def log_in(client: Client, token: Proof, extensions: str = "tokenauth=true") -> float:
    """Log in with a token, and return the lifetime of the session in milliseconds. Raises NoAnswer if the broker
    refuses the login.
    """
    password = Secret(base64.b64encode(token.hmac).decode())
    scram = ScramAuthenticator("SCRAM-SHA-256", token.id, password, extensions)
    client.ask("sasl_handshake", 1, with_fields(mechanism="SCRAM-SHA-256"))
    answer: bytes | None = None
    lifetime = 0.0
    while (message := await scram.step(answer)) is not None:
        told = client.ask("sasl_authenticate", 2, with_fields(auth_bytes=message))
        if told.error_code:
            raise NoAnswer(told.error_message)
        answer = bytes(told.auth_bytes)
        lifetime = told.session_lifetime.total_seconds() * SECOND
    return lifetime


def _request(api: str, **fields: Any) -> Build:
    """Return a function that builds a request about tokens. fields: principals have the form ``User:alice``, times are
    milliseconds.
    """
    if api == "create":
        type_, name = _principal(fields.get("owner", ":"))
        return with_fields(
            owner_principal_type=type_ or None,
            owner_principal_name=name or None,
            renewers=[*map(_principal, fields.get("renewers", ()))],
            max_lifetime=fields.get("lifetime", -1) / SECOND,
        )
    if api == "describe":
        owners = fields.get("owners")
        return with_fields(owners=None if owners is None else [*map(_principal, owners)])
    period = "renew_period" if api == "renew" else "expiry_time_period"
    return with_fields(hmac=fields["hmac"], **{period: fields.get("period", -1) / SECOND})


def _principal(text: str) -> tuple[str, str]:
    type_, _, name = text.partition(":")
    return type_, name


def lives(asking: Asking, broker: int, another: int) -> None:
    """Send all kinds of requests about tokens to `broker`, then list the tokens on `another`; the answers are noted in
    `asking`. All tokens are deleted at the end.

    admin is a super user; alice and bob have no rights.
    """

    def create(what: str, user: str, version: int = 3, **fields: Any) -> Proof:
        answer = asking.ask(f"{user} makes {what}", broker, user, "create", version, **fields)
        return Proof(answer.token_id, bytes(answer.hmac))

    both = (broker, another)
    for version in (1, 2, 3):
        made = create("a token", ALICE, version)
        asking.until_known(both, made)
        asking.ask("alice ends it", broker, ALICE, "expire", 2, hmac=made.hmac, period=-1)
        asking.until_known(both, gone=made)
    short = create("one of an hour with a renewer, twice", ALICE, renewers=("User:bob", "User:bob"), lifetime=HOUR)
    long = create("one of 30 days", ALICE, lifetime=30 * DAY)
    zero = create("one of no time", ALICE, lifetime=0)
    create("one with a group as renewer", ALICE, renewers=("Group:ops",))
    nameless = create("one with a nameless renewer", ALICE, renewers=("User:",))
    create("one for admin", ALICE, owner="User:admin")
    own = create("one for alice herself", ALICE, owner="User:alice")
    of_group = create("one for a group", ADMIN, owner="Group:ops")
    given = create("one for alice", ADMIN, owner="User:alice", renewers=("User:bob",))
    asking.until_known(both, short, long, zero, nameless, own, of_group, given)
    _described(asking, both)
    _renewed(asking, both, short, long, given)
    _refused_by_token(asking, both, given)
    _expired(asking, both, short, long, zero)
    for user in USERS:
        for proof in (short, zero, of_group):
            asking.ask(f"{user} ends what nobody may end", broker, user, "expire", 2, hmac=proof.hmac, period=-1)
    for proof in (long, nameless, own, given):
        asking.ask("admin ends one of alice", broker, ADMIN, "expire", 2, hmac=proof.hmac, period=-1)
        asking.ask("alice ends it", broker, ALICE, "expire", 2, hmac=proof.hmac, period=-1)
        asking.until_known(both, gone=proof)


def _described(asking: Asking, brokers: Sequence[int]) -> None:
    for broker in brokers:
        for user in USERS:
            for owners in (None, (), ("User:alice",), ("User:alice", "User:bob"), ("User:nobody",), ("Group:alice",)):
                for version in (1, 3):
                    what = f"{user} asks for those of {owners}"
                    asking.ask(what, broker, user, "describe", version, owners=owners)


def _renewed(asking: Asking, brokers: Sequence[int], short: Proof, long: Proof, given: Proof) -> None:
    for broker in brokers:
        for user in USERS:
            for period in (-1, 0, HOUR, 2 * DAY):
                for what, proof in (("short", short), ("long", long), ("given", given)):
                    said = f"{user} renews the {what} one for {period}"
                    asking.ask(said, broker, user, "renew", 2, hmac=proof.hmac, period=period)
        for hmac in (b"", b"wrong"):
            asking.ask("alice renews what is none", broker, ALICE, "renew", 1, hmac=hmac, period=-1)
            asking.ask("alice ends what is none", broker, ALICE, "expire", 1, hmac=hmac, period=-1)


def _refused_by_token(asking: Asking, brokers: Sequence[int], token: Proof) -> None:
    asking.until_end_known(brokers, token)
    for broker in brokers:
        asking.log_in("with a wrong proof", broker, Proof(token.id, b"wrong"))
        asking.log_in("with a token that is none", broker, Proof("nobody", token.hmac))
        asking.log_in("with a token", broker, token)
        asking.log_in("with a token as if it were a user", broker, token, extensions="")
        asking.ask_by_token("a token makes another", broker, token, "create", 3)
        asking.ask_by_token("a token asks for tokens", broker, token, "describe", 3)
        asking.ask_by_token("a token asks for its owner's", broker, token, "describe", 3, owners=("User:alice",))
        asking.ask_by_token("a token renews itself", broker, token, "renew", 2, hmac=token.hmac, period=-1)
        asking.ask_by_token("a token ends itself", broker, token, "expire", 2, hmac=token.hmac, period=-1)


def _expired(asking: Asking, brokers: Sequence[int], short: Proof, long: Proof, zero: Proof) -> None:
    broker, another = brokers
    for user in (BOB, ADMIN, ALICE):
        asking.ask(f"{user} lets the long one end in 2 h", broker, user, "expire", 2, hmac=long.hmac, period=2 * HOUR)
        asking.ask(f"{user} lets it end in 30 days", another, user, "expire", 2, hmac=long.hmac, period=30 * DAY)
    asking.ask("bob, its renewer, ends the short one", another, BOB, "expire", 2, hmac=short.hmac, period=-5)
    asking.until_known(brokers, gone=short)
    asking.ask("alice renews one that is gone", broker, ALICE, "renew", 2, hmac=short.hmac, period=-1)
    asking.ask("alice ends one that is gone", broker, ALICE, "expire", 2, hmac=short.hmac, period=-1)
    asking.ask("alice lets one end now", broker, ALICE, "expire", 2, hmac=zero.hmac, period=0)
    asking.until_ended(brokers, zero)
    for each in brokers:
        asking.ask("bob renews what has ended", each, BOB, "renew", 2, hmac=zero.hmac, period=-1)
        asking.ask("alice renews what has ended", each, ALICE, "renew", 2, hmac=zero.hmac, period=-1)
        asking.ask("bob lets it end later", each, BOB, "expire", 2, hmac=zero.hmac, period=HOUR)
        asking.ask("alice lets it end later", each, ALICE, "expire", 2, hmac=zero.hmac, period=HOUR)
        asking.ask("bob ends what has ended", each, BOB, "expire", 2, hmac=zero.hmac, period=-1)
        asking.ask("alice asks what there is", each, ALICE, "describe", 3)
        asking.log_in("with a token that has ended", each, zero)
        asking.log_in("with a token that is gone", each, short)
    asking.ask("alice ends what has ended", broker, ALICE, "expire", 2, hmac=zero.hmac, period=-1)
    asking.until_known(brokers, gone=zero)
