"""Tests of signed assertions (JWT) with all types of keys: they verify without the library that signed them; keys that
can't sign give an error.
"""

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from console.admin.errors import AuthenticationFailed
from console.admin.oauth import assertion
from console.admin.settings import SaslSettings
from console.model.secret import Secret
from tests.support.patience import PATIENCE

PASSPHRASE = "open sesame"
RSA, EC = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, password: str | None = None) -> bytes:
    protection = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection)


def settings(folder: Path, key: bytes, password: str | None = None, **options: str) -> SaslSettings:
    file = folder / "key.pem"
    file.write_bytes(key)
    given = {"assertion.private.key.file": str(file)} | {f"assertion.{name}": text for name, text in options.items()}
    return SaslSettings("OAUTHBEARER", "kac", Secret(password) if password else None, given)


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_what_is_signed_is_verified_without_the_library_that_signs(tmp_path: Path) -> None:
    text = assertion(settings(tmp_path, pem(RSA, PASSPHRASE), PASSPHRASE))
    signed, _, signature = text.rpartition(".")
    RSA.public_key().verify(decoded(signature), signed.encode(), padding.PKCS1v15(), SHA256())
    text = assertion(settings(tmp_path, pem(EC), algorithm="ES256"))
    signed, _, signature = text.rpartition(".")
    assert len(decoded(signature)) == 64
    r, s = (int.from_bytes(half, "big") for half in (decoded(signature)[:32], decoded(signature)[32:]))
    EC.public_key().verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(SHA256()))


def test_header_and_claims_are_those_of_the_template_and_of_the_settings(tmp_path: Path) -> None:
    template = tmp_path / "template.json"
    header, payload = {"kid": "k", "alg": "none", "of-ours": [1]}, {"iss": "template", "sub": "s", "x": "\ud800"}
    template.write_text(json.dumps({"header": header, "payload": payload}))
    options = {"template.file": str(template), "claim.iss": "kac", "claim.exp.seconds": "60", "claim.nbf.seconds": "5"}
    header, claims = (
        json.loads(decoded(part)) for part in assertion(settings(tmp_path, pem(RSA), **options)).split(".")[:2]
    )
    assert header == {"kid": "k", "alg": "RS256", "typ": "JWT", "of-ours": [1]}
    assert (claims["iss"], claims["sub"], claims["x"]) == ("kac", "s", "\ud800")
    assert (claims["exp"] - claims["iat"], claims["iat"] - claims["nbf"]) == (60, 5)


@pytest.mark.parametrize(
    ("key", "password", "algorithm", "why"),
    [
        (pem(RSA), None, "ES256", "is not one for ES256"),
        (pem(EC), None, "RS256", "is not one for RS256"),
        (pem(ec.generate_private_key(ec.SECP384R1())), None, "ES256", "is not one for ES256"),
        (pem(RSA), None, "HS256", "is not one for HS256"),
        (pem(RSA, PASSPHRASE), None, "RS256", "is encrypted, and its passphrase is missing"),
        (pem(RSA, PASSPHRASE), "open barley", "RS256", "does not open with this passphrase"),
        (
            RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
            None,
            "RS256",
            "is not a private key in PEM",
        ),
        (
            b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            None,
            "RS256",
            "is not a private key in PEM",
        ),
        (b"", PASSPHRASE, "RS256", "is not a private key in PEM"),
    ],
)
def test_a_key_that_signs_nothing(tmp_path: Path, key: bytes, password: str | None, algorithm: str, why: str) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        assertion(settings(tmp_path, key, password, algorithm=algorithm))
    text = f"{caught.value.failure} {caught.value.failure.remedy}"
    assert f"the assertion's key {tmp_path / 'key.pem'} {why}" in text
    assert "\n" not in text
    assert "barley" not in text


@pytest.mark.parametrize("header", [{"kid": 5}, {"crit": 5}, {"crit": ["x"]}, {"x5c": "a"}])
def test_a_header_that_no_jwt_has_is_the_template_s(tmp_path: Path, header: object) -> None:
    template = tmp_path / "template.json"
    template.write_text(json.dumps({"header": header}))
    with pytest.raises(AuthenticationFailed, match=r"the assertion's template .*template\.json makes no JWT: "):
        assertion(settings(tmp_path, pem(RSA), **{"template.file": str(template)}))


def test_a_short_key_is_the_provider_s_to_refuse(tmp_path: Path) -> None:
    """kac signs with a key that is too short for today's providers, and writes no warning to standard error, which may
    be the screen.
    """
    short = rsa.generate_private_key(65537, 1024)
    sasl = settings(tmp_path, pem(short))
    code = (
        "import sys\nfrom console.admin.oauth import assertion\nfrom console.admin.settings import SaslSettings\n"
        "print(assertion(SaslSettings('OAUTHBEARER', options={'assertion.private.key.file': sys.argv[1]})))\n"
    )
    command = [sys.executable, "-c", code, sasl.options["assertion.private.key.file"]]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stderr == ""
    signed, _, signature = done.stdout.strip().rpartition(".")
    short.public_key().verify(decoded(signature), signed.encode(), padding.PKCS1v15(), SHA256())
