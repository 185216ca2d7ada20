"""AWS credentials and signatures. Only this module uses botocore.

botocore searches for credentials in its usual order, but under stricter rules. `console.programs` runs a profile's
command; responses have a size limit and a timeout; requests to a metadata service never use a proxy, and requests to a
token service always use TLS; users are not prompted for device codes; and botocore's log, which contains responses, is
off.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shlex
import ssl
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

from botocore import exceptions
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    AssumeRoleProvider,
    CanonicalNameCredentialSourcer,
    ContainerProvider,
    CredentialResolver,
    Credentials,
    DeferredRefreshableCredentials,
    EnvProvider,
    InstanceMetadataProvider,
    ProcessProvider,
    ProfileProviderBuilder,
)
from botocore.httpsession import URLLib3Session
from botocore.session import Session
from botocore.utils import (
    ContainerMetadataFetcher,
    InstanceMetadataFetcher,
    create_nested_client,
    get_environ_proxies,
    resolve_imds_endpoint_mode,
)
from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError

from console.admin.errors import AdminError, AuthenticationFailed
from console.admin.jwt import no_token
from console.admin.settings import TlsSettings
from console.admin.tls import client_context
from console.model.loopback import is_loopback
from console.model.secret import Secret
from console.programs import ProgramFailed, output_of
from console.safe_files import UntrustedPath, require_own

METADATA_SECONDS = 1.0
"""Timeout in seconds of one request to an instance's metadata service, which is close by if it exists."""
CONTAINER_SECONDS = 2.0
LARGEST_ANSWER = 1 << 20
_PART = 1 << 16
_REGION = "us-east-1"
"""The region whose token service is used if no region is configured."""

# botocore logs whole responses at DEBUG, and errors of failed requests as warnings; kac reports the errors itself.
logging.getLogger("botocore").setLevel(logging.CRITICAL)


class AwsKeys(NamedTuple):
    """AWS credentials. token: the session token; None for long-term credentials."""

    access_key: str
    secret: Secret
    token: Secret | None
    source: str
    """The source of the credentials, as text for an operator."""
    ends: datetime | None = None
    """The time at which the credentials expire, UTC; None if they never expire."""


class Role(NamedTuple):
    """An IAM role that is assumed with other credentials."""

    arn: str
    session: str | None = None
    """The name of the session in AWS' logs; None for the default ``kac``."""
    external_id: str | None = None
    region: str | None = None
    """The region of the token service; None for the profile's region."""


class AwsSource:
    """The source of a client's credentials: a profile, or the first source that has any in the order of AWS' own tools.
    botocore renews the credentials before they expire.
    """

    def __init__(self, profile: str | None, limit: float, role: Role | None = None) -> None:
        """Set the parameters; nothing is read yet.

        Args:
            profile: the name of a profile; None to search in the order of AWS' own tools.
            limit: the maximum seconds for a profile's command, and for each request.
            role: a role to assume with these credentials; None to use them directly.
        """
        self._profile, self._limit, self._role = profile, limit, role
        self._lock = threading.Lock()
        self._session: Any = None
        self._found: Any = None

    def keys(self) -> AwsKeys:
        """Return the current credentials. Blocks. Raises AuthenticationFailed, without secrets in its text, if the
        source has no credentials.
        """
        with self._lock:
            try:
                if self._found is None:
                    self._found = self._load()
                found = self._found
                access, secret, token = found.get_frozen_credentials()[:3]
            except AdminError:
                raise
            except Exception as error:  # noqa: BLE001 - its parsers may raise any error for an unexpected response
                raise _told(error, self._named) from None
        # botocore has the expiry only in this private field.
        ends = getattr(found, "_expiry_time", None)
        return AwsKeys(str(access), Secret(str(secret)), Secret(str(token)) if token else None, self._source(), ends)

    def region(self) -> str | None:
        """Return the region from the environment or the profile; None if neither has one. Raises AuthenticationFailed
        if AWS' files can't be read, or lack the profile.
        """
        try:
            region = os.environ.get("AWS_REGION") or self._opened().get_config_variable("region")
        except Exception as error:  # noqa: BLE001 - botocore may raise any error
            raise _told(error, self._named) from None
        return None if region is None else str(region)

    @property
    def _named(self) -> str:
        return self._profile or os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"

    def _source(self) -> str:
        source = _SOURCES.get(self._found.method, "{}").format(f"profile {self._named}")
        return f"role {self._role.arn[:200]} by profile {self._named}" if self._role else source

    def _opened(self) -> Any:
        """Return botocore's session after it has read AWS' files."""
        if self._session is None:
            session = Session(profile=self._profile)
            region = os.environ.get("AWS_REGION") or session.get_config_variable("region") or _REGION
            session.set_default_client_config(Config(region_name=region, retries={"total_max_attempts": 1}))
            session.register("before-send", partial(_sent, self._limit))
            self._session = session
        return self._session

    def _load(self) -> Any:
        session = self._opened()
        found = CredentialResolver(_places(session, self._profile, self._named, self._limit)).load_credentials()
        if found is None:
            places = "environment, web identity, profile, container, instance"
            remedy = "Set AWS_PROFILE or AWS_ACCESS_KEY_ID with its secret."
            raise no_token(f"no AWS credentials found: {places}", remedy)
        if (role := self._role) is None:
            return found
        named = {"RoleSessionName": role.session or "kac", "ExternalId": role.external_id}
        fetcher = AssumeRoleCredentialFetcher(
            client_creator=partial(create_nested_client, session, region_name=role.region),
            source_credentials=found,
            role_arn=role.arn,
            extra_args={name: text for name, text in named.items() if text},
        )
        return DeferredRefreshableCredentials(method="assume-role", refresh_using=fetcher.fetch_credentials)


