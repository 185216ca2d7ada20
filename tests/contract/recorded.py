"""Recorded answers of real brokers, which tests use in place of the brokers. Each file names its Kafka version.

``python -m tests.contract.recorded [RELEASE …]`` runs the contract tests on real brokers and writes the files again
(some minutes for each release). A test whose requests differ from the recorded ones fails and names that command.

If tests send a release the same requests, under the same names, as another release, its file may hold only the answers
that differ from the other release's.
"""

import hashlib
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from console.embedded.spec import RELEASE_NAMES
from console.wire.frames import encode_payload
from console.wire.schemas import request_module
from tests.contract.client import NoAnswer
from tests.contract.target import Server
from tests.support.kafka_jars import RELEASES
from tests.support.kafka_messages import Build

FOLDER = Path(__file__).parent / "answers"
RECORD = "CONTRACT_ANSWERS"
"""Name of the environment variable with the folder into which a run on real brokers writes their answers."""
CONNECT = "connect-"
"""The prefix of a release of Connect, whose answers have separate files."""
OF_CONNECT = ("connect-3.9", "connect-4.0", "connect-4.3", "connect-4.4")
LIKE = {"4.0": "4.4", **dict.fromkeys(OF_CONNECT[:-1], OF_CONNECT[-1])}
"""Release -> the release whose file it shares: its own file holds only the answers that differ."""
NAMED = {"4.0": "4.3", "4.4": "4.3", **dict.fromkeys(OF_CONNECT, "connect")}
"""Release -> the release whose name is used in its place in the names of recorded tests. The names of topics come from
the test's name, so these releases get the same requests.
"""
_TIME = "$time"
_SAME = "same"
"""Stands in a file in place of a test's answers if they equal those of the other release (`LIKE`)."""
LIVE = "live"
"""Stands in a file in place of a test's answers if the test has the marker `live`, so it needs a real broker each time.
"""


@dataclass
class Recorder(Server):
    """A real cluster. Each request and its answer is appended to a list, the tape, from which the test's file of
    recorded answers is made.
    """

    tape: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, api: str, version: int, build: Build, broker: int, user: str) -> Any:
        """Send a request to a broker, record the answer, and return it."""
        answer = super().ask(api, version, build, broker, user)
        return self._note(_asked(api, version, build, broker, user), answer)

    def ask_once(self, api: str, version: int, build: Build, patience: float) -> Any:
        """Send a request on a new connection, and return the answer. Record it, or that the broker sent none; in this
        case raise NoAnswer.
        """
        asked = _asked(api, version, build, 1, "")
        try:
            return self._note(asked, super().ask_once(api, version, build, patience))
        except NoAnswer:
            self._note(asked, None)
            raise

    def exchange(self, frame: bytes) -> bytes:
        """Send bytes on a new connection, record the response, and return it."""
        answer = super().exchange(frame)
        self._note(_hash(frame), answer.hex())
        return answer

    def _note(self, asked: str, answer: Any) -> Any:
        self.tape.append((asked, json.dumps(answer, default=_encoded)))  # tests change answers
        return answer


class Recorded(Server):
    """The recorded answers of a real cluster to one test. A request that differs from the next recorded one fails the
    test.
    """

    def __init__(self, brokers: int, tape: list[list[Any]]) -> None:
        super().__init__({}, {})
        self._ids = tuple(range(1, brokers + 1))
        self._tape: Iterator[list[Any]] = iter(tape)

    @property
    def brokers(self) -> tuple[int, ...]:
        """Return the ids of all brokers."""
        return self._ids

    def ask(self, api: str, version: int, build: Build, broker: int, user: str) -> Any:
        """Return the recorded answer to the next request."""
        return self._next(_asked(api, version, build, broker, user))

    def ask_once(self, api: str, version: int, build: Build, patience: float) -> Any:
        """Return the recorded answer to the next request. Raises NoAnswer if the broker sent none."""
        answer = self._next(_asked(api, version, build, 1, ""))
        if answer is None:
            raise NoAnswer(api)
        return answer

    def exchange(self, frame: bytes) -> bytes:
        return bytes.fromhex(self._next(_hash(frame)))

    def _next(self, asked: str) -> Any:
        then, answer = next(self._tape, ("the end", None))
        if then != asked:
            pytest.fail(
                f"asks {asked}, recorded was {then}: run python -m tests.contract.recorded, and look at its diff",
                pytrace=False,
            )
        return answer


def _asked(api: str, version: int, build: Build, broker: int, user: str) -> str:
    """Return a request as text: its API, broker and user, and a hash of its bytes."""
    return f"{api} v{version} {broker} {user} {_hash(encode_payload(build(request_module(api, version))))}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def case(node: pytest.Item, release: str) -> str:
    """Return the name of a test in the files, ``module::name``. It doesn't say whether the test uses recorded answers
    or a real cluster.
    """
    name = node.name
    for kind in ("recorded", "real"):
        name = name.replace(f"{kind}-{release}", NAMED.get(release, release))
    return f"{node.path.stem}::{name}"


