"""The pane of delegation tokens: their owners and expiry times. kac never shows their HMACs (the secrets) here."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from console.language.quoting import quote
from console.model.parts import Part
from console.model.tokens import DelegationToken, TokenTarget
from console.plan.kinds.tokens import AT_ONCE, Expire
from console.present.columns import clock
from console.present.kinds import TOKENS, expires_soon, token_lines, token_rows
from console.present.names import plural
from console.present.text import Cell, Line, clean
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.text_lines import wrap_all


class TokensView(DetailsView[DelegationToken]):
    """One row for each delegation token that the user may see. kac reads them only while the view is visible."""

    NAME = keymap.TOKENS
    NEEDS = Part.TOKENS
    ENTER = "all about it"
    CALM = "no token expires within an hour"
    NOUN = TOKENS
    EMPTY = "there is no token that you may see"

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the tokens and the plan."""
        return self.snapshot.tokens, self.plan.staged

    def rows(self) -> list[DelegationToken]:
        """Return the tokens in order of expiry, the earliest first."""
        return sorted(token_rows(self.snapshot), key=lambda token: (token.expires, token.id))

    def key(self, row: DelegationToken) -> Hashable:
        """Return the row's key: the token's id."""
        return row.id

    def cells(self, row: DelegationToken) -> Sequence[Cell]:
        """Return the cells of a row; the id is coloured if edits of the token are staged."""
        cells = super().cells(row)
        if any(each.edit.target == TokenTarget(row.id) for each in self.plan.staged):
            return [(clean(row.id, 120), "pending"), *cells[1:]]
        return cells

    def words(self, row: DelegationToken) -> str:
        """Return the text that the filter searches: the id, the owner, the requester and the renewers."""
        return " ".join((row.id, row.owner, row.requester, *row.renewers))

    def in_trouble(self, row: DelegationToken) -> bool:
        """Return whether the token expires within an hour."""
        return expires_soon(row, self.session.clock.now())

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the title, without sections."""
        return [("delegation tokens", "strong")]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of tokens that expire within an hour, the number of
        tokens, and the time of the read; empty before the first read.
        """
        if not self.known():
            return []
        soon = sum(map(self.in_trouble, self.rows()))
        line: Line = [(f"{plural(soon, 'token')} within an hour of the end  ", "changed")] if soon else []
        at = self.snapshot.read_at.get(Part.TOKENS)
        return [*line, *super().status(), (f"  at {clock(at)}" if at is not None else "", "muted")]

    def copied_of(self, row: DelegationToken) -> str:
        """Return the text that `y` copies: the token's id."""
        return row.id

    def do_renew(self) -> None:
        """Open the command bar with the command that renews the token."""
        self.begin_command(lambda row: f"token renew {quote(row.id)} for ")

    def do_expire(self) -> None:
        """Stage the expiry of the marked tokens, or of the token under the cursor."""
        self._editing.stage([Expire(row.id, AT_ONCE) for row in self.rows_meant()])

    def do_create_token(self) -> None:
        """Open the command bar with the command that creates a token."""
        self._editing.begin("token create ")

    def details(self, row: DelegationToken) -> list[Line]:
        """Return the token as title, then all of its details."""
        return [[(_title(row), "")], *token_lines(row)]

    async def enter(self, row: DelegationToken) -> None:
        """Show all details of the token on a screen above the panes."""
        self.show_text(_title(row), lambda width: wrap_all(token_lines(row), width, 2))


def _title(row: DelegationToken) -> str:
    return f"token {clean(row.id, 80)}"
