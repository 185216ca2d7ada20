"""A cursor over the words of one statement, with which the grammar parses it. It records the role of each word, and
what is valid at each position.

The roles (marks) colour the text, the valid words (expectations) complete it. So parser, lexer and completion have one
grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple, NoReturn

from msgspec import Struct

from console.language.errors import ParseError, did_you_mean
from console.language.snapshot_parts import NOTHING, Needs
from console.language.statements import Subject, Where
from console.language.tokenizer import Places, RawStatement, Span, Word
from console.model.snapshot import Snapshot
from console.present.text import clean
from console.sensitive import seems_sensitive


class Role(Enum):
    """The role of a part of the text, which determines its colour."""

    VERB = "verb"
    KEYWORD = "keyword"
    NAME = "name"
    KEY = "key"
    OPERATOR = "operator"
    VALUE = "value"
    SECRET = "secret"  # noqa: S105  # the name of a role
    FLAG = "flag"
    ERROR = "error"
    COMMENT = "comment"
    SEPARATOR = "separator"


class Mark(NamedTuple):
    """A part of the script, from the offset `start` to the offset `end`, which is excluded, and its role."""

    start: int
    end: int
    role: Role


class What(Enum):
    """The kinds of words that may be valid at a position."""

    WORDS = "words"
    VERB = "verb"
    ENTITY = "entity"
    TOPIC = "topic"
    GROUP = "group"
    RESOURCE = "resource"
    BROKER = "broker"
    BROKER_OR_DEFAULT = "broker or default"
    USER = "user"
    CLIENT = "client"
    IP = "ip"
    USER_NAME = "user name"
    CLIENT_NAME = "client name"
    KEY = "key"
    ASSIGN = "assign"
    PAIR = "pair"
    FILTER = "filter"
    LIST_FILTER = "list filter"
    PRINCIPAL = "principal"
    OPERATIONS = "operations"
    ACL_NAME = "acl name"
    HOST = "host"
    SCRAM_USER = "scram user"
    PARTITION = "partition"
    ARGUMENT = "argument"
    CONTEXT = "context"
    CONDITION = "condition"
    VERB_NAME = "verb name"


SEVERAL = "several"
"""The value of `Expected.detail` if several names, separated by commas, are valid."""


class Form(Enum):
    """How a candidate is written into the text."""

    NAME = "name"
    """As one word that denotes exactly the candidate's text, quoted if necessary."""
    GLOB = "glob"
    """As with `NAME`, but always in quotes if the text has a wildcard, since a pattern is valid at this place, too."""
    KEY = "key"
    """As a key, followed by ``=``."""
    BARE = "bare"
    """Unchanged: a keyword or ``<default>``."""


class Candidate(NamedTuple):
    """A text that completion may write at the cursor."""

    text: str
    meta: str = ""
    """A short remark that a list of completions shows next to the text."""
    help: str = ""
    """One line of documentation."""
    form: Form = Form.NAME


class Expected(Struct, frozen=True):
    """What is valid at a position of a statement.

    Attributes:
        what: the kind of words.
        label: the name of the kind in help and errors.
        words: the fixed words that are valid.
        subject: the entity whose keys are valid; None for the selected entity.
        detail: further information for some kinds: the kind that is listed, the resource type of an ACL, the word of an
            entity type, or `SEVERAL`.
        offers: returns words or keys that the verb itself defines, from a snapshot; with `What.ASSIGN` they come before
            the keys of the subject.
        values: returns the values for a key from a snapshot; None for a key that the verb does not define itself.
        reads: the parts of the snapshot that `offers` and `values` need.
    """

    what: What
    label: str
    words: tuple[str, ...] = ()
    subject: Subject | None = None
    detail: str = ""
    offers: Callable[[Snapshot], Iterable[Candidate]] | None = None
    values: Callable[[Snapshot, str], Iterable[Candidate] | None] | None = None
    reads: Needs = NOTHING


