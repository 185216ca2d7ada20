"""AWS credentials from where AWS' own tools take them, and what is signed with them (Signature Version 4).

They are in the environment, in the web identity of a pod (IRSA), in a profile's files with the roles and sessions that
it names, and with services: the metadata service of a container or of an instance (IMDSv2), the token service (STS) for
a role, and the portal of IAM Identity Center (SSO).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import shlex
import time
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from console.admin.jwt import no_token, token_in_file
from console.model.foreign_json import json_of
from console.model.numbers import json_text
from console.model.secret import Secret
from console.programs import ProgramFailed, output_of
from console.safe_files import UntrustedPath, read_text, require_own, why_unread

LARGEST_FILE = 4 << 20
"""Bytes of one of AWS' files."""


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
        """Return a variable; None if it is missing or empty."""
        return (os.environ if self.environ is None else self.environ).get(name) or None

    def file(self, variable: str, name: str) -> Path:
        """Return one of AWS' files."""
        return Path(self.get(variable) or self.home() / ".aws" / name).expanduser()

    def home(self) -> Path:
        """Return the user's folder."""
        return Path(self.get("HOME") or "~").expanduser()


class Role(NamedTuple):
    """A role of IAM. session: the name that AWS' own logs show. identity: the file of the token that its trust policy
    accepts, which Kubernetes renews; else it is assumed with other credentials, external_id and seconds going along."""

    arn: str
    session: str | None = None
    identity: Path | None = None
    external_id: str | None = None
    seconds: str | None = None


def keys_of(ask: Ask, profile: str | None, limit: float) -> AwsKeys:
    """Return the credentials of a profile, or in the order of AWS' own Java client: environment, web identity, profile,
    container, instance. Blocks.

    limit: seconds for a command, the token service or a container's service. Raises AuthenticationFailed: what was
    looked at, without secrets.
    """
    if profile is None:
        if found := _of_environment(ask):
            return found
        role, file = ask.get("AWS_ROLE_ARN"), ask.get("AWS_WEB_IDENTITY_TOKEN_FILE")
        if role and file:
            session = ask.get("AWS_ROLE_SESSION_NAME")
            return of_web_identity(Role(role, session, Path(file)), region_of(ask, None), ask, limit)
    named = profile or ask.get("AWS_PROFILE")
    settings = _section(ask, named or "default")
    if settings:
        if found := _of_profile(settings, named or "default", ask, limit):
            return found
    elif named:
        files = f"{ask.file('AWS_SHARED_CREDENTIALS_FILE', 'credentials')} and {ask.file('AWS_CONFIG_FILE', 'config')}"
        raise no_token(f"there is no AWS profile {named} in {files}", "Check awsProfileName or AWS_PROFILE.")
    if found := of_container(ask, limit):
        return found
    if found := of_instance(ask):
        return found
    sources = "environment, web identity, profile, container, instance"
    raise no_token(
        f"no AWS credentials found: {sources}",
        "Set AWS_PROFILE or AWS_ACCESS_KEY_ID with its secret.",
    )


def region_of(ask: Ask, profile: str | None) -> str | None:
    """Return the region of the environment or the profile."""
    named = profile or ask.get("AWS_PROFILE") or "default"
    return ask.get("AWS_REGION") or ask.get("AWS_DEFAULT_REGION") or _section(ask, named).get("region")


def _of_environment(ask: Ask) -> AwsKeys | None:
    access, secret = ask.get("AWS_ACCESS_KEY_ID"), ask.get("AWS_SECRET_ACCESS_KEY")
    if access and secret:
        return AwsKeys(access, Secret(secret), secret_of(ask.get("AWS_SESSION_TOKEN")), "the environment")
    if access or secret:
        missing = "AWS_SECRET_ACCESS_KEY" if access else "AWS_ACCESS_KEY_ID"
        raise no_token(f"AWS credentials in the environment lack {missing}", f"Set {missing}, or unset both.")
    return None


def _section(ask: Ask, name: str, kind: str = "profile") -> dict[str, str]:
    """Return the settings of a profile in both files, those of ``credentials`` first, or of a section of another kind;
    empty if there is none."""
    found: dict[str, str] = {}
    places = [("AWS_CONFIG_FILE", "config", name if (name, kind) == ("default", "profile") else f"{kind} {name}")]
    places += [("AWS_SHARED_CREDENTIALS_FILE", "credentials", name)] if kind == "profile" else []
    for variable, file, section in places:
        parser = ConfigParser(interpolation=None, strict=False, default_section="\0")
        path = ask.file(variable, file)
        try:
            parser.read_string(read_text(path, LARGEST_FILE))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise no_token(f"{path} can't be read: {why_unread(error)}", "Correct the file.") from None
        except ConfigError as error:
            # The parser's own text has the line, which may hold a secret.
            lines = [number for number, _ in getattr(error, "errors", ())] or [getattr(error, "lineno", None)]
            where = f"line {lines[0]}" if lines[0] else "a line"
            what = f"{path} can't be read as AWS' files are: {where} is no [section], and no KEY = VALUE in one"
            raise no_token(what, "Correct it.") from None
        if parser.has_section(section):
            found |= dict(parser.items(section))
    return found


