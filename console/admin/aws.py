"""Logins to Amazon MSK by IAM. A login is a signed request for `kafka-cluster:Connect` (SigV4), sent by the SASL
mechanism AWS_MSK_IAM or as a token of OAUTHBEARER. `console.admin.aws_keys` has the credentials and the signature.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from console.admin.aws_keys import AwsKeys, AwsSource, Role, signed_query
from console.admin.errors import Unreachable
from console.admin.jwt import base64url, no_token
from console.model.numbers import json_text
from console.wire.sasl import SaslStep

USER_AGENT = "kac"

_REGION = re.compile(
    r"\A[a-z0-9.-]+\.kafka(?:-serverless)?\.([a-z]{2,8}(?:-[a-z]{1,16}){1,3}-\d{1,2})\.amazonaws\.com(?:\.cn)?"
)
"""Matches a broker's host name in AWS; its group is the region. Use it on the whole name, because a host outside AWS
may have such a name as a part of its own.
"""


def mechanism_payload(keys: AwsKeys, region: str, host: str) -> bytes:
    """Return the only message of the mechanism AWS_MSK_IAM, as aws-msk-iam-auth sends it (version 2020_10_22)."""
    query = parse_qsl(signed_query(keys, region, host))
    message = {"version": "2020_10_22", "host": host, "user-agent": USER_AGENT}
    message |= {name.lower(): value for name, value in query}
    return json_text(message).encode("ascii")


def bearer_token(keys: AwsKeys, region: str) -> str:
    """Return a token for OAUTHBEARER: a presigned URL in base64, as aws-msk-iam-sasl-signer makes it."""
    host = f"kafka.{region}.amazonaws.com"
    query = signed_query(keys, region, host)
    return base64url(f"https://{host}/?{query}&User-Agent={USER_AGENT}".encode("ascii"))


class AwsLogin:
    """Creates the signed message or token of each login, with the credentials that are current then."""

    def __init__(self, profile: str | None, limit: float, role: Role | None = None) -> None:
        """Set the source of the credentials; nothing is read yet.

        Args:
            profile: the name of a profile in AWS' files; None to search for credentials in the order of AWS' own tools.
            limit: the maximum seconds for getting credentials.
            role: a role to assume with these credentials; None to use them directly.
        """
        self._source, self._limit = AwsSource(profile, limit, role), limit
        self._signed: tuple[AwsKeys, str] | None = None

    async def payload(self, host: str) -> bytes:
        """Return the message of AWS_MSK_IAM for the broker with this host name. Raises AdminError if there are no
        credentials or no region.
        """
        return mechanism_payload(*await self._present(host), host)

    async def token(self, host: str) -> str:
        """Return a token of OAUTHBEARER for the broker with this host name. Raises AdminError if there are no
        credentials or no region.
        """
        return bearer_token(*await self._present(host))

    def shown(self) -> str:
        """Return a line with the access key of the last signature, its source, and the region; ``""`` before the first
        signature.
        """
        if self._signed is None:
            return ""
        keys, region = self._signed
        return f"signed with access key {keys.access_key} of {keys.source}, for region {region}"

    async def _present(self, host: str) -> tuple[AwsKeys, str]:
        """Return the current credentials, and the region for the broker with this host name. Raises AdminError."""
        try:
            async with asyncio.timeout(self._limit):
                self._signed = await asyncio.to_thread(self._found, host)
        except TimeoutError:
            message = f"no AWS credentials within {self._limit:g} s"
            remedy = "Check the metadata service of the container or the instance, or credential_process."
            raise Unreachable.of(message, remedy) from None
        return self._signed

    def _found(self, host: str) -> tuple[AwsKeys, str]:
        """Return the current credentials, and the region: the region in the host's name or, if the name has none,
        the region of AWS' settings. Blocks. Raises AdminError if there are no credentials or no region.
        """
        keys = self._source.keys()
        found = _REGION.fullmatch(host.lower().removesuffix("."))
        region = found[1] if found else self._source.region()
        if not region:
            raise no_token(f"the AWS region of {host} is unknown", "Set AWS_REGION, or region in the profile.")
        return keys, region


def role_in(options: Mapping[str, str]) -> Role | None:
    """Return the role that the options of the SASL settings name; None if they name no role."""
    arn, *others = (options.get(f"aws.role.{name}") for name in ("arn", "session", "external.id", "region"))
    return None if arn is None else Role(arn, *others)


class IamAuthenticator:
    """One SASL exchange by AWS_MSK_IAM with the broker of this host name."""

    def __init__(self, login: AwsLogin, host: str) -> None:
        self._login, self._host = login, host
        self._sent = False

    async def step(self, _answer: bytes | None) -> SaslStep:
        """Return the message of the mechanism at the first call, then None."""
        if self._sent:
            return None
        self._sent = True
        return await self._login.payload(self._host)

    def shown(self) -> str:
        """Return a line about the credentials without secrets: the access key, its source, and the region."""
        return self._login.shown()

    def is_over(self) -> bool:
        """Return False: the credentials of a login never expire before their use, because each login has a new
        signature, which is valid for 15 minutes.
        """
        return False


class AwsTokens:
    """The source of OAUTHBEARER tokens for one broker. Each login gets a new token."""

    def __init__(self, login: AwsLogin, host: str) -> None:
        self._login, self._host = login, host

    async def token(self) -> str:
        """Return a new token. Raises AdminError if there are no credentials or no region."""
        return await self._login.token(self._host)

    def is_over(self) -> bool:
        """Return False: a token never expires before its use, because each login gets a new one."""
        return False

    def extensions(self) -> Mapping[str, str]:
        """Return an empty mapping: no SASL extensions are sent."""
        return {}

    def shown(self) -> str:
        """Return a line about the credentials without secrets: the access key, its source, and the region."""
        return self._login.shown()
