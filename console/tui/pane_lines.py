"""A pane as lines of text for ``--plain``: its title, its numbered rows, the details of a row, and changes of rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from textual.events import Key

from console.present import in_words, triage
from console.present.names import plural
from console.present.text import clean, plain
from console.tui import keymap, places
from console.tui.navigator import Navigator
from console.tui.panes.details import DetailsView
from console.tui.panes.now import NowView
from console.tui.panes.table import ShownRows
from console.tui.voice import Voice
from console.tui.watch import ShownCluster
from widgets.columns import ColumnView
from widgets.diff_view import DiffView
from widgets.lazy_tree import LazyTree

PAGE = 20
"""Number of rows that kac prints at once."""
MOST_CHANGES = 8
"""Maximum number of changed rows that kac prints at once."""
TEXT_WIDTH = 400
"""Width in cells for which the lines of a text are made; the terminal folds them itself."""
_TOLD = {"lag_seconds": "behind"}
"""Id of a column -> its printed name, for columns whose usual name already means another column: ``lag`` is a number
of records, so the column of seconds is ``behind``.
"""
HANG = triage.LABEL
"""Number of blanks with which a line of details begins if it continues the line before."""


class PaneLines:
    """Prints the visible pane, and records the rows that it has printed. says_changes: whether to print changes."""

    def __init__(self, cluster: ShownCluster, navigator: Navigator, voice: Voice) -> None:
        """Create the printer; `tell` prints the visible pane."""
        self._cluster, self._navigator, self._voice = cluster, navigator, voice
        self._numbers: dict[Hashable, int] = {}
        self._words: dict[Hashable, dict[str, str]] = {}
        self._room = PAGE
        self._row: Hashable | None = None
        self._usual: dict[str, str] = {}
        self._troubles: dict[str, str] | None = None
        self.says_changes = True

    def goes_to(self, number: str) -> bool:
        """Put the cursor on a row. Return whether that succeeded; if not, print the reason.

        Args:
            number: the printed number of the row; ``""`` for the row that was chosen before, or for the only row.
        """
        lines = self._navigator.view.lines
        if number:
            self._row = next((key for key, its in self._numbers.items() if its == int(number)), None)
            if self._row is None:
                self._voice.say(f"there is no row {number} here: again says the rows")
                return False
        elif self._row is None:
            if len(self._numbers) > 1:
                self._voice.say("which row? type its number first")
                return False
            self._row = next(iter(self._numbers), None)
        if self._row is not None and lines.move_cursor(self._row):
            if number and isinstance(self._navigator.view, NowView):
                self._navigator.view.on_key(Key("down", None))  # choosing a row counts as moving the cursor
            return True
        gone, self._row = self._row, None
        self._voice.say("that row is gone: again says the rows" if gone is not None else "there are no rows here")
        return False

    def sort(self, word: str) -> bool:
        """Sort the rows by a column; if they are sorted by it already, reverse the order. If no column has the name,
        print the names.

        Args:
            word: the printed name of the column, or its title on the screen.

        Returns:
            Whether a column has the name.
        """
        lines = self._navigator.view.lines
        told, titled = dict[str, str](), dict[str, str]()
        if isinstance(lines, ColumnView):
            for column, its in zip(lines.columns, self._columns(), strict=True):
                if column.sort_key is not None:
                    title = (in_words.spoken(column.label) or column.id).lower()
                    titled[title] = told[its.name or title] = column.id
            if (found := {**titled, **told}.get(word.lower())) is not None:
                lines.post_message(ColumnView.SortRequested(lines, found))
                return True
        self._voice.say(f"sort by one of: {', '.join(told)}" if told else "this pane has one order only")
        return False

    def mark(self) -> None:
        """Mark the chosen row, or remove its mark."""
        lines = self._navigator.view.lines
        if self._row is not None:
            lines.set_marks(lines.marks ^ {self._row})
        self._voice.say(f"{plural(len(lines.marks), 'row')} marked")

    def _columns(self) -> Sequence[in_words.Told]:
        view, lines = self._navigator.view, self._navigator.view.lines
        if isinstance(lines, DiffView):
            return PLAN_COLUMNS
        if not isinstance(lines, ColumnView):
            return [in_words.Told("")]
        noun = getattr(view, "NOUN", None) if isinstance(view, ShownRows) else None
        names = {each.name for each in noun.all} if noun else set()
        main = next((c.id for c in lines.columns if c.id == "what"), None)
        main = main or next((c.id for c in lines.columns if not c.gutter), None)
        told, own = [], view.NAME.removesuffix("s")
        for each in lines.columns:
            name = each.id if each.id in names else each.label.strip().lower() or each.id
            name = _TOLD.get(name) or name.removesuffix("_seconds").replace("_", " ")
            noun = {"what": "", "id": own, "name": own}.get(name, name)
            told.append(in_words.Told("" if each.id == main else name, each.gutter, noun if each.id == main else ""))
        return told

    def _rows(self) -> Iterator[tuple[Hashable, dict[str, str]]]:
        """Yield, for each row to print, its key and its texts by column name. There are at most `_room` rows; the
        plan has no limit.
        """
        lines = self._navigator.view.lines
        if isinstance(lines, DiffView):
            yield from _plan_rows(lines)
            return
        columns, above = self._columns(), list[str]()
        for index in range(min(lines.line_count(), self._room)):
            if isinstance(lines, ColumnView):
                words = in_words.row_words(columns, lines.cells_at(index))
                if isinstance(lines, LazyTree):
                    above = [*above[: lines.depth_at(index)], words.get("", "")]
                    words[""] = ", ".join(above)
                yield lines.key_at(index), words
            elif text := in_words.spoken(plain(list(lines.spans(index, TEXT_WIDTH)))):
                yield lines.key_at(index), {"": text}

    def tell(self) -> None:
        """Print the title of the pane and its first rows with numbers; for the overview, its graphs. If the data are
        not read yet, print the reason why there are no rows.
        """
        view, place = self._navigator.view, self._navigator.place
        title = keymap.VIEWS[view.NAME][0]
        parts = [its for _, its in places.parts_of(place)]
        crumbs = places.title(place) if parts else in_words.spoken(plain(view.crumbs()))
        status = [in_words.spoken(text) for text, _ in view.status() if text.strip()]
        if status and status[-1].replace(" of ", "").replace(",", "").isdecimal():
            status[-1] += " row" if status[-1] == "1" else " rows"
        filtered = f"only rows with {clean(view.filter_text, 80)}" if view.filter_text else ""
        told = [crumbs, filtered, "only what is in trouble" if view.only_trouble else "", *status]
        self._voice.say("; ".join((title, *(text for text in told if text and text.lower() not in title.lower()))))
        if parts:
            self._voice.say(f"Tab goes to the next of: {', '.join(parts)}")
        self._numbers, self._words = {}, {}
        self._row, self._room, self._usual = None, PAGE, {}
        self._voice.drop()
        if not view.known():
            for each in view.nothing_yet().split("\n"):
                self._voice.say(in_words.spoken(each))
            return
        if view.NAME == keymap.OVERVIEW:
            self.tell_graphs()
            return
        self._tell_rows()
        if not self._numbers:
            empty = view.lines.empty
            self._voice.say("; ".join(in_words.spoken(each) for each in empty.split("\n") if each.strip()) or "no rows")

    def _tell_rows(self) -> None:
        columns, rows = self._columns(), [*self._rows()]
        usual = in_words.usual_values(columns, [words for _, words in rows])
        if usual and usual != self._usual:
            alone = "".join(f", {name} {text}" for name, text in usual.items())
            self._voice.say(f"unless a row says otherwise{alone}")
        self._usual = usual
        for key, words in rows:
            if key not in self._numbers:
                self._number(key, words)
                self._voice.say(f"{self._numbers[key]}. {in_words.row_text(columns, words, usual)}")
        left = self._navigator.view.lines.line_count() - self._room
        if left > 0 and not isinstance(self._navigator.view.lines, DiffView):
            self._voice.say(f"{left:,} more: type more, or / and words to tell only rows with them")

    def _number(self, key: Hashable, words: dict[str, str]) -> None:
        self._numbers[key] = max(self._numbers.values(), default=0) + 1
        self._words[key] = words

    def tell_more(self) -> None:
        """Print the rest of a long text; if there is none, the next rows."""
        if self._voice.more():
            return
        if self._navigator.view.lines.line_count() <= self._room:
            self._voice.say("there are no more rows")
            return
        self._room += PAGE
        self._tell_rows()

    def tell_details(self) -> None:
        """Print everything about the chosen row: its columns, its details, its graphs as sentences, and the effect of
        Enter.
        """
        view, key = self._navigator.view, self._row
        columns = self._columns()
        for its, words in self._rows():
            if its == key:
                self._words[its] = words
                self._voice.say(f"{self._numbers[its]}. {in_words.row_text(columns, words)}")
        if isinstance(view, DetailsView) and (row := view.row()) is not None:
            _, *more = view.details(row) or [[]]
            self._voice.say_all(in_words.sentences(more, HANG))
        subject = view.subject() if isinstance(view, DetailsView) else None
        if subject is not None and (known := self._cluster.half_hour.known) is not None:
            for each in in_words.own_graphs(known, *subject).values():
                self._voice.say(each.text)
        if view.ENTER:
            self._voice.say(f"the word enter: {view.ENTER}")

    def tell_graphs(self) -> None:
        """Print the graphs of the cluster's last half hour as sentences."""
        known = self._cluster.half_hour.known
        told = in_words.cluster_graphs(known) if known is not None else {}
        for each in [sentence.text for sentence in told.values()] or ["nothing was measured yet"]:
            self._voice.say(each)

    # -- changes -------------------------------------------------------------------------------------------------------

    def _tell_row_changes(self) -> None:
        """Print which rows are new, changed or gone since they were printed: at most `MOST_CHANGES`, the worst
        first, and the number of further ones. Print nothing for the overview, or if `says_changes` is False.
        """
        view = self._navigator.view
        if view.NAME == keymap.OVERVIEW:
            return
        columns, told, kept = self._columns(), list[tuple[int, str]](), set[Hashable]()
        for key, words in self._rows():
            kept.add(key)
            if key not in self._numbers:
                self._number(key, words)
                if isinstance(view.lines, DiffView):  # the statement's outcome reports the row
                    continue
                text = in_words.row_text(columns, words, self._usual)
                told.append((in_words.badness(words), f"new, row {self._numbers[key]}: {text}"))
                continue
            before = self._words[key]
            if changed := in_words.changed_columns(columns, before, words):
                name = "" if "" in changed else f", {before.get('', '')}"
                text = f"row {self._numbers[key]}{name}: {', '.join(changed.values())}"
                told.append((in_words.badness(words), text))
            self._words[key] = in_words.as_told(before, words, changed)
        gone = [key for key in self._numbers if key not in kept and view.lines.index_of(key) is None]
        left = [f"gone: row {self._numbers.pop(key)}, {self._words[key].get('', '')}" for key in gone]
        if not isinstance(view.lines, DiffView):
            told += [(MOST_CHANGES, each) for each in left]
        if not self.says_changes:
            return
        lines = [text for _, text in sorted(told, key=lambda each: each[0])]
        for each in lines[:MOST_CHANGES]:
            self._voice.say_at(f"{view.NAME}, {each}")
        if len(lines) > MOST_CHANGES:
            self._voice.say_at(f"{view.NAME}, {plural(len(lines) - MOST_CHANGES, 'more change')}: again says all rows")

    def _causes(self) -> dict[str, str] | None:
        watch = self._cluster.triage
        if watch.verdict is None:
            return None
        rows = triage.cause_rows(watch.verdict, watch.muted, watch.seen)
        return {
            triage.cause_id(row.claim): f"{row.claim.severity.value}: {clean(row.claim.title, 200)}"
            for row in rows
            if row.counts
        }

    def note_troubles(self) -> None:
        """Record the present causes of trouble as known to the operator, unless some are recorded. Called after the
        first pane was printed, which includes them.
        """
        if self._troubles is None:
            self._troubles = self._causes()

    def tell_changes(self) -> None:
        """Print the changes since the last call: causes of trouble, whatever pane is visible, and rows of this pane."""
        self._tell_troubles()
        self._tell_row_changes()

    def _tell_troubles(self) -> None:
        """Print the causes of trouble that are new, changed or gone, and say so if no trouble is left. Print nothing
        if `says_changes` is False. While the pane Now is visible, leave out the causes: `_tell_row_changes`
        prints them, as changes of the pane's rows.
        """
        now = self._causes()
        before, self._troubles = self._troubles, now
        if now is None or before is None or not self.says_changes:
            return
        if self._navigator.view.NAME != keymap.NOW:  # on Now, the rows report the causes
            for cause, text in now.items():
                if cause not in before:
                    self._voice.say_at(f"{keymap.NOW}, new, {in_words.spoken(text)}")
                elif text.partition(":")[0] != before[cause].partition(":")[0]:
                    self._voice.say_at(f"{keymap.NOW}, changed, {in_words.spoken(text)}")
            for cause, text in before.items():
                if cause not in now:
                    self._voice.say_at(f"{keymap.NOW}, gone, {in_words.spoken(text)}")
        if before and not now:
            self._voice.say_at("no trouble is left")


PLAN_COLUMNS = tuple(in_words.Told(name, name in ("state", "change")) for name in ("", "change", "state", "note", "so"))


def _plan_rows(lines: DiffView) -> Iterator[tuple[Hashable, dict[str, str]]]:
    """Yield for each edit of the plan its key, and its texts by column name."""
    for group in lines.groups:
        title = in_words.spoken(plain(group.title))
        for line in group.lines:
            old, new = in_words.spoken(plain(line.old)), in_words.spoken(plain(line.new))
            name = f"{title}, {in_words.spoken(line.name)}".removesuffix(", ")
            below = "; ".join(in_words.spoken(text, labelled=True) for text, _ in line.below)
            state = in_words.spoken(plain(line.status)).replace("ok", "accepted").replace("?", "outcome unknown")
            note = in_words.spoken(plain(line.note))
            change = f"from {old} to {new}" if line.arrow else new or old
            texts = zip(PLAN_COLUMNS, (name, change, state, note, below), strict=True)
            yield line.key, {column.name: text for column, text in texts if text}
