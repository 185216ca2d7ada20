"""Tests that the command that kac proposes for installing an extra suits the way in which kac was installed."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import console
from console.extras import how_to_add

CHECKOUT = Path(console.__file__).parents[1]
ASK = "from console.extras import how_to_add; print(how_to_add('history'))"


def installed(environment: Path, url: str | None = None) -> str:
    """Return the command for installing an extra that a copy of kac in its own environment proposes.

    Args:
        url: the source of the installation, as pip records it; None if it recorded none.
    """
    packages = environment / "lib"
    shutil.copytree(CHECKOUT / "console", packages / "console", ignore=lambda *_: ["embedded", "tui", "__pycache__"])
    about = packages / "kafka_admin_console-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: kafka-admin-console\nVersion: 1\n")
    if url is not None:
        (about / "direct_url.json").write_text(json.dumps({"url": url}))
    code = f"import sys; sys.prefix = {str(environment)!r}; {ASK}"
    paths = os.pathsep.join((str(packages), *(each for each in sys.path if each.endswith("site-packages"))))
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_in_a_checkout_it_is_the_checkouts_own_environment() -> None:
    words = shlex.split(how_to_add("lake"))
    assert words[-1] == f"{CHECKOUT}[lake]"
    assert sys.executable in words


@pytest.mark.parametrize(
    ("mark", "line"),
    [
        ("pipx_metadata.json", "pipx install --force 'kafka-admin-console[history]'"),
        ("uv-receipt.toml", "uv tool install --force 'kafka-admin-console[history]'"),
        (
            "share/kac/licenses.txt",
            "take the file with -lake in its name, or pipx install 'kafka-admin-console[history]' "
            "(this kac takes no further packages)",
        ),
    ],
)
def test_what_installed_it_adds_to_it(mark: str, line: str, tmp_path: Path) -> None:
    (tmp_path / mark).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / mark).touch()
    assert installed(tmp_path) == line


@pytest.mark.parametrize("is_there", [True, False])
def test_what_it_was_installed_from_counts_while_it_is_there(tmp_path: Path, is_there: bool) -> None:
    wheel = tmp_path / "a b" / "kafka_admin_console-1-py3-none-any.whl"
    wheel.parent.mkdir()
    if is_there:
        wheel.touch()
    words = shlex.split(installed(tmp_path / "env", wheel.as_uri()))
    assert words[-1] == f"{wheel if is_there else 'kafka-admin-console'}[history]"
    assert "install" in words
