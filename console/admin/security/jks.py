"""Java's own key store format, JKS (sun.security.provider.JavaKeyStore, sun.security.provider.KeyProtector)."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

MAGIC = b"\xfe\xed\xfe\xed"

_PRIVATE_KEY = 1
_TRUSTED_CERTIFICATE = 2
_DIGEST_SIZE = 20
_WHITENER = b"Mighty Aphrodite"
_KEY_PROTECTOR = bytes.fromhex("2b060104012a02110101")
"""The object identifier 1.3.6.1.4.1.42.2.17.1.1, encoded."""
_SEQUENCE = 0x30
_OBJECT_IDENTIFIER = 0x06
_OCTET_STRING = 0x04


class JksError(ValueError):
    """The bytes are no JKS store, or a damaged one."""


class JksPasswordError(JksError):
    """The password is not the one that the store, or a key in it, was made with."""


@dataclass(frozen=True, slots=True)
class JksKey:
    """A private key, still protected, and its certificates (DER), its own first."""

    alias: str
    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class JksStore:
    """What a store holds, in its order: trusted certificates (DER) and keys."""

    trusted: tuple[bytes, ...]
    keys: tuple[JksKey, ...]


def read_jks(data: bytes, password: str | None) -> JksStore:
    """Read a store of version 1 or 2; its digest is checked where a password is given.

    Raises JksPasswordError where the digest is another one, JksError for anything else that is wrong.
    """
    if not data.startswith(MAGIC):
        raise JksError("it is no JKS store")
    if password is not None and not hmac.compare_digest(_digest(data[:-_DIGEST_SIZE], password), data[-_DIGEST_SIZE:]):
        raise JksPasswordError("the password is wrong, or the store is damaged")
    reader = _Reader(data[len(MAGIC) : -_DIGEST_SIZE])
    version = reader.number(4)
    if version not in (1, 2):
        raise JksError(f"it is of version {version}, and 1 and 2 are known")
    trusted: list[bytes] = []
    keys: list[JksKey] = []
    for _ in range(reader.number(4)):
        tag, alias = reader.number(4), reader.text()
        reader.number(8)  # when it was made
        if tag == _TRUSTED_CERTIFICATE:
            trusted.append(reader.certificate(version))
        elif tag == _PRIVATE_KEY:
            protected = reader.sized(4)
            keys.append(JksKey(alias, protected, tuple(reader.certificate(version) for _ in range(reader.number(4)))))
        else:
            raise JksError(f"it has an entry of the unknown kind {tag}")
    return JksStore(tuple(trusted), tuple(keys))


def unprotect(key: JksKey, password: str) -> bytes:
    """The key as PKCS#8 (DER). Raises JksPasswordError for another password, JksError for another protection."""
    outer = _Der(_Der(key.protected).take(_SEQUENCE))
    algorithm = _Der(outer.take(_SEQUENCE)).take(_OBJECT_IDENTIFIER)
    if algorithm != _KEY_PROTECTOR:
        raise JksError("its key is protected in a way that is not JKS's own")
    content = outer.take(_OCTET_STRING)
    salt, encrypted, check = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:-_DIGEST_SIZE], content[-_DIGEST_SIZE:]
    secret = password.encode("utf-16-be")
    stream = bytearray()
    block = salt
    while len(stream) < len(encrypted):
        block = _sha1(secret + block)
        stream += block
    plain = bytes(byte ^ mask for byte, mask in zip(encrypted, stream, strict=False))
    if not hmac.compare_digest(_sha1(secret + plain), check):
        raise JksPasswordError("the key's password is wrong")
    return plain


def _digest(content: bytes, password: str) -> bytes:
    return _sha1(password.encode("utf-16-be") + _WHITENER + content)


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()  # the format's own choice


class _Reader:
    """Java's DataInputStream over bytes; JksError where they end too soon."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) != size:
            raise JksError("it ends too soon")
        self._at += size
        return piece

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def sized(self, size: int) -> bytes:
        return self.take(self.number(size))

    def text(self) -> str:
        return self.sized(2).decode("utf-8", "replace")

    def certificate(self, version: int) -> bytes:
        if version > 1 and (kind := self.text()) != "X.509":
            raise JksError(f"it has a certificate of the unknown kind {kind!r}")
        return self.sized(4)


class _Der:
    """The elements of a DER encoding, one after the other; JksError where they are others than asked for."""

    def __init__(self, data: bytes) -> None:
        self._reader = _Reader(data)

    def take(self, tag: int) -> bytes:
        if self._reader.number(1) != tag:
            raise JksError("its key is not encoded as it should be")
        size = self._reader.number(1)
        return self._reader.take(size if size < 0x80 else self._reader.number(size & 0x7F))
