"""Tests of connection settings that kac reads from Java's client.properties and from librdkafka's files."""

from pathlib import Path

import pytest

from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.contexts.client_files import from_command_config, from_properties
from console.contexts.context import ContextError, Surroundings
from console.model.secret import Secret

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.touch(mode=0o600)
    return path


def read(file: Path, text: str, **environ: str) -> tuple[ConnectionSettings, tuple[str, ...]]:
    file.write_text(text, encoding="latin-1")
    return from_properties(file, Surroundings(environ, file.parent / "home", file.parent / "cwd"))


def complaint(file: Path, text: str, **environ: str) -> str:
    with pytest.raises(ContextError) as caught:
        read(file, text, **environ)
    words = str(caught.value)
    assert words.startswith(str(file))
    assert "\n" not in words
    return words.removeprefix(str(file))


def test_the_least_and_the_limit_of_a_whole_call(file: Path) -> None:
    assert read(file, "bootstrap.servers=b1:1,b2") == (ConnectionSettings((("b1", 1), ("b2", 9092))), ())
    text = "bootstrap.servers=b\nrequest.timeout.ms=5000\ndefault.api.timeout.ms=120000"  # the second one counts
    assert read(file, text)[0].request_timeout == 120.0


def test_controllers_in_place_of_brokers(file: Path) -> None:
    settings, warnings = read(file, "bootstrap.controllers=c1:9093,c2:9093")
    assert (settings.bootstrap, settings.controllers) == ((("c1", 9093), ("c2", 9093)), True)
    assert warnings == ()
    both = complaint(file, "bootstrap.servers=b:9092\nbootstrap.controllers=c:9093")
    assert both.startswith(":2: bootstrap.controllers: bootstrap.servers is set, too")
    assert complaint(file, "bootstrap.controllers=c1:").startswith(":1: bootstrap.controllers: ")


def test_scram_over_tls(file: Path) -> None:
    text = f"""
bootstrap.servers = b1:9093
security.protocol = sasl_ssl
sasl.mechanism = SCRAM-SHA-512
sasl.jaas.config = {SCRAM} \\
    username="alice" \\
    password="open \\\\"sesame\\\\"";
ssl.truststore.location = /etc/kafka/ca.jks
ssl.truststore.password = changeit\\u0020
client.id = bastion
request.timeout.ms = 45000
socket.connection.setup.timeout.ms = 2500
"""
    settings, warnings = read(file, text)
    assert settings == ConnectionSettings(
        (("b1", 9093),),
        "SASL_SSL",
        SaslSettings("SCRAM-SHA-512", "alice", Secret('open "sesame"')),
        TlsSettings(trust=Store("JKS", Path("/etc/kafka/ca.jks"), password=Secret("changeit "))),
        "bastion",
        45.0,
        2.5,
    )
    assert warnings == ()


def test_mutual_tls_with_stores(file: Path) -> None:
    (file.parent / "cwd").mkdir()
    (file.parent / "cwd" / "ca.pem").touch()
    (file.parent / "key.p12").touch()
    text = """
bootstrap.servers=b
security.protocol=SSL
ssl.truststore.type=pem
ssl.truststore.location=ca.pem
ssl.keystore.type=PKCS12
ssl.keystore.location=key.p12
ssl.keystore.password=${env:STORE}
ssl.key.password=inner
ssl.endpoint.identification.algorithm=
"""
    settings, _ = read(file, text, STORE="outer")
    assert settings.tls == TlsSettings(
        trust=Store("PEM", file.parent / "cwd" / "ca.pem"),
        key_store=Store("PKCS12", file.parent / "key.p12", password=Secret("outer")),
        key_password=Secret("inner"),
        verify_host=False,
    )


