"""AWS credentials from where AWS' own tools take them: the environment, the web identity of a pod (IRSA), a profile's
files, a command, the metadata service of a container or of an instance (IMDSv2)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from console.admin.jwt import no_token
from console.model.numbers import json_text
from console.model.secret import Secret
from console.programs import ProgramFailed, output_of

INSTANCE = "http://169.254.169.254"
CONTAINER = "http://169.254.170.2"
CONTAINER_HOSTS = frozenset({"169.254.170.2", "169.254.170.23", "fd00:ec2::23", "127.0.0.1", "localhost", "::1"})
"""Hosts that may be asked for a container's credentials in clear text, as in AWS' own clients."""
_THIS_HOST = frozenset({"127.0.0.1", "localhost", "::1"})
LARGEST_ANSWER = 1 << 20
METADATA_SECONDS = 1.0
"""For one request of an instance's metadata service, which is near or not there."""
_TOKEN_TTL = "21600"  # noqa: S105 seconds


class AwsKeys(NamedTuple):
    """Credentials. source: where they come from, for an operator. ends: seconds since 1970, None if they do not end."""

    access_key: str
    secret: Secret
    token: Secret | None
    source: str
    ends: float | None = None


class Ask(NamedTuple):
    """Where to look. environ: None for the process' own."""

    environ: Mapping[str, str] | None = None

    def get(self, name: str) -> str | None:
        """A variable; None if it is missing or empty."""
        return (os.environ if self.environ is None else self.environ).get(name) or None

    def file(self, variable: str, name: str) -> Path:
        """One of AWS' files."""
        home = Path(self.get("HOME") or "~").expanduser()
        return Path(self.get(variable) or home / ".aws" / name).expanduser()


def keys_of(ask: Ask, profile: str | None, limit: float) -> AwsKeys:
    """The credentials of a profile, or in the order of AWS' own Java client: environment, web identity, profile,
    container, instance. Blocks.

    limit: seconds for a command, the token service or a container's service. Raises AuthenticationFailed: what was
    looked at, without secrets.
    """
    if profile is None:
        access, secret = ask.get("AWS_ACCESS_KEY_ID"), ask.get("AWS_SECRET_ACCESS_KEY")
        if access and secret:
            return AwsKeys(access, Secret(secret), _secret(ask.get("AWS_SESSION_TOKEN")), "the environment")
        if access or secret:
            missing = "AWS_SECRET_ACCESS_KEY" if access else "AWS_ACCESS_KEY_ID"
            raise no_token(f"AWS credentials in the environment lack {missing}", f"Set {missing}, or unset both.")
        role, file = ask.get("AWS_ROLE_ARN"), ask.get("AWS_WEB_IDENTITY_TOKEN_FILE")
        if role and file:
            session = ask.get("AWS_ROLE_SESSION_NAME")
            return _of_web_identity(WebIdentity(role, Path(file), session), region_of(ask, None), ask, limit)
    named = profile or ask.get("AWS_PROFILE")
    settings = _profile(ask, named or "default")
    if settings:
        if found := _of_profile(settings, named or "default", ask, limit):
            return found
    elif named:
        files = f"{ask.file('AWS_SHARED_CREDENTIALS_FILE', 'credentials')} and {ask.file('AWS_CONFIG_FILE', 'config')}"
        raise no_token(f"there is no AWS profile {named} in {files}", "Check awsProfileName or AWS_PROFILE.")
    if uri := _container_uri(ask):
        return _of_container(ask, uri, limit)
    if found := _of_instance(ask):
        return found
    looked = "environment, web identity, profile, container, instance"
    raise no_token(
        f"no AWS credentials found: {looked}",
        "Set AWS_PROFILE or AWS_ACCESS_KEY_ID with its secret. A profile of SSO or of another role: "
        "aws configure export-credentials as its credential_process.",
    )


def region_of(ask: Ask, profile: str | None) -> str | None:
    """The region of the environment or the profile."""
    named = profile or ask.get("AWS_PROFILE") or "default"
    return ask.get("AWS_REGION") or ask.get("AWS_DEFAULT_REGION") or _profile(ask, named).get("region")