Tape = list[list[str]]
"""Pairs of a request as text (see `_asked`) and its answer as JSON text."""


@cache
def _tapes(release: str) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Read the files of a release. Return the distinct answers as JSON texts, and case -> its tape. In a tape, the
    index of an answer among these texts stands in place of the answer; a case that needs a real broker each time
    has LIVE in place of a tape. The answers and the cases are empty if nothing was recorded for the Kafka version
    that the tests use now.
    """
    file = FOLDER / f"{release}.json.xz"
    if not file.exists():
        return (), {}
    kept = json.loads(lzma.decompress(file.read_bytes()))
    if kept["version"] != RELEASES[release.removeprefix(CONNECT)]:
        return (), {}
    others, same = _tapes(LIKE[release]) if release in LIKE else ((), {})
    cases = {name: same[name] if tape == _SAME else tape for name, tape in kept["cases"].items()}
    return (*others, *kept["answers"]), cases


def tape_of(release: str, name: str) -> list[list[Any]]:
    """Return the (request, answer) pairs of a case. Raises KeyError if the case was not recorded."""
    pool, cases = _tapes(release)
    return [[asked, json.loads(pool[at], object_hook=_decoded)] for asked, at in cases[name]]


@cache
def recorded_functions(release: str) -> frozenset[str]:
    """Return ``module::function`` of each test function whose cases were all recorded, so that none needs a broker."""
    _, found = _tapes(release)
    functions = {name.partition("[")[0] for name in found}
    return frozenset(functions - {name.partition("[")[0] for name, tape in found.items() if tape == LIVE})


def _encoded(value: Any) -> Any:
    """Return the JSON form of a datetime: an object with its ISO text. Raises TypeError for any other value."""
    if isinstance(value, datetime):
        return {_TIME: value.isoformat()}
    raise TypeError(f"no form for {type(value).__name__}")


def _decoded(value: dict[str, Any]) -> Any:
    return datetime.fromisoformat(value[_TIME]) if _TIME in value else value


def keep(folder: str, release: str, name: str, tape: object) -> None:
    """Write the tape of one test, or LIVE, into a file of its own in the folder; `main` collects these files."""
    file = Path(folder) / f"{release}-{hashlib.sha256(name.encode()).hexdigest()}.json"
    file.write_text(json.dumps([release, name, tape]))


def _write(folder: Path, recorded: Sequence[str]) -> None:
    """Collect the tapes in the folder into one file for each recorded release. Also rewrite the file of each other
    release that refers to a recorded one (`LIKE`), with its former answers. Equal answers are stored once.
    """
    cases: dict[str, dict[str, Tape | str]] = {release: {} for release in recorded}
    for file in folder.iterdir():
        release, name, tape = json.loads(file.read_text())
        cases[release][name] = tape
    for release, like in LIKE.items():
        if like in cases and release not in cases and (FOLDER / f"{release}.json.xz").exists():
            pool, kept = _tapes(release)
            cases[release] = {
                name: tape if tape == LIVE else [[asked, pool[at]] for asked, at in tape] for name, tape in kept.items()
            }
    FOLDER.mkdir(exist_ok=True)
    for release in sorted(cases, key=lambda each: each in LIKE):
        _write_release(release, cases[release])
        _tapes.cache_clear()


def _write_release(release: str, cases: Mapping[str, Tape | str]) -> None:
    others, same = _tapes(LIKE[release]) if release in LIKE else ((), {})
    pool = {answer: at for at, answer in enumerate(others)}
    kept: dict[str, Any] = {
        name: tape if isinstance(tape, str) else [[asked, pool.setdefault(answer, len(pool))] for asked, answer in tape]
        for name, tape in sorted(cases.items())
    }
    kept = {name: _SAME if tape == same.get(name) else tape for name, tape in kept.items()}
    answers = list(pool)[len(others) :]
    version = RELEASES[release.removeprefix(CONNECT)]
    text = json.dumps({"version": version, "answers": answers, "cases": kept}, indent=0)
    (FOLDER / f"{release}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))
    print(f"{release}, {version}: {len(kept)} cases, {len(answers)} answers")


def main() -> int:
    """Run the contract tests on real brokers of the releases in the command line, or of all imitated releases. If all
    tests pass, write the files. Return the exit code.
    """
    import tempfile

    releases = sys.argv[1:] or [*RELEASE_NAMES, *OF_CONNECT]
    with tempfile.TemporaryDirectory() as folder:
        wanted = " or ".join(f"real-{release}" for release in releases)
        command = [sys.executable, "-m", "pytest", str(Path(__file__).parent), "-k", wanted, "-q"]
        status = subprocess.run(command, env={**os.environ, RECORD: folder}, check=False).returncode
        if status == 0:
            _write(Path(folder), releases)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