def test_mutual_tls_with_pem_inline(file: Path) -> None:
    text = """
bootstrap.servers=b
security.protocol=SSL
ssl.truststore.type=PEM
ssl.truststore.certificates=the authority
ssl.keystore.type=PEM
ssl.keystore.certificate.chain=the chain
ssl.keystore.key=the key
"""
    settings, _ = read(file, text)
    assert settings.tls == TlsSettings(
        trust=Store("PEM", inline=Secret("the authority")),
        key_store=Store("PEM", inline=Secret("the chain")),
        key_file=Store("PEM", inline=Secret("the key")),
    )


def test_client_credentials(file: Path) -> None:
    text = f"""
bootstrap.servers=b
security.protocol=SASL_SSL
sasl.mechanism=OAUTHBEARER
sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler
sasl.oauthbearer.token.endpoint.url=https://idp.example/token
sasl.login.read.timeout.ms=3000
sasl.jaas.config={OAUTH} clientId="kac" clientSecret="${{env:SECRET}}" scope="a b" extension_logicalCluster="lkc-1" \\
  ssl.truststore.type="PEM" ssl.truststore.location="/idp.pem";
"""
    settings, warnings = read(file, text, SECRET="s;e\"c'ret")
    assert settings.sasl == SaslSettings(
        "OAUTHBEARER",
        "kac",
        Secret("s;e\"c'ret"),
        {
            "token.endpoint.url": "https://idp.example/token",
            "scope": "a b",
            "read.timeout.ms": "3000",
            "extension_logicalCluster": "lkc-1",
        },
        TlsSettings(trust=Store("PEM", Path("/idp.pem"))),
    )
    assert warnings == ()


def test_client_credentials_under_their_own_keys(file: Path) -> None:
    text = """
bootstrap.servers=b
security.protocol=SASL_SSL
sasl.mechanism=OAUTHBEARER
sasl.oauthbearer.token.endpoint.url=https://idp.example/token
sasl.oauthbearer.client.credentials.client.id=kac
sasl.oauthbearer.client.credentials.client.secret=open-sesame
sasl.oauthbearer.scope=kafka
"""
    settings, warnings = read(file, text)
    assert settings.sasl == SaslSettings(
        "OAUTHBEARER",
        "kac",
        Secret("open-sesame"),
        {"token.endpoint.url": "https://idp.example/token", "scope": "kafka"},
    )
    assert warnings == ()


def test_kerberos(file: Path) -> None:
    text = """
bootstrap.servers=b
security.protocol=SASL_PLAINTEXT
sasl.kerberos.service.name=kafka-prod
sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true \\
  keyTab="/etc/kac.keytab" principal="kac@EXAMPLE.COM";
"""
    settings, warnings = read(file, text)
    options = {"kerberos.service.name": "kafka-prod", "kerberos.keytab": "/etc/kac.keytab"}
    assert settings.sasl == SaslSettings("GSSAPI", "kac@EXAMPLE.COM", options=options)
    assert warnings == ()
    settings, _ = read(file, text.replace("useKeyTab=true", 'useKeyTab=false ticketCache="/tmp/cache"'))
    options = {"kerberos.service.name": "kafka-prod", "kerberos.ticket.cache": "/tmp/cache"}
    assert settings.sasl == SaslSettings("GSSAPI", "kac@EXAMPLE.COM", options=options)
    assert "principal: it is missing" in complaint(file, text.replace(' principal="kac@EXAMPLE.COM"', ""))


def test_a_reference_for_the_whole_login_config(file: Path) -> None:
    jaas = file.parent / "jaas"
    jaas.write_text(f'{PLAIN} username="alice" password="open sesame";\n')
    jaas.chmod(0o600)
    text = "bootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=${file:jaas}\n"
    file.chmod(0o644)  # the file has no secret
    settings, warnings = read(file, text)
    assert settings.sasl == SaslSettings("PLAIN", "alice", Secret("open sesame"))
    assert warnings == ()


