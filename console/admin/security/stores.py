"""Trust stores and key stores of all three kinds, as PEM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from console.admin.errors import TlsFailed
from console.admin.security import jks, pem
from console.admin.settings import Store, TlsSettings
from console.model.failure import Failure
from console.model.secret import Secret

PEM, JKS, PKCS12 = "PEM", "JKS", "PKCS12"

_JCEKS_MAGIC = b"\xce\xce\xce\xce"
_CONVERT = "Convert it: keytool -importkeystore -srckeystore FILE -destkeystore NEW.p12 -deststoretype PKCS12."


class _Role(NamedTuple):
    """Which store is meant, for complaints: what it is called, and the prefix of its properties."""

    words: str
    prefix: str


_TRUST = _Role("trust store", "ssl.truststore")
_KEY = _Role("key store", "ssl.keystore")


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """Certificates, the client's own first, and its key, both PEM; password opens the key where it is encrypted."""

    chain: str
    key: str = field(repr=False)
    password: Secret | None = None


def trusted_certificates(store: Store) -> str:
    """The certificates of a trust store as PEM. Raises TlsFailed."""
    found = _open(store, _TRUST, None)
    if not found.certificates:
        raise _failed(store, _TRUST, "it holds no certificate", "A trust store has those of the authorities to trust.")
    return "".join(block.text for block in found.certificates)


def client_identity(tls: TlsSettings) -> ClientIdentity | None:
    """Certificate and key to show to brokers, None where there is no key store. Raises TlsFailed."""
    store = tls.key_store
    if store is None:
        return None
    found = _open(store, _KEY, tls.key_password)
    key, key_store = found.key, store
    if tls.key_file is not None:
        key, key_store = _open(tls.key_file, _KEY, tls.key_password).key, tls.key_file
    if key is None:
        raise _failed(
            key_store, _KEY, "it holds no private key", "A key store has the client's certificate and its key."
        )
    if not found.chain:
        raise _failed(store, _KEY, "it holds no certificate", "A key store has the client's certificate and its key.")
    password = tls.key_password or store.password
    if key.encrypted and password is None:
        raise _failed(key_store, _KEY, "its private key is encrypted", "Set ssl.key.password.")
    return ClientIdentity("".join(block.text for block in found.chain), key.text, password if key.encrypted else None)


class _Content(NamedTuple):
    """certificates: all of them. chain: those of the key, its own first."""

    certificates: tuple[pem.PemBlock, ...]
    chain: tuple[pem.PemBlock, ...] = ()
    key: pem.PemBlock | None = None


def _open(store: Store, role: _Role, key_password: Secret | None) -> _Content:
    data = _read(store, role)
    kind = _kind(data)
    if kind == "JCEKS":
        raise _failed(store, role, "it is a JCEKS store, which can't be read", _CONVERT)
    if kind is None:
        raise _failed(store, role, f"it is no {PEM}, {JKS} or {PKCS12} store", "Is it the right file?")
    # Java takes JKS and PKCS12 for each other too (keystore.type.compat).
    if (kind == PEM) != (store.kind == PEM):
        raise _failed(store, role, f"it is {kind}, and {store.kind} was said", f"Set {role.prefix}.type={kind}.")
    try:
        if kind == PEM:
            text = data.decode("latin-1")
            blocks = pem.certificates(text)
            return _Content(blocks, blocks, pem.private_key(text))
        if kind == JKS:
            return _jks(data, store, role, key_password)
        return _pkcs12(data, store, role)
    except jks.JksPasswordError as error:
        raise _failed(store, role, str(error), f"Check {role.prefix}.password and ssl.key.password.") from None
    except ValueError as error:
        raise _failed(store, role, str(error), "Copy it anew from where it was made.") from None


def _read(store: Store, role: _Role) -> bytes:
    if store.inline is not None:
        return store.inline.reveal().encode("utf-8")
    if store.path is None:
        raise _failed(store, role, "it has no path", f"Set {role.prefix}.location.")
    try:
        return store.path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "it can't be read").lower()
        raise _failed(store, role, reason, f"Check {role.prefix}.location and the file's mode.") from None


def _kind(data: bytes) -> str | None:
    if data.startswith(jks.MAGIC):
        return JKS
    if data.startswith(_JCEKS_MAGIC):
        return "JCEKS"
    if b"-----BEGIN " in data:
        return PEM
    # A PKCS#12 file is a DER sequence that begins with the integer 3; a bare certificate begins with another sequence.
    return PKCS12 if data[:1] == b"\x30" and b"\x02\x01\x03" in data[:8] else None


def _jks(data: bytes, store: Store, role: _Role, key_password: Secret | None) -> _Content:
    password = store.password.reveal() if store.password else None
    found = jks.read_jks(data, password)
    if role is _TRUST or not found.keys:
        trusted = (*found.trusted, *(key.chain[0] for key in found.keys if key.chain))
        return _Content(tuple(pem.encode("CERTIFICATE", der) for der in trusted))
    entry = found.keys[0]
    opens = key_password or store.password
    if opens is None:
        raise _failed(store, role, "its private key is protected", f"Set {role.prefix}.password.")
    key = pem.encode("PRIVATE KEY", jks.unprotect(entry, opens.reveal()))
    chain = tuple(pem.encode("CERTIFICATE", der) for der in entry.chain)
    return _Content(chain, chain, key)


def _pkcs12(data: bytes, store: Store, role: _Role) -> _Content:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

    try:
        found = pkcs12.load_pkcs12(data, store.password.reveal().encode("utf-8") if store.password else None)
    except ValueError:
        words = "the password is wrong, or the store is damaged" if store.password else "it needs a password"
        raise _failed(store, role, words, f"Set {role.prefix}.password as the store was made with.") from None
    held = [entry.certificate for entry in ([found.cert] if found.cert else []) + list(found.additional_certs)]
    blocks = tuple(pem.encode("CERTIFICATE", certificate.public_bytes(Encoding.DER)) for certificate in held)
    if found.key is None:
        return _Content(blocks)
    key = found.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return _Content(blocks, blocks, pem.encode("PRIVATE KEY", key))


def _failed(store: Store, role: _Role, what: str, remedy: str) -> TlsFailed:
    where = f"{role.words} {store.path}" if store.path else f"{role.words} given inline"
    return TlsFailed(Failure("TLS_FAILED", f"{where}: {what}", remedy))
