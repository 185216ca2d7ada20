"""Profiles of AWS that name a role or a session of SSO, beside botocore, on loopback. No cloud is reached."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha1
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest

from console.admin.aws import AwsLogin, role_in
from console.admin.aws_keys import Ask, AwsKeys, keys_of, signed_form
from console.model.secret import Secret
from tests.support.msk_signer import official_credentials
from tests.unit.test_aws import SECRET, refusal, served

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
[profile half]
sso_session=nowhere
sso_account_id=123456789012
"""
SECRETS = {"AKKEYS": SECRET, "AKENV": SECRET}


class Asked(NamedTuple):
    """A request that was accepted. by: the access key that signed, "" for SSO. region: of the signature."""

    by: str
    region: str
    form: dict[str, str]


class Services:
    """STS and the portal of SSO: they give keys that end in an hour, and check who asks."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""

    def sts(self, headers: dict[str, str], body: bytes) -> tuple[int, str]:
        scope = headers["authorization"].partition("Credential=")[2].partition(",")[0].split("/")
        access, region = scope[0], scope[2]
        if access not in SECRETS and not access.startswith("ASIA"):
            return 403, "<ErrorResponse><Error><Code>InvalidClientTokenId</Code></Error></ErrorResponse>"
        token = headers.get("x-amz-security-token")
        keys = AwsKeys(access, Secret(SECRET), Secret(token) if token else None, "a test")
        at = datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%S%z").timestamp()
        signed = signed_form(keys, region, headers["host"], body, at)
        form = dict(parse_qsl(body.decode()))
        if {name: headers.get(name) for name in signed} != signed or (access.startswith("ASIA") and not token):
            return 403, "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>"
        if form["RoleArn"].endswith("/one"):
            return 403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"
        self.asked.append(Asked(access, region, form))
        name = form["RoleArn"].removeprefix(ROLE).upper()
        ends = datetime.fromtimestamp(time.time() + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        keys_of_role = {"AccessKeyId": f"ASIA{name}", "SecretAccessKey": SECRET, "SessionToken": f"t/{name}+="}
        inner = "".join(f"<{key}>{text}</{key}>" for key, text in {**keys_of_role, "Expiration": ends}.items())
        return 200, (
            '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>'
            f"<Credentials>{inner}</Credentials></AssumeRoleResult></AssumeRoleResponse>"
        )

    def portal(self, path: str, token: str | None) -> tuple[int, str]:
        if token == "moved":
            return 302, ""
        if token != "of the session":
            return 401, "{}"
        parts = urlsplit(path)
        form = dict(parse_qsl(parts.query))
        if parts.path != "/federation/credentials" or form["role_name"] != "Kafka Ops":
            return 403, "{}"
        self.asked.append(Asked("", "", form))
        keys = {"accessKeyId": "ASIASSO", "secretAccessKey": SECRET, "sessionToken": "t/SSO+="}
        return 200, json.dumps({"roleCredentials": {**keys, "expiration": int(time.time() + 3600) * 1000}})


@pytest.fixture
def services() -> Iterator[Services]:
    made = Services()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(made.sts({name.lower(): text for name, text in self.headers.items()}, body))

        def do_GET(self) -> None:
            self._answer(made.portal(self.path, self.headers.get("x-amz-sso_bearer_token")))

        def _answer(self, answer: tuple[int, str]) -> None:
            self.send_response(answer[0])
            self.send_header("Location", "/federation/credentials?role_name=Kafka+Ops")
            self.send_header("Content-Length", str(len(answer[1])))
            self.end_headers()
            self.wfile.write(answer[1].encode())

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with served(Handler) as made.url:
        yield made


@pytest.fixture
def environ(services: Services, tmp_path: Path) -> dict[str, str]:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(CONFIG)
    log_in(tmp_path)
    return {
        "HOME": str(tmp_path),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL_STS": services.url,
        "AWS_ENDPOINT_URL_SSO": services.url,
        "http_proxy": "",
    }


def log_in(home: Path, token: str = "of the session", ends: str = "2040-01-01T00:00:00Z") -> None:
    """What `aws sso login` leaves."""
    cache = home / ".aws" / "sso" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    kept = {"startUrl": START, "region": "eu-north-1", "accessToken": token, "expiresAt": ends}
    for name in (START, "company"):
        (cache / f"{sha1(name.encode()).hexdigest()}.json").write_text(json.dumps(kept))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["ops", "chained", "itself", "environment", "sso", "older", "of-sso"])
def test_the_credentials_are_those_of_botocore(services: Services, environ: dict[str, str], profile: str) -> None:
    """The services take its requests and ours by the same rule, which signs with our code: a form of ours that differs
    from Amazon's refuses botocore."""
    if profile == "environment":
        # Then botocore looks at no profile that is not named.
        environ |= {"AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": SECRET}
    if profile in ("itself", "environment", "of-sso"):
        environ["AWS_DEFAULT_REGION"] = "us-west-2"
    theirs = official_credentials(profile, environ)
    asked, services.asked = services.asked, []
    ours = keys_of(Ask(environ), profile, 5)
    assert (ours.access_key, ours.secret.reveal(), ours.token and ours.token.reveal()) == theirs
    assert services.asked == asked
    assert asked
    assert ours.ends is not None
    assert 3500 < ours.ends - time.time() <= 3600


