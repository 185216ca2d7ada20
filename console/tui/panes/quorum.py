"""The quorum of the metadata log: its voters and observers."""

from __future__ import annotations

from collections.abc import Hashable

from console.model.parts import Part
from console.model.quorum import is_unanswered
from console.present.brokers import quorum_line
from console.present.header import no_quorum_text
from console.present.quorum import QUORUM, QuorumRow, quorum_rows
from console.present.text import Line
from console.tui import keymap
from console.tui.panes.details import DetailsView


class QuorumView(DetailsView[QuorumRow]):
    """A row for each voter and observer, the leader first."""

    NAME = keymap.QUORUM
    NEEDS = Part.QUORUM
    MARKS = False
    NOUN = QUORUM

    def inputs(self) -> tuple[object, ...]:
        """Return the quorum, and whether it has a leader."""
        return (self.snapshot.quorum, is_unanswered(self.snapshot), self.cluster.triage.is_led)

    def empty_text(self) -> str:
        """Return the reason why no quorum is shown."""
        if not self.known() or self.filter_text or self.snapshot.quorum is not None:
            return super().empty_text()
        return no_quorum_text(self.snapshot)

    def rows(self) -> list[QuorumRow]:
        """Return voters and observers, the leader first."""
        return quorum_rows(self.snapshot, is_led=self.cluster.triage.is_led)

    def key(self, row: QuorumRow) -> Hashable:
        """Return id and directory id: a node may have had another directory before (KIP-853)."""
        return row.replica.id, row.replica.directory_id

    def words(self, row: QuorumRow) -> str:
        """Return role, id and endpoint."""
        return f"{row.role} {row.replica.id} {row.endpoint}"

    def in_trouble(self, row: QuorumRow) -> bool:
        """Return whether the row is a voter with a symptom."""
        return row.role != "observer" and row.replica.id in self.trouble.found.brokers

    def status(self) -> Line:
        """Return the leader and its epoch."""
        return quorum_line(self.snapshot, is_led=self.cluster.triage.is_led)

    def copied_of(self, row: QuorumRow) -> str:
        """Return the directory id, else the endpoint."""
        return row.replica.directory_id or row.endpoint

    def do_add_voter(self) -> None:
        """Begin the command that makes the controller a voter; for a voter, only say so."""
        row = self.row()
        if row is None:
            return
        if row.role != "observer":
            self._message.say(f"{row.replica.id} votes already", "muted")
            return
        self._editing.begin(f"add voter {row.replica.id} directory={row.replica.directory_id}")

    def do_remove_voter(self) -> None:
        """Begin the command that removes the controller from the voters; for an observer, only say so."""
        row = self.row()
        if row is None:
            return
        if row.role == "observer":
            self._message.say(f"{row.replica.id} does not vote", "muted")
            return
        self._editing.begin(f"remove voter {row.replica.id} directory={row.replica.directory_id}")
