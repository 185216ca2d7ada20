"""Tests that kac reads every supported SASL mechanism from every format of file that can name it."""

import re
from pathlib import Path

import pytest

from console.admin.settings import ConnectionSettings, SaslSettings
from console.contexts import load, resolve
from console.contexts.context import ContextError, Found
from console.contexts.java_client import MECHANISMS
from console.model.secret import Secret

JAAS = {
    "PLAIN": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";',
    "AWS_MSK_IAM": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="u";',
    "GSSAPI": "com.sun.security.auth.module.Krb5LoginModule required;",
}
SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p";'
KAF = "clusters:\n- name: c\n  brokers: [b]\n  security-protocol: SASL_SSL\n  SASL: {{mechanism: {}, {}}}\n"
KAFKACTL = "contexts:\n  c:\n    brokers: b\n    sasl: {{enabled: true, mechanism: {}, {}}}\n"
OWN = '[contexts.c]\nbootstrap.servers = "b"\nsecurity.protocol = "SASL_SSL"\nsasl.mechanism = "{}"\n'
RPK = "profiles:\n- name: c\n  kafka_api:\n    brokers: [b]\n    sasl: {{mechanism: {}, {}}}\n"
CREDENTIALS = {
    "kaf": {"user": "username: u, password: p", "OAUTHBEARER": "token: t"},
    "kafkactl": {
        "user": "username: u, password: p",
        "OAUTHBEARER": "tokenprovider: {plugin: generic, options: {script: token-of, args: [a, b c]}}",
    },
    "rpk": {"user": "user: u, password: p", "OAUTHBEARER": "user: '', password: 'token:t'"},
}


def taken(home: Path, tool: str, mechanism: str) -> ConnectionSettings:
    """Write a tool's file with a mechanism, and return the settings of its one context."""
    needs_user = mechanism == "PLAIN" or mechanism.startswith("SCRAM-")
    path, text = {
        "kaf": (".kaf/config", KAF),
        "kafkactl": (".config/kafkactl/config.yml", KAFKACTL),
        "rpk": (".config/rpk/rpk.yaml", RPK),
        "kcl": (".config/kcl/config.toml", ""),
        "java": ("c.properties", "bootstrap.servers=b\nsecurity.protocol=SASL_SSL\n"),
        "own": (".config/kac/config.toml", ""),
        "librdkafka": ("c.properties", "[kafka]\nbootstrap.servers=b\nsecurity.protocol=SASL_SSL\n"),
    }[tool]
    if tool in CREDENTIALS:
        given = CREDENTIALS[tool]["user"] if needs_user else CREDENTIALS[tool].get(mechanism, "x: ''")
        text = text.format("oauth" if (tool, mechanism) == ("kafkactl", "OAUTHBEARER") else mechanism, given)
    elif tool == "kcl":
        text = f'[profiles.c.sasl]\nmethod = "{mechanism}"\n' + ('user = "u"\npass = "p"\n' if needs_user else "")
    elif tool == "own":
        of_command = 'sasl.oauthbearer.token.command = "token-of a"\n'
        named = "" if mechanism == "OAUTHBEARER" else f"sasl.jaas.config = '{JAAS.get(mechanism, SCRAM)}'\n"
        text = OWN.format(mechanism) + (of_command if mechanism == "OAUTHBEARER" else named)
    elif tool == "java":
        text += f"sasl.mechanism={mechanism}\nsasl.jaas.config={JAAS.get(mechanism, SCRAM)}\n"
    else:
        oidc = "sasl.oauthbearer.method=oidc\nsasl.oauthbearer.client.id=u\nsasl.oauthbearer.client.secret=p\n"
        oidc += "sasl.oauthbearer.token.endpoint.url=https://x/t\n"
        user = "sasl.username=u\nsasl.password=p\n" if needs_user else oidc if mechanism == "OAUTHBEARER" else ""
        text += f"sasl.mechanisms={mechanism}\n{user}"
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(text)
    found = load({}, home, home)
    if path == "c.properties":
        return resolve(found, command_config=file).settings
    assert not found.broken, found.broken
    assert not found.problems
    (context,) = found.contexts
    return context.settings


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("tool", ["own", "java", "librdkafka", "kaf", "kafkactl", "kcl", "rpk"])
def test_every_mechanism_from_every_form_that_can_say_it(tmp_path: Path, tool: str, mechanism: str) -> None:
    if (tool, mechanism) == ("kcl", "OAUTHBEARER"):
        return  # kcl can't configure the source of a token
    sasl = taken(tmp_path, tool, mechanism).sasl
    assert sasl is not None
    assert sasl.mechanism == mechanism
    if mechanism == "PLAIN" or mechanism.startswith("SCRAM-"):
        assert (sasl.username, sasl.password) == ("u", Secret("p"))