def _of_profile(
    settings: Mapping[str, str], name: str, ask: Ask, limit: float, wanted_by: tuple[str, ...] = ()
) -> AwsKeys | None:
    """Return the credentials of a profile. wanted_by: the profiles whose role is assumed with this one's credentials,
    the first named first."""
    access, secret = settings.get("aws_access_key_id"), settings.get("aws_secret_access_key")
    own = (
        AwsKeys(access, Secret(secret), secret_of(settings.get("aws_session_token")), f"profile {name}")
        if (access and secret)
        else None
    )
    # The keys of a source come first: a profile with both may name itself.
    if own and wanted_by:
        return own
    arn, session = settings.get("role_arn"), settings.get("role_session_name")
    if arn and ("source_profile" in settings or "credential_source" in settings):
        if "mfa_serial" in settings:
            raise no_token(f"AWS profile {name} needs the code of a device (mfa_serial)", _by_hand(name))
        chain = (*wanted_by, name)
        keys = _source(settings, name, ask, limit, chain)
        role = Role(arn, session, None, settings.get("external_id"), settings.get("duration_seconds"))
        return of_role(role, keys, region_of(ask, chain[0]), ask, limit)
    if arn and (file := settings.get("web_identity_token_file")):
        return of_web_identity(Role(arn, session, Path(file).expanduser()), region_of(ask, name), ask, limit)
    if "sso_session" in settings or "sso_start_url" in settings:
        return of_sso(_sso_role(settings, name, ask), name, ask, limit)
    if own:
        return own
    if command := settings.get("credential_process"):
        return _of_command(command, f"credential_process of profile {name}", ask, limit)
    if kinds := sorted({"role_arn", "web_identity_token_file", "login_session"} & settings.keys()):
        raise no_token(f"AWS profile {name} has {kinds[0]} alone, which is not supported", _by_hand(name))
    return None


def _by_hand(name: str) -> str:
    """Return what AWS' own command line can do instead."""
    command = f"aws configure export-credentials --profile {shlex.quote(name)} --format env"
    return f'Run: eval "$({command})", and name no profile here.'


def _source(settings: Mapping[str, str], name: str, ask: Ask, limit: float, wanted_by: tuple[str, ...]) -> AwsKeys:
    """Return the credentials with which a profile's role is assumed."""
    if source := settings.get("source_profile"):
        of_source = _section(ask, source)
        if source in wanted_by and not of_source.get("aws_access_key_id"):
            chain = " → ".join((*wanted_by, source))
            raise no_token(f"AWS profiles have each other as source_profile: {chain}", "Correct ~/.aws/config.")
        if not of_source:
            raise no_token(f"AWS profile {name} has source_profile {source}, which does not exist", "Correct it.")
        found = _of_profile(of_source, source, ask, limit, wanted_by)
        where = f"source_profile {source}"
    else:
        kind = settings["credential_source"]
        where = f"credential_source {kind}"
        if kind == "Environment":
            found = _of_environment(ask)
        elif kind == "EcsContainer":
            found = of_container(ask, limit)
        elif kind == "Ec2InstanceMetadata":
            found = of_instance(ask)
        else:
            known = "Environment, EcsContainer or Ec2InstanceMetadata"
            raise no_token(f"AWS profile {name} has {where}, which is unknown", f"It is {known}.")
    if found is None:
        raise no_token(f"AWS profile {name} assumes its role with {where}, which has no credentials", "Check it.")
    return found


def _sso_role(settings: Mapping[str, str], name: str, ask: Ask) -> SsoRole:
    """Return what a profile says of SSO, or the sso-session that it names."""
    named = settings.get("sso_session")
    shared = _section(ask, named, "sso-session") if named else {}
    every = {**settings, **shared}
    needed = ("sso_start_url", "sso_region", "sso_account_id", "sso_role_name")
    if missing := [each for each in needed if not every.get(each)]:
        raise no_token(
            f"AWS profile {name} lacks {', '.join(missing)}", f"Run: aws configure sso --profile {shlex.quote(name)}"
        )
    start, region, account, role = (every[each] for each in needed)
    return SsoRole(named or start, region, account, role)


