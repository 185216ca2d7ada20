"""Tests of trust stores and key stores of each format in real TLS handshakes; an error in a store gives a message of
one line.
"""

import hashlib
import os
import shutil
import ssl
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.admin.errors import TlsFailed
from console.admin.settings import ConnectionSettings, Store, TlsSettings
from console.admin.tls import JksError, JksPasswordError, read_jks, ssl_context, unprotect
from console.model.secret import Secret
from tests.support.certificates import Authority, Identity


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder)


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Identity:
    return authority.issue("broker", "127.0.0.1", "broker.example")


@pytest.fixture(scope="module")
def client(authority: Authority) -> Identity:
    return authority.issue("client")


@pytest.fixture
def server(authority: Authority, broker: Identity) -> ssl.SSLContext:
    """Provide the server's TLS context; it requests a client certificate of the same authority if a test sets
    `verify_mode`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(broker.pem)
    context.load_verify_locations(authority.pem)
    return context


def context_for(tls: TlsSettings) -> ssl.SSLContext:
    context = ssl_context(ConnectionSettings((), "SSL", tls=tls))
    assert context is not None
    return context


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, host: str = "127.0.0.1") -> str | None:
    """Do a whole handshake in memory, and return the common name of the client's certificate; None without a
    certificate.
    """
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(down, up, server_hostname=host)
    there = server.wrap_bio(up, down, server_side=True)
    waiting = [here, there]
    for _ in range(20):
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                pass
        if not waiting:
            subject: Any = (there.getpeercert() or {}).get("subject", ())
            return next((value for part in subject for name, value in part if name == "commonName"), None)
    raise AssertionError("the handshake does not end")


def jks_of(
    password: str, *, trusted: tuple[bytes, ...] = (), keys: tuple[tuple[bytes, tuple[bytes, ...]], ...] = ()
) -> bytes:
    """Return the bytes of a JKS store, version 2, as keytool writes it. trusted: certificates. keys: the PKCS#8 key and
    the certificate chain of each entry.
    """

    def utf(text: str) -> bytes:
        return struct.pack(">H", len(text)) + text.encode()

    def certificate(der: bytes) -> bytes:
        return utf("X.509") + struct.pack(">I", len(der)) + der

    content = struct.pack(">III", 0xFEEDFEED, 2, len(trusted) + len(keys))
    for number, (plain, chain) in enumerate(keys):
        protected = protect(plain, password)
        content += struct.pack(">I", 1) + utf(f"key-{number}") + struct.pack(">QI", 0, len(protected)) + protected
        content += struct.pack(">I", len(chain)) + b"".join(map(certificate, chain))
    for number, der in enumerate(trusted):
        content += struct.pack(">I", 2) + utf(f"ca-{number}") + struct.pack(">Q", 0) + certificate(der)
    return content + hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + content).digest()


def protect(plain: bytes, password: str) -> bytes:
    secret, salt = password.encode("utf-16-be"), os.urandom(20)
    stream, block = b"", salt
    while len(stream) < len(plain):
        block = hashlib.sha1(secret + block).digest()
        stream += block
    sealed = salt + bytes(a ^ b for a, b in zip(plain, stream, strict=False)) + hashlib.sha1(secret + plain).digest()
    algorithm = der(0x30, der(0x06, bytes.fromhex("2b060104012a02110101")) + der(0x05, b""))
    return der(0x30, algorithm + der(0x04, sealed))


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def der_of(pem: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem.read_text())


def pkcs8_of(identity: Identity) -> bytes:
    key = load_pem_private_key(identity.key.read_bytes(), None)
    return key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


@pytest.fixture(params=["PEM", "PEM inline", "PEM on one line", "PKCS12", "JKS", "PKCS12 named JKS"])
def trust(request: pytest.FixtureRequest, folder: Path, authority: Authority) -> Store:
    """Provide the authority as a trust store, in each format in turn."""
    match request.param:
        case "PEM":
            return Store("PEM", authority.pem)
        case "PEM inline":
            return Store("PEM", inline=Secret("a comment: é\n" + authority.pem.read_text()))
        case "PEM on one line":
            return Store("PEM", inline=Secret(authority.pem.read_text().replace("\n", " ")))
        case "JKS":
            (folder / "own.jks").write_bytes(jks_of("päss", trusted=(der_of(authority.pem),)))
            return Store("JKS", folder / "own.jks", password=Secret("päss"))
        case kind:
            return Store(kind.rpartition(" ")[2], authority.pkcs12, password=Secret(authority.password))


@pytest.fixture(params=["PEM", "encrypted PEM", "PEM inline", "PEM apart", "encrypted PEM apart", "PKCS12", "JKS"])
def mutual(request: pytest.FixtureRequest, folder: Path, authority: Authority, client: Identity) -> TlsSettings:
    """Provide a client's certificate and key as a key store, in each format in turn."""
    password = Secret(client.password)
    match request.param:
        case "PEM":
            tls = TlsSettings(key_store=Store("PEM", client.pem))
        case "encrypted PEM":
            tls = TlsSettings(key_store=Store("PEM", client.encrypted_pem), key_password=password)
        case "PEM inline":
            cert, key = (Secret(path.read_text().replace("\n", " ")) for path in (client.cert, client.encrypted_key))
            tls = TlsSettings(
                key_store=Store("PEM", inline=cert), key_file=Store("PEM", inline=key), key_password=password
            )
        case "PEM apart":
            tls = TlsSettings(key_store=Store("PEM", client.cert), key_file=Store("PEM", client.key))
        case "encrypted PEM apart":
            apart = Store("PEM", client.encrypted_key)
            tls = TlsSettings(key_store=Store("PEM", client.cert), key_file=apart, key_password=password)
        case "PKCS12":
            tls = TlsSettings(key_store=Store("PKCS12", client.pkcs12, password=password))
        case _:
            chain = (der_of(client.cert), der_of(authority.pem))
            (folder / "client.jks").write_bytes(jks_of("p", keys=((pkcs8_of(client), chain),)))
            tls = TlsSettings(key_store=Store("JKS", folder / "client.jks", password=Secret("p")))
    return replace(tls, trust=Store("PEM", authority.pem))


