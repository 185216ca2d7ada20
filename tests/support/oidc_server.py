"""A strict identity provider on loopback. It issues tokens for client credentials with a secret or an assertion, and
for assertions as the grant (RFC 6749, RFC 7523), and publishes its keys as a JWKS (RFC 7517).
"""

import base64
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jwt
from joserfc.jwk import RSAKey

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey


class Refused(Exception):
    """The provider refuses a request. error: the error code of RFC 6749, section 5.2."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error


@dataclass
class OidcServer:
    """The provider's configuration, and the requests that it got.

    secrets: client -> its secret. keys: issuer of assertions -> its public key. audience, subject, life: of the tokens
    that it issues, life in seconds. asked: the forms of the token requests.
    """

    secrets: dict[str, str] = field(default_factory=dict)
    keys: dict[str, PublicKey] = field(default_factory=dict)
    audience: str = "kafka"
    life: int = 60
    subject: str = "alice"
    url: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    is_down: bool = False
    _signing: list[rsa.RSAPrivateKey] = field(default_factory=list)

    @property
    def token_url(self) -> str:
        """The URL of the token endpoint."""
        return f"{self.url}/token"

    @property
    def jwks_url(self) -> str:
        """The URL of the public keys for brokers."""
        return f"{self.url}/jwks"

    def rotate(self) -> None:
        """Replace the signing key by a new one."""
        self._signing.append(rsa.generate_private_key(65537, 2048))

    def issue(self, **claims: Any) -> str:
        """Return a new signed token. claims: they replace or extend the usual claims."""
        now = int(time.time())
        usual = {"iss": self.url, "sub": self.subject, "aud": self.audience, "iat": now, "exp": now + self.life}
        return self.signed(self._signing[-1], usual | claims)

    def signed(self, key: rsa.RSAPrivateKey, claims: Mapping[str, Any]) -> str:
        """Return a token with the current key's id that is signed by `key`; if that is not the current key, the token
        is a forgery.
        """
        return jwt.encode({"alg": "RS256", "kid": f"key-{len(self._signing)}"}, dict(claims), RSAKey.import_key(key))

    def jwks(self) -> dict[str, Any]:
        """Return the current public key as a JWKS."""
        about = {"use": "sig", "alg": "RS256", "kid": f"key-{len(self._signing)}"}
        return {"keys": [RSAKey.import_key(self._signing[-1]).as_dict(private=False) | about]}

    def token(self, authorization: str | None, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the answer of the token endpoint to a form as JSON. authorization: the header; None if there is none.
        Raises Refused if the client or its form is not accepted.
        """
        if form.get("grant_type") == JWT_BEARER:
            self._check_assertion(form.get("assertion", ""), "invalid_grant")
        elif form.get("grant_type") != "client_credentials":
            raise Refused("unsupported_grant_type", "not supported")
        elif form.get("client_assertion_type") == ASSERTION_TYPE:
            self._check_assertion(form.get("client_assertion", ""), "invalid_client")
        else:
            given = base64.b64decode((authorization or "").removeprefix("Basic ")).decode()
            client, _, secret = given.partition(":")
            if not secret or self.secrets.get(client) != secret:
                raise Refused("invalid_client", "unknown client or wrong secret")
        claims = {claim: form[name] for name, claim in (("scope", "scope"), ("audience", "aud")) if name in form}
        return {"access_token": self.issue(**claims), "token_type": "Bearer", "expires_in": self.life}

    def _check_assertion(self, token: str, error: str) -> None:
        try:
            header, claims = (json.loads(_decoded(part)) for part in token.split(".")[:2])
            signature = _decoded(token.split(".")[2])
        except (ValueError, IndexError):
            raise Refused(error, "not a JWT") from None
        key = self.keys.get(claims.get("iss", ""))
        if key is None:
            raise Refused(error, "unknown issuer of the assertion")
        data = token.rpartition(".")[0].encode()
        try:
            if isinstance(key, rsa.RSAPublicKey) and header["alg"] == "RS256":
                key.verify(signature, data, padding.PKCS1v15(), SHA256())
            elif isinstance(key, ec.EllipticCurvePublicKey) and header["alg"] == "ES256" and len(signature) == 64:
                r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
                key.verify(encode_dss_signature(r, s), data, ec.ECDSA(SHA256()))
            else:
                raise InvalidSignature
        except InvalidSignature:
            raise Refused(error, "the assertion's signature is wrong") from None
        now = time.time()
        if claims.get("aud") != self.token_url:
            raise Refused(error, "the assertion is for another audience")
        if not claims.get("nbf", 0) <= now < claims["exp"]:
            raise Refused(error, "the assertion is expired")


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@contextmanager
def oidc_server() -> Iterator[OidcServer]:
    """Run a provider with a signing key on a free port."""
    provider = OidcServer()
    provider.rotate()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, provider.jwks())

        def do_POST(self) -> None:
            form = {
                name: values[0]
                for name, values in parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()
            }
            provider.asked.append(form)
            if provider.is_down:
                self._answer(503, {"error": "temporarily_unavailable"})
                return
            try:
                self._answer(200, provider.token(self.headers["Authorization"], form))
            except Refused as refused:
                self._answer(401, {"error": refused.error, "error_description": str(refused)})

        def _answer(self, status: int, content: Mapping[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