def _of_command(command: str, source: str, ask: Ask, limit: float) -> AwsKeys:
    remedy = "Run it by hand."
    config = ask.file("AWS_CONFIG_FILE", "config")
    try:
        for file in (config, ask.file("AWS_SHARED_CREDENTIALS_FILE", "credentials")):  # it may be of either
            require_own(file)
        output = output_of(command, limit, config.absolute().parent)
    except UntrustedPath as error:
        raise no_token(f"{source} is not run: {error.strerror}", remedy) from None
    except (ProgramFailed, ValueError) as error:
        raise no_token(f"{source}: {error}", remedy) from None
    return in_answer(output, source, remedy, token="SessionToken")  # noqa: S106 a name


# Services that give credentials.

INSTANCE = "http://169.254.169.254"
CONTAINER = "http://169.254.170.2"
CONTAINER_HOSTS = frozenset({"169.254.170.2", "169.254.170.23", "fd00:ec2::23", "127.0.0.1", "localhost", "::1"})
"""Hosts that may be asked for a container's credentials in clear text, as in AWS' own clients."""
_THIS_HOST = frozenset({"127.0.0.1", "localhost", "::1"})
LARGEST_ANSWER = 1 << 20
METADATA_SECONDS = 1.0
"""For one request of an instance's metadata service, which is near or not there."""
_TOKEN_TTL = "21600"  # noqa: S105 seconds


def of_web_identity(role: Role, region: str | None, ask: Ask, limit: float) -> AwsKeys:
    """Ask AssumeRoleWithWebIdentity of AWS' token service: the token in the body is the only credential."""
    source = f"the web identity of role {role.arn[:200]}"
    try:
        token = token_in_file(role.identity or Path())
    except (OSError, ValueError) as error:
        remedy = "Check AWS_WEB_IDENTITY_TOKEN_FILE, or web_identity_token_file of the profile."
        raise no_token(f"{source}: its token {role.identity} can't be read: {why_unread(error)}", remedy) from None
    remedy = "Check that the role trusts this identity and its audience (sts.amazonaws.com)."
    form = _form("AssumeRoleWithWebIdentity", role) | {"WebIdentityToken": token}
    return _of_token_service(form, {}, source, _token_service(ask, region), remedy, limit)


def of_role(role: Role, keys: AwsKeys, region: str | None, ask: Ask, limit: float) -> AwsKeys:
    """Ask AssumeRole of AWS' token service, signed with these credentials."""
    url = _token_service(ask, region)
    form = _form("AssumeRole", role)
    form |= {"ExternalId": role.external_id} if role.external_id else {}
    form |= {"DurationSeconds": role.seconds} if role.seconds else {}
    headers = signed_form(keys, region or "us-east-1", urlsplit(url).netloc, _body(form), time.time())
    remedy = f"Check that {keys.source} may sts:AssumeRole, that the role trusts it, external_id and the clock."
    return _of_token_service(form, headers, f"role {role.arn[:200]} by {keys.source}", url, remedy, limit)


def _form(action: str, role: Role) -> dict[str, str]:
    return {
        "Action": action,
        "Version": "2011-06-15",
        "RoleArn": role.arn,
        "RoleSessionName": role.session or "kac",
    }


def _body(form: Mapping[str, str]) -> bytes:
    return urlencode(form).encode("ascii")


def signed_form(keys: AwsKeys, region: str, host: str, body: bytes, now: float) -> dict[str, str]:
    """Return the headers of a signed form for the token service. now: seconds since 1970."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8", "host": host, "x-amz-date": stamp}
    if keys.token is not None:
        headers["x-amz-security-token"] = keys.token.reveal()
    digest, scope = hashlib.sha256(body).hexdigest(), f"{stamp[:8]}/{region}/sts/aws4_request"
    pair = (keys.access_key, keys.secret.reveal())
    return {**headers, "authorization": authorization(pair, stamp, scope, ("POST", "/", ""), headers, digest)}


def _of_token_service(
    form: Mapping[str, str], headers: Mapping[str, str], source: str, url: str, remedy: str, limit: float
) -> AwsKeys:
    at = urlsplit(url).netloc
    try:
        status, body = _answered(url, headers, limit, _body(form))
    except OSError as error:
        raise no_token(_not_reached(source, url, error), "Check the network to it.") from None
    answer = {name: _element(body, name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")}
    if status != 200 or not all(answer.values()):
        code = re.sub(r"[^A-Za-z.]", "", _element(body, "Code"))[:80]
        raise no_token(f"{source}: {at} answered {status} {code}".rstrip(), remedy)
    return in_answer(json_text(answer).encode(), source, remedy, token="SessionToken")  # noqa: S106 a name


def _token_service(ask: Ask, region: str | None) -> str:
    """Return the region's own, as Amazon advises."""
    own = f"sts.{region}.{_domain(region)}" if region else "sts.amazonaws.com"
    return _service(ask, "AWS_ENDPOINT_URL_STS", own)


