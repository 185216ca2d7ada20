"""The pane of the quorum of the metadata log: its voters and observers."""

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
    """One row for each voter and each observer, the leader first."""

    NAME = keymap.QUORUM
    NEEDS = Part.QUORUM
    MARKS = False
    NOUN = QUORUM

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the quorum, and whether it has a leader."""
        return (self.snapshot.quorum, is_unanswered(self.snapshot), self.cluster.triage.is_led)

    def empty_text(self) -> str:
        """Return the text of a table without rows: why no quorum is shown."""
        if not self.known() or self.filter_text or self.snapshot.quorum is not None:
            return super().empty_text()
        return no_quorum_text(self.snapshot)

    def rows(self) -> list[QuorumRow]:
        """Return the voters and observers, the leader first."""
        return quorum_rows(self.snapshot, is_led=self.cluster.triage.is_led)

    def key(self, row: QuorumRow) -> Hashable:
        """Return the row's key: node id and directory id. One node may have two rows, because its directory may have
        been replaced (KIP-853).
        """
        return row.replica.id, row.replica.directory_id

    def words(self, row: QuorumRow) -> str:
        """Return the text that the filter searches: role, node id and endpoint."""
        return f"{row.role} {row.replica.id} {row.endpoint}"

    def in_trouble(self, row: QuorumRow) -> bool:
        """Return whether triage finds a symptom of this voter; False for an observer."""
        return row.role != "observer" and row.replica.id in self.trouble.found.brokers

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the leader's id and the leader epoch."""
        return quorum_line(self.snapshot, is_led=self.cluster.triage.is_led)

    def copied_of(self, row: QuorumRow) -> str:
        """Return the text that `y` copies: the directory id; the endpoint if that is unknown."""
        return row.replica.directory_id or row.endpoint

    def do_add_voter(self) -> None:
        """Open the command bar with the command that makes the controller a voter; for a voter, only show a message."""
        row = self.row()
        if row is None:
            return
        if row.role != "observer":
            self._message.say(f"{row.replica.id} votes already", "muted")
            return
        self._editing.begin(f"add voter {row.replica.id} directory={row.replica.directory_id}")

    def do_remove_voter(self) -> None:
        """Open the command bar with the command that removes the controller from the voters; for an observer, only show
        a message.
        """
        row = self.row()
        if row is None:
            return
        if row.role == "observer":
            self._message.say(f"{row.replica.id} does not vote", "muted")
            return
        self._editing.begin(f"remove voter {row.replica.id} directory={row.replica.directory_id}")
