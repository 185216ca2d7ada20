"""What a broker keeps of a SCRAM password (RFC 5802, section 3; ScramFormatter)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from enum import IntEnum

from console.embedded.state.values import ScramCredential

MIN_ITERATIONS = 4096
MAX_ITERATIONS = 16384


class ScramHash(IntEnum):
    """A SCRAM mechanism by its number in Kafka's protocol."""

    SHA_256 = 1
    SHA_512 = 2

    @property
    def label(self) -> str:
        """``SCRAM-SHA-256``."""
        return f"SCRAM-SHA-{self.digest[3:]}"

    @property
    def digest(self) -> str:
        """hashlib's name."""
        return "sha256" if self is ScramHash.SHA_256 else "sha512"


def credential_of(
    password: str, mechanism: ScramHash, iterations: int = MIN_ITERATIONS, salt: bytes | None = None
) -> ScramCredential:
    """The credential of a password; without a salt it gets one of its own."""
    salt = secrets.token_bytes(24) if salt is None else salt
    salted = hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)
    return credential_of_salted(salted, mechanism, iterations, salt)


def credential_of_salted(salted: bytes, mechanism: ScramHash, iterations: int, salt: bytes) -> ScramCredential:
    """The credential of a password that the client has salted and hashed (AlterUserScramCredentials)."""
    client_key = mac(salted, b"Client Key", mechanism)
    stored_key = hashlib.new(mechanism.digest, client_key).digest()
    return ScramCredential(salt, iterations, stored_key, mac(salted, b"Server Key", mechanism))


def mac(key: bytes, message: bytes, mechanism: ScramHash) -> bytes:
    """HMAC with the mechanism's hash."""
    return hmac.digest(key, message, mechanism.digest)
