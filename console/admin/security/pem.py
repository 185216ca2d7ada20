"""PEM blocks in text, as leniently as Kafka's DefaultSslEngineFactory reads them: blanks count for nothing."""

from __future__ import annotations

import binascii
import re
from dataclasses import dataclass, field

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_CERTIFICATES = ("CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE")
_KEYS = ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY")


@dataclass(frozen=True, slots=True)
class PemBlock:
    """One block: its label, and its whole text with line ends where OpenSSL wants them."""

    label: str
    text: str = field(repr=False)

    @property
    def encrypted(self) -> bool:
        """Whether a key needs a password, in PKCS#8 or in the older way."""
        return self.label.startswith("ENCRYPTED") or "Proc-Type: 4,ENCRYPTED" in self.text


def certificates(text: str) -> tuple[PemBlock, ...]:
    """All certificates, in order. Raises ValueError for one that is not base64."""
    return tuple(_block(label, body) for label, body in _BLOCK.findall(text) if label in _CERTIFICATES)


def private_key(text: str) -> PemBlock | None:
    """The first private key, if there is one. Raises ValueError where it is not base64."""
    return next((_block(label, body) for label, body in _BLOCK.findall(text) if label in _KEYS), None)


def encode(label: str, der: bytes) -> PemBlock:
    """A block of these bytes."""
    return _block(label, binascii.b2a_base64(der, newline=False).decode("ascii"))


def _block(label: str, body: str) -> PemBlock:
    if ":" in body:
        # The older encryption has headers, and only their lines tell them apart.
        lines = body.strip()
    else:
        packed = "".join(body.split())
        try:
            binascii.a2b_base64(packed, strict_mode=True)
        except binascii.Error:
            raise ValueError(f"the {label.lower()} in it is damaged: not base64") from None
        lines = "\n".join(packed[at : at + 64] for at in range(0, len(packed), 64))
    return PemBlock(label, f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")
