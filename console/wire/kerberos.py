"""SASL/GSSAPI (RFC 4752) with Kerberos. It calls the host's libgssapi_krb5 (RFC 2744, MIT) and needs no Python
package.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Generator
from ctypes import CDLL, POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p, cast, string_at
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from console.wire.sasl import KerberosFailed, NotTheBroker, SaslStep

LIBRARIES = ("libgssapi_krb5.so.2", "libgssapi_krb5.dylib")
PACKAGES = "Debian: libgssapi-krb5-2; Red Hat: krb5-libs"
"""The packages of operating systems that contain libgssapi_krb5, for messages."""

_CALLING, _ROUTINE = 0xFF000000, 0x00FF0000
"""Masks of the errors in a major status; the other bits are hints."""
_CONTINUE_NEEDED = 1
_MUTUAL, _SEQUENCE, _INTEGRITY = 2, 8, 32
_INITIATE = 1
_MECHANISM_CODE = 2
_NO_LAYER = 1


class NoLibrary(Exception):
    """The host has no libgssapi_krb5, or one that is too old. The exception's text has the library names that were
    tried.
    """


class Keys(NamedTuple):
    """The source of the Kerberos tickets. If all fields are None, the tickets are those of the default principal in
    the default ticket cache (KRB5CCNAME).
    """

    principal: str | None = None
    """``name@REALM``; None for the default principal."""
    keytab: str | None = None
    """The path of a file with the principal's keys, from which tickets are obtained and renewed; None to use the
    tickets in a cache.
    """
    cache: str | None = None
    """The path of a ticket cache; None for the default cache."""


class _Oid(Structure):
    _fields_ = (("length", c_uint32), ("elements", c_char_p))


class _Buffer(Structure):
    _fields_ = (("length", c_size_t), ("value", c_void_p))


class _Pair(Structure):
    _fields_ = (("key", c_char_p), ("value", c_char_p))


class _Store(Structure):
    _fields_ = (("count", c_uint32), ("elements", POINTER(_Pair)))


def _oid(elements: bytes) -> _Oid:
    return _Oid(len(elements), elements)


_KERBEROS = _oid(bytes.fromhex("2a864886f712010202"))
_HOST_BASED = _oid(bytes.fromhex("2a864886f71201020104"))
_USER_NAME = _oid(bytes.fromhex("2a864886f71201020101"))


@cache
def _library() -> CDLL:
    """Return the host's library. Raises NoLibrary."""
    for name in LIBRARIES:
        try:
            found = CDLL(name)
            acquire = found.gss_acquire_cred_from
        except (OSError, AttributeError):
            continue
        out, word = c_void_p, c_uint32
        # Declare the type of every argument: a pointer may be wider than an int.
        acquire.argtypes = (out, c_void_p, word, c_void_p, c_int, out, out, out, out)
        found.gss_import_name.argtypes = (out, out, out, out)
        found.gss_init_sec_context.argtypes = (
            out, c_void_p, out, c_void_p, out, word, word, c_void_p, out, out, out, out, out,
        )  # fmt: skip
        found.gss_wrap.argtypes = (out, c_void_p, c_int, word, out, out, out)
        found.gss_unwrap.argtypes = (out, c_void_p, out, out, out, out)
        found.gss_display_status.argtypes = (out, word, c_int, out, out, out)
        for name_of in ("gss_release_buffer", "gss_release_name", "gss_release_cred"):
            getattr(found, name_of).argtypes = (out, out)
        found.gss_delete_sec_context.argtypes = (out, out, out)
        return found
    raise NoLibrary(" and ".join(LIBRARIES))


def require_library() -> None:
    """Raise NoLibrary if the host's library is missing or too old."""
    _library()


class KerberosAuthenticator:
    """The client's side of one SASL exchange with ``service@host``: mutual authentication, without encryption by
    Kerberos, because TLS encrypts.
    """

    def __init__(self, service: str, host: str, keys: Keys) -> None:
        self._service, self._host, self._keys = service, host, keys
        self._exchange = self._run()

    async def step(self, answer: bytes | None) -> SaslStep:
        """Return the next token for the broker; None at the end of the exchange. The library computes it in another
        thread, because it connects to the KDC.

        Raises KerberosFailed, NoLibrary, NotTheBroker.
        """
        try:
            token = await asyncio.to_thread(self._exchange.send, answer)
        except KerberosFailed as error:
            keys = self._keys
            if keys.keytab is None:
                raise
            # Name the keytab: the library's text names only its cache.
            raise KerberosFailed(f"{error} (keytab {keys.keytab}, principal {keys.principal})") from None
        if token is None:
            self._exchange.close()
        return token

    def shown(self) -> str:
        """Return a line about the ticket, without secrets: the principal, if one is configured, and the service."""
        who = f"{self._keys.principal}'s ticket" if self._keys.principal else "the ticket"
        return f"{who} was for {self._service}/{self._host}"

    def is_over(self) -> bool:
        """Return False: an expired ticket never gets this far, because the library refuses it."""
        return False

    def _run(self) -> Generator[SaslStep, bytes | None, None]:
        context, name, credentials = c_void_p(), c_void_p(), c_void_p()
        library, minor = _library(), c_uint32()
        try:
            name = _name(f"{self._service}@{self._host}", _HOST_BASED)
            credentials = _credentials(self._keys)
            answer: bytes | None = None
            while True:
                token, is_complete = _initiate(context, name, credentials, answer)
                if is_complete and not token and answer is not None:
                    break
                answer = yield token
                if is_complete:
                    break
            # An empty message requests the security layers, unless the server's last token had them already (RFC 4752).
            offer = (yield b"") if not token else answer
            layers = _through(library.gss_unwrap, context, offer or b"")
            if len(layers) != 4 or not layers[0] & _NO_LAYER:
                raise NotTheBroker("it wants a security layer of SASL, which Kafka does not have")
            yield _through(library.gss_wrap, context, bytes((_NO_LAYER, 0, 0, 0)))
            yield None
        finally:
            library.gss_delete_sec_context(byref(minor), byref(context), None)
            library.gss_release_name(byref(minor), byref(name))
            library.gss_release_cred(byref(minor), byref(credentials))