def test_a_script_of_kafkactl_writes_the_token(tmp_path: Path) -> None:
    sasl = taken(tmp_path, "kafkactl", "OAUTHBEARER").sasl
    file = tmp_path / ".config/kafkactl/config.yml"
    wanted = {"token.command": "token-of a 'b c'", "token.command.folder": str(file.parent)}
    assert sasl == SaslSettings("OAUTHBEARER", options=wanted)
    file.write_text(file.read_text().replace("token-of", "./bin/token"))
    (context,) = load({}, tmp_path, tmp_path / "elsewhere").contexts
    assert context.settings.sasl is not None
    assert context.settings.sasl.options["token.command"].startswith(f"{file.parent}/bin/token ")
    file.chmod(0o622)
    (broken,) = load({}, tmp_path, tmp_path).broken
    assert "its script is not run: others may write" in broken.problem


def test_a_delegation_token_of_kcl(tmp_path: Path) -> None:
    file = tmp_path / ".config/kcl/config.toml"
    file.parent.mkdir(parents=True)
    text = '[profiles.c.sasl]\nmethod = "scram-sha-256"\nuser = "id"\npass = "hmac"\nis_token = true\n'
    file.write_text(text)
    (context,) = load({}, tmp_path).contexts
    wanted = SaslSettings("SCRAM-SHA-256", "id", Secret("hmac"), {"tokenauth": "true"})
    assert context.settings.sasl == wanted
    file.write_text(text.replace("scram-sha-256", "plain"))
    (broken,) = load({}, tmp_path).broken
    assert "is_token is for SCRAM" in broken.problem


def of_plugin(home: Path, plugin: str, options: str) -> Found:
    file = home / ".config/kafkactl/config.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    provider = f"tokenprovider: {{plugin: {plugin}, options: {{{options}}}}}"
    file.write_text(KAFKACTL.format("oauth", provider).replace("brokers: b", "brokers: ns.example.net:9093"))
    return load({}, home, home)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("region: eu-west-1", {}),
        ("region: eu-west-1, profile: ops", {"aws.profile": "ops"}),
        (
            "region: eu-west-1, role: 'arn:aws:iam::1:role/kafka', stsSessionName: kac, profile: left out",
            {"aws.role.arn": "arn:aws:iam::1:role/kafka", "aws.role.session": "kac", "aws.role.region": "eu-west-1"},
        ),
    ],
)
def test_a_plugin_that_signs_with_keys_of_aws_is_a_context(
    tmp_path: Path, options: str, wanted: dict[str, str]
) -> None:
    (context,) = of_plugin(tmp_path, "aws", options).contexts
    assert context.settings.sasl == SaslSettings("OAUTHBEARER", options={"aws": "iam", **wanted})


@pytest.mark.parametrize(("plugin", "options"), [("azure", ""), ("azure", "tenant-id: 0-1"), ("another", "x: y")])
def test_the_lines_that_a_refusal_gives_make_a_context(tmp_path: Path, plugin: str, options: str) -> None:
    """If kac refuses a plugin of another tool's file, the lines that the message proposes, pasted into the file that it
    names, make a context that can log in.
    """
    (broken,) = of_plugin(tmp_path, plugin, options).broken
    lines = re.findall(r'sasl\.[a-z.]+ = "[^"]*"', broken.problem)
    assert len(lines) == 2
    own = tmp_path / ".config/kac/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("\n".join([OWN.split("sasl.mechanism")[0], *lines]))
    context = resolve(load({}, tmp_path, tmp_path), name="c")
    assert context.settings.sasl is not None
    assert context.settings.sasl.mechanism == "OAUTHBEARER"
    command = context.settings.sasl.options["token.command"]
    assert (plugin == "azure") is command.startswith("az account get-access-token --resource https://ns.example.net ")
    assert ("--tenant 0-1" in command) is ("tenant" in options)