_SOURCES = {
    "env": "the environment",
    "custom-process": "credential_process of {}",
    "assume-role": "the role of {}",
    "assume-role-with-web-identity": "a web identity",
    "sso": "SSO of {}",
    "container-role": "the container's service",
    "iam-role": "the instance's role",
}
"""botocore's name of a source of credentials -> its description for an operator. Sources that are missing here are
those of a profile.
"""


SERVICE, ACTION = "kafka-cluster", "kafka-cluster:Connect"
EXPIRES_SECONDS = 900


def signed_query(keys: AwsKeys, region: str, host: str) -> str:
    """Return the query of a presigned GET request for permission to connect to this host (SigV4). The signature is its
    last parameter.
    """
    request = AWSRequest("GET", f"https://host/?Action={ACTION}", headers={"host": host})
    pair = Credentials(keys.access_key, keys.secret.reveal(), keys.token and keys.token.reveal())
    SigV4QueryAuth(pair, SERVICE, region, expires=EXPIRES_SECONDS).add_auth(request)
    return str(urlsplit(request.url).query)


# -- botocore's sources ------------------------------------------------------------------------------------------------


def _places(session: Any, profile: str | None, named: str, limit: float) -> list[Any]:
    """Return botocore's providers of credentials in their usual order, without the providers for AWS' oldest tools.
    Environment variables are left out if the caller names a profile.

    Args:
        profile: the name of the profile that the caller names; None if it names none.
        named: the name of the profile to read: `profile` or the default.
        limit: the maximum seconds for a profile's command.
    """
    builder = _Profiles(session, limit)
    settings = ("ec2_metadata_service_endpoint", "ec2_metadata_v1_disabled")
    config = {name: session.get_config_variable(name) for name in settings}
    config["ec2_metadata_service_endpoint_mode"] = resolve_imds_endpoint_mode(session)
    instance = InstanceMetadataFetcher(METADATA_SECONDS, 1, user_agent=session.user_agent(), config=config)
    instance._session = _Http(METADATA_SECONDS)
    shared = [
        EnvProvider(),
        ContainerProvider(fetcher=ContainerMetadataFetcher(_Http(CONTAINER_SECONDS))),
        InstanceMetadataProvider(instance),
    ]
    role = AssumeRoleProvider(
        load_config=lambda: session.full_config,
        client_creator=partial(create_nested_client, session),
        cache={},
        profile_name=named,
        prompter=partial(_no_device, named),
        credential_sourcer=CanonicalNameCredentialSourcer(shared),
        profile_provider_builder=builder,
    )
    of_profile = builder.providers(profile_name=named, disable_env_vars=profile is not None)
    environment, *services = shared
    return [*([environment] if profile is None else []), role, *of_profile, *services]


def _no_device(profile: str, _prompt: str) -> NoReturn:
    raise no_token(f"AWS profile {profile} needs the code of a device (mfa_serial)", _by_hand(profile))


class _Profiles(ProfileProviderBuilder):  # type: ignore[misc]
    """Builds a profile's providers of credentials; `console.programs` runs the profile's command."""

    def __init__(self, session: Any, limit: float) -> None:
        super().__init__(session)
        self._limit = limit

    def _create_process_provider(self, profile_name: str) -> Any:
        return ProcessProvider(profile_name, lambda: self._session.full_config, partial(self._ended, profile_name))

    def _ended(self, profile: str, words: Sequence[str], **_streams: Any) -> _Ended:
        """Run a profile's command until it ends; botocore calls this in place of `subprocess.Popen`. Raises
        AuthenticationFailed if the command fails.
        """
        source, remedy = f"credential_process of profile {profile}", "Run it by hand."
        names = ("config_file", "credentials_file")
        files = [Path(self._session.get_config_variable(name)).expanduser() for name in names]
        try:
            for file in files:  # check both files, as either may name the command
                require_own(file)
            return _Ended(output_of(shlex.join(words), self._limit, files[0].absolute().parent))
        except UntrustedPath as error:
            raise no_token(f"{source} is not run: {error.strerror}", remedy) from None
        except (ProgramFailed, ValueError) as error:
            raise no_token(f"{source}: {error}", remedy) from None