def test_files_that_others_may_read_are_told_of(file: Path) -> None:
    secret = file.parent / "secret"
    secret.write_text("open sesame")
    secret.chmod(0o640)
    text = f"bootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} "
    file.chmod(0o644)
    _, inline = read(file, text + 'username=alice password="open sesame";')
    assert inline == (f"{file} holds secrets and others may read it; chmod 600 {file}",)
    _, referred = read(file, text + 'username=alice password="${file:secret}";')
    assert referred == (f"{secret} holds secrets and others may read it; chmod 600 {secret}",)
    _, environment = read(file, text + "username=alice password=${env:P};", P="open sesame")
    assert environment == ()


def test_certificates_are_no_secrets_and_keys_are(file: Path) -> None:
    text = "bootstrap.servers=b\nsecurity.protocol=SSL\nssl.truststore.certificates=ca\n"
    file.chmod(0o644)
    assert read(file, text)[1] == ()
    _, warnings = read(file, text + "ssl.keystore.certificate.chain=c\nssl.keystore.key=k\n")
    assert warnings == (f"{file} holds secrets and others may read it; chmod 600 {file}",)


def test_no_secret_is_in_the_settings_text(file: Path) -> None:
    text = f"""
bootstrap.servers=b
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config={PLAIN} username="alice" password="open-sesame";
ssl.keystore.location=/k
ssl.keystore.password=open-sesame
ssl.key.password=open-sesame
ssl.truststore.location=/t
ssl.truststore.password=open-sesame
"""
    settings, warnings = read(file, text)
    assert "open-sesame" not in repr(settings) + repr(warnings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("client.id=x", ": bootstrap.servers is missing; add it, or give -b HOST:PORT"),
        ("\nbootstrap.servers=b:x", ":2: bootstrap.servers: 'b:x' is not HOST:PORT; the port is a number"),
        ("bootstrap.servers=b\nsecurity.protocol=TLS", ":2: security.protocol: it is one of PLAINTEXT, SSL"),
        ("bootstrap.servers=b\nrequest.timeout.ms=5s", ":2: request.timeout.ms: it is a number of milliseconds"),
        ("bootstrap.servers=${env:NONE}", ":1: bootstrap.servers: the environment has no variable NONE"),
        ("a=\\u00", ": line 1: \\u needs four"),
    ],
)
def test_complaints_name_key_file_and_line(file: Path, text: str, words: str) -> None:
    assert complaint(file, text).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sasl.mechanism=DIGEST-MD5", ":3: sasl.mechanism: DIGEST-MD5 is not supported; it is one of PLAIN"),
        ("sasl.mechanism=PLAIN", ": sasl.jaas.config: username is missing (java.security.auth.login.config"),
        (
            f"sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} username=a;",
            ":4: sasl.jaas.config: password is missing; sasl.jaas.config needs: PlainLoginModule required",
        ),
        (
            f"sasl.jaas.config={SCRAM} username=a password=b;",
            ":3: sasl.jaas.config: without sasl.mechanism Kafka's clients use GSSAPI, and this is ScramLoginModule; "
            "add sasl.mechanism=SCRAM-SHA-256 or SCRAM-SHA-512",
        ),
        (
            f"sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} username=a password=${{env:NONE}};",
            ":4: sasl.jaas.config: password: the environment has no variable NONE",
        ),
        (
            f"sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} username=a password=b tokenauth=true;",
            ":4: sasl.jaas.config: tokenauth: delegation tokens are for SCRAM",
        ),
        ("sasl.mechanism=OAUTHBEARER", ":3: sasl.mechanism: OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url"),
        (
            "sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=https://x/y",
            ": sasl.jaas.config: clientId is missing, and there is no assertion (sasl.oauthbearer.assertion.file",
        ),
        ("sasl.mechanism=PLAIN\nsasl.jaas.config=open-sesame", ":4: sasl.jaas.config: a control flag"),
    ],
)
def test_complaints_about_sasl(file: Path, text: str, words: str) -> None:
    said = complaint(file, f"bootstrap.servers=b\nsecurity.protocol=SASL_SSL\n{text}")
    assert said.startswith(words)
    assert "open-sesame" not in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "ssl.truststore.location=/t\nssl.truststore.type=BCFKS\n",
            ":4: ssl.truststore.type: BCFKS stores can't be read",
        ),
        ("ssl.keystore.key=k", ":3: ssl.keystore.key: it comes with ssl.keystore.certificate.chain"),
        ("ssl.truststore.certificates=c\nssl.truststore.location=/t", ":4: ssl.truststore.location: it is given, and"),
        ("ssl.endpoint.identification.algorithm=none", ":3: ssl.endpoint.identification.algorithm: it is https, or"),
    ],
)
def test_complaints_about_tls(file: Path, text: str, words: str) -> None:
    assert complaint(file, f"bootstrap.servers=b\nsecurity.protocol=SSL\n{text}").startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ssl.engine.factory.class=com.example.F", "2: ssl.engine.factory.class names Java code, which kac can't run"),
        ("ssl.cipher.suites=TLS_AES_128_GCM_SHA256", "2: ssl.cipher.suites is not applied"),
        ("ssl.enabled.protocols=TLSv1.1", "2: ssl.enabled.protocols has neither TLSv1.2 nor TLSv1.3"),
        ("config.providers=env,vault", "2: config.providers names Java code, which kac can't run: ${env:NAME}"),
        ("sasl.mecanism=PLAIN", "2: sasl.mecanism is not a key of Kafka's clients; did you mean sasl.mechanism?"),
        (
            "securtiy.protocol=SSL",
            "2: securtiy.protocol is not a key of Kafka's clients; did you mean security.protocol?",
        ),
        (
            "ssl.truststore.location=/t",
            "2: ssl.truststore.location has no effect with security.protocol=PLAINTEXT",
        ),
        ("sasl.mechanism=PLAIN", "2: sasl.mechanism has no effect with security.protocol=PLAINTEXT"),
        ("client.id=a\nclient.id=b", "3: client.id is set twice; this value is used"),
        ("client.id=\xe9", "2: client.id is read as ISO-8859-1, as Java does; write \\uXXXX"),
    ],
)
def test_warnings_name_file_and_line(file: Path, text: str, words: str) -> None:
    _, warnings = read(file, f"bootstrap.servers=b\n{text}")
    assert any(warning.startswith(f"{file}:{words}") for warning in warnings), warnings


def test_other_keys_of_kafka_are_nobodys_business(file: Path) -> None:
    text = """
bootstrap.servers=b
security.protocol=SSL
group.id=g
acks=all
schema.registry.url=http://x
schema.registry.ssl.truststore.location=/t
ssl.enabled.protocols=TLSv1.2,TLSv1.1
security.providers=
ssl.protocol=TLSv1.3
"""
    _, warnings = read(file, text)
    assert warnings == ()


def test_a_login_module_of_someone_else_is_told_of(file: Path) -> None:
    text = "bootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
    settings, warnings = read(file, text + "sasl.jaas.config=com.example.VaultLogin required username=a password=b;")
    assert settings.sasl == SaslSettings("PLAIN", "a", Secret("b"))
    assert any("names the login module com.example.VaultLogin, Java code" in warning for warning in warnings)


def test_a_password_in_the_clear_and_an_unsecured_token_are_told_of(file: Path) -> None:
    text = f"bootstrap.servers=b\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} "
    settings, warned = read(file, text + "username=a password=b;")
    assert warned == ()
    assert settings.exposures == ("PLAIN over SASL_PLAINTEXT sends the password in the clear; use SASL_SSL",)
    unsecured = text.replace("=PLAIN\n", "=OAUTHBEARER\n").replace(PLAIN, OAUTH)
    settings, told = read(file, unsecured + 'unsecuredLoginStringClaim_sub="alice";')
    assert settings.sasl == SaslSettings("OAUTHBEARER", "alice")
    assert settings.exposures == ()
    assert len(told) == 1
    assert "asks for an unsecured token" in told[0]


