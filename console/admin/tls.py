"""TLS of a client: reading key stores and trust stores (JKS, PKCS12, PEM) as PEM, and making an SSL context with at
least TLS 1.2 that checks the broker's certificate and host name.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from console.admin.errors import TlsFailed
from console.admin.settings import ConnectionSettings, Store, TlsSettings
from console.model.secret import Secret

# PEM, parsed as leniently as Kafka's DefaultSslEngineFactory does: blanks are ignored.

_PEM_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,64}+)-----")
_CERTIFICATE_LABELS = ("CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE")
LARGEST_STORE = 64 << 20
"""Maximum size in bytes of a key store or trust store."""
_KEY_LABELS = ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY")


@dataclass(frozen=True, slots=True)
class PemBlock:
    """A PEM block: its label, and its whole text in the form that OpenSSL accepts."""

    label: str
    text: str = field(repr=False)

    @property
    def encrypted(self) -> bool:
        """Whether the block is a private key that needs a password, in PKCS#8 or the traditional format."""
        return self.label.startswith("ENCRYPTED") or "Proc-Type: 4,ENCRYPTED" in self.text


def pem_certificates(text: str) -> tuple[PemBlock, ...]:
    """Return all certificates in a text, in order. Raises ValueError if one is not base64."""
    return tuple(_pem_block(label, body) for label, body in _pem_blocks(text) if label in _CERTIFICATE_LABELS)


def pem_private_key(text: str) -> PemBlock | None:
    """Return the first private key in a text; None if it has none. Raises ValueError if the key is not base64."""
    return next((_pem_block(label, body) for label, body in _pem_blocks(text) if label in _KEY_LABELS), None)


def _pem_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the label and the body of each PEM block in a text. A block without an end is skipped, as are all later
    ones with the same label.
    """
    endless: set[str] = set()
    at = 0
    while begin := _PEM_BEGIN.search(text, at):
        label, at = begin[1], begin.end()
        end = f"-----END {label}-----"
        ends = -1 if label in endless else text.find(end, at)
        if ends < 0:
            endless.add(label)
            continue
        yield label, text[at:ends]
        at = ends + len(end)


def pem_block(label: str, der: bytes) -> PemBlock:
    """Return a PEM block with this label and DER content."""
    return _pem_block(label, binascii.b2a_base64(der, newline=False).decode("ascii"))


def _pem_block(label: str, body: str) -> PemBlock:
    if ":" in body:
        # A key with traditional encryption has headers, whose lines must be kept.
        lines = body.strip()
    else:
        packed = "".join(body.split())
        try:
            binascii.a2b_base64(packed, strict_mode=True)
        except binascii.Error:
            raise ValueError(f"the {label.lower()} in it is damaged: not base64") from None
        lines = "\n".join(packed[at : at + 64] for at in range(0, len(packed), 64))
    return PemBlock(label, f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")


# JKS, Java's own format (sun.security.provider.JavaKeyStore, sun.security.provider.KeyProtector).

_JKS_MAGIC = b"\xfe\xed\xfe\xed"

_PRIVATE_KEY = 1
_TRUSTED_CERTIFICATE = 2
_DIGEST_SIZE = 20
_WHITENER = b"Mighty Aphrodite"
_KEY_PROTECTOR = bytes.fromhex("2b060104012a02110101")
"""The object identifier 1.3.6.1.4.1.42.2.17.1.1 in DER: the encryption of keys in JKS stores."""
_SEQUENCE = 0x30
_OBJECT_IDENTIFIER = 0x06
_OCTET_STRING = 0x04


class JksError(ValueError):
    """The bytes are not a JKS store, or are damaged."""


class JksPasswordError(JksError):
    """The password of the store, or of a key in it, is wrong."""


@dataclass(frozen=True, slots=True)
class JksKey:
    """A private key, still encrypted, and its certificate chain in DER, beginning with the key's own certificate."""

    alias: str
    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...]


class JksStore(Struct, frozen=True):
    """The entries of a JKS store, in order: trusted certificates in DER, and keys."""

    trusted: tuple[bytes, ...]
    keys: tuple[JksKey, ...]


