"""The pane of the cluster's features, and the levels of each that the nodes support."""

from __future__ import annotations

from collections.abc import Hashable

from console.language.quoting import quote_beside_equals
from console.model.changes import FeatureTarget
from console.model.parts import Part
from console.present.failures import failure_text
from console.present.features import FEATURES, FeatureRow, feature_lines, feature_rows, unasked
from console.present.text import Line, clean, plain
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.text_lines import wrap_all


class FeaturesView(DetailsView[FeatureRow]):
    """One row for each feature; Enter shows what its levels do."""

    NAME = keymap.FEATURES
    ENTER = "levels"
    NEEDS = Part.FEATURES
    MARKS = False
    NOUN = FEATURES
    EMPTY = "this server reports no features"

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the features and the plan."""
        return self.snapshot.features, self.plan.staged

    def rows(self) -> list[FeatureRow]:
        """Return all features, including those that staged edits would enable."""
        staged = (each.edit.target for each in self.plan.staged)
        return feature_rows(self.snapshot, [target.name for target in staged if isinstance(target, FeatureTarget)])

    def key(self, row: FeatureRow) -> Hashable:
        """Return the row's key: the feature's name."""
        return row.name

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of nodes that reported their levels, and the nodes that
        did not; empty before the first read.
        """
        features = self.snapshot.features
        if features is None:
            return []
        silent = unasked(features)
        asked = f"{len(features.nodes) - len(silent)} of {len(features.nodes)} nodes"
        names = ", ".join(str(node.id) for node in silent[:3]) + (", …" if len(silent) > 3 else "")
        return [(asked, ""), (f"  not {names}", "failed")] if silent else [(asked, "muted")]

    def note(self) -> Line:
        """Return the text for the message line: the error of a node that did not report its levels."""
        for node in unasked(self.snapshot.features):
            if node.failure is not None:
                kind = "controller" if node.controller else "broker"
                return [(f"{kind} {node.id}: ", "failed"), (clean(failure_text(node.failure), 200), "")]
        return super().note()

    def details(self, row: FeatureRow) -> list[Line]:
        """Return the feature as title, then the effects of its levels."""
        first, _, *others = feature_lines(row)
        return [[(plain(first), "")], *others]

    async def enter(self, row: FeatureRow) -> None:
        """Show the effects of the feature's levels on a screen above the panes."""
        self.show_text(clean(row.name, 80), lambda width: wrap_all(feature_lines(row), width, 2))

    def do_edit(self) -> None:
        """Open the command bar with the command that sets another level of the feature."""
        self.begin_command(lambda row: f"feature set {quote_beside_equals(row.name)}=")

    def copied_of(self, row: FeatureRow) -> str:
        """Return the text that `y` copies: ``name=level``."""
        return f"{row.name}={row.level}"
