"""Amazon's own signer for MSK and its client, in an environment of their own: what ours are held to."""

from __future__ import annotations

import json
import subprocess
import venv
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from requirements.locked import of_group
from tests.support.cached_folder import cache_home, cached_folder
from tests.support.patience import PATIENCE

LOCK = of_group((Path(__file__).resolve().parents[2] / "requirements" / "tools.txt").read_text(), "aws")


def official_token(region: str, *credentials: str) -> str:
    """A token of now. credentials: access key, secret, and perhaps a session's token; none of them is a real one."""
    return _run([_python(), "-c", _SCRIPT, region, *credentials]).strip()


def official_credentials(profile: str, environ: Mapping[str, str]) -> tuple[str, str, str | None]:
    """Access key, secret and session's token that botocore finds for a profile; none of them is a real one."""
    access, secret, token = json.loads(_run([_python(), "-c", _CREDENTIALS, profile], environ))
    return access, secret, token


def _python() -> str:
    name = f"aws-{sha256(LOCK.encode()).hexdigest()[:12]}"
    return str(cached_folder(cache_home() / name, _fill) / "bin" / "python")


_CREDENTIALS = """
import json, sys

from botocore.session import Session

print(json.dumps(Session(profile=sys.argv[1]).get_credentials().get_frozen_credentials()[:3]))
"""
_SCRIPT = """
import sys

from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
from botocore.credentials import CredentialProvider, Credentials

class Given(CredentialProvider):
    def load(self):
        return Credentials(*sys.argv[2:])

print(MSKAuthTokenProvider.generate_auth_token_from_credentials_provider(sys.argv[1], Given())[0])
"""


def _fill(folder: Path) -> None:
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    lock = folder / "aws.txt"
    lock.write_text(LOCK)
    _run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "-r", str(lock)])


def _run(command: list[str], environ: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout
