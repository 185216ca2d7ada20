"""The stored results of nights: the console's rows, a flight record of each night and twin, and the scores that the
records give.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import kept
from benchmarks.nights.night import Night
from benchmarks.nights.said import NIGHT, TWIN, Half, Said
from benchmarks.nights.score import Score, judge
from console.admin.errors import AdminError
from console.admin.recorded import NOT_RECORDED, InstantLoop
from console.flight.flight_reader import FlightReader
from console.session.replay import Replay
from console.session.snapshot_reader import Refused
from console.triage.diagnosis import diagnose
from console.triage.observations import after, begin

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "nights"
"""The folder of the stored results, which tests read."""
RESULTS, SCORES, RECORDS = FOLDER / "results.json", FOLDER / "scores.json", FOLDER / "records"


def halves(file: Path = RESULTS) -> list[Half]:
    """Return the stored rows of each night and twin on each version."""
    return kept.read(file, Half)


def keep(half: Half, file: Path = RESULTS) -> None:
    """Store the rows of a night or its twin; they replace those of the same night or twin on the same version."""
    every = {_key(each): each for each in (*halves(file), half)}
    kept.write(file, [every[key] for key in sorted(every)])


def _key(half: Half) -> tuple[str, str, str]:
    return half.version, half.slug, half.half


def scores(file: Path = SCORES) -> list[Score]:
    """Return the stored scores; empty if there is no file."""
    return kept.read(file, Score)


def keep_scores(found: Iterable[Score], file: Path = SCORES) -> None:
    """Store scores; they replace those of the same nights."""
    every = {(each.version, each.slug): each for each in (*scores(file), *found)}
    kept.write(file, [every[key] for key in sorted(every)])


def record_of(slug: str, half: str, version: str, folder: Path = RECORDS) -> Path:
    """Return the path of the flight record of a night or its twin (`half`) on a version."""
    return folder / f"{slug}-{half}-{version}.kacrec"


def judged(nights: dict[str, Night], found: Sequence[Half]) -> list[Score]:
    """Return the scores of the rows `found`, in the order of version and slug; rows of other nights are left out."""
    by_key = {_key(each): each for each in found if each.slug in nights}
    pairs = dict.fromkeys((version, slug) for version, slug, _ in sorted(by_key))
    return [
        judge(nights[slug], by_key.get((version, slug, NIGHT)), by_key.get((version, slug, TWIN)))
        for version, slug in pairs
    ]


def again(half: Half, record: Path | None = None) -> Half:
    """Return the night or twin with the rows that the present code makes from its flight record. record: the file; None
    for the stored one.

    Raises:
        OSError: the record can't be read.
        RecordError: the file is no record.
    """
    file = record or record_of(half.slug, half.half, half.version)
    said = Said()
    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        runner.run(_replayed(FlightReader(file), said))
    return said.half(
        half.began_ms, slug=half.slug, half=half.half, version=half.version, begun=half.begun, commit=half.commit
    )


async def _replayed(reader: FlightReader, said: Said) -> None:
    replay = Replay.of(reader, "night")
    observations = verdict = None
    try:
        for at_ms in replay.times:
            try:
                poll = await replay.poll_at(at_ms)
            except (AdminError, Refused) as error:
                if error.failure.name != NOT_RECORDED:  # the console was just opened, and showed nothing yet
                    said.lose(error, at_ms / 1000)
                continue
            observations = after(observations, poll) if observations is not None else begin(poll)
            verdict = diagnose(observations, before=verdict)
            said.add(verdict)
    finally:
        await replay.close()
