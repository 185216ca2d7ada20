"""Tests of Kerberos in the one-file kac, with the host's own libgssapi, a real KDC and a 4.3 broker."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bundle.make import Bundle
from tests.broker.test_kerberos import PASSWORD, Configure, cluster, configure, environment, keyed, realm
from tests.packaging.test_bundle import bundle
from tests.support.kdc import REALM, Kdc
from tests.support.patience import PATIENCE

__all__ = ["bundle", "cluster", "configure", "environment", "realm"]  # fixtures

pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("bundle"),
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed, and the launcher is compiled with it"),
]


def test_it_logs_in_with_a_keytab_and_with_the_tickets_of_kinit(
    bundle: Bundle, realm: Kdc, configure: Configure, tmp_path: Path
) -> None:
    def listed() -> subprocess.CompletedProcess[str]:
        file = str(tmp_path / "client.properties")
        command = [str(bundle.file), "run", "--command-config", file, "-e", "list brokers"]
        return subprocess.run(
            command, env=os.environ, capture_output=True, text=True, check=False, timeout=PATIENCE, cwd=tmp_path
        )

    configure(keyed(realm.keytab("alice")), "sasl.mechanism=GSSAPI")
    by_keytab = listed()
    assert by_keytab.returncode == 0, by_keytab.stderr
    assert "127.0.0.1" in by_keytab.stdout

    configure("useTicketCache=true", "sasl.mechanism=GSSAPI")
    without = listed()
    assert without.returncode != 0
    assert "Get a ticket: kinit" in without.stderr

    subprocess.run(["kinit", f"alice@{REALM}"], input=PASSWORD, text=True, check=True, capture_output=True)
    by_ticket = listed()
    assert by_ticket.returncode == 0, by_ticket.stderr
    assert by_ticket.stdout == by_keytab.stdout
