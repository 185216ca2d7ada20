"""A mechanism that connections know is taken from every form of file that can say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.admin.settings import ConnectionSettings, SaslSettings
from console.contexts import load, resolve
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
    """The settings of the one context that a file of this tool makes."""
    needs_user = mechanism == "PLAIN" or mechanism.startswith("SCRAM-")
    path, text = {
        "kaf": (".kaf/config", KAF),
        "kafkactl": (".config/kafkactl/config.yml", KAFKACTL),
        "rpk": (".config/rpk/rpk.yaml", RPK),
        "kcl": (".config/kcl/config.toml", ""),
        "java": ("c.properties", "bootstrap.servers=b\nsecurity.protocol=SASL_SSL\n"),
        "librdkafka": ("c.properties", "[kafka]\nbootstrap.servers=b\nsecurity.protocol=SASL_SSL\n"),
    }[tool]
    if tool in CREDENTIALS:
        given = CREDENTIALS[tool]["user"] if needs_user else CREDENTIALS[tool].get(mechanism, "x: ''")
        text = text.format("oauth" if (tool, mechanism) == ("kafkactl", "OAUTHBEARER") else mechanism, given)
    elif tool == "kcl":
        text = f'[profiles.c.sasl]\nmethod = "{mechanism}"\n' + ('user = "u"\npass = "p"\n' if needs_user else "")
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
@pytest.mark.parametrize("tool", ["java", "librdkafka", "kaf", "kafkactl", "kcl", "rpk"])
def test_every_mechanism_from_every_form_that_can_say_it(tmp_path: Path, tool: str, mechanism: str) -> None:
    if (tool, mechanism) == ("kcl", "OAUTHBEARER"):
        return  # kcl has no way to say where a token comes from
    sasl = taken(tmp_path, tool, mechanism).sasl
    assert sasl is not None
    assert sasl.mechanism == mechanism
    if mechanism == "PLAIN" or mechanism.startswith("SCRAM-"):
        assert (sasl.username, sasl.password) == ("u", Secret("p"))


def test_a_script_of_kafkactl_writes_the_token(tmp_path: Path) -> None:
    sasl = taken(tmp_path, "kafkactl", "OAUTHBEARER").sasl
    assert sasl == SaslSettings("OAUTHBEARER", options={"token.command": "token-of a 'b c'"})
    file = tmp_path / ".config/kafkactl/config.yml"
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


def test_keys_of_aws_are_not_taken_for_a_user(tmp_path: Path) -> None:
    file = tmp_path / ".config/kcl/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[profiles.c.sasl]\nmethod = "aws_msk_iam"\nuser = "AKIA"\npass = "s3cret"\n')
    (broken,) = load({}, tmp_path).broken
    assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in broken.problem
    assert "s3cret" not in broken.problem