def test_a_trust_store_of_each_kind_trusts(trust: Store, server: ssl.SSLContext) -> None:
    assert shake_hands(context_for(TlsSettings(trust=trust)), server) is None


def test_a_key_store_of_each_kind_is_shown(mutual: TlsSettings, server: ssl.SSLContext) -> None:
    server.verify_mode = ssl.CERT_REQUIRED
    assert shake_hands(context_for(mutual), server) == "client"


def test_nothing_is_left_on_disk(
    mutual: TlsSettings, server: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the system has no files in memory, the key is written into a file that only its owner may read, which is
    removed at once.
    """
    modes: list[int] = []
    load = ssl.SSLContext.load_cert_chain

    def watched(self: ssl.SSLContext, certfile: str, *rest: object, **more: object) -> None:
        modes.append(Path(certfile).stat().st_mode & 0o777)
        load(self, certfile, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    context = context_for(mutual)
    assert modes == [0o600]
    assert list(tmp_path.iterdir()) == []
    server.verify_mode = ssl.CERT_REQUIRED
    assert shake_hands(context, server) == "client"


def test_a_certificate_by_itself_is_trusted(broker: Identity, server: ssl.SSLContext) -> None:
    assert shake_hands(context_for(TlsSettings(trust=Store("PEM", broker.cert))), server) is None


def test_others_are_not_trusted(tmp_path: Path, authority: Authority, server: ssl.SSLContext) -> None:
    stranger = Authority(tmp_path)
    for trust in (Store("PEM", stranger.pem), None):
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands(context_for(TlsSettings(trust=trust)), server)
    assert shake_hands(context_for(TlsSettings(trust=Store("PEM", stranger.pem), verify_chain=False)), server) is None
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        shake_hands(context_for(TlsSettings(trust=Store("PEM", authority.pem))), server, "127.0.0.2")


def test_host_names_are_checked_unless_the_settings_say_otherwise(authority: Authority, server: ssl.SSLContext) -> None:
    tls = TlsSettings(trust=Store("PEM", authority.pem))
    assert shake_hands(context_for(tls), server, "broker.example") is None
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(context_for(tls), server, "other.example")
    assert shake_hands(context_for(replace(tls, verify_host=False)), server, "other.example") is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_tls_is_refused(authority: Authority, server: ssl.SSLContext) -> None:
    def lenient(context: ssl.SSLContext) -> ssl.SSLContext:
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        return context

    lenient(server).maximum_version = ssl.TLSVersion.TLSv1_1
    server.minimum_version = ssl.TLSVersion.TLSv1
    ours = lenient(context_for(TlsSettings(trust=Store("PEM", authority.pem))))
    with pytest.raises(ssl.SSLError, match=r"(?i)version|protocol"):
        shake_hands(ours, server)
    ours.minimum_version = ssl.TLSVersion.TLSv1
    assert shake_hands(ours, server) is None


def test_protocols_without_tls_have_no_context() -> None:
    for protocol in ("PLAINTEXT", "SASL_PLAINTEXT"):
        assert ssl_context(ConnectionSettings((), protocol, tls=TlsSettings())) is None
    assert ssl_context(ConnectionSettings((), "SASL_SSL")) is not None


# Errors in a store


def failure(tls: TlsSettings) -> str:
    with pytest.raises(TlsFailed) as caught:
        context_for(tls)
    told = caught.value.failure
    assert told.name == "TLS_FAILED"
    assert told.remedy
    assert "\n" not in told.message + told.remedy
    return f"{told.message} | {told.remedy}"


def test_wrong_passwords(folder: Path, authority: Authority, client: Identity) -> None:
    wrong = Secret("wrong-sesame")
    (folder / "locked.jks").write_bytes(
        jks_of("right", trusted=(der_of(authority.pem),), keys=((pkcs8_of(client), (der_of(client.cert),)),))
    )
    jks = Store("JKS", folder / "locked.jks", password=wrong)
    said = [
        failure(TlsSettings(trust=Store("PKCS12", authority.pkcs12, password=wrong))),
        failure(TlsSettings(trust=Store("PKCS12", authority.pkcs12))),
        failure(TlsSettings(trust=jks)),
        failure(TlsSettings(key_store=jks)),
        failure(TlsSettings(key_store=replace(jks, password=Secret("right")), key_password=wrong)),
        failure(TlsSettings(key_store=Store("PKCS12", client.pkcs12, password=wrong))),
        failure(TlsSettings(key_store=Store("PEM", client.encrypted_pem), key_password=wrong)),
        failure(TlsSettings(key_store=Store("PEM", client.encrypted_pem))),
    ]
    expected = [
        "ca.p12: the password is wrong, or the store is damaged: its checksum does not fit | Set ssl.truststore",
        "ca.p12: it needs a password | Set ssl.truststore.password",
        "locked.jks: the password is wrong, or the store is damaged | Check ssl.truststore.password",
        "locked.jks: the password is wrong, or the store is damaged | Check ssl.keystore.password",
        "locked.jks: the key's password is wrong | Check ssl.keystore.password and ssl.key.password",
        "client.p12: the password is wrong, or the store is damaged: its checksum does not fit | Set ssl.keystore",
        "client.encrypted.pem: the key can't be decrypted | Check ssl.key.password",
        "client.encrypted.pem: its private key is encrypted | Set ssl.key.password",
    ]
    for text, words in zip(said, expected, strict=True):
        assert words in text
        assert "sesame" not in text


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


OLD_STORES = {"rc2.p12": ("-legacy",), "rc4.p12": ("-legacy", "-certpbe", "PBE-SHA1-RC4-128")}
SAID = """
import sys
from pathlib import Path
from console.admin.errors import TlsFailed
from console.admin.settings import Store
from console.admin.tls import trusted_certificates
from console.model.secret import Secret
for name, password in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        trusted_certificates(Store("PKCS12", Path(name), password=Secret(password)))
        print("opened")
    except TlsFailed as failed:
        print(failed.failure.message.partition(": ")[2], "|", failed.failure.remedy)
"""


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the stores")
def test_an_encryption_that_openssl_lacks_is_no_wrong_password(folder: Path, client: Identity) -> None:
    for name, options in OLD_STORES.items():
        made = (
            "-in",
            str(client.cert),
            "-inkey",
            str(client.key),
            "-passout",
            "pass:right",
            "-out",
            str(folder / name),
        )
        openssl("pkcs12", "-export", *options, *made)
    (folder / "cut.p12").write_bytes((folder / "rc2.p12").read_bytes()[:-200])
    asked = [("rc2.p12", "right"), ("rc4.p12", "right"), ("rc2.p12", "left"), ("cut.p12", "right")]
    ran = subprocess.run(
        [sys.executable, "-c", SAID, *(word for name, password in asked for word in (str(folder / name), password))],
        env={**os.environ, "CRYPTOGRAPHY_OPENSSL_NO_LEGACY": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    rc2, rc4, wrong, cut = ran.stdout.splitlines()
    assert rc2.startswith("the password is right, but it is encrypted with RC2-40, which OpenSSL does not have here")
    assert "RC4-128" in rc4
    assert "keytool -importkeystore" in rc4
    assert wrong.startswith("the password is wrong, or the store is damaged: its checksum does not fit")
    assert cut.startswith("it is damaged: it is truncated")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the key")
def test_a_key_of_an_old_encryption_names_it(folder: Path, client: Identity) -> None:
    old = folder / "old-key.pem"
    providers = ("-provider", "legacy", "-provider", "default")
    openssl(
        "pkcs8",
        "-topk8",
        "-v1",
        "PBE-MD5-DES",
        *providers,
        "-in",
        str(client.key),
        "-passout",
        "pass:right",
        "-out",
        str(old),
    )
    tls = TlsSettings(key_store=Store("PEM", client.cert), key_file=Store("PEM", old), key_password=Secret("right"))
    assert "the password is wrong, or OpenSSL does not have MD5-DES here" in failure(tls)


def test_wrong_kinds_and_files(folder: Path, authority: Authority, client: Identity) -> None:
    (folder / "text").write_text("no store")
    (folder / "jceks").write_bytes(b"\xce\xce\xce\xce\x00\x00\x00\x02")
    (folder / "cut.jks").write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02\x00\x00\x00\x01")
    (folder / "bad.pem").write_text("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n")
    (folder / "nonsense.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    trusts = {
        Store("PEM", authority.pkcs12): "it is PKCS12, not PEM as configured | Set ssl.truststore.type=PKCS12.",
        Store("JKS", authority.pem): "it is PEM, not JKS as configured | Set ssl.truststore.type=PEM.",
        Store("PEM", folder / "none"): "none: no such file or directory | Check ssl.truststore.location",
        Store("PEM", folder): "is a directory",
        Store("PEM", folder / "text"): "it is not a PEM, JKS or PKCS12 store",
        Store("JKS", folder / "jceks"): "it is a JCEKS store, which can't be read | Convert it: keytool",
        Store("JKS", folder / "cut.jks"): "it is truncated",
        Store("PEM", folder / "bad.pem"): "the certificate in it is damaged: not base64",
        Store("PEM", folder / "nonsense.pem"): "nonsense.pem: ",
        Store("PEM", client.key): "it holds no certificate",
        Store("PEM", inline=Secret("open sesame")): "trust store given inline: it is not a PEM",
    }
    for store, words in trusts.items():
        text = failure(TlsSettings(trust=store))
        assert words in text
        assert "sesame" not in text
    keys = {
        Store("PEM", client.cert): "it holds no private key",
        Store("PEM", client.key): "it holds no certificate",
        Store("PKCS12", authority.pkcs12, password=Secret(authority.password)): "it holds no private key",
    }
    for store, words in keys.items():
        assert words in failure(TlsSettings(key_store=store))
    apart = TlsSettings(key_store=Store("PEM", client.cert), key_file=Store("PEM", authority.issue("other").key))
    assert "the key does not belong to the certificate" in failure(apart)


# JKS


@given(st.binary(max_size=300), st.none() | st.just("p"))
def test_any_bytes_are_a_jks_store_or_refused(data: bytes, password: str | None) -> None:
    for content in (data, b"\xfe\xed\xfe\xed" + data):
        try:
            read_jks(content, password)
        except JksError:
            continue
        assert password is None


@given(st.data())
def test_a_damaged_jks_store_is_noticed(data: st.DataObject) -> None:
    whole = jks_of("p", trusted=(b"a certificate", b"another"), keys=((b"a key", (b"its certificate",)),))
    place = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.integers(1, 255))
    damaged = whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :]
    with pytest.raises(JksError):
        read_jks(damaged, "p")
    with pytest.raises(JksError):
        read_jks(whole[:place], "p")


@given(st.binary(max_size=200), st.text(st.characters(exclude_categories=["Cs"]), max_size=10))
def test_keys_open_with_their_password_alone(plain: bytes, password: str) -> None:
    store = read_jks(jks_of(password, keys=((plain, (b"c",)),), trusted=(b"ca",)), password)
    assert store.trusted == (b"ca",)
    assert store.keys[0].chain == (b"c",)
    assert unprotect(store.keys[0], password) == plain
    with pytest.raises(JksPasswordError):
        unprotect(store.keys[0], password + "x")
    assert "protected" not in repr(store)