def read_jks(data: bytes, password: str | None) -> JksStore:
    """Read a JKS store of version 1 or 2 and check its digest. password: the store's password; None to skip that check.

    Raises JksPasswordError if the digest does not match, JksError for other errors.
    """
    if not data.startswith(_JKS_MAGIC):
        raise JksError("it is not a JKS store")
    if password is not None and not hmac.compare_digest(
        _store_digest(data[:-_DIGEST_SIZE], password), data[-_DIGEST_SIZE:]
    ):
        raise JksPasswordError("the password is wrong, or the store is damaged")
    reader = _JavaData(data[len(_JKS_MAGIC) : -_DIGEST_SIZE])
    version = reader.number(4)
    if version not in (1, 2):
        raise JksError(f"its version is {version}; only 1 and 2 are supported")
    trusted: list[bytes] = []
    keys: list[JksKey] = []
    for _ in range(reader.number(4)):
        tag, alias = reader.number(4), reader.text()
        reader.number(8)  # the time of its creation
        if tag == _TRUSTED_CERTIFICATE:
            trusted.append(reader.certificate(version))
        elif tag == _PRIVATE_KEY:
            protected = reader.sized(4)
            keys.append(JksKey(alias, protected, tuple(reader.certificate(version) for _ in range(reader.number(4)))))
        else:
            raise JksError(f"it has an entry of the unknown type {tag}")
    return JksStore(tuple(trusted), tuple(keys))


def unprotect(key: JksKey, password: str) -> bytes:
    """Decrypt a key and return it as PKCS#8 in DER. Raises JksPasswordError for a wrong password, JksError for an
    unknown encryption.
    """
    outer = _Der(_Der(key.protected).take(_SEQUENCE))
    algorithm = _Der(outer.take(_SEQUENCE)).take(_OBJECT_IDENTIFIER)
    if algorithm != _KEY_PROTECTOR:
        raise JksError("its key is not encrypted as JKS does")
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


def _store_digest(content: bytes, password: str) -> bytes:
    return _sha1(password.encode("utf-16-be") + _WHITENER + content)


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()  # JKS requires SHA-1


class _JavaData:
    """A reader of the numbers and texts that Java's DataOutputStream writes. Raises JksError at the end of the
    bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._data)

    def take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) != size:
            raise JksError("it is truncated")
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
            raise JksError(f"it has a certificate of the unknown type {kind!r}")
        return self.sized(4)


class _Der:
    """A reader of the elements in a DER encoding. Raises JksError if an element has another tag than expected."""

    def __init__(self, data: bytes) -> None:
        self._reader = _JavaData(data)

    @property
    def is_empty(self) -> bool:
        """Whether no element is left."""
        return self._reader.is_at_end

    def take(self, tag: int) -> bytes:
        if self._reader.number(1) != tag:
            raise JksError("it is not encoded correctly")
        size = self._reader.number(1)
        return self._reader.take(size if size < 0x80 else self._reader.number(size & 0x7F))


# Reasons why a PKCS12 store does not open, which no library reports: here, whether its checksum matches the password
# (RFC 7292, 4 and B.2).

_LEGACY = {
    bytes.fromhex(f"060a2a864886f70d010c01{number:02x}"): name
    for number, name in ((1, "RC4-128"), (2, "RC4-40"), (5, "RC2-128"), (6, "RC2-40"))
} | {
    bytes.fromhex(f"06092a864886f70d0105{number:02x}"): name
    for number, name in (
        (1, "MD2-DES"),
        (3, "MD5-DES"),
        (4, "MD2-RC2"),
        (6, "MD5-RC2"),
        (10, "SHA1-DES"),
        (11, "SHA1-RC2"),
    )
}
"""Object identifier in DER -> name, of encryptions of PKCS#12 and PKCS#5 that OpenSSL 3 has only in its legacy
provider.
"""
_HASHES = {
    bytes.fromhex("2b0e03021a"): "sha1",
    **{bytes.fromhex(f"60864801650304020{n}"): name for n, name in ((1, "sha256"), (2, "sha384"), (3, "sha512"))},
}
_EXPLICIT, _INTEGER = 0xA0, 0x02
_MOST_ROUNDS = 10_000_000


def _why_closed(data: bytes, password: Secret | None, role: _StoreRole) -> tuple[str, str]:
    """Return the reason why a PKCS12 store can't be opened, and the remedy."""
    remedy = f"Set {role.prefix}.password to the store's password."
    try:
        fits = _checksum_fits(data, password.reveal() if password else "")
    except JksError as error:
        return f"it is damaged: {error}", "Copy it again from its source."
    if fits is False:
        if password is None:
            return "it needs a password", remedy
        return "the password is wrong, or the store is damaged: its checksum does not fit", remedy
    legacy = _legacy(data)
    if fits and not legacy:
        return "its password is right, and what it holds is damaged, or encrypted with another password", _CONVERT
    if legacy:
        beside = "the password is right" if fits else "the password may be right"
        return f"{beside}, but it is encrypted with {legacy}, which OpenSSL does not have here", _CONVERT
    return "the password is wrong, or the store is damaged" if password else "it needs a password", remedy


def _legacy(der: bytes) -> str:
    """Return the names of encryptions in a store or a key that OpenSSL may lack, as one text; ``""`` if there are
    none.
    """
    return " and ".join(name for identifier, name in _LEGACY.items() if identifier in der)


def _checksum_fits(data: bytes, password: str) -> bool | None:
    """Return whether the store's checksum matches the password. Return None if the store has no checksum, or one with
    an unknown hash or more than `_MOST_ROUNDS` rounds. Raises JksError for an invalid encoding.
    """
    store = _Der(_Der(data).take(_SEQUENCE))
    store.take(_INTEGER)
    outer = _Der(store.take(_SEQUENCE))
    outer.take(_OBJECT_IDENTIFIER)
    content = _Der(outer.take(_EXPLICIT)).take(_OCTET_STRING)
    if store.is_empty:
        return None
    check = _Der(store.take(_SEQUENCE))
    digest = _Der(check.take(_SEQUENCE))
    name = _HASHES.get(_Der(digest.take(_SEQUENCE)).take(_OBJECT_IDENTIFIER))
    told, salt = digest.take(_OCTET_STRING), check.take(_OCTET_STRING)
    rounds = 1 if check.is_empty else int.from_bytes(check.take(_INTEGER), "big")
    if name is None or not 0 < rounds <= _MOST_ROUNDS:
        return None
    return hmac.compare_digest(hmac.digest(_checksum_key(name, password, salt, rounds), content, name), told)


def _checksum_key(name: str, password: str, salt: bytes, rounds: int) -> bytes:
    block = hashlib.new(name).block_size
    secret = password.encode("utf-16-be") + b"\0\0"

    def filled(text: bytes) -> bytes:
        size = -(-len(text) // block) * block
        return (text * (size // len(text) + 1))[:size] if text else b""

    key = b"\3" * block + filled(salt) + filled(secret)
    for _ in range(rounds):
        key = hashlib.new(name, key, usedforsecurity=False).digest()
    return key


# Reading key stores and trust stores.

PEM, JKS, PKCS12 = "PEM", "JKS", "PKCS12"

_JCEKS_MAGIC = b"\xce\xce\xce\xce"
_CONVERT = "Convert it: keytool -importkeystore -srckeystore FILE -destkeystore NEW.p12 -deststoretype PKCS12."


class _StoreRole(NamedTuple):
    """The use of a store, for messages: its name, and the prefix of its settings."""

    words: str
    prefix: str


_TRUST_STORE = _StoreRole("trust store", "ssl.truststore")
_KEY_STORE = _StoreRole("key store", "ssl.keystore")


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """The client's certificate chain, beginning with its own certificate, and its private key; both in PEM."""

    chain: str
    key: str = field(repr=False)
    password: Secret | None = None
    """The password of the key; None if the key is not encrypted."""


def trusted_certificates(store: Store) -> str:
    """Return the certificates of a trust store as PEM. Raises TlsFailed."""
    found = _open_store(store, _TRUST_STORE, None)
    if not found.certificates:
        raise _unusable(
            store, _TRUST_STORE, "it holds no certificate", "A trust store has the certificates of trusted authorities."
        )
    return "".join(block.text for block in found.certificates)


def client_identity(tls: TlsSettings) -> ClientIdentity | None:
    """Read the client's certificate chain and key; return None if the settings have no key store. Raises TlsFailed."""
    store = tls.key_store
    if store is None:
        return None
    found = _open_store(store, _KEY_STORE, tls.key_password)
    key, key_store = found.key, store
    if tls.key_file is not None:
        key, key_store = _open_store(tls.key_file, _KEY_STORE, tls.key_password).key, tls.key_file
    if key is None:
        raise _unusable(
            key_store, _KEY_STORE, "it holds no private key", "A key store has the client's certificate and its key."
        )
    if not found.chain:
        raise _unusable(
            store, _KEY_STORE, "it holds no certificate", "A key store has the client's certificate and its key."
        )
    password = tls.key_password or store.password
    if key.encrypted and password is None:
        raise _unusable(key_store, _KEY_STORE, "its private key is encrypted", "Set ssl.key.password.")
    return ClientIdentity("".join(block.text for block in found.chain), key.text, password if key.encrypted else None)


def own_certificate_end(tls: TlsSettings) -> datetime | None:
    """Return the end of the validity of the client's certificate, UTC; None if there is no certificate or it can't be
    read. Reads files.
    """
    from cryptography import x509

    try:
        identity = client_identity(tls)
        return x509.load_pem_x509_certificate(identity.chain.encode()).not_valid_after_utc if identity else None
    except (TlsFailed, ValueError):
        return None


class _StoreContent(NamedTuple):
    """The content of a store."""

    certificates: tuple[PemBlock, ...]
    """All certificates in the store."""
    chain: tuple[PemBlock, ...] = ()
    """The certificate chain of the key, beginning with the key's own certificate."""
    key: PemBlock | None = None


def _open_store(store: Store, role: _StoreRole, key_password: Secret | None) -> _StoreContent:
    data = _read_store(store, role)
    kind = _kind_of(data)
    if kind == "JCEKS":
        raise _unusable(store, role, "it is a JCEKS store, which can't be read", _CONVERT)
    if kind is None:
        raise _unusable(store, role, f"it is not a {PEM}, {JKS} or {PKCS12} store", "Is it the right file?")
    # Java opens JKS and PKCS12 stores under either type (keystore.type.compat).
    if (kind == PEM) != (store.kind == PEM):
        raise _unusable(store, role, f"it is {kind}, not {store.kind} as configured", f"Set {role.prefix}.type={kind}.")
    try:
        if kind == PEM:
            text = data.decode("latin-1")
            blocks = pem_certificates(text)
            return _StoreContent(blocks, blocks, pem_private_key(text))
        if kind == JKS:
            return _jks_content(data, store, role, key_password)
        return _pkcs12_content(data, store, role)
    except JksPasswordError as error:
        raise _unusable(store, role, str(error), f"Check {role.prefix}.password and ssl.key.password.") from None
    except ValueError as error:
        raise _unusable(store, role, str(error), "Copy it again from its source.") from None


def _read_store(store: Store, role: _StoreRole) -> bytes:
    if store.inline is not None:
        return store.inline.reveal().encode("utf-8")
    if store.path is None:
        raise _unusable(store, role, "it has no path", f"Set {role.prefix}.location.")
    try:
        with store.path.open("rb") as file:
            data = file.read(LARGEST_STORE + 1)
    except OSError as error:
        reason = (error.strerror or "it can't be read").lower()
        raise _unusable(store, role, reason, f"Check {role.prefix}.location and the file's mode.") from None
    if len(data) > LARGEST_STORE:
        raise _unusable(store, role, "it is no store: it is too large", f"Check {role.prefix}.location.")
    return data


def _kind_of(data: bytes) -> str | None:
    if data.startswith(_JKS_MAGIC):
        return JKS
    if data.startswith(_JCEKS_MAGIC):
        return "JCEKS"
    if b"-----BEGIN " in data:
        return PEM
    # A PKCS#12 file is a DER sequence that begins with the integer 3; a bare certificate begins with another sequence.
    return PKCS12 if data[:1] == b"\x30" and b"\x02\x01\x03" in data[:8] else None


def _jks_content(data: bytes, store: Store, role: _StoreRole, key_password: Secret | None) -> _StoreContent:
    password = store.password.reveal() if store.password else None
    found = read_jks(data, password)
    if role is _TRUST_STORE or not found.keys:
        trusted = (*found.trusted, *(key.chain[0] for key in found.keys if key.chain))
        return _StoreContent(tuple(pem_block("CERTIFICATE", der) for der in trusted))
    entry = found.keys[0]
    opens = key_password or store.password
    if opens is None:
        raise _unusable(store, role, "its private key is encrypted", f"Set {role.prefix}.password.")
    key = pem_block("PRIVATE KEY", unprotect(entry, opens.reveal()))
    chain = tuple(pem_block("CERTIFICATE", der) for der in entry.chain)
    return _StoreContent(chain, chain, key)


def _pkcs12_content(data: bytes, store: Store, role: _StoreRole) -> _StoreContent:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    try:
        found = pkcs12.load_pkcs12(data, store.password.reveal().encode("utf-8") if store.password else None)
    except ValueError:
        raise _unusable(store, role, *_why_closed(data, store.password, role)) from None
    held = [entry.certificate for entry in ([found.cert] if found.cert else []) + list(found.additional_certs)]
    blocks = tuple(pem_block("CERTIFICATE", certificate.public_bytes(Encoding.DER)) for certificate in held)
    if found.key is None:
        return _StoreContent(blocks)
    key = found.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return _StoreContent(blocks, blocks, pem_block("PRIVATE KEY", key))


def _unusable(store: Store, role: _StoreRole, what: str, remedy: str) -> TlsFailed:
    where = f"{role.words} {store.path}" if store.path else f"{role.words} given inline"
    return TlsFailed.of(f"{where}: {what}", remedy)


# The SSL context of a client: at least TLS 1.2, with checks of the broker's certificate and host name.

_OPEN_FILES = Path("/proc/self/fd")


def ssl_context(settings: ConnectionSettings) -> ssl.SSLContext | None:
    """Return the SSL context for these settings; None for a protocol without TLS. Reads files. Raises TlsFailed."""
    if not settings.security_protocol.endswith("SSL"):
        return None
    return client_context(settings.tls or TlsSettings())


def client_context(tls: TlsSettings) -> ssl.SSLContext:
    """Return an SSL context for these TLS settings. Reads files. Raises TlsFailed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = tls.verify_host and tls.verify_chain
    if not tls.verify_chain:
        context.verify_mode = ssl.CERT_NONE
    if tls.trust is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        # Trust each certificate of a trust store, as Java does, not only those of authorities.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(cadata=trusted_certificates(tls.trust))
        except ssl.SSLError as error:
            raise _failed(
                f"trust store {tls.trust.path or 'given inline'}: {_reason(error)}", "Is it complete?"
            ) from None
    identity = client_identity(tls)
    if identity is not None:
        _load(context, identity, tls)
    return context


def _load(context: ssl.SSLContext, identity: ClientIdentity, tls: TlsSettings) -> None:
    where = f"key store {tls.key_store.path if tls.key_store and tls.key_store.path else 'given inline'}"
    password = identity.password.reveal() if identity.password else ""
    with _private_file((identity.chain + identity.key).encode("ascii")) as path:
        try:
            # Always pass a password: without one, OpenSSL would prompt on the terminal.
            context.load_cert_chain(path, password=lambda: password)
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise _failed(
                    f"{where}: the key does not belong to the certificate", "Take both from one store."
                ) from None
            if identity.password is not None:
                raise _failed(f"{where}: {_why_locked(identity.key)}", "Check ssl.key.password.") from None
            raise _failed(f"{where}: {_reason(error)}", "Is it complete, and its key RSA or EC?") from None


def _why_locked(key: str) -> str:
    """Return the reason why a private key (PEM) could not be decrypted, which OpenSSL does not say."""
    body = "".join(line for line in key.splitlines() if ":" not in line and not line.startswith("-----"))
    legacy = _legacy(binascii.a2b_base64(body))
    other = f": the password is wrong, or OpenSSL does not have {legacy} here" if legacy else ""
    return f"the key can't be decrypted{other}"


@contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """Yield the path of a temporary file with this content, and remove it afterwards.

    OpenSSL reads a certificate chain only from a path. On Linux the file is in memory, so that a decrypted key is never
    on a disk; elsewhere only this user can read it.
    """
    if hasattr(os, "memfd_create") and _OPEN_FILES.is_dir():
        descriptor, path = os.memfd_create("kac-key", os.MFD_CLOEXEC), None
        name = str(_OPEN_FILES / str(descriptor))
    else:
        descriptor, name = tempfile.mkstemp(prefix="kac-")
        path = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield name
    finally:
        if path is not None:
            path.unlink()


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "OpenSSL can't read it").replace("_", " ").lower()


def _failed(message: str, remedy: str) -> TlsFailed:
    return TlsFailed.of(message, remedy)
