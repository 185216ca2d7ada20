"""Tests of AWS profiles with a role or an SSO session, against servers on loopback. No test connects to a cloud."""

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from console.admin.aws import AwsLogin, role_in
from tests.support.http_server import Answer, Asked, answering
from tests.unit.test_aws import NOWHERE, SECRET, Stand, in_home, keys_of, refusal, stand

__all__ = ["stand"]

ROLE = "arn:aws:iam::123456789012:role/"
START = "https://example.awsapps.com/start"
CONFIG = f"""
[profile keys]
aws_access_key_id=AKKEYS
aws_secret_access_key={SECRET}
[profile ops]
role_arn={ROLE}ops
source_profile=keys
role_session_name=alice
external_id=a+b/c=d
duration_seconds=1800
region=eu-west-1
[profile unnamed]
role_arn={ROLE}ops
source_profile=keys
[profile chained]
role_arn={ROLE}chained
source_profile=ops
role_session_name=alice
region=eu-central-1
[profile itself]
aws_access_key_id=AKKEYS
aws_secret_access_key={SECRET}
role_arn={ROLE}itself
source_profile=itself
role_session_name=alice
[profile environment]
role_arn={ROLE}environment
credential_source=Environment
role_session_name=alice
[sso-session company]
sso_start_url={START}
sso_region=eu-north-1
sso_registration_scopes=sso:account:access
[profile sso]
sso_session=company
sso_account_id=123456789012
sso_role_name=Kafka Ops
[profile older]
sso_start_url={START}
sso_region=eu-north-1
sso_account_id=123456789012
sso_role_name=Kafka Ops
[profile of-sso]
role_arn={ROLE}of-sso
source_profile=sso
role_session_name=alice
[profile device]
role_arn={ROLE}ops
source_profile=keys
mfa_serial=arn:aws:iam::123456789012:mfa/alice
[profile one]
role_arn={ROLE}one
source_profile=two
[profile two]
role_arn={ROLE}two
source_profile=one
[profile missing]
role_arn={ROLE}ops
source_profile=nobody
[profile odd]
role_arn={ROLE}ops
credential_source=Moon
[profile login]
login_session=arn:aws:iam::123456789012:user/alice
[profile half]
sso_session=nowhere
sso_account_id=123456789012
"""
SECRETS = {"AKKEYS": SECRET, "AKENV": SECRET}


class Call(NamedTuple):
    """An accepted request. by: the access key of the signature; "" for SSO. region: the region of the signature."""

    by: str
    region: str
    form: dict[str, str]