class _Ended(NamedTuple):
    """The result of a successful process, with the methods of `subprocess.Popen` that botocore calls."""

    output: bytes
    returncode: int = 0

    def communicate(self) -> tuple[bytes, bytes]:
        """Return the process's standard output, and an empty standard error."""
        return self.output, b""


# -- requests to services ----------------------------------------------------------------------------------------------


def _sent(limit: float, request: Any, **_event: Any) -> Any:
    """Send a request of botocore's to a token service. Raises AuthenticationFailed for a URL without TLS, unless its
    host is a loopback address. limit: the timeout in seconds.
    """
    at = urlsplit(request.url)
    if at.scheme != "https" and not is_loopback(at.hostname or ""):
        what = f"{at.hostname} would be asked for AWS credentials without TLS"
        raise no_token(what, "AWS_ENDPOINT_URL_STS and its like are https, or http on this host.")
    proxies = {scheme: proxy for scheme, proxy in get_environ_proxies(request.url).items() if scheme == "https"}
    return _Http(limit, proxies).send(request)


class _Http(URLLib3Session):  # type: ignore[misc]
    """botocore's HTTP client without redirects, which reads at most `LARGEST_ANSWER` bytes (1 MiB) of a response,
    within a timeout.
    """

    def __init__(self, seconds: float, proxies: dict[str, str] | None = None) -> None:
        self._seconds = seconds
        super().__init__(proxies=proxies, timeout=seconds)

    def _get_ssl_context(self) -> ssl.SSLContext:
        """Return the TLS context that kac's other requests use, since botocore would trust the authorities in its own
        package.
        """
        context = client_context(TlsSettings())
        if bundle := os.environ.get("AWS_CA_BUNDLE"):
            context.load_verify_locations(Path(bundle).expanduser())
        return context

    def _setup_ssl_cert(self, conn: Any, url: str, verify: Any) -> None:
        """Do nothing: the TLS context has the trusted authorities already."""

    def send(self, request: Any) -> Any:
        """Send a request and return the complete response. Raises botocore's HTTPClientError if that fails."""
        request.stream_output = True
        ends = time.monotonic() + self._seconds
        answer = super().send(request)
        body = bytearray()
        try:
            while part := answer.raw.read1(_PART):
                body += part
                if len(body) > LARGEST_ANSWER:
                    raise OSError(errno.EFBIG, f"it answers more than {LARGEST_ANSWER >> 20} MiB")
                if time.monotonic() > ends:
                    raise TimeoutError(errno.ETIMEDOUT, f"it still answers after {self._seconds:g} s")
        except (HTTPError, OSError) as error:
            raise exceptions.HTTPClientError(request=request, error=error, endpoint_url=request.url) from None
        finally:
            answer.raw.close()
        answer.raw = HTTPResponse(BytesIO(bytes(body)), preload_content=False)
        return answer


# -- errors of botocore ------------------------------------------------------------------------------------------------

_OF_FILES = "Correct ~/.aws/config."
_REFUSED = {
    "AssumeRole": "Check that they may sts:AssumeRole, that the role trusts them, external_id and the clock.",
    "AssumeRoleWithWebIdentity": "Check that the role trusts this identity and its audience (sts.amazonaws.com).",
    "GetRoleCredentials": "Check that you have this role of this account: aws sso login shows them.",
}
"""Operation of an AWS service -> the remedy if the service refuses it."""


def _by_hand(profile: str) -> str:
    """Return a remedy: the command of AWS' own command line that exports the profile's credentials to the
    environment.
    """
    command = f"aws configure export-credentials --profile {shlex.quote(profile)} --format env"
    return f'Run: eval "$({command})", and name no profile here.'