def _profile(ask: Ask, name: str) -> dict[str, str]:
    """The settings of a profile in both files, those of ``credentials`` first; empty if there is none."""
    found: dict[str, str] = {}
    for variable, file, section in (
        ("AWS_CONFIG_FILE", "config", name if name == "default" else f"profile {name}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name),
    ):
        parser = ConfigParser(interpolation=None, strict=False, default_section="\0")
        path = ask.file(variable, file)
        try:
            parser.read_string(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, ConfigError):
            # The parser's own text has the line, which may hold a secret.
            raise no_token(f"{path} can't be read as AWS' files are", "Correct the file.") from None
        if parser.has_section(section):
            found |= dict(parser.items(section))
    return found


def _of_profile(settings: Mapping[str, str], name: str, ask: Ask, limit: float) -> AwsKeys | None:
    access, secret = settings.get("aws_access_key_id"), settings.get("aws_secret_access_key")
    if access and secret:
        return AwsKeys(access, Secret(secret), _secret(settings.get("aws_session_token")), f"profile {name}")
    if command := settings.get("credential_process"):
        return _of_command(command, f"credential_process of profile {name}", limit)
    role, file = settings.get("role_arn"), settings.get("web_identity_token_file")
    if role and file:
        identity = WebIdentity(role, Path(file).expanduser(), settings.get("role_session_name"))
        return _of_web_identity(identity, region_of(ask, name), ask, limit)
    if kinds := sorted({"sso_session", "sso_start_url", "role_arn", "web_identity_token_file"} & settings.keys()):
        raise no_token(
            f"AWS profile {name} needs {kinds[0]}, which is not supported",
            f"Use another profile with credential_process = aws configure export-credentials --profile {name}.",
        )
    return None


def _of_command(command: str, source: str, limit: float) -> AwsKeys:
    remedy = "Run it by hand."
    try:
        output = output_of(command, limit)
    except (ProgramFailed, ValueError) as error:
        raise no_token(f"{source}: {error}", remedy) from None
    return _in_answer(output, source, {"token": "SessionToken"}, remedy)


class WebIdentity(NamedTuple):
    """A role, and the file of the token that its trust policy accepts: Kubernetes renews it. session: its name."""

    role: str
    file: Path
    session: str | None


def _of_web_identity(identity: WebIdentity, region: str | None, ask: Ask, limit: float) -> AwsKeys:
    """AssumeRoleWithWebIdentity of AWS' token service: the token in the body is the only credential."""
    from urllib.parse import urlencode

    source = f"the web identity of role {identity.role[:200]}"
    try:
        token = identity.file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        remedy = "Check AWS_WEB_IDENTITY_TOKEN_FILE, or web_identity_token_file of the profile."
        raise no_token(f"{source}: its token {identity.file} can't be read", remedy) from None
    url = _token_service(ask, region)
    form = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": identity.role,
        "RoleSessionName": identity.session or "kac",
        "WebIdentityToken": token,
    }
    remedy = "Check that the role trusts this identity and its audience (sts.amazonaws.com)."
    try:
        status, body = _posted(url, urlencode(form).encode("ascii"), limit)
    except OSError as error:
        raise no_token(f"{source}: {urlsplit(url).netloc} was not reached: {_why(error)}", remedy) from None
    answer = {name: _element(body, name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")}
    if status != 200 or not all(answer.values()):
        code = re.sub(r"[^A-Za-z.]", "", _element(body, "Code"))[:80]
        raise no_token(f"{source}: {urlsplit(url).netloc} answered {status} {code}".rstrip(), remedy)
    return _in_answer(json_text(answer).encode(), source, {"token": "SessionToken"}, remedy)


def _token_service(ask: Ask, region: str | None) -> str:
    """The region's own, as Amazon advises; AWS_ENDPOINT_URL_STS, for a VPC's endpoint, is https or on this host."""
    given = ask.get("AWS_ENDPOINT_URL_STS")
    if given is None:
        suffix = ".cn" if (region or "").startswith("cn-") else ""
        return f"https://sts.{region}.amazonaws.com{suffix}/" if region else "https://sts.amazonaws.com/"
    parts = urlsplit(given)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _THIS_HOST):
        return given.rstrip("/") + "/"
    raise no_token(f"AWS_ENDPOINT_URL_STS names {parts.hostname} without TLS", "It is https, or http on this host.")


def _posted(url: str, form: bytes, limit: float) -> tuple[int, bytes]:
    """The status and the answer to a form, by the environment's proxy: TLS keeps it from reading the token."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, Request, build_opener

    plain = urlsplit(url).scheme != "https"
    try:
        with build_opener(*([ProxyHandler({})] if plain else [])).open(Request(url, form), timeout=limit) as answer:  # noqa: S310
            return answer.status, answer.read(LARGEST_ANSWER)
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read(LARGEST_ANSWER)
    except (HTTPException, ValueError) as error:
        raise OSError(str(error)) from error


def _element(body: bytes, name: str) -> str:
    """The text of the first element of this name in XML whose texts are plain words; "" if there is none."""
    found = re.search(rf"<{name}>\s*([^<&]*?)\s*</{name}>".encode("ascii"), body)
    return found[1].decode("ascii", "replace") if found else ""


def _container_uri(ask: Ask) -> str | None:
    if relative := ask.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        return CONTAINER + relative
    uri = ask.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    if uri is None:
        return None
    parts = urlsplit(uri)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in CONTAINER_HOSTS):
        return uri
    raise no_token(
        f"AWS_CONTAINER_CREDENTIALS_FULL_URI names {parts.hostname}, which is not a container's service",
        "It is https, or http on this host or 169.254.170.2.",
    )


def _of_container(ask: Ask, uri: str, limit: float) -> AwsKeys:
    headers = {}
    token = ask.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
    if file := ask.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
        try:
            token = Path(file).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            remedy = "Check AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE."
            raise no_token(f"the container's authorization token {file} can't be read", remedy) from None
    if token:
        headers["Authorization"] = token
    source = "the container's service"
    remedy = "Check AWS_CONTAINER_CREDENTIALS_…, and the role of the task or pod."
    try:
        body = _fetched(uri, headers, limit)
    except OSError as error:
        raise no_token(f"{source} at {urlsplit(uri).netloc} gave no AWS credentials: {_why(error)}", remedy) from None
    return _in_answer(body, source, {"token": "Token"}, remedy)


def _of_instance(ask: Ask) -> AwsKeys | None:
    """An instance's credentials by IMDSv2; None where there is no such service."""
    if (ask.get("AWS_EC2_METADATA_DISABLED") or "").lower() == "true":
        return None
    at = (ask.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or INSTANCE).rstrip("/")
    roles = f"{at}/latest/meta-data/iam/security-credentials/"
    try:
        ttl = {"X-aws-ec2-metadata-token-ttl-seconds": _TOKEN_TTL}
        token = _fetched(f"{at}/latest/api/token", ttl, METADATA_SECONDS, "PUT").decode("ascii", "replace").strip()
        headers = {"X-aws-ec2-metadata-token": token}
        names = _fetched(roles, headers, METADATA_SECONDS).decode("ascii", "replace").split()
        body = _fetched(roles + names[0], headers, METADATA_SECONDS)
    except (OSError, ValueError, IndexError):
        return None
    return _in_answer(body, f"the instance's role {names[0][:80]}", {"token": "Token"}, "Check the instance's role.")


def _fetched(url: str, headers: Mapping[str, str], limit: float, method: str = "GET") -> bytes:
    """The answer, never by way of a proxy: it would get the credentials. Raises OSError."""
    from http.client import HTTPException
    from urllib.request import ProxyHandler, Request, build_opener

    request = Request(url, headers=dict(headers), method=method)  # noqa: S310 checked, or AWS' own
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=limit) as answer:
            body: bytes = answer.read(LARGEST_ANSWER)
            return body
    except (HTTPException, ValueError) as error:
        raise OSError(str(error)) from error


def _in_answer(body: bytes, source: str, names: Mapping[str, str], remedy: str) -> AwsKeys:
    try:
        answer: dict[str, Any] = json.loads(body)
        ends = answer.get("Expiration")
        return AwsKeys(
            str(answer["AccessKeyId"]),
            Secret(str(answer["SecretAccessKey"])),
            _secret(answer.get(names["token"])),
            source,
            datetime.fromisoformat(str(ends)).astimezone(UTC).timestamp() if ends else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise no_token(f"{source} answered without AWS credentials", remedy) from None


def _secret(text: object) -> Secret | None:
    return Secret(str(text)) if text else None


def _why(error: OSError) -> str:
    """Of an error of urllib's: its status or reason."""
    status = getattr(error, "code", None)
    reason = getattr(error, "reason", None)
    return f"it answered {status}" if status else str(getattr(reason, "strerror", None) or reason or error)
