"""``kac bug-report``: writes one file for an issue, with the checks of ``kac doctor`` and an anonymous flight
record.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from console.cli.opening import DONE, FAILED, USAGE, add_duration, leave
from console.model.numbers import json_text
from console.terminal import put

if TYPE_CHECKING:
    from console.answers.checks import Check

SECONDS = 10.0
"""The duration in seconds of the recording of brokers' responses."""
RECORD = "brokers.kacflight"


def bug_report_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac bug-report``."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="?",
        help="the file to write, which only you can read (default: kac-bug-report-TIME.zip)",
    )
    add_duration(parser, "how long to record brokers' answers (default: 10s)", SECONDS)


def run_bug_report(options: argparse.Namespace) -> int:
    """Write the report, and print its contents. Without a cluster among the options, the report covers only this host.

    Returns:
        The exit code: 0 written, whatever the checks found; 1 the file can't be written; 2 there is no such context, or
        the file already exists.
    """
    from console.cli.doctor import checks, names_a_cluster

    file = options.file or Path(time.strftime("kac-bug-report-%Y%m%dT%H%M%S.zip"))
    if file.exists():
        return leave(USAGE, f"{file} is there already: give another name")
    found = checks(options)
    if found is None:
        return USAGE
    with TemporaryDirectory() as folder:
        record = Path(folder) / RECORD
        why = _record(options, record) if names_a_cluster(options) else "no cluster was named (-b, -c)"
        files = {"checks.json": _checks(found), "about.json": _about()}
        if record.is_file() and not why:
            files[RECORD] = record.read_bytes()
    files = {"READ-ME-FIRST.txt": _contents(why).encode(), **files}
    try:
        _write(file, files)
    except OSError as error:
        return leave(FAILED, f"{file} can't be written: {error.strerror or error}")
    put(f"{file}: {', '.join(files)}\n\n{_contents(why)}")
    return DONE


def _record(options: argparse.Namespace, file: Path) -> str:
    """Record the brokers' responses, without names, into a file. Return ``""`` on success, else the reason why there is
    no record.
    """
    from console.cli.record import EVERY_SECONDS, run_record

    asked = vars(options) | {"file": file, "every": EVERY_SECONDS, "append": False, "anonymous": True}
    if run_record(argparse.Namespace(**asked), quiet=True) == DONE:
        return ""
    of = "controller" if getattr(options, "bootstrap_controller", None) else "broker"
    return f"no {of} answered; the checks say how far the way went"


def _checks(found: list[Check]) -> bytes:
    from console.answers.checks import checks_result
    from console.answers.results import to_data
    from console.sensitive import data_without_secrets

    shown = data_without_secrets(to_data(checks_result(found)), "[hidden]")
    # Replace the home folder, which many checks name: it identifies the user.
    return (json_text(shown) + "\n").replace(str(Path.home()), "~").encode()


def _about() -> bytes:
    from console.cli.installed import release

    return (
        json_text(
            {
                "kac": release(),
                "python": sys.version.split()[0],
                "system": f"{platform.system()} {platform.release()} {platform.machine()}",
                "libc": " ".join(platform.libc_ver()),
                "one_file": "KAC_BUNDLE" in os.environ,
                "term": os.environ.get("TERM", ""),
            }
        )
        + "\n"
    ).encode()


def _contents(why: str) -> str:
    record = (
        f"{RECORD}: not there: {why}.\n"
        if why
        else f"{RECORD}: what brokers answered, with pseudonyms for all names; no records, no credentials, no\n"
        "  certificates. kac replay FILE shows what a reader sees of it.\n"
    )
    return (
        "checks.json: what kac doctor --output json says. It names brokers' hosts, addresses and certificates, the\n"
        "  cluster's id, your principal, contexts and folders: read it, and replace what others must not know.\n"
        "about.json: versions of kac, Python and the system, and the kind of terminal.\n"
        f"{record}"
        "Not in it: passwords, keys and tokens, the configuration, the log, the journal, commands that were typed.\n"
    )


def _write(file: Path, files: dict[str, bytes]) -> None:
    """Write a zip file that only its owner may read. files: name in the zip -> content. Raises OSError, also if the
    file exists.
    """
    import zipfile

    from console.safe_files import open_private

    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    with os.fdopen(open_private(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, in_own_folder=False), "wb") as out:
        out.write(data.getvalue())
