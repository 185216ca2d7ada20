"""Completion of text in the command language: the candidates at the cursor, from the grammar and a snapshot; and the
parts of the snapshot that have to be read for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from string import ascii_letters, digits

from console.language import reader
from console.language.candidates import LIMIT, Completion, matching
from console.language.expectations import Candidates
from console.language.grammar import StatementReading, read
from console.language.known_names import KnownNames
from console.language.needs import needs
from console.language.quoting import quote, quote_beside_equals, quoted
from console.language.reader import Candidate, Expected, Form, Role, What
from console.language.seen_fields import SeenFields
from console.language.snapshot_parts import NOTHING, Needs
from console.language.statements import Subject, Where
from console.language.tokenizer import Word, scan
from console.model.codes import TOPIC
from console.model.config import ConfigResource
from console.model.parts import Part
from console.model.patterns import has_signs
from console.model.snapshot import Snapshot
from console.present.text import clean

ABOUT = {
    "key": "the record's key",
    "value": "its value; fields of JSON behind a dot",
    "headers": "its headers, by name",
    "partition": "a number",
    "offset": "a number",
    "time": "a timestamp",
    "size": "bytes of key and value",
    "schema": "the schema of its value",
}
"""Variable that the condition of `records` may use -> its meaning."""
_IN_NAMES = ascii_letters + digits + "_."
_PAIRS = (What.ASSIGN, What.PAIR, What.LIST_FILTER)


class Completer:
    """Completes unfinished text. It caches indexes of names between calls, and is not thread-safe."""

    def __init__(
        self,
        where: Where = Where.BAR,
        contexts: Sequence[str] = (),
        fields: Callable[[], SeenFields] = SeenFields,
    ) -> None:
        """Create the completer.

        Args:
            where: the prompt at which the text is typed, which determines the verbs.
            contexts: the names that ``ctx`` completes.
            fields: returns the names of fields in records that were seen, for the condition of ``records``.
        """
        self.where = where
        self._contexts = tuple(contexts)
        self._fields = fields
        self._names = KnownNames()

    def prepare(self, snapshot: Snapshot) -> None:
        """Build the index of topics, so that the next call of `complete` does not have to."""
        self._names.topics(snapshot).make_ready()

    def complete(self, text: str, cursor: int, snapshot: Snapshot, selected: Subject | None = None) -> list[Completion]:
        """Return the completions at the cursor, the likeliest first; never raises.

        Args:
            cursor: an offset into the text, in characters.
            snapshot: the only source of names and values. `completion_needs` returns the parts that it lacks.
            selected: the entity of a statement that names no entity; None if no entity is selected.

        Returns:
            At most `LIMIT` (80); empty within a comment. Each replaces all or a part of the word that contains the
            cursor or ends at it.
        """
        reading = read(text, self.where)
        if any(mark.role is Role.COMMENT and mark.start < cursor <= mark.end for mark in reading.marks):
            return []
        # After a separator follows the next statement, which may be empty.
        statement = next(one for one in reversed(reading.statements) if one.start <= cursor)
        index, word = _at_cursor(statement, cursor)
        typed = _typed(text, word, cursor)
        source = Candidates(snapshot, self._names, statement, selected, self.where, self._contexts)
        found: dict[tuple[int, int, str], Completion] = {}
        for place, expected in statement.expected:
            if place == index and len(found) < LIMIT:
                in_condition = expected.what is What.CONDITION
                made = self._in_condition(expected, typed) if in_condition else _complete(expected, source, word, typed)
                # Two expectations may offer the same text at one place: keep that of the first, which is likelier.
                for completion in made:
                    found.setdefault(completion[:3], completion)
        return list(found.values())[:LIMIT]

    def _in_condition(self, expected: Expected, typed: Word) -> list[Completion]:
        """Return completions for the last name in a condition; the condition may be a quoted word that is not
        finished.
        """
        rest = typed.text[len(typed.text.rstrip(_IN_NAMES)) :]
        begun = rest.lstrip(digits + ".")
        seen = self._fields()
        topics = [each for each in seen.topics() if any(fnmatchcase(each, one) for one in expected.detail.split(","))]
        # After a dot follows a field of JSON, never a variable.
        names = [Candidate(name, about) for name, about in ABOUT.items() if "." not in begun]
        names += [Candidate(name, "seen in records") for name in seen.of(topics)]
        start = typed.end - len(begun)
        fitting = [each for each in names if each.text.startswith(begun)]
        return [_completion(start, typed.end, each._replace(form=Form.BARE), False) for each in fitting]


def complete(text: str, cursor: int, snapshot: Snapshot, selected: Subject | None = None) -> list[Completion]:
    """Return the completions of a text in the command bar. For repeated calls use a `Completer`, which caches its
    indexes.
    """
    return Completer().complete(text, cursor, snapshot, selected)


def _at_cursor(statement: StatementReading, cursor: int) -> tuple[int, Word]:
    """Return the word that contains the cursor or ends at it, and its index in the statement; an empty word if the
    cursor is between words.
    """
    for number, word in enumerate(statement.words):
        if word.start < cursor <= word.end:
            return number, word
        if cursor <= word.start:
            return number, Word((), cursor, cursor)
    return len(statement.words), Word((), cursor, cursor)


def _typed(text: str, word: Word, cursor: int) -> Word:
    """Return the part of the word before the cursor. The part is scanned again, because a quote may be open at the
    cursor.
    """
    # Leave out the rest of the word, which may close a quote that is open at the cursor.
    words = scan(text[word.start : cursor]).statements[0].words if cursor > word.start else ()
    return _moved(words[0], word.start) if words else Word((), cursor, cursor)


def _moved(word: Word, by: int) -> Word:
    pieces = tuple(piece._replace(start=piece.start + by, end=piece.end + by) for piece in word.pieces)
    return Word(pieces, word.start + by, word.end + by)


def _complete(expected: Expected, source: Candidates, word: Word, typed: Word) -> list[Completion]:
    if expected.what in _PAIRS:
        pair = typed.split("=")
        if pair is not None:
            key, value = pair
            return _values(expected, source, key, value, word.end)
    if expected.what is What.OPERATIONS:
        return _items(source.words(expected, ""), typed, word.end)
    if expected.detail == reader.SEVERAL and typed.bare:
        before, comma, last = typed.text.rpartition(",")
        start = typed.start + len(before) + len(comma)
        return [_completion(start, word.end, each, False) for each in source.words(expected, last)]
    whole = word.split("=") if expected.what in _PAIRS else None
    end = whole[0].end if whole is not None else word.end
    start = typed.start
    # A vi user may type a colon before a command of the bar: leave it there.
    if expected.what is What.VERB and typed.first_bare == ":":
        start, typed = start + 1, typed.without_first()
    candidates = source.words(expected, typed.text)
    return [_completion(start, end, candidate, whole is not None) for candidate in candidates]


def _values(expected: Expected, source: Candidates, key: Word, value: Word, end: int) -> list[Completion]:
    start = key.end + 1
    listed = source.takes_list(expected, key.text)
    if listed and value.bare:
        return _items(source.values(expected, key.text, value.text.rpartition(",")[2]), value, end)
    candidates = source.values(expected, key.text, value.text)
    return [_completion(start, end, candidate, False) for candidate in candidates]


def _items(candidates: list[Candidate], typed: Word, end: int) -> list[Completion]:
    """Return completions for the last item of a list separated by commas, without the items that the list has
    already.
    """
    before, comma, last = typed.text.rpartition(",")
    taken = set(before.split(","))
    start = typed.start + len(before) + len(comma)
    fitting = matching([candidate for candidate in candidates if candidate.text not in taken], last)
    return [_completion(start, end, candidate, False) for candidate in fitting]


def _completion(start: int, end: int, candidate: Candidate, has_equals: bool) -> Completion:
    text, shown = candidate.text, candidate.text
    match candidate.form:
        case Form.BARE:
            pass
        case Form.KEY:
            shown = f"{text}="
            text = quote_beside_equals(text) + ("" if has_equals else "=")
        case Form.GLOB if has_signs(text):
            text = quoted(text)
        case _:
            text, shown = quote(text), shown or "''"
    return Completion(start, end, text, clean(shown, 200), clean(candidate.meta, 200), clean(candidate.help))


# -- the parts to read for a completion --------------------------------------------------------------------------------

_PARTS = {
    What.TOPIC: Part.TOPICS,
    What.PARTITION: Part.TOPICS,
    What.ACL_NAME: Part.TOPICS,
    What.BROKER: Part.CLUSTER,
    What.BROKER_OR_DEFAULT: Part.CLUSTER,
    What.USER: Part.QUOTAS,
    What.CLIENT: Part.QUOTAS,
    What.IP: Part.QUOTAS,
    What.USER_NAME: Part.QUOTAS,
    What.CLIENT_NAME: Part.QUOTAS,
    What.SCRAM_USER: Part.SCRAM,
    What.PRINCIPAL: Part.ACLS,
    What.HOST: Part.ACLS,
    What.GROUP: Part.GROUPS,
}
"""Kind of expected word -> the part of the snapshot with the names."""


def completion_needs(text: str, where: Where, snapshot: Snapshot, selected: Subject | None = None) -> Needs:
    """Return the parts of the snapshot that the completion of an unfinished text needs and that were not read yet.

    Args:
        snapshot: the parts read so far.
        selected: the entity of a statement that names no entity; None if no entity is selected.

    Returns:
        Empty once everything was read, so a caller can call this for each key press.
    """
    wanted = Needs()
    for one in read(text, where).statements:
        if one.statement is not None:
            wanted |= needs(one.statement, selected)
        for _, expected in one.expected:
            wanted |= _for_expected(expected, selected)
    return _not_yet(wanted, snapshot)


def _for_expected(expected: Expected, selected: Subject | None) -> Needs:
    if expected.reads != NOTHING:
        return expected.reads
    if expected.what in (What.KEY, What.ASSIGN):
        subject = expected.subject or selected
        if isinstance(subject, ConfigResource):
            broker = subject.is_cluster_default
            return Needs(resources=frozenset({subject}), a_broker=broker, documentation=True)
        return Needs(parts=frozenset({Part.QUOTAS}))
    part = _PARTS.get(expected.what)
    return Needs(parts=frozenset({part})) if part else Needs()


def _is_documented(resource: ConfigResource, snapshot: Snapshot) -> bool:
    """Return whether the configs of the resource were read with documentation for at least half of the keys.

    Brokers have no documentation for keys of plugins, and the dynamic default of a type has documentation only for the
    keys that are set there.
    """
    keys = snapshot.configs.get(resource)
    if keys is None:
        return False
    documented = sum((int(resource.type), entry.name) in snapshot.documentation for entry in keys.entries)
    return 2 * documented >= len(keys.entries)


def _not_yet(wanted: Needs, snapshot: Snapshot) -> Needs:
    """Return those of the wanted parts that were not read yet, so that each is read only once."""
    unread = frozenset(
        resource
        for resource in wanted.resources
        if not _is_documented(resource, snapshot)
        and (resource.type != TOPIC or not snapshot.topics or resource.name in snapshot.topics)
    )
    return Needs(
        parts=frozenset(part for part in wanted.parts if part not in snapshot.read_at),
        resources=unread,
        a_broker=wanted.a_broker and bool(unread),
        a_topic=wanted.a_topic and not any(resource.type == TOPIC for resource in snapshot.configs),
        documentation=wanted.documentation,
    )
