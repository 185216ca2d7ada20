"""The broker's side of SASL: PLAIN (RFC 4616), SCRAM (RFC 5802), and SCRAM credentials."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from enum import IntEnum

from console.embedded.spec import SaslSpec
from console.embedded.state import View
from console.embedded.tables import ScramCredential, ScramKey
from console.embedded.tokens import Token
from console.model.secret import Secret

MIN_ITERATIONS = 4096
MAX_ITERATIONS = 16384


class ScramHash(IntEnum):
    """The SCRAM mechanisms with their numbers in Kafka's protocol."""

    SHA_256 = 1
    SHA_512 = 2

    @property
    def label(self) -> str:
        """The name of the mechanism, such as ``SCRAM-SHA-256``."""
        return f"SCRAM-SHA-{self.digest[3:]}"

    @property
    def digest(self) -> str:
        """The name of the hash in hashlib."""
        return "sha256" if self is ScramHash.SHA_256 else "sha512"


def credential_of(
    password: str, mechanism: ScramHash, iterations: int = MIN_ITERATIONS, salt: bytes | None = None
) -> ScramCredential:
    """Return the SCRAM credential for a password (RFC 5802, section 3; ScramFormatter). salt: the salt; None for a
    random one.
    """
    salt = secrets.token_bytes(24) if salt is None else salt
    salted = hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)
    return credential_of_salted(salted, mechanism, iterations, salt)


def credential_of_salted(salted: bytes, mechanism: ScramHash, iterations: int, salt: bytes) -> ScramCredential:
    """Return the SCRAM credential for a password that the client has salted and hashed, as AlterUserScramCredentials
    sends it.
    """
    client_key = mac(salted, b"Client Key", mechanism)
    stored_key = hashlib.new(mechanism.digest, client_key).digest()
    return ScramCredential(salt, iterations, stored_key, mac(salted, b"Server Key", mechanism))


def mac(key: bytes, message: bytes, mechanism: ScramHash) -> bytes:
    """Return the HMAC of a message with the mechanism's hash."""
    return hmac.digest(key, message, mechanism.digest)


PLAIN = "PLAIN"
MAX_TOKEN = 512 * 1024
"""Maximum size in bytes of a SASL token (sasl.server.max.receive.size)."""


class SaslFailure(Exception):
    """Authentication failed, and the connection has to be closed. The exception's text is the message for the client
    (SaslServerAuthenticator).
    """


def enabled_mechanisms(spec: SaslSpec | None) -> tuple[str, ...]:
    """Return the mechanisms that clients may choose; empty if `spec` is None, for a cluster without SASL."""
    if spec is None:
        return ()
    return (PLAIN, *(mechanism.label for mechanism in ScramHash)) if spec.plain else tuple(m.label for m in ScramHash)