RDKAFKA = "[kafka]\nbootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanisms=OAUTHBEARER\n"
OIDC = f"{RDKAFKA}sasl.oauthbearer.method=oidc\nsasl.oauthbearer.token.endpoint.url=https://x/t\n"


def of_librdkafka(home: Path, text: str) -> SaslSettings | None:
    file = home / "c.properties"
    file.touch(mode=0o600)
    file.write_text(text)
    return resolve(load({}, home, home), command_config=file).settings.sasl


def test_an_assertion_of_librdkafka_is_that_of_java(tmp_path: Path) -> None:
    """librdkafka's settings for a signed assertion give the same login as Java's; newer versions also use Java's names
    for the client's id and secret.
    """
    shared = (
        "sasl.oauthbearer.assertion.private.key.file=/k.pem\nsasl.oauthbearer.assertion.claim.iss=i\n"
        "sasl.oauthbearer.assertion.private.key.passphrase=p\nsasl.oauthbearer.assertion.claim.exp.seconds=60\n"
    )
    grant = "sasl.oauthbearer.grant.type=urn:ietf:params:oauth:grant-type:jwt-bearer\n"
    java = tmp_path / "java.properties"
    java.touch(mode=0o600)
    java.write_text(
        "bootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
        "sasl.oauthbearer.token.endpoint.url=https://x/t\n"
        "sasl.oauthbearer.jwt.retriever.class=org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever\n"
        f"{shared}sasl.oauthbearer.assertion.template.file=/t.json\n"
    )
    template = "sasl.oauthbearer.assertion.jwt.template.file=/t.json\n"
    found = of_librdkafka(tmp_path, OIDC + grant + shared + template)
    assert found == resolve(load({}, tmp_path, tmp_path), command_config=java).settings.sasl
    named = "sasl.oauthbearer.client.credentials.client.{}={}\n"
    found = of_librdkafka(tmp_path, OIDC + named.format("id", "u") + named.format("secret", "s"))
    assert found == SaslSettings("OAUTHBEARER", "u", Secret("s"), {"token.endpoint.url": "https://x/t"})


def test_an_unsecured_token_of_librdkafka(tmp_path: Path) -> None:
    allowed = "enable.sasl.oauthbearer.unsecure.jwt=true\n"
    text = f"{RDKAFKA}sasl.oauthbearer.config=principal=admin lifeSeconds=60\n"
    assert of_librdkafka(tmp_path, text + allowed) == SaslSettings("OAUTHBEARER", "admin", options={})
    with pytest.raises(ContextError, match="only oidc is supported"):
        of_librdkafka(tmp_path, text)
    with pytest.raises(ContextError, match="the principal's name alone"):
        of_librdkafka(tmp_path, text.replace("lifeSeconds=60", "scope=read") + allowed)


@pytest.mark.parametrize("option", ["awsRoleAccessKeyId", "awsRoleSecretAccessKey", "awsRoleSessionToken"])
def test_keys_for_a_role_are_not_left_out_in_silence(tmp_path: Path, option: str) -> None:
    file = tmp_path / "c.properties"
    file.touch(mode=0o600)
    module = (
        f'software.amazon.msk.auth.iam.IAMLoginModule required awsRoleArn="arn:aws:iam::1:role/x" {option}="s3cret";'
    )
    file.write_text(
        f"bootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\nsasl.jaas.config={module}\n"
    )
    with pytest.raises(ContextError, match="set AWS_ACCESS_KEY_ID") as caught:
        resolve(load({}, tmp_path, tmp_path), command_config=file)
    assert "s3cret" not in str(caught.value)


def test_keys_of_aws_are_not_taken_for_a_user(tmp_path: Path) -> None:
    file = tmp_path / ".config/kcl/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[profiles.c.sasl]\nmethod = "aws_msk_iam"\nuser = "AKIA"\npass = "s3cret"\n')
    (broken,) = load({}, tmp_path).broken
    assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in broken.problem
    assert "s3cret" not in broken.problem