class Services:
    """Servers that act as STS and the portal of SSO: they check the signature or token, and return keys that expire in
    an hour.
    """

    def __init__(self) -> None:
        self.asked: list[Call] = []
        self.url = ""

    def sts(self, headers: dict[str, str], body: bytes) -> tuple[int, str]:
        scope = headers["authorization"].partition("Credential=")[2].partition(",")[0].split("/")
        access, region = scope[0], scope[2]
        if access not in SECRETS and not access.startswith("ASIA"):
            return 403, "<ErrorResponse><Error><Code>InvalidClientTokenId</Code></Error></ErrorResponse>"
        token = headers.get("x-amz-security-token")
        form = dict(parse_qsl(body.decode()))
        if headers["authorization"] != self._signed(headers, region, body, Credentials(access, SECRET, token)) or (
            access.startswith("ASIA") and not token
        ):
            return 403, "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>"
        if form["RoleArn"].endswith("/one"):
            return 403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"
        self.asked.append(Call(access, region, form))
        name = form["RoleArn"].removeprefix(ROLE).upper()
        ends = datetime.fromtimestamp(time.time() + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        keys_of_role = {"AccessKeyId": f"ASIA{name}", "SecretAccessKey": SECRET, "SessionToken": f"t/{name}+="}
        inner = "".join(f"<{key}>{text}</{key}>" for key, text in {**keys_of_role, "Expiration": ends}.items())
        return 200, (
            '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>'
            f"<Credentials>{inner}</Credentials></AssumeRoleResult></AssumeRoleResponse>"
        )

    @staticmethod
    def _signed(headers: dict[str, str], region: str, body: bytes, keys: Credentials) -> str:
        """Return the Authorization header that a correct client sends with these headers, this body and these keys."""
        signer = SigV4Auth(keys, "sts", region)
        names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
        sent = AWSRequest("POST", f"http://{headers['host']}/", {name: headers[name] for name in names}, body)
        sent.context["timestamp"] = headers["x-amz-date"]
        signature = signer.signature(signer.string_to_sign(sent, signer.canonical_request(sent)), sent)
        scope = f"AWS4-HMAC-SHA256 Credential={signer.scope(sent)}"
        return f"{scope}, SignedHeaders={';'.join(names)}, Signature={signature}"

    def oidc(self, given: dict[str, str]) -> tuple[int, str]:
        """Return status and body: a new access token of the SSO session for a valid refresh token, else an error."""
        if given.get("refreshToken") != "renews":
            return 400, json.dumps({"error": "invalid_grant"})
        self.asked.append(Call("", "", {name: given[name] for name in ("clientId", "grantType")}))
        return 200, json.dumps({"accessToken": "of the session", "expiresIn": 3600, "refreshToken": "renews"})

    def portal(self, path: str, token: str | None) -> tuple[int, str]:
        if token == "moved":
            return 302, ""
        if token != "of the session":
            return 401, "{}"
        parts = urlsplit(path)
        form = dict(parse_qsl(parts.query))
        if parts.path != "/federation/credentials" or form["role_name"] != "Kafka Ops":
            return 403, "{}"
        self.asked.append(Call("", "", form))
        keys = {"accessKeyId": "ASIASSO", "secretAccessKey": SECRET, "sessionToken": "t/SSO+="}
        return 200, json.dumps({"roleCredentials": {**keys, "expiration": int(time.time() + 3600) * 1000}})


@pytest.fixture
def services() -> Iterator[Services]:
    made = Services()
    moved = {"Location": "/federation/credentials?role_name=Kafka+Ops"}

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            told = made.portal(asked.path, asked.headers.get("x-amz-sso_bearer_token"))
        elif asked.path == "/token":
            told = made.oidc(json.loads(asked.body))
        else:
            told = made.sts(dict(asked.headers), asked.body)
        return Answer(*told, moved)

    with answering(answer) as made.url:
        yield made


@pytest.fixture
def environ(services: Services, stand: Stand) -> dict[str, str]:
    in_home("config", CONFIG)
    log_in()
    services_at = {f"AWS_ENDPOINT_URL_{name}": services.url for name in ("STS", "SSO", "SSO_OIDC")}
    environ = {**NOWHERE, **services_at}
    stand(environ)
    return environ


def log_in(token: str = "of the session", ends: str = "2040-01-01T00:00:00Z", **more: str) -> None:
    """Write the cache files that `aws sso login` writes. token: the access token. ends: when it expires. more: further
    fields.
    """
    cache = Path(os.environ["HOME"]) / ".aws" / "sso" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    kept = {"startUrl": START, "region": "eu-north-1", "accessToken": token, "expiresAt": ends, **more}
    for name in (START, "company"):
        (cache / f"{sha1(name.encode()).hexdigest()}.json").write_text(json.dumps(kept))


BY_ALICE = {"Action": "AssumeRole", "Version": "2011-06-15", "RoleSessionName": "alice"}
OPS = {**BY_ALICE, "RoleArn": f"{ROLE}ops", "ExternalId": "a+b/c=d", "DurationSeconds": "1800"}
SSO = {"role_name": "Kafka Ops", "account_id": "123456789012"}


@pytest.mark.parametrize(
    ("profile", "access", "source", "asked"),
    [
        ("ops", "ASIAOPS", "the role of profile ops", [Call("AKKEYS", "eu-west-1", OPS)]),
        (
            "chained",
            "ASIACHAINED",
            "the role of profile chained",
            [
                Call("AKKEYS", "eu-central-1", OPS),
                Call("ASIAOPS", "eu-central-1", {**BY_ALICE, "RoleArn": f"{ROLE}chained"}),
            ],
        ),
        (
            "itself",
            "ASIAITSELF",
            "the role of profile itself",
            [Call("AKKEYS", "us-west-2", {**BY_ALICE, "RoleArn": f"{ROLE}itself"})],
        ),
        (
            "environment",
            "ASIAENVIRONMENT",
            "the role of profile environment",
            [Call("AKENV", "us-west-2", {**BY_ALICE, "RoleArn": f"{ROLE}environment"})],
        ),
        ("sso", "ASIASSO", "SSO of profile sso", [Call("", "", SSO)]),
        ("older", "ASIASSO", "SSO of profile older", [Call("", "", SSO)]),
        (
            "of-sso",
            "ASIAOF-SSO",
            "the role of profile of-sso",
            [Call("", "", SSO), Call("ASIASSO", "us-west-2", {**BY_ALICE, "RoleArn": f"{ROLE}of-sso"})],
        ),
    ],
)
def test_roles_and_sessions_of_profiles(
    services: Services,
    environ: dict[str, str],
    stand: Stand,
    profile: str,
    access: str,
    source: str,
    asked: list[Call],
) -> None:
    environ = {**environ, "http_proxy": "http://127.0.0.1:1"}
    if profile == "environment":
        environ |= {"AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": SECRET}
    if profile in ("itself", "environment", "of-sso"):
        environ["AWS_DEFAULT_REGION"] = "us-west-2"
    stand(environ)
    found = keys_of(profile)
    assert (found.access_key, found.secret.reveal(), found.source) == (access, SECRET, source)
    assert found.token is not None
    assert found.token.reveal() == f"t/{access.removeprefix('ASIA')}+="
    assert found.ends is not None
    assert 3500 < found.ends.timestamp() - time.time() <= 3600
    assert services.asked == asked


def test_a_role_without_a_name_of_its_session(services: Services, environ: dict[str, str]) -> None:
    assert keys_of("unnamed").source == "the role of profile unnamed"
    (asked,) = services.asked
    assert (asked.by, asked.region, asked.form["RoleArn"]) == ("AKKEYS", "us-east-1", f"{ROLE}ops")
    assert asked.form["RoleSessionName"].startswith("botocore-session-")


@pytest.mark.parametrize(
    ("profile", "line"),
    [
        ("device", 'needs the code of a device (mfa_serial) | Run: eval "$(aws configure export-credentials --profile'),
        ("one", "AWS profiles have each other as source_profile: one → two → one"),
        ("missing", 'The source_profile "nobody" referenced in the profile "missing" does not exist'),
        ("odd", 'The credential source "Moon" referenced in profile "odd" is not valid'),
        ("environment", "Environment of profile environment gave no AWS credentials"),
        ("half", 'The specified sso-session does not exist: "nowhere" | Correct ~/.aws/config'),
        ("login", "has login_session, which is not supported | Run: eval"),
    ],
)
def test_profiles_that_do_not_work(environ: dict[str, str], profile: str, line: str) -> None:
    assert line in refusal(profile)


def test_a_role_that_is_refused(services: Services, environ: dict[str, str], stand: Stand) -> None:
    in_home("config", CONFIG.replace("source_profile=two", "source_profile=keys"))
    line = refusal("one")
    assert "AWS profile one: AssumeRole answered 403 AccessDenied" in line
    assert "Check that they may sts:AssumeRole" in line
    stand(environ | {"AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"})
    assert "127.0.0.1:1 was not reached: Connection refused" in refusal("ops")


def test_sessions_of_sso_that_do_not_work(services: Services, environ: dict[str, str]) -> None:
    log_in(token="of yesterday")
    line = refusal("sso")
    assert "SSO of profile sso: the session is over, or was refused | Log in: aws sso login --profile sso" in line
    assert "of yesterday" not in line
    # A redirect does not get the token.
    log_in(token="moved")
    assert "GetRoleCredentials answered 302" in refusal("sso")
    log_in(token="odd\ntoken")
    line = refusal("sso")
    assert "what was to be sent has invalid characters" in line
    assert "odd" not in line
    log_in(ends="2020-06-17T10:02:08UTC")
    for profile in ("sso", "older"):
        assert f"the session is over, or was refused | Log in: aws sso login --profile {profile}" in refusal(profile)
    log_in()
    in_home("config", CONFIG.replace("Kafka Ops", "Other"))
    line = refusal("sso")
    assert "GetRoleCredentials answered 403" in line
    assert "Check that you have this role of this account" in line
    cache = Path(os.environ["HOME"]) / ".aws" / "sso" / "cache"
    for text, why in {"{}": "there is no session in", "[]": "there is no session in", "{": "not in AWS' form"}.items():
        for file in cache.iterdir():
            file.write_text(text)
        assert why in refusal("sso")
    assert services.asked == []


def test_a_session_of_sso_is_renewed_as_awss_own_tools_do(services: Services, environ: dict[str, str]) -> None:
    renewal = {"clientId": "c", "clientSecret": SECRET, "registrationExpiresAt": "2040-01-01T00:00:00Z"}
    ends = (datetime.now(UTC) + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    log_in("about to end", ends, refreshToken="renews", **renewal)
    assert keys_of("sso").access_key == "ASIASSO"
    assert services.asked == [Call("", "", {"clientId": "c", "grantType": "refresh_token"}), Call("", "", SSO)]
    (kept,) = [
        each for each in (Path(os.environ["HOME"]) / ".aws/sso/cache").iterdir() if "of the session" in each.read_text()
    ]
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_a_role_of_the_login_itself(services: Services, environ: dict[str, str]) -> None:
    """If the login's options name a role (awsRoleArn of aws-msk-iam-auth), kac assumes it with the credentials of the
    profile.
    """
    options = {
        "aws.role.arn": f"{ROLE}of-login",
        "aws.role.session": "bob",
        "aws.role.external.id": "x=y",
        "aws.role.region": "ap-south-1",
    }
    login = AwsLogin("keys", 5, role_in(options))
    payload = json.loads(await login.payload("b-1.x.c2.kafka.us-east-2.amazonaws.com"))
    assert payload["x-amz-credential"].startswith("ASIAOF-LOGIN/")
    assert "/us-east-2/" in payload["x-amz-credential"], "the region of the broker"
    (asked,) = services.asked
    assert (asked.by, asked.region) == ("AKKEYS", "ap-south-1")
    assert (asked.form["RoleSessionName"], asked.form["ExternalId"]) == ("bob", "x=y")
    assert f"of role {ROLE}of-login by profile keys, for region us-east-2" in login.shown()
    assert role_in({"aws": "iam"}) is None
