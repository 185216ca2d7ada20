"""IAM logins of Amazon MSK: a signed request for `kafka-cluster:Connect` (SigV4), as the mechanism AWS_MSK_IAM or as a
token of OAUTHBEARER. Where the credentials come from: `console.admin.aws_keys`."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

from console.admin.aws_keys import ALGORITHM, Ask, AwsKeys, Role, keys_of, of_role, region_of, signature
from console.admin.errors import Unreachable
from console.admin.jwt import base64url, no_token
from console.model.failure import Failure
from console.model.numbers import json_text
from console.wire.sasl import SaslStep

SERVICE, ACTION = "kafka-cluster", "kafka-cluster:Connect"
EXPIRES_SECONDS = 900
USER_AGENT = "kac"
RENEWED_BEFORE = 300.0
"""Seconds before their end by which temporary credentials are asked for again."""

_REGION = re.compile(
    r"\A[a-z0-9.-]+\.kafka(?:-serverless)?\.([a-z]{2,8}(?:-[a-z]{1,16}){1,3}-\d{1,2})\.amazonaws\.com(?:\.cn)?"
)
"""Of a whole host name: what stands within another one says nothing."""


def signed_query(keys: AwsKeys, region: str, host: str, now: float) -> dict[str, str]:
    """Return the query of a presigned request to this host (SigV4), its signature last. now: seconds since 1970."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/{SERVICE}/aws4_request"
    query = {
        "Action": ACTION,
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{keys.access_key}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(EXPIRES_SECONDS),
        **({"X-Amz-Security-Token": keys.token.reveal()} if keys.token is not None else {}),
        "X-Amz-SignedHeaders": "host",
    }
    request = ("GET", "/", _encoded(query), f"host:{host}", "", "host", hashlib.sha256(b"").hexdigest())
    return {**query, "X-Amz-Signature": signature(keys.secret.reveal(), stamp, scope, "\n".join(request))}


def mechanism_payload(keys: AwsKeys, region: str, host: str, now: float) -> bytes:
    """Return the one message of the mechanism AWS_MSK_IAM (aws-msk-iam-auth, version 2020_10_22)."""
    query = signed_query(keys, region, host, now)
    message = {"version": "2020_10_22", "host": host, "user-agent": USER_AGENT}
    message |= {name.lower(): value for name, value in query.items()}
    return json_text(message).encode("ascii")


def bearer_token(keys: AwsKeys, region: str, now: float) -> str:
    """Return the token of OAUTHBEARER: the presigned URL in base 64 (aws-msk-iam-sasl-signer)."""
    host = f"kafka.{region}.amazonaws.com"
    query = signed_query(keys, region, host, now)
    return base64url(f"https://{host}/?{_encoded(query)}&User-Agent={USER_AGENT}".encode("ascii"))


def _encoded(query: Mapping[str, str]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='-_.~')}" for name, value in query.items())


class AwsLogin:
    """Signs each login with the present credentials; temporary ones are kept until shortly before their end.

    profile: of AWS' files, None for AWS' own order of places. limit: seconds to get credentials. role: a role that is
    assumed with these, and the region of the token service that is asked.
    """

    def __init__(
        self, profile: str | None, limit: float, ask: Ask | None = None, role: tuple[Role, str | None] | None = None
    ) -> None:
        self._ask = ask or Ask()
        self._profile, self._limit = profile, limit
        self._role = role
        self._lock = asyncio.Lock()
        self._keys: AwsKeys | None = None
        self._region = ""

    async def payload(self, host: str) -> bytes:
        """Return the message of AWS_MSK_IAM for a broker. Raises AdminError."""
        keys = await self._present()
        self._region = self._region_for(host)
        return mechanism_payload(keys, self._region, host, time.time())

    async def token(self, host: str) -> str:
        """Return a token of OAUTHBEARER for a broker. Raises AdminError."""
        keys = await self._present()
        self._region = self._region_for(host)
        return bearer_token(keys, self._region, time.time())

    def shown(self) -> str:
        """Return which access key signed, where it comes from, and for which region."""
        if self._keys is None:
            return ""
        return f"signed with access key {self._keys.access_key} of {self._keys.source}, for region {self._region}"

    def _region_for(self, host: str) -> str:
        found = _REGION.fullmatch(host.lower().removesuffix("."))
        region = found[1] if found else region_of(self._ask, self._profile)
        if not region:
            raise no_token(f"the AWS region of {host} is unknown", "Set AWS_REGION, or region in the profile.")
        return region

    async def _present(self) -> AwsKeys:
        async with self._lock:
            keys = self._keys
            if keys is None or keys.ends is None or keys.ends - time.time() < RENEWED_BEFORE:
                try:
                    async with asyncio.timeout(self._limit):
                        keys = await asyncio.to_thread(self._found)
                except TimeoutError:
                    message = f"no AWS credentials within {self._limit:g} s"
                    remedy = "Check the metadata service of the container or the instance, or credential_process."
                    raise Unreachable(Failure("UNREACHABLE", message, remedy)) from None
                self._keys = keys
            return keys

    def _found(self) -> AwsKeys:
        """Look for credentials. Blocks. Raises AdminError."""
        keys = keys_of(self._ask, self._profile, self._limit)
        if self._role is None:
            return keys
        role, region = self._role
        return of_role(role, keys, region or region_of(self._ask, self._profile), self._ask, self._limit)


def role_in(options: Mapping[str, str]) -> tuple[Role, str | None] | None:
    """Return the role of SASL's options, and the region that they name; None without one."""
    arn = options.get("aws.role.arn")
    if arn is None:
        return None
    role = Role(arn, options.get("aws.role.session"), external_id=options.get("aws.role.external.id"))
    return role, options.get("aws.role.region")


class IamAuthenticator:
    """One exchange of AWS_MSK_IAM with the broker of this host name."""

    def __init__(self, login: AwsLogin, host: str) -> None:
        self._login, self._host = login, host
        self._sent = False

    async def step(self, _answer: bytes | None) -> SaslStep:
        """Return the one message, then None."""
        if self._sent:
            return None
        self._sent = True
        return await self._login.payload(self._host)

    def shown(self) -> str:
        """Return which access key signed."""
        return self._login.shown()

    def is_over(self) -> bool:
        """Return whether it ended: each login has its own signature, for 15 minutes."""
        return False


class AwsTokens:
    """Tokens of OAUTHBEARER for one broker, a new one for each login."""

    def __init__(self, login: AwsLogin, host: str) -> None:
        self._login, self._host = login, host

    async def token(self) -> str:
        """Return a new token. Raises AdminError."""
        return await self._login.token(self._host)

    def is_over(self) -> bool:
        """Return False: each token is a new one."""
        return False

    def extensions(self) -> Mapping[str, str]:
        """Return none."""
        return {}

    def shown(self) -> str:
        """Return which access key signed."""
        return self._login.shown()