def _name(text: str, kind: _Oid) -> c_void_p:
    name, minor = c_void_p(), c_uint32()
    given = _buffer(text.encode())
    _check(_library().gss_import_name(byref(minor), byref(given), byref(kind), byref(name)), minor)
    return name


def _credentials(keys: Keys) -> c_void_p:
    """Return the library's handle of the credentials for these keys; a null pointer means the default credentials.
    Raises KerberosFailed.
    """
    if keys == Keys():
        return c_void_p()
    pairs = []
    if keys.keytab is not None:
        try:
            Path(keys.keytab).open("rb").close()
        except OSError as error:
            raise KerberosFailed(f"keytab not readable: {error.strerror}") from None
        # Keep tickets from a keytab in memory, in a cache for each keytab and principal: a cache on disk may be another
        # principal's.
        identity = hashlib.sha256(repr(keys).encode()).hexdigest()[:16]
        pairs = [(b"client_keytab", f"FILE:{keys.keytab}".encode()), (b"ccache", f"MEMORY:kac-{identity}".encode())]
    elif keys.cache is not None:
        pairs = [(b"ccache", f"FILE:{keys.cache}".encode())]
    store = _Store(len(pairs), (_Pair * len(pairs))(*(_Pair(*pair) for pair in pairs)))
    library, minor, credentials = _library(), c_uint32(), c_void_p()
    name = c_void_p() if keys.principal is None else _name(keys.principal, _USER_NAME)
    try:
        major = library.gss_acquire_cred_from(
            byref(minor), name, 0, None, _INITIATE, byref(store) if pairs else None, byref(credentials), None, None
        )
        _check(major, minor)
    finally:
        library.gss_release_name(byref(c_uint32()), byref(name))
    return credentials


def _initiate(context: c_void_p, name: c_void_p, credentials: c_void_p, answer: bytes | None) -> tuple[bytes, bool]:
    """Continue the exchange. Return the next token for the server, and whether the security context is established on
    this side. answer: the server's last token; None at the beginning. Raises KerberosFailed.
    """
    library, minor = _library(), c_uint32()
    given, made = _buffer(answer or b""), _Buffer()
    major = library.gss_init_sec_context(
        byref(minor), credentials, byref(context), name, byref(_KERBEROS), _MUTUAL | _SEQUENCE | _INTEGRITY, 0, None,
        byref(given), None, byref(made), None, None,
    )  # fmt: skip
    token = _taken(made)
    _check(major, minor)
    return token, not major & _CONTINUE_NEEDED


def _through(function: Any, context: c_void_p, message: bytes) -> bytes:
    """Pass a message to the library's function for wrapping (without encryption) or unwrapping, and return the result.
    Raises KerberosFailed.
    """
    minor, given, made = c_uint32(), _buffer(message), _Buffer()
    if function is _library().gss_wrap:
        major = function(byref(minor), context, 0, 0, byref(given), None, byref(made))
    else:
        major = function(byref(minor), context, byref(given), byref(made), None, None)
    result = _taken(made)
    _check(major, minor)
    return result


def _buffer(data: bytes) -> _Buffer:
    buffer = _Buffer(len(data), cast(c_char_p(data), c_void_p))
    buffer.kept = data
    return buffer


def _taken(buffer: _Buffer) -> bytes:
    """Copy the bytes of a buffer that the library allocated, and free the buffer."""
    data = string_at(buffer.value, buffer.length) if buffer.value else b""
    _library().gss_release_buffer(byref(c_uint32()), byref(buffer))
    return data


def _check(major: int, minor: c_uint32) -> None:
    """Raise KerberosFailed if the library returned an error. The exception's text is the mechanism's own message,
    which may contain the names of ticket caches, realms and principals. major, minor: the status codes of RFC
    2744.
    """
    major &= 0xFFFFFFFF
    if not major & (_CALLING | _ROUTINE):
        return
    texts = [_status(minor.value, _MECHANISM_CODE)] if minor.value else []
    raise KerberosFailed(" ".join(filter(None, texts)) or _status(major, 1) or f"status {major:#x}")


def _status(code: int, kind: int) -> str:
    more, minor, made = c_uint32(), c_uint32(), _Buffer()
    _library().gss_display_status(byref(minor), code, kind, byref(_KERBEROS), byref(more), byref(made))
    text = _taken(made).decode("utf-8", "replace")
    return "".join(character for character in text if character.isprintable())