class PlainExchange:
    """An exchange by PLAIN: one token with authorization id, user and password, separated by NUL (PlainSaslServer)."""

    token: Token | None = None

    def __init__(self, users: Mapping[str, Secret]) -> None:
        self._users = users
        self.user: str | None = None

    def step(self, view: View, token: bytes) -> bytes:  # noqa: ARG002 - PLAIN needs no stored credential
        """Check the client's token and return an empty one. Raises SaslFailure."""
        _check_size(token)
        try:
            parts = token.decode().split("\x00")
        except UnicodeDecodeError as error:
            raise SaslFailure("Authentication failed: the token is not UTF-8") from error
        if len(parts) != 3:
            raise SaslFailure(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        identity, user, password = parts
        if not user:
            raise SaslFailure("Authentication failed: username not specified")
        if not password:
            raise SaslFailure("Authentication failed: password not specified")
        known = self._users.get(user)
        # Always compare, and in constant time, so that the duration does not disclose which users exist.
        expected = known.reveal() if known is not None else ""
        if not hmac.compare_digest(expected.encode(), password.encode()) or known is None:
            raise SaslFailure("Authentication failed: Invalid username or password")
        if identity not in ("", user):
            raise SaslFailure(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.user = user
        return b""


class ScramExchange:
    """An exchange by SCRAM: the client's first message, then its proof (ScramSaslServer).

    If the client sends the extension tokenauth=true, the user name is the id of a delegation token, and the client acts
    as the token's owner (KIP-48). delegated: id -> delegation token.
    """

    def __init__(self, mechanism: ScramHash, delegated: Mapping[str, Token]) -> None:
        self._mechanism, self._delegated = mechanism, delegated
        self._name = ""
        self._owner = ""
        self.token: Token | None = None
        self._credential: ScramCredential | None = None
        self._nonce = ""
        self._auth_message = ""
        self.user: str | None = None

    def step(self, view: View, token: bytes) -> bytes:
        """Process the client's next token and return the broker's. view: the state with the SCRAM credentials. Raises
        SaslFailure.
        """
        _check_size(token)
        try:
            text = token.decode()
            return self._proof(text) if self._credential else self._first(view, text)
        except (ValueError, KeyError, NotBase64) as error:
            raise self._failure() from error

    def _first(self, view: View, text: str) -> bytes:
        channel, identity, bare = text.split(",", 2)
        attributes = _attributes(bare)
        self._name = attributes["n"].replace("=2C", ",").replace("=3D", "=")
        if channel not in ("n", "y") or identity.removeprefix("a=") not in ("", self._name):
            raise self._failure()
        self._credential = self._known(view, by_token=attributes.get("tokenauth") == "true")
        if self._credential is None:
            raise self._failure()
        self._nonce = attributes["r"] + secrets.token_urlsafe(18)
        salt = b64encode(self._credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._credential.iterations}"
        self._auth_message = f"{bare},{answer}"
        return answer.encode()

    def _known(self, view: View, *, by_token: bool) -> ScramCredential | None:
        self._owner = self._name
        if not by_token:
            return view.scram.get(ScramKey(self._name, self._mechanism))
        self.token = self._delegated.get(self._name)
        if self.token is None:
            return None
        self._owner = self.token.owner.partition(":")[2]
        return credential_of(self.token.password, self._mechanism)

    def _proof(self, text: str) -> bytes:
        assert self._credential is not None
        before, _, encoded = text.rpartition(",p=")
        attributes = _attributes(before)
        # The nonce contains a part of each side, so that a recorded exchange can't be replayed.
        if attributes["r"] != self._nonce:
            raise self._failure()
        auth_message = f"{self._auth_message},{before}".encode()
        # The stored key verifies the client's key but does not reveal it, so a reader of the metadata log can't log in
        # with the stored key (RFC 5802).
        signature = mac(self._credential.stored_key, auth_message, self._mechanism)
        proof = b64decode(encoded, validate=True)
        if len(proof) != len(signature):
            raise self._failure()
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        stored_key = hashlib.new(self._mechanism.digest, client_key).digest()
        if not hmac.compare_digest(stored_key, self._credential.stored_key):
            raise self._failure()
        self.user = self._owner
        return b"v=" + b64encode(mac(self._credential.server_key, auth_message, self._mechanism))

    def _failure(self) -> SaslFailure:
        return SaslFailure(
            "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            + self._mechanism.label
        )


Exchange = PlainExchange | ScramExchange
"""The broker's side of an authentication. Its `user` is the client's name after the authentication; its `token` is the
delegation token by which the client logged in, None if it logged in otherwise.
"""


def begin(spec: SaslSpec, mechanism: str, delegated: Mapping[str, Token]) -> Exchange:
    """Start an exchange by an enabled mechanism. delegated: id -> delegation token, for logins by token."""
    if mechanism == PLAIN:
        return PlainExchange(spec.plain)
    return ScramExchange(next(known for known in ScramHash if known.label == mechanism), delegated)


def _check_size(token: bytes) -> None:
    if len(token) > MAX_TOKEN:
        raise SaslFailure("Authentication failed: the token is too long")


def _attributes(text: str) -> dict[str, str]:
    return {name: value for name, _, value in (part.partition("=") for part in text.split(","))}