def _domain(region: str) -> str:
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


def _service(ask: Ask, variable: str, own: str) -> str:
    """Return the address of a service, or the one that a variable has for a VPC's endpoint: https, or on this host."""
    given = ask.get(variable)
    if given is None:
        return f"https://{own}/"
    parts = urlsplit(given)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _THIS_HOST):
        return given.rstrip("/") + "/"
    raise no_token(f"{variable} names {parts.hostname} without TLS", "It is https, or http on this host.")


class SsoRole(NamedTuple):
    """A role of an account as IAM Identity Center has it. session: the name of the sso-session or, in older files,
    the start URL."""

    session: str
    region: str
    account: str
    name: str


def of_sso(role: SsoRole, profile: str, ask: Ask, limit: float) -> AwsKeys:
    """Return the credentials that a session gives which `aws sso login` has begun. Its token is never renewed here."""
    source = f"SSO of profile {profile}"
    remedy = f"Log in: aws sso login --profile {profile}"
    file = ask.home() / ".aws" / "sso" / "cache" / f"{hashlib.sha1(role.session.encode()).hexdigest()}.json"  # noqa: S324
    try:
        kept = json_of(read_text(file, LARGEST_ANSWER))
        token, ends = str(kept["accessToken"]), _time_of(str(kept["expiresAt"]))
    except (OSError, ValueError, KeyError, TypeError):
        raise no_token(f"{source}: there is no session in {file}", remedy) from None
    if ends.timestamp() <= time.time():
        raise no_token(f"{source}: the session is over, since {ends:%Y-%m-%d %H:%M:%S %Z}", remedy)
    at = _service(ask, "AWS_ENDPOINT_URL_SSO", f"portal.sso.{role.region}.{_domain(role.region)}")
    url = f"{at}federation/credentials?role_name={quote(role.name, safe='')}&account_id={quote(role.account, safe='')}"
    try:
        status, body = _answered(url, {"x-amz-sso_bearer_token": token}, limit)
    except OSError as error:
        raise no_token(_not_reached(source, at, error), "Check the network to it.") from None
    if status == 401:
        raise no_token(f"{source}: the session was refused", remedy)
    if status != 200:
        rights = f"Check that you have role {role.name} of account {role.account}: aws sso login shows them."
        raise no_token(f"{source}: {urlsplit(at).netloc} answered {status}", rights)
    try:
        given = json_of(body)["roleCredentials"]
        answer = {"AccessKeyId": given["accessKeyId"], "SecretAccessKey": given["secretAccessKey"]}
        answer |= {"Token": given["sessionToken"]}
        answer["Expiration"] = datetime.fromtimestamp(given["expiration"] / 1000, UTC).isoformat()
    except (ValueError, KeyError, TypeError, OverflowError):
        raise no_token(f"{source} answered without AWS credentials", remedy) from None
    return in_answer(json_text(answer).encode(), source, remedy)


def _time_of(text: str) -> datetime:
    """Return a time; older releases of AWS' command line write UTC for Z."""
    return datetime.fromisoformat(text.replace("UTC", "Z")).astimezone(UTC)


def _not_reached(source: str, url: str, error: OSError) -> str:
    return f"{source}: {urlsplit(url).netloc} was not reached: {_why(error)}"