def test_the_same_for_librdkafka(file: Path) -> None:
    text = """
# as kcat and kaskade take it
metadata.broker.list=b1:1
security.protocol=sasl_ssl
sasl.mechanisms=SCRAM-SHA-256
sasl.username=alice
sasl.password=a\\b="c
ssl.ca.location=/ca.pem
ssl.certificate.location=/client.pem
ssl.key.location=/client.key
ssl.key.password=k
enable.ssl.certificate.verification=false
"""
    settings, warnings = read(file, text)
    assert settings == ConnectionSettings(
        (("b1", 1),),
        "SASL_SSL",
        SaslSettings("SCRAM-SHA-256", "alice", Secret('a\\b="c')),
        TlsSettings(
            trust=Store("PEM", Path("/ca.pem")),
            key_store=Store("PEM", Path("/client.pem")),
            key_file=Store("PEM", Path("/client.key")),
            key_password=Secret("k"),
            verify_chain=False,
        ),
    )
    assert warnings == (
        f"{file}:12: enable.ssl.certificate.verification is false: any server is accepted as the broker",
    )


def test_the_section_of_an_ini_file(file: Path) -> None:
    text = """
[schema-registry]
url = http://x
[kafka]
bootstrap.servers = b1:1, b2:2
security.protocol = SASL_SSL
sasl.mechanism = OAUTHBEARER
sasl.oauthbearer.method = oidc
sasl.oauthbearer.client.id = kac
sasl.oauthbearer.client.secret = s
sasl.oauthbearer.token.endpoint.url = https://idp/token
sasl.oauthbearer.extensions = logicalCluster=lkc-1,b=c
"""
    settings, _ = read(file, text)
    assert settings.bootstrap == (("b1", 1), ("b2", 2))
    assert settings.sasl == SaslSettings(
        "OAUTHBEARER",
        "kac",
        Secret("s"),
        {
            "token.endpoint.url": "https://idp/token",
            "extension_logicalCluster": "lkc-1",
            "extension_b": "c",
        },
    )
    assert "only [kafka] is read" in complaint(file, "[default]\na=b\n[other]\n")
    assert complaint(file, "[kafka]\nsasl.username=a\nsecurity.protocol=x\n").startswith(":3: security.protocol:")


def test_a_file_for_the_command_line(file: Path) -> None:
    file.write_text("bootstrap.servers=b1:1,b2:2\nclient.id=x\n")
    here = Surroundings({}, file.parent, file.parent)
    context = from_command_config(file, here, None)
    assert (context.name, context.settings.bootstrap) == ("b1:1", (("b1", 1), ("b2", 2)))
    assert str(file) in context.origin
    assert from_command_config(file, here, (("b3", 3),)).settings == ConnectionSettings((("b3", 3),), client_id="x")
    with pytest.raises(ContextError, match="there is no such file"):
        from_command_config(file.parent / "none", here, None)
    with pytest.raises(ContextError, match="can't be read"):
        from_command_config(file.parent, here, None)


@pytest.mark.parametrize(
    ("mechanism", "handler"),
    [
        ("AWS_MSK_IAM", "sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler"),
        (
            "OAUTHBEARER",
            "sasl.login.callback.handler.class=software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler",
        ),
    ],
)
def test_iam_of_amazon_msk(file: Path, mechanism: str, handler: str) -> None:
    module = "IAMLoginModule" if mechanism == "AWS_MSK_IAM" else "OAuthBearerLoginModule"
    text = f"""
bootstrap.servers=b
security.protocol=SASL_SSL
sasl.mechanism={mechanism}
sasl.jaas.config=software.amazon.msk.auth.iam.{module} required awsProfileName="ops";
{handler}
"""
    settings, warnings = read(file, text)
    assert settings.sasl == SaslSettings(mechanism, options={"aws": "iam", "aws.profile": "ops"})
    assert warnings == ()
    role = 'awsRoleArn="arn:aws:iam::1:role/r" awsRoleSessionName="s" awsStsRegion="eu-west-1"'
    settings, _ = read(file, text.replace('awsProfileName="ops"', role))
    named = {"aws.role.arn": "arn:aws:iam::1:role/r", "aws.role.session": "s", "aws.role.region": "eu-west-1"}
    assert settings.sasl == SaslSettings(mechanism, options={"aws": "iam", **named})
    said = complaint(file, text.replace('awsProfileName="ops"', 'awsStsRegion="eu-west-1"'))
    assert "awsStsRegion: it is of a role, and awsRoleArn is missing" in said


