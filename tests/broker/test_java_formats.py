"""Tests of kac's readers of Java's file formats against Java itself: properties, login configs, key stores."""

import base64
import os
import random
import re
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from console.admin.settings import CLIENT_ID, Store, TlsSettings
from console.admin.tls import client_identity, trusted_certificates
from console.contexts.client_files import from_properties
from console.contexts.config_providers import placeholder
from console.contexts.context import ContextError, Surroundings
from console.contexts.jaas import parse_jaas
from console.model.java_properties import parse_properties
from console.model.secret import Secret
from tests.support import compiled_java, kafka_jars, patience, real_clusters
from tests.support.certificates import Authority, Identity

HERE = Path(__file__).parent

PIECES = ["a", "b", "key", " ", "  ", "\t", "\f", "=", ":", "\\", "\\", "\n", "\n", "\r", "\r\n", "#", "!", "\xe9"]
PIECES += ["\\u00e9", "\\u20aC", "\\u12", "\\t", "\\=", "\\\\", "\\ ", "# c = d\n", "x=y\n", "a.b=c\\\n  d\n"]
WORDS = ["required", "optional", "a.B", "user", "x-y_z$", '"p w"', "'q'", '"\\"\\\\\\101\\n"', "=", "=", "=", ";", ";"]
WORDS += ['"\\9\\777\\08"', "/* c */", "// c\n", "\n", "1", "{"]


def what_java_makes_of(
    kind: str, texts: list[bytes], environ: Mapping[str, str] | None = None
) -> Iterator[Mapping[str, str] | None]:
    """Run a Java program that reads each text as a file of this kind. Yield the keys and values that it finds; None for
    a text that Java refuses. Raises AssertionError if the program fails; skips the test without a JDK.
    """
    with real_clusters.or_skip():
        program = compiled_java.with_ours(HERE / "JavaFormats.java", kafka_jars.KAFKA_4_3)
    command = [kafka_jars.java(), "-Xmx256m", "-XX:TieredStopAtLevel=1", *program, kind]
    lines = "\n".join(base64.b64encode(text).decode() for text in texts)
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, check=False, timeout=patience.PATIENCE,
        env={**os.environ, "LC_ALL": "C.UTF-8", **(environ or {})},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for line in done.stdout.split("\n")[: len(texts)]:
        pairs = [pair.split(":") for pair in line.split()] if not line.startswith("!") else []
        decoded = {decode(key): decode(value) for key, value in pairs}
        yield None if line.startswith("!") else decoded


def decode(text: str) -> str:
    return base64.b64decode(text).decode("utf-8")


@pytest.fixture(scope="module")
def java_is_there() -> None:
    with real_clusters.or_skip():
        kafka_jars.java()


@pytest.mark.usefixtures("java_is_there")
def test_properties_are_read_as_java_reads_them() -> None:
    chance = random.Random(20)
    texts = ["".join(chance.choices(PIECES, k=chance.randrange(1, 16))) for _ in range(4000)]
    refused = 0
    expected = what_java_makes_of("properties", [text.encode("latin-1") for text in texts])
    for text, entries in zip(texts, expected, strict=True):
        if entries is None:
            refused += 1
            with pytest.raises(ValueError, match=r"^line \d+: "):
                parse_properties(text)
        else:
            assert {entry.key: entry.value for entry in parse_properties(text)} == entries, repr(text)
    assert 0 < refused < len(texts) / 2


@pytest.mark.usefixtures("java_is_there")
def test_login_configs_are_read_as_kafka_reads_them() -> None:
    """kac reads every login config that Kafka accepts, with the same result. It also accepts some that Kafka refuses,
    such as a reference without quotes.
    """
    chance = random.Random(21)
    texts = []
    for _ in range(4000):
        options = " ".join(
            f"{chance.choice(WORDS[2:5])}{chance.choice(['=', ' = '])}{chance.choice(WORDS)}"
            for _ in range(chance.randrange(4))
        )
        texts.append(f"a.B {chance.choice(WORDS[:2])} {options}{chance.choice([';', ' ;', '', '; ;'])}")
    taken = 0
    for text, expected in zip(texts, what_java_makes_of("jaas", [text.encode() for text in texts]), strict=True):
        if expected is not None:
            taken += 1
            (module,) = parse_jaas(text)
            assert module.options == expected, repr(text)
    assert taken > len(texts) / 10


PARTS = [
    "x",
    " ",
    "${",
    "}",
    ":",
    "${f:",
    "${d:",
    "${e:",
    "${v:",
    "FOLDER",
    "FOLDER/logins",
    "FOLDER/sub",
    "/..",
    "logins",
]
PARTS += ["plain", ":a.key}", ":plain}", ":b}", "PLAIN}", "HOME_OF_NOBODY}", ":PLAIN}", "nested", "$"]
REFERENCES = [
    "${f:FOLDER/logins:a.key}", "${f:FOLDER/logins:b}", "${f:FOLDER/sub/../logins:a.key}", "${f:FOLDER/sub/none:a.key}",
    "${f:logins:a.key}", "${f:FOLDER/../logins:a.key}", "${d:FOLDER/sub:plain}", "${d:FOLDER/sub:nested}",
    "${d:FOLDER/sub/:lines}", "${d:FOLDER/sub:../logins}", "${d:FOLDER:sub}", "${d:FOLDER:logins}", "${e:PLAIN}",
    "${e::PLAIN}", "${e:x:PLAIN}", "${e:NO_SUCH}", "${e:HIDDEN}", "${v:a:b}", "${f:FOLDER/logins:c:d}", "${f:a.key}",
]  # fmt: skip
WITHOUT_END = re.compile(r"\$\{[fde]:[^}]*$")
"""Matches a reference to a declared config provider that is not closed by a brace. Kafka leaves such a reference as it
is, and would send it as a password.
"""


