"""Files staged in a session: the edits that they ask for, and what of them can't be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from console.commands.session import Session
from console.commands.snapshot import read_everything
from console.files.edits import Prune, file_edits
from console.files.reading import Read
from console.model.changes import Target
from console.model.yaml_places import FileProblem
from console.plan.plan import StageReport
from console.plan.staged import subject


@dataclass(frozen=True, slots=True)
class Staging:
    """report: what was staged. problems: what can't be, each with its place; secrets: those among the wanted that are
    not set and that no file holds, likewise; unread: parts of the cluster that could not be read, a line each."""

    report: StageReport
    problems: tuple[FileProblem, ...]
    secrets: tuple[FileProblem, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def blocked(self) -> bool:
        """Whether the rest is sent only if that is asked for."""
        return bool(self.problems or self.unread)

    @property
    def whole(self) -> bool:
        """Whether nothing that the files want was left out."""
        return not (self.blocked or self.secrets)


async def stage_files(session: Session, read: Read, prune: Iterable[Prune] = ()) -> Staging:
    """Read the cluster, and stage what makes it as the files want it. Raises AdminError and Refused."""
    await read_everything(session)
    found = file_edits(read.wanted, session.snapshot, prune)
    report = session.stage(found.edits)
    problems = [_problem(read, each.target, each.key, each.message) for each in found.obstacles if not each.secret]
    problems += [
        _problem(read, subject(each.edit.target), each.edit.key, each.reason, each.remedy) for each in report.refused
    ]
    unread = tuple(f"{each.part} {each.entity}: {each.failure}".strip() for each in session.snapshot.failures)
    secrets = tuple(_problem(read, each.target, each.key, each.message) for each in found.obstacles if each.secret)
    return Staging(report, tuple(problems), secrets, unread)


def _problem(read: Read, target: Target, key: str, message: str, hint: str = "") -> FileProblem:
    source, line = read.place(target, key)
    return FileProblem(source or "the plan", line, message, hint)
