"""A certificate authority that issues certificates in the file formats of Kafka's clients."""

import datetime
import ipaddress
import secrets
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.support.patience import PATIENCE

_LIFETIME = datetime.timedelta(days=2)
_AGE = datetime.timedelta(hours=1)


# From Python 3.13 on, the default contexts of `ssl` refuse an authority without this key usage, and a certificate
# without its authority's key identifier.
SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate and its private key, in several file formats. Each attribute is the path of a file with mode 0600;
    `password` decrypts the encrypted files.

    cert: the certificate as PEM. key, encrypted_key: the key as PEM PKCS#8. pem: key and certificate in one file
    (Kafka's PEM store). encrypted_pem: `pem` with the key encrypted. pkcs12: key, certificate and the authority's
    certificate.
    """

    name: str
    password: str
    cert: Path
    key: Path
    encrypted_key: Path
    pem: Path
    encrypted_pem: Path
    pkcs12: Path

    def jks(self, keytool: str) -> Path:
        """Write the certificate and key as a JKS key store with the same password, by Java's keytool; return its path.

        keytool: path of the program.
        """
        store = self.pkcs12.with_suffix(".jks")
        if not store.exists():
            source = ["-srckeystore", str(self.pkcs12), "-srcstoretype", "PKCS12", "-srcstorepass", self.password]
            target = ["-destkeystore", str(store), "-deststoretype", "JKS", "-deststorepass", self.password]
            _run([keytool, "-importkeystore", "-noprompt", *source, *target, "-destkeypass", self.password])
        return store


class Authority:
    """A certificate authority whose files are in a folder. ``pem`` and ``pkcs12`` are paths of trust stores with its
    certificate; ``password`` opens ``pkcs12``.
    """

    def __init__(self, folder: Path, name: str = "kac test authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.password = secrets.token_hex(8)
        self._subject = _subject(name)
        self._certificate = (
            _builder(self._subject, self._subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .add_extension(SIGNS, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        folder.mkdir(parents=True, exist_ok=True)
        self.pem = _write(folder / "ca.pem", self._certificate.public_bytes(serialization.Encoding.PEM))
        trusted = pkcs12.PKCS12Certificate(self._certificate, b"ca")
        protection = serialization.BestAvailableEncryption(self.password.encode())
        self.pkcs12 = _write(folder / "ca.p12", pkcs12.serialize_java_truststore([trusted], protection))

    def jks(self, keytool: str) -> Path:
        """Write the authority's certificate as a JKS trust store with the password of ``pkcs12``, by Java's keytool;
        return its path.

        keytool: path of the program.
        """
        store = self._folder / "ca.jks"
        if not store.exists():
            target = ["-keystore", str(store), "-storetype", "JKS", "-storepass", self.password]
            _run([keytool, "-importcert", "-noprompt", "-alias", "ca", "-file", str(self.pem), *target])
        return store

    def issue(
        self,
        name: str,
        *hosts: str,
        age: datetime.timedelta = _AGE,
        left: datetime.timedelta | None = None,
        key: PrivateKey | None = None,
    ) -> Identity:
        """Issue a certificate for CN=name, valid for these hosts (IP addresses or DNS names) and as a client.

        age: the time since the start of its validity. left: the time until its end; None for two days. key: None for a
        new key of P-256.
        """
        key = key or ec.generate_private_key(ec.SECP256R1())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = (
            _builder(_subject(name), self._subject, key.public_key(), age, left)
            .add_extension(usage, critical=False)
            .add_extension(issuer, critical=False)
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False
            )
        certificate = builder.sign(self._key, hashes.SHA256())
        password = secrets.token_hex(8)
        protection = serialization.BestAvailableEncryption(password.encode())
        cert = certificate.public_bytes(serialization.Encoding.PEM)
        clear, encrypted = _key_pem(key, serialization.NoEncryption()), _key_pem(key, protection)
        bundle = pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, [self._certificate], protection)
        at = self._folder
        return Identity(
            name=name,
            password=password,
            cert=_write(at / f"{name}.crt", cert),
            key=_write(at / f"{name}.key", clear),
            encrypted_key=_write(at / f"{name}.encrypted.key", encrypted),
            pem=_write(at / f"{name}.pem", clear + cert),
            encrypted_pem=_write(at / f"{name}.encrypted.pem", encrypted + cert),
            pkcs12=_write(at / f"{name}.p12", bundle),
        )

    def client_context(self, identity: Identity) -> ssl.SSLContext:
        """Return a context for the standard library's sockets that trusts this authority and presents the identity."""
        context = ssl.create_default_context(cafile=str(self.pem))
        context.load_cert_chain(str(identity.pem))
        return context


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
    age: datetime.timedelta = _AGE,
    left: datetime.timedelta | None = None,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - age)
        .not_valid_after(now + (_LIFETIME if left is None else left))
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_pem(key: PrivateKey, protection: serialization.KeySerializationEncryption) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection)


def _write(path: Path, content: bytes) -> Path:
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stdout.strip()} {done.stderr.strip()}")