def test_a_role_without_a_name_of_its_session(services: Services, environ: dict[str, str]) -> None:
    found = keys_of(Ask(environ), "unnamed", 5)
    assert found.source == f"role {ROLE}ops by profile keys"
    assert services.asked == [
        Asked("AKKEYS", "us-east-1", {"Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": f"{ROLE}ops",
                                      "RoleSessionName": "kac"})
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "line"),
    [
        ("device", 'needs the code of a device (mfa_serial) | Run: eval "$(aws configure export-credentials --profile'),
        ("one", "AWS profiles have each other as source_profile: one → two → one"),
        ("missing", "has source_profile nobody, which does not exist"),
        ("odd", "has credential_source Moon, which is unknown"),
        ("environment", "assumes its role with credential_source Environment, which has no credentials"),
        ("half", "lacks sso_start_url, sso_region, sso_role_name | Run: aws configure sso --profile half"),
    ],
)
def test_profiles_that_do_not_work(environ: dict[str, str], profile: str, line: str) -> None:
    assert line in refusal(Ask(environ), profile)


def test_a_role_that_is_refused(services: Services, environ: dict[str, str]) -> None:
    home = Path(environ["HOME"])
    (home / ".aws" / "config").write_text(CONFIG.replace("source_profile=two", "source_profile=keys"))
    line = refusal(Ask(environ), "one")
    assert f"role {ROLE}one by profile keys: {urlsplit(services.url).netloc} answered 403 AccessDenied" in line
    assert "Check that profile keys may sts:AssumeRole" in line
    nobody = environ | {"AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"}
    assert "127.0.0.1:1 was not reached" in refusal(Ask(nobody), "ops")


def test_sessions_of_sso_that_do_not_work(services: Services, environ: dict[str, str]) -> None:
    home = Path(environ["HOME"])
    log_in(home, token="of yesterday")
    line = refusal(Ask(environ), "sso")
    assert "SSO of profile sso: the session was refused | Log in: aws sso login --profile sso" in line
    assert "of yesterday" not in line
    # A token is for the portal alone.
    log_in(home, token="moved")
    assert "answered 302" in refusal(Ask(environ), "sso")
    log_in(home, token="odd\ntoken")
    line = refusal(Ask(environ), "sso")
    assert "what was to be sent has invalid characters" in line
    assert "odd" not in line
    log_in(home, ends="2020-06-17T10:02:08UTC")
    assert "the session is over, since 2020-06-17 10:02:08 UTC | Log in: aws sso login" in refusal(Ask(environ), "sso")
    log_in(home)
    (home / ".aws" / "config").write_text(CONFIG.replace("Kafka Ops", "Other"))
    assert "answered 403 | Check that you have role Other of account 123456789012" in refusal(Ask(environ), "sso")
    for file in (home / ".aws" / "sso" / "cache").iterdir():
        file.write_text("[]")
    assert "there is no session in" in refusal(Ask(environ), "sso")
    assert services.asked == []


async def test_a_role_of_the_login_itself(services: Services, environ: dict[str, str]) -> None:
    """awsRoleArn and its like, of aws-msk-iam-auth: assumed with the credentials of the profile."""
    options = {
        "aws.role.arn": f"{ROLE}of-login",
        "aws.role.session": "bob",
        "aws.role.external.id": "x=y",
        "aws.role.region": "ap-south-1",
    }
    login = AwsLogin("keys", 5, Ask(environ), role=role_in(options))
    payload = json.loads(await login.payload("b-1.x.c2.kafka.us-east-2.amazonaws.com"))
    assert payload["x-amz-credential"].startswith("ASIAOF-LOGIN/")
    assert "/us-east-2/" in payload["x-amz-credential"], "the region of the broker"
    (asked,) = services.asked
    assert (asked.by, asked.region) == ("AKKEYS", "ap-south-1")
    assert (asked.form["RoleSessionName"], asked.form["ExternalId"]) == ("bob", "x=y")
    assert role_in({"aws": "iam"}) is None