def test_a_keytab_of_librdkafka(file: Path) -> None:
    text = """
metadata.broker.list=b
security.protocol=sasl_ssl
sasl.mechanisms=GSSAPI
sasl.kerberos.keytab=/etc/kac.keytab
sasl.kerberos.principal=kac@EXAMPLE.COM
"""
    settings, warnings = read(file, text)
    options = {"kerberos.service.name": "kafka", "kerberos.keytab": "/etc/kac.keytab"}
    assert settings.sasl == SaslSettings("GSSAPI", "kac@EXAMPLE.COM", options=options)
    assert warnings == ()
    assert "sasl.kerberos.principal" in complaint(file, text.replace("sasl.kerberos.principal=kac@EXAMPLE.COM", ""))


STRIMZI = f"""bootstrap.servers=b:9093
security.protocol=SASL_SSL
sasl.mechanism=OAUTHBEARER
sasl.login.callback.handler.class=io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler
sasl.jaas.config={OAUTH} \\
  oauth.client.id="kac" \\
  oauth.client.secret="${{env:SECRET}}" \\
  oauth.token.endpoint.uri="https://sso:8443/token" \\
  oauth.scope="kafka" oauth.username.claim="sub" oauth.connect.timeout.seconds="7" \\
  oauth.ssl.truststore.location="/ca.pem" oauth.ssl.truststore.type="PEM" oauth.sasl.extension.tenant="eu" ;
"""


def test_a_login_module_of_strimzi(file: Path) -> None:
    settings, warnings = read(file, STRIMZI, SECRET="sesame")
    assert settings.sasl == SaslSettings(
        "OAUTHBEARER",
        "kac",
        Secret("sesame"),
        options={
            "token.endpoint.url": "https://sso:8443/token",
            "scope": "kafka",
            "connect.timeout.ms": "7000",
            "extension_tenant": "eu",
        },
        endpoint_tls=TlsSettings(trust=Store("PEM", path=Path("/ca.pem"))),
    )
    assert warnings == ()


def test_tokens_of_strimzis_options(file: Path) -> None:
    head = STRIMZI.partition("  oauth.")[0]
    settings, _ = read(file, f'{head}  oauth.access.token="ey.x.y";')
    assert settings.sasl == SaslSettings("OAUTHBEARER", password=Secret("ey.x.y"))
    settings, _ = read(file, f'{head}  oauth.access.token.location="/run/a token";')
    assert settings.sasl == SaslSettings("OAUTHBEARER", options={"token.endpoint.url": "file:///run/a%20token"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            'oauth.refresh.token="x"',
            "oauth.refresh.token is an option of Strimzi's library that kac does not read; write",
        ),
        ('oauth.client.assertion.location="/a"', "write sasl.oauthbearer.assertion.file=PATH"),
        ('oauth.token.endpoint.url="https://x"', "oauth.token.endpoint.url is an option of Strimzi's"),
        ('oauth.client.id="a" oauth.client.secret="b"', "its login module has clientId, clientSecret, and no address"),
        ('clientId="a" tokenUrl="https://x"', "its login module has clientId, tokenUrl, and no address"),
    ],
)
def test_options_of_a_login_module_that_are_not_read_are_named(file: Path, options: str, words: str) -> None:
    text = complaint(file, f"{STRIMZI.partition('  oauth.')[0]}  {options};")
    assert text.startswith(":5: sasl.jaas.config: ")
    assert words in text