class Reader:
    """A cursor over the words of a statement.

    Attributes:
        verbs: the names of the verbs of the prompt.
        verb: the statement's verb.
        index: the index of the next word.
        marks: the roles of the words read so far.
        expected: what was valid at each position: pairs of a word's index and an expectation.
    """

    def __init__(self, places: Places, raw: RawStatement, where: Where, verbs: tuple[str, ...]) -> None:
        self.places = places
        self.raw = raw
        self.where = where
        self.verbs = verbs
        self.verb = ""
        self.index = 0
        self.marks: list[Mark] = []
        self.expected: list[tuple[int, Expected]] = []
        self._hushed = False

    @property
    def word(self) -> Word | None:
        """The next word; None at the end of the statement."""
        return self.raw.words[self.index] if self.index < len(self.raw.words) else None

    @property
    def ended(self) -> bool:
        """Whether all words were read."""
        return self.index >= len(self.raw.words)

    def span(self, word: Word) -> Span:
        """Return the place of a word in the script."""
        return self.places.span(word.start, word.end)

    def span_from(self, first: Word) -> Span:
        """Return the place in the script from a word to the last word that was read."""
        return self.places.span(first.start, self.raw.words[max(self.index - 1, 0)].end)

    def mark(self, word: Word, role: Role) -> None:
        """Record the role of a word; do nothing for an empty word."""
        if word.end > word.start:
            self.marks.append(Mark(word.start, word.end, role))

    def expect(self, expected: Expected) -> None:
        """Record what is valid as the next word."""
        self.expected.append((self.index, expected))

    # -- fixed words -----------------------------------------------------------------------------------------------

    def take_keyword(
        self, *options: str, label: str = "", role: Role = Role.KEYWORD, what: What = What.WORDS
    ) -> str | None:
        """Read the next word if it is one of these words, unquoted, and return it. Otherwise return None and leave the
        word unread.

        Args:
            label: the text for help and errors; ``""`` for the options joined by "or".
            role: the role of the word.
            what: the kind of the words.
        """
        self.expect(Expected(what, label or " or ".join(options), options))
        word = self.word
        if word is None or not word.bare or word.text not in options:
            return None
        self.mark(word, role)
        self.index += 1
        return word.text

    def need_keyword(self, *options: str, label: str = "", role: Role = Role.KEYWORD) -> str:
        """Read the next word, which must be one of these, unquoted, and return it. Raises ParseError: it is another
        word.
        """
        found = self.take_keyword(*options, label=label, role=role)
        return found if found is not None else self.fail()

    # -- words -----------------------------------------------------------------------------------------------------

    def take(self, expected: Expected, role: Role | None = Role.NAME) -> Word:
        """Read and return the next word, whatever it is.

        Args:
            expected: what is valid here, recorded for completion and for the error.
            role: the role of the word; None if the caller records it, because it depends on the word.

        Raises:
            ParseError: there is no next word.
        """
        self.expect(expected)
        word = self.word
        if word is None:
            self.fail()
        if role is not None:
            self.mark(word, role)
        self.index += 1
        return word

    def take_pair(self, expected: Expected, label: str = "KEY=VALUE") -> tuple[Word, Word, Word]:
        """Read the next word, split at its first unquoted ``=``.

        Returns:
            The whole word, its key, which is never empty, and its value, which may be empty.

        Raises:
            ParseError: the word has no unquoted ``=`` or no key. After a key that looks sensitive, errors no longer
                repeat words.
        """
        word = self.take(expected, role=None)
        pair = word.split("=")
        if pair is None:
            self.index -= 1
            following = self.raw.words[self.index + 1 : self.index + 2]
            # Give a hint for the most frequent mistake with pairs: retention.ms = 7d.
            spaced = following and following[0].first_bare == "="
            hint = "no spaces around '='" if spaced else ""
            if not word.bare and "=" in word.text:
                hint = "the '=' between key and value must be outside of quotes"
            self.fail(hint=hint)
        key, value = pair
        if not key.text:
            self.index -= 1
            self.fail(f"the key is missing before '=' ({label})")
        # From here on, don't repeat words in errors: if the quotes are wrong, any later word may contain a secret.
        self._hushed = self._hushed or seems_sensitive(key.text)
        self.mark(key, Role.KEY)
        self.marks.append(Mark(key.end, key.end + 1, Role.OPERATOR))
        self.mark(value, Role.SECRET if is_secret_source(value) or seems_sensitive(key.text) else Role.VALUE)
        return word, key, value

    def finish(self) -> None:
        """Raise ParseError if the statement has a further word."""
        if not self.ended:
            self.fail()

    # -- errors ----------------------------------------------------------------------------------------------------

    def fail(self, message: str = "", word: Word | None = None, hint: str = "") -> NoReturn:
        """Raise ParseError for a word.

        Args:
            message: the message; ``""`` for the usual message, which names what is valid and the wrong word, unless the
                word may be a secret.
            word: the wrong word; None for the next word, for which the error lists everything that is valid.
            hint: the correct form; ``""`` for the most similar of the valid words.
        """
        wrong = word or self.word
        # If the word is given, ignore what was expected at the present one: the given word was read before.
        here = [expected for index, expected in self.expected if index == self.index] if word is None else []
        labels = tuple(dict.fromkeys(expected.label for expected in here))
        options = [option for expected in here for option in expected.words]
        if wrong is None:
            end = self.raw.words[-1].end if self.raw.words else self.raw.end
            message = message or f"{_any_of(labels)} is missing at the end"
            raise ParseError(message, self.places.span(end, end), hint, labels)
        # Replace the marks of the parts that were read as valid by the error's mark.
        self.marks = [mark for mark in self.marks if mark.end <= wrong.start or mark.start >= wrong.end]
        self.marks.append(Mark(wrong.start, wrong.end, Role.ERROR))
        self.marks.sort()
        if not message:
            message = f"expected {_any_of(labels)}, not {self.shown(wrong)}"
        guess = did_you_mean(wrong.text, options) if wrong.bare and options and not self._hushed else ""
        raise ParseError(message, self.span(wrong), hint or guess, labels)

    def shown(self, word: Word) -> str:
        """Return a word for a message: shortened, without control characters, and without a value that may be
        secret.
        """
        if self._hushed:
            return "this"
        pair = word.split("=")
        text = f"{pair[0].text}=…" if pair and pair[1].text else word.text
        return f"'{clean(text, 40)}'"


def is_secret_source(value: Word) -> bool:
    """Return whether a value is ``@FILE`` or ``?``, unquoted."""
    return value.first_bare == "@" or value.is_bare("?")


def _any_of(labels: tuple[str, ...]) -> str:
    if not labels:
        return "the end of the statement"
    return labels[0] if len(labels) == 1 else ", ".join(labels[:-1]) + " or " + labels[-1]