def _answered(url: str, headers: Mapping[str, str], limit: float, form: bytes | None = None) -> tuple[int, bytes]:
    """Return the status and the answer, by the environment's proxy: TLS keeps it from reading. Raises OSError."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, Request, build_opener

    from console.admin.oauth import no_redirects

    handlers = [no_redirects(), *([] if urlsplit(url).scheme == "https" else [ProxyHandler({})])]
    try:
        request = Request(url, form, headers=dict(headers))  # noqa: S310 checked, or AWS' own
        with build_opener(*handlers).open(request, timeout=limit) as answer:
            return answer.status, answer.read(LARGEST_ANSWER)
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read(LARGEST_ANSWER)
    except ValueError:
        # Its text may have the header, which is a secret.
        raise OSError("what was to be sent has invalid characters") from None
    except HTTPException as error:
        raise OSError(str(error)) from error


_ELEMENT = re.compile(rb"<([A-Za-z]{1,64})>([^<&]*+)</\1>")


def _element(body: bytes, name: str) -> str:
    """Return the text of the first element of this name in XML whose texts are plain words; "" if there is none."""
    texts = (found[2] for found in _ELEMENT.finditer(body) if found[1] == name.encode("ascii"))
    return next(texts, b"").strip().decode("ascii", "replace")


def of_container(ask: Ask, limit: float) -> AwsKeys | None:
    """Return the credentials of a container's service; None where the environment names none."""
    uri = _container_uri(ask)
    if uri is None:
        return None
    headers = {}
    token = ask.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
    if file := ask.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
        try:
            token = token_in_file(Path(file))
        except (OSError, ValueError) as error:
            remedy = "Check AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE."
            what = f"the container's authorization token {file} can't be read: {why_unread(error)}"
            raise no_token(what, remedy) from None
    if token:
        headers["Authorization"] = token
    source = "the container's service"
    remedy = "Check AWS_CONTAINER_CREDENTIALS_…, and the role of the task or pod."
    try:
        body = _fetched(uri, headers, limit)
    except OSError as error:
        raise no_token(f"{source} at {urlsplit(uri).netloc} gave no AWS credentials: {_why(error)}", remedy) from None
    return in_answer(body, source, remedy)


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


def of_instance(ask: Ask) -> AwsKeys | None:
    """Return an instance's credentials by IMDSv2; None where there is no such service."""
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
    return in_answer(body, f"the instance's role {names[0][:80]}", "Check the instance's role.")


def _fetched(url: str, headers: Mapping[str, str], limit: float, method: str = "GET") -> bytes:
    """Return the answer, never by way of a proxy or from where a redirect leads: they would get the credentials. Raises
    OSError."""
    from http.client import HTTPException
    from urllib.request import ProxyHandler, Request, build_opener

    from console.admin.oauth import no_redirects

    request = Request(url, headers=dict(headers), method=method)  # noqa: S310 checked, or AWS' own
    try:
        with build_opener(ProxyHandler({}), no_redirects()).open(request, timeout=limit) as answer:
            body: bytes = answer.read(LARGEST_ANSWER)
            return body
    except ValueError:
        # Its text may have the header, which is a secret.
        raise OSError("what was to be sent has invalid characters") from None
    except HTTPException as error:
        raise OSError(str(error)) from error


def in_answer(body: bytes, source: str, remedy: str, token: str = "Token") -> AwsKeys:  # noqa: S107 a name
    """Return the credentials in JSON of AWS' form. token: its name for a session's token."""
    try:
        answer: dict[str, Any] = json_of(body)
        ends = answer.get("Expiration")
        return AwsKeys(
            str(answer["AccessKeyId"]),
            Secret(str(answer["SecretAccessKey"])),
            secret_of(answer.get(token)),
            source,
            datetime.fromisoformat(str(ends)).astimezone(UTC).timestamp() if ends else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise no_token(f"{source} answered without AWS credentials", remedy) from None


def secret_of(text: object) -> Secret | None:
    """Return a secret, None for an empty one."""
    return Secret(str(text)) if text else None


def _why(error: OSError) -> str:
    """Return an error of urllib's as text: its status or reason."""
    status = getattr(error, "code", None)
    reason = getattr(error, "reason", None)
    return f"it answered {status}" if status else str(getattr(reason, "strerror", None) or reason or error)


# Signatures, of requests that are already in their canonical form. Pure.

ALGORITHM = "AWS4-HMAC-SHA256"


def signature(secret: str, stamp: str, scope: str, request: str) -> str:
    """Return a signature, in hexadecimal digits.

    Args:
        stamp: as ``20261121T101500Z``.
        scope: as ``20261121/REGION/SERVICE/aws4_request``.
        request: the canonical request, as AWS describes it.
    """
    signed = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{secret}".encode()
    for part in (*scope.split("/"), signed):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()


def authorization(
    keys: tuple[str, str],
    stamp: str,
    scope: str,
    request: tuple[str, str, str],
    headers: Mapping[str, str],
    digest: str,
) -> str:
    """Return the header Authorization of a request.

    Args:
        keys: access key and secret.
        request: method, path and query in their canonical form.
        headers: those that are signed, their names in small letters.
        digest: the body's SHA-256, in hexadecimal digits.
    """
    access_key, secret = keys
    lines = "".join(f"{name}:{text}\n" for name, text in sorted(headers.items()))
    names = ";".join(sorted(headers))
    signed = signature(secret, stamp, scope, "\n".join((*request, lines, names, digest)))
    return f"{ALGORITHM} Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signed}"