def _told(error: Exception, profile: str) -> AuthenticationFailed:
    """Convert an error of botocore's to AuthenticationFailed. The text of an AWS service is left out, since it may
    repeat the request.
    """
    about: dict[str, Any] = getattr(error, "kwargs", {})
    match error:
        case AuthenticationFailed():
            return error
        case exceptions.ClientError():
            return _refused(error, profile)
        case exceptions.ProfileNotFound():
            where = "the files of AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or ~/.aws"
            return no_token(f"there is no AWS profile {profile} in {where}", "Check awsProfileName or AWS_PROFILE.")
        case exceptions.ConfigParseError():
            return no_token(
                f"{about['path']} can't be read as AWS' files are: {_line(about.get('error'))}", "Correct it."
            )
        case exceptions.PartialCredentialsError():
            where = "in the environment" if about["provider"] == "env" else f"of profile {profile}"
            return no_token(f"AWS credentials {where} lack {about['cred_var']}", "Set it, or unset them all.")
        case exceptions.InfiniteLoopConfigError():
            chain = " → ".join((*about["visited_profiles"], about["source_profile"]))
            return no_token(f"AWS profiles have each other as source_profile: {chain}", _OF_FILES)
        case exceptions.InvalidConfigError() | exceptions.UnknownCredentialError():  # names of the user's own files
            return no_token(f"AWS profile {profile} does not work: {error}", _OF_FILES)
        case exceptions.MissingDependencyException() | exceptions.LoginError():
            return no_token(f"AWS profile {profile} has login_session, which is not supported", _by_hand(profile))
        case exceptions.SSOTokenLoadError():
            return _no_session(profile, "there is no session in ~/.aws/sso/cache")
        case exceptions.SSOError() | exceptions.TokenRetrievalError():
            return _no_session(profile, "the session is over, or was refused")
        case exceptions.CredentialRetrievalError() | exceptions.MetadataRetrievalError():
            return _not_given(about, profile)
        case exceptions.ConnectionError() | exceptions.HTTPClientError():
            host = urlsplit(about.get("endpoint_url") or "").netloc or "a service of AWS"
            return no_token(f"AWS profile {profile}: {host} was not reached: {_why(error)}", "Check the network to it.")
        case OSError() if error.filename:
            return no_token(
                f"{error.filename}, which holds AWS credentials, can't be read: {error.strerror}", "Check it."
            )
    return _not_understood(error, profile)


def _no_session(profile: str, why: str) -> AuthenticationFailed:
    return no_token(f"SSO of profile {profile}: {why}", f"Log in: aws sso login --profile {shlex.quote(profile)}")


def _refused(error: Any, profile: str) -> AuthenticationFailed:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
    code = re.sub(r"[^A-Za-z.]", "", str(error.response.get("Error", {}).get("Code", "")))[:80]
    asked = error.operation_name
    if (asked, status) == ("GetRoleCredentials", 401):
        return _no_session(profile, "the session is over, or was refused")
    remedy = _REFUSED.get(asked, "Compare with: aws configure list")
    return no_token(f"AWS profile {profile}: {asked} answered {status} {code}".rstrip(), remedy)


def _not_given(about: dict[str, Any], profile: str) -> AuthenticationFailed:
    """Return the error that a source has no credentials. about: botocore's fields of its error."""
    provider, text = str(about.get("provider", "")), str(about.get("error_msg", ""))
    if provider != ContainerProvider.METHOD:
        where = _SOURCES.get(provider, f"{provider} of {{}}" if provider else "the instance's role")
        return no_token(f"{where.format(f'profile {profile}')} gave no AWS credentials", "Check it.")
    found = re.search(r"non 200 response (\d{3}) ", text)
    why = f"it answered {found[1]}" if found else "it was not reached, or its answer is not JSON"
    remedy = "Check AWS_CONTAINER_CREDENTIALS_…, and the role of the task or pod."
    return no_token(f"the container's service gave no AWS credentials: {why}", remedy)


def _not_understood(error: Exception, profile: str) -> AuthenticationFailed:
    """Return the error that a file or output is not in AWS' format. botocore's text is left out, since it may repeat
    the input.
    """
    if str(error).startswith("Unsupported host"):
        what = "AWS_CONTAINER_CREDENTIALS_FULL_URI names a host that is not a container's service"
        return no_token(what, "It is https, or http on this host or 169.254.170.2.")
    if str(error).startswith("Auth token value"):
        return no_token("the container's authorization token has more than one line", "Correct its file or variable.")
    what = f"AWS credentials of profile {profile} are not in AWS' form: {type(error).__name__}"
    return no_token(what, "Compare with: aws configure list")


def _line(error: Any) -> str:
    """Return the message for an unreadable line of a file, with the line's number if known. The parser's own text is
    not used: it repeats the line, which may have a secret.
    """
    lines = [number for number, _ in getattr(error, "errors", ())] or [getattr(error, "lineno", None)]
    return f"{f'line {lines[0]}' if lines[0] else 'a line'} is no [section], and no KEY = VALUE in one"


def _why(error: Exception) -> str:
    """Return the reason why a host is unreachable, without the request, which botocore's text repeats."""
    inner = getattr(error, "kwargs", {}).get("error")
    while inner is not None:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        if isinstance(inner, ValueError):
            return "what was to be sent has invalid characters"
        inner = inner.__cause__ or getattr(inner, "reason", None)
    return type(error).__name__
