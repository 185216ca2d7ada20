"""A Kerberos realm on loopback: MIT's KDC (Debian: krb5-kdc, krb5-admin-server, krb5-user), principals and keytabs."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.free_ports import LOOPBACK, free_ports
from tests.support.patience import PATIENCE

REALM = "KAC.TEST"
_SBIN = "/usr/sbin:/usr/local/sbin:/sbin"


class Kdc:
    """A Kerberos realm. config: the file for KRB5_CONFIG."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self._port = folder, port
        self.config = folder / "krb5.conf"
        self._process: subprocess.Popen[bytes] | None = None
        self._environment = {
            **os.environ,
            "PATH": f"{os.environ['PATH']}:{_SBIN}",
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        }
        self._write_files()

    def _write_files(self) -> None:
        at = self.folder
        self.config.write_text(
            f"[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_kdc = false\ndns_lookup_realm = false\n"
            "dns_canonicalize_hostname = false\nrdns = false\nudp_preference_limit = 1\nkdc_timesync = 0\n"
            f"[realms]\n{REALM} = {{\n kdc = {LOOPBACK}:{self._port}\n}}\n"
        )
        (at / "kdc.conf").write_text(
            f"[realms]\n{REALM} = {{\n database_name = {at}/principal\n key_stash_file = {at}/stash\n"
            f" acl_file = {at}/kadm5.acl\n kdc_listen = {LOOPBACK}:{self._port}\n"
            f" kdc_tcp_listen = {LOOPBACK}:{self._port}\n max_life = 1h\n max_renewable_life = 2h\n}}\n"
            f"[logging]\n kdc = FILE:{at}/kdc.log\n"
        )

    def start(self) -> None:
        """Create the realm's database, and start the KDC. Raises as `start_again`."""
        self.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self.start_again()

    def start_again(self) -> None:
        """Start the KDC, and wait until it listens. Raises AssertionError if it ends, or does not listen within
        `PATIENCE` seconds.
        """
        path = shutil.which("krb5kdc", path=self._environment["PATH"]) or "krb5kdc"
        with (self.folder / "krb5kdc.out").open("wb") as output:
            self._process = subprocess.Popen(
                [path, "-n", "-P", str(self.folder / "pid")], env=self._environment, stdout=output, stderr=output
            )
        deadline = time.monotonic() + PATIENCE
        while True:
            assert self._process.poll() is None, (self.folder / "krb5kdc.out").read_text()
            with suppress(OSError), socket.create_connection((LOOPBACK, self._port), timeout=1):
                return
            assert time.monotonic() < deadline
            os.sched_yield()

    def stop(self) -> None:
        """Stop the KDC."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
            self._process = None

    def run(self, *command: str, given: str = "", **environ: str) -> str:
        """Run a Kerberos program in this realm. Return its output. given: its standard input. environ: further
        variables. Raises RuntimeError if it fails.
        """
        environment = {**self._environment, **environ}
        program = shutil.which(command[0], path=environment["PATH"]) or command[0]
        done = subprocess.run(
            [program, *command[1:]], input=given, env=environment, capture_output=True, text=True, check=False,
            timeout=PATIENCE,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout} {done.stderr}")
        return done.stdout

    def administer(self, query: str) -> None:
        """Run a command of kadmin.local. Raises RuntimeError if it fails."""
        self.run("kadmin.local", "-r", REALM, "-q", query)

    def add(self, principal: str, password: str | None = None) -> None:
        """Add a principal with a password; None gives it random keys."""
        self.administer(f"addprinc {'-randkey' if password is None else f'-pw {password}'} {principal}@{REALM}")

    def keytab(self, principal: str) -> Path:
        """Write a keytab with the principal's current keys, and return its path."""
        path = self.folder / f"{principal.replace('/', '_')}-{time.monotonic_ns()}.keytab"
        self.administer(f"ktadd -norandkey -k {path} {principal}@{REALM}")
        return path

    def log_in(self, principal: str, password: str, cache: Path, *options: str) -> None:
        """Log in by kinit; the tickets go into this credential cache. options: further options of kinit."""
        self.run("kinit", *options, "-c", f"FILE:{cache}", f"{principal}@{REALM}", given=f"{password}\n")


@contextmanager
def kdc() -> Iterator[Kdc]:
    """Run a new realm until the end of the block. If Kerberos' programs are missing, skip the test, or fail it if the
    variable KAC_REQUIRE_BROKERS is 1.
    """
    search = f"{os.environ['PATH']}:{_SBIN}"
    missing = [name for name in ("krb5kdc", "kadmin.local", "kinit") if shutil.which(name, path=search) is None]
    if missing:
        reason = f"{', '.join(missing)} missing: install krb5-kdc, krb5-admin-server and krb5-user"
        if os.environ.get("KAC_REQUIRE_BROKERS") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="kac-kdc-") as folder:
        realm = Kdc(Path(folder), next(iter(free_ports(1))))
        try:
            realm.start()
            yield realm
        finally:
            realm.stop()
