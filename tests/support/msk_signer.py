"""Amazon's own signer for MSK, in an environment of its own: what our signatures are held to."""

from __future__ import annotations

import subprocess
import venv
from hashlib import sha256
from pathlib import Path

from tests.support.cached_folder import cache_home, cached_folder
from tests.support.patience import PATIENCE

LOCK = Path(__file__).resolve().parents[2] / "requirements" / "aws.txt"


def official_token(region: str, *credentials: str) -> str:
    """A token of now. credentials: access key, secret, and perhaps a session's token; none of them is a real one."""
    name = f"aws-{sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    folder = cached_folder(cache_home() / name, _fill)
    return _run([str(folder / "bin" / "python"), "-c", _SCRIPT, region, *credentials]).strip()


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
    _run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "-r", str(LOCK)])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout
