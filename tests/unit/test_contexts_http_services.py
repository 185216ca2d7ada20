"""Tests of a context's settings for HTTP services such as a registry: allowed keys, refusals and warnings; secrets stay
hidden.
"""

import sys
from pathlib import Path

import pytest

from console.admin.settings import HttpSettings, SaslSettings, Store, TlsSettings
from console.cli.opening import listing
from console.contexts import Context, Contexts, load, resolve
from console.contexts.secret_sources import Locked
from console.model.secret import Secret

HEAD = '[contexts.a]\n"bootstrap.servers" = "b"\n\n[contexts.a.schemas]\n'


def contexts(folder: Path, lines: str, **environ: str) -> Contexts:
    """Load the contexts of a file whose context has these lines about a service."""
    file = folder / "config.toml"
    file.touch(mode=0o600)
    file.write_text(HEAD + lines)
    return load({"KAC_CONFIG": str(file), **environ}, folder, cwd=folder)


def context(folder: Path, lines: str, **environ: str) -> Context:
    found = contexts(folder, lines, **environ)
    assert found.broken == ()
    (only,) = found.contexts
    return only


def test_a_login_by_name_and_tls_as_the_brokers_have_it(tmp_path: Path) -> None:
    lines = (
        'url = "https://registry.example.org/api/"\nusername = "kac"\npassword = "${env:WORD}"\n'
        'ssl.truststore.type = "PEM"\n"ssl.truststore.location" = "ca.pem"\n'
    )
    found = context(tmp_path, lines, WORD="open sesame")
    tls = TlsSettings(trust=Store("PEM", tmp_path / "ca.pem"))
    wanted = HttpSettings("registry.example.org", 443, "/api", tls, "kac", Secret("open sesame"))
    assert found.schemas == wanted
    assert found.warnings == ()
    assert "sesame" not in repr(found)
    assert str(found.schemas) == "https://registry.example.org:443/api"


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        ("http://r", "r", 80, ""),
        ("http://r:8081/", "r", 8081, ""),
        ("http://[::1]:8081/apis/ccompat/v7", "::1", 8081, "/apis/ccompat/v7"),
    ],
)
def test_addresses(tmp_path: Path, url: str, host: str, port: int, path: str) -> None:
    assert context(tmp_path, f'url = "{url}"').schemas == HttpSettings(host, port, path)


def test_a_token_of_a_file_or_a_command_is_fetched_for_the_context_in_use(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc.def\n")
    (tmp_path / "token").chmod(0o600)
    by_file = context(tmp_path, 'url = "https://r"\ntoken = "${file:token}"').schemas
    assert by_file is not None
    assert by_file.token == Secret("abc.def")
    command = f"${{exec:{sys.executable} -c 'print(1234)'}}"
    found = contexts(tmp_path, f'url = "https://r"\ntoken = """{command}"""')
    (locked,) = found.contexts
    assert locked.schemas is not None
    assert isinstance(locked.schemas.token, Locked)
    used = resolve(found, name="a").schemas
    assert used is not None
    assert used.token == Secret("1234")


ENDPOINT = 'sasl.oauthbearer.token.endpoint.url = "https://idp/token"\n'
CLIENT = (
    'sasl.oauthbearer.client.credentials.client.id = "kac"\n'
    'sasl.oauthbearer.client.credentials.client.secret = "${env:WORD}"\n'
)


def test_tokens_of_an_identity_provider_are_of_the_clients_own_keys(tmp_path: Path) -> None:
    lines = f'url = "https://r"\n{ENDPOINT}{CLIENT}sasl.oauthbearer.scope = "schemas"\n'
    found = context(tmp_path, lines, WORD="open sesame").schemas
    options = {"token.endpoint.url": "https://idp/token", "scope": "schemas"}
    assert found is not None
    assert found.oauth == SaslSettings("OAUTHBEARER", "kac", Secret("open sesame"), options)
    assert "sesame" not in repr(found)


def test_ssl_counts_for_the_token_endpoint_too(tmp_path: Path) -> None:
    lines = (
        f'url = "http://localhost:1"\n{ENDPOINT}{CLIENT}"ssl.truststore.type" = "PEM"\n"ssl.truststore.location" = "c"'
    )
    found = context(tmp_path, lines, WORD="open sesame")
    assert found.schemas is not None
    assert found.schemas.oauth is not None
    assert found.schemas.oauth.endpoint_tls == TlsSettings(trust=Store("PEM", tmp_path / "c"))
    assert found.warnings == ()


def test_connects_workers_have_the_same_keys(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.touch(mode=0o600)
    table = f'[contexts.a.connect.main]\nurl = ["https://w1", "https://w2"]\n{ENDPOINT}{CLIENT}'
    file.write_text(f'[contexts.a]\n"bootstrap.servers" = "b"\n{table}')
    found = load({"KAC_CONFIG": str(file), "WORD": "x"}, tmp_path, cwd=tmp_path)
    assert found.broken == ()
    (cluster,) = found.contexts[0].settings.connect
    one, other = cluster.workers
    assert one.oauth is not None
    assert one.oauth == other.oauth


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (f'url = "http://r"\n{ENDPOINT}', "client.id: it is missing: a token endpoint wants a client's id"),
        (f'url = "http://r"\n{CLIENT}', "token.endpoint.url: it is missing, and sasl.oauthbearer.client."),
        (f'url = "http://r"\n{ENDPOINT}{CLIENT}token = "x"', ":9: token: it is given, and a source of tokens too"),
        ('username = "kac"', "url: it is missing"),
        ('url = "registry:8081"', ":5: url: it is no address such as https://registry:8081"),
        ('url = "ftp://r"', ":5: url: it is no address"),
        ('url = "http://r:x"', ":5: url: it is no address"),
        ('url = "http://r/?a=1"', ":5: url: it ends with the path"),
        ('url = "http://kac:sesame@r"', ":5: url: it has a user or a password in it"),
        ('url = "http://r"\nusername = "kac"', "password: it is missing"),
        ('url = "http://r"\npassword = "x"', "username: it is missing"),
        ('url = "http://r"\nusername = "a:b"\npassword = "x"', ":6: username: a login by Basic has no colon"),
        ('url = "http://r"\nusername = "a"\npassword = "x"\ntoken = "t"', ":8: token: it is given, and username"),
        ('url = "http://r"\npasswort = "x"', ":6: there is no key 'passwort'; did you mean password?"),
        ('url = "http://r"\nsasl.mechanism = "PLAIN"', ":6: there is no key 'sasl.mechanism'"),
        ('url = "https://r"\nssl.truststore.type = "BKS"\nssl.truststore.location = "x"', "BKS stores can't be read"),
        ('url = "http://r"\npassword = "${env:NONE}"\nusername = "a"', "no variable NONE"),
    ],
)
def test_what_is_wrong_refuses_the_context(tmp_path: Path, lines: str, words: str) -> None:
    (broken,) = contexts(tmp_path, lines, WORD="x").broken
    assert words in broken.problem
    assert "sesame" not in broken.problem


def test_a_table_is_wanted(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[contexts.a]\n"bootstrap.servers" = "b"\nschemas = "http://r"\n')
    (broken,) = load({"KAC_CONFIG": str(file)}, tmp_path, cwd=tmp_path).broken
    assert ":3: schemas is a table, [contexts.a.schemas]" in broken.problem


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('url = "http://r"\ntoken = "${env:T}"', "url is http: the login is sent in the clear"),
        ('url = "http://r"\nssl.truststore.type = "PEM"', "ssl.truststore.type has no effect with a url that is http"),
        ('url = "https://r"\nssl.endpoint.identification.algorithm = ""', "host name is not checked"),
    ],
)
def test_what_is_weak_is_a_warning(tmp_path: Path, lines: str, words: str) -> None:
    (warning,) = context(tmp_path, lines, T="t").warnings
    assert words in warning
    assert context(tmp_path, 'url = "http://127.0.0.1:1"\ntoken = "${env:T}"', T="t").warnings == ()


def test_the_list_of_contexts_has_the_registries_where_there_are_some(tmp_path: Path) -> None:
    lines = 'url = "https://registry:8081/path"\n[contexts.b]\n"bootstrap.servers" = "b"\n'
    listed = listing(contexts(tmp_path, lines)).splitlines()
    assert listed[0].split() == ["Name", "Brokers", "Security", "Guards", "Schemas", "From"]
    assert [line.split()[-2] for line in listed[1:]] == ["https://registry:8081/path", "-"]
    file = tmp_path / "config.toml"
    file.write_text('[contexts.a]\n"bootstrap.servers" = "b"\n')
    assert "Schemas" not in listing(load({"KAC_CONFIG": str(file)}, tmp_path, cwd=tmp_path))