@pytest.mark.usefixtures("java_is_there")
def test_config_providers_resolve_as_kafkas_do(tmp_path: Path) -> None:
    """kac resolves a reference to a config provider to the same value as Kafka. It refuses each reference that Kafka
    refuses or leaves unresolved.
    """
    folder, below = tmp_path / "secrets", tmp_path / "secrets" / "sub"
    below.mkdir(parents=True)
    (folder / "logins").write_text("a.key = va\\u00e9lue \nc\\:d=e\n", encoding="utf-8")
    (tmp_path / "logins").write_text("a.key=not allowed\n")
    (below / "plain").write_bytes("gr\u00fcn".encode())
    (below / "lines").write_bytes(b"one\r\ntwo\n")
    (below / "nested").write_text("${d:x:y}")
    package = "org.apache.kafka.common.config.provider"
    declared = (
        f"bootstrap.servers=b:1\nconfig.providers=f,d,e,v\nconfig.providers.f.class={package}.FileConfigProvider\n"
        f"config.providers.f.param.allowed.paths={folder},/usr\n"
        f"config.providers.d.class={package}.DirectoryConfigProvider\n"
        f"config.providers.d.param.allowed.paths={below}\n"
        f"config.providers.e.class={package}.EnvVarConfigProvider\n"
        "config.providers.e.param.allowlist.pattern=[A-Z]{1,5}\n"
    )
    chance = random.Random(22)
    ids = [chance.choice(["", "a-"]) + reference + chance.choice(["", "-b"]) for reference in REFERENCES * 3]
    ids += ["".join(chance.choices(PARTS, k=chance.randrange(1, 6))) for _ in range(2000)]
    ids += ["".join(chance.choices(REFERENCES, k=2)) for _ in range(500)]
    texts = [f"{declared}client.id={each.replace('FOLDER', str(folder))}\n" for each in ids]
    environ = {"PLAIN": "pl\u00e4in", "HIDDEN": "no"}
    expected = what_java_makes_of("providers", [text.encode("latin-1") for text in texts], environ)
    surroundings = Surroundings(environ, tmp_path / "home", Path("/none"))
    resolved = 0
    for text, theirs in zip(texts, expected, strict=True):
        file = tmp_path / "client.properties"
        file.write_text(text, encoding="latin-1")
        written = text.partition("client.id=")[2].strip()
        if theirs is None or placeholder(theirs["client.id"]) is not None or WITHOUT_END.search(written):
            with pytest.raises(ContextError, match=r"client\.id: "):
                from_properties(file, surroundings)
        else:
            resolved += theirs["client.id"].strip() != written
            assert from_properties(file, surroundings)[0].client_id == (theirs["client.id"].strip() or CLIENT_ID), (
                written
            )
    assert resolved > 60


# stores made by keytool


@pytest.fixture(scope="module")
def authority(java_is_there: None, tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module")
def client(authority: Authority) -> Identity:
    return authority.issue("client")


def run_keytool(*arguments: str) -> None:
    subprocess.run([kafka_jars.keytool(), *arguments], check=True, capture_output=True, timeout=patience.PATIENCE)


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PKCS12 of Java 8"])
def test_trust_stores_of_keytool(kind: str, authority: Authority, client: Identity, tmp_path: Path) -> None:
    store = tmp_path / "trust"
    password = "päss word" if kind == "JKS" else "pass word"
    legacy = ["-J-Dkeystore.pkcs12.legacy=true"] if "8" in kind else []
    for name, certificate in (("ca", authority.pem), ("another", client.cert)):
        run_keytool(
            *legacy, "-importcert", "-noprompt", "-alias", name, "-file", str(certificate),
            "-keystore", str(store), "-storetype", kind.split()[0], "-storepass", password,
        )  # fmt: skip
    for said in ("JKS", "PKCS12"):
        found = trusted_certificates(Store(said, store, password=Secret(password)))
        whole = {authority.pem.read_text(), client.cert.read_text()}
        assert {f"-----BEGIN {block}" for block in found.split("-----BEGIN ")[1:]} == whole


@pytest.mark.parametrize("algorithm", ["RSA", "EC"])
@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PKCS12 of Java 8"])
def test_key_stores_of_keytool(kind: str, algorithm: str, tmp_path: Path) -> None:
    store = tmp_path / "keys"
    legacy = ["-J-Dkeystore.pkcs12.legacy=true"] if "8" in kind else []
    key_password = "another" if kind == "JKS" else "storepass"
    run_keytool(
        *legacy, "-genkeypair", "-alias", "me", "-keyalg", algorithm, "-dname", "CN=me", "-validity", "2",
        "-keystore", str(store), "-storetype", kind.split()[0], "-storepass", "storepass", "-keypass", key_password,
    )  # fmt: skip
    settings = TlsSettings(
        key_store=Store(kind.split()[0], store, password=Secret("storepass")), key_password=Secret(key_password)
    )
    identity = client_identity(settings)
    assert identity is not None
    assert identity.password is None
    whole = tmp_path / "whole.pem"
    whole.write_text(identity.chain + identity.key)
    # This fails if the key does not belong to the certificate.
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(whole)
