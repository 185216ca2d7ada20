"""The subjects (entities or patterns) that the operator watches, for the pane of watched entities, while the console
runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from console.model import codes, watched
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.watched import Watched
from console.present.text import clean

if TYPE_CHECKING:
    from console.contexts import Context

_KINDS = {
    codes.TOPIC: watched.TOPIC,
    codes.GROUP: watched.GROUP,
    codes.BROKER: watched.BROKER,
    codes.CONNECTOR: watched.CONNECTOR,
}


class Watching:
    """The watched subjects, in the order in which the operator added them.

    Attributes:
        subjects: the watched subjects.
        set: the name of the context's set that is watched; ``""`` if none is.
        problem: the reason why a set can't be watched; ``""`` without a problem.
    """

    def __init__(self, context: Context, wanted: str) -> None:
        """Begin with the subjects of a context's set. wanted: the name of the set; with ``""``, or a name that the
        context does not have, nothing is watched.
        """
        from console.language.errors import CommandError

        self.subjects: tuple[Watched, ...] = ()
        self.set = self.problem = ""
        try:
            if wanted in context.watch:
                self.begin(subjects_in(context, wanted), wanted)
        except CommandError as error:
            self.problem = clean(f"{error.message}; {error.hint}" if error.hint else error.message, 600)

    def begin(self, subjects: Iterable[Watched], set_: str = "") -> None:
        """Replace the watched subjects. set_: the name of the set that they come from; ``""`` if they come from no
        set.
        """
        self.subjects, self.set, self.problem = tuple(subjects), set_, ""

    def add(self, targets: Iterable[ConfigResource | QuotaEntity]) -> list[Watched]:
        """Also watch these entities, except those that can't be watched. Return the subjects of the watched ones."""
        found = [subject for each in targets if (subject := subject_of(each)) is not None]
        self.subjects = tuple(dict.fromkeys((*self.subjects, *found)))
        return found

    def take_off(self, subjects: Iterable[Watched]) -> None:
        """Stop watching these subjects."""
        gone = {*subjects}
        self.subjects = tuple(each for each in self.subjects if each not in gone)


def subject_of(target: ConfigResource | QuotaEntity) -> Watched | None:
    """Return the subject that matches exactly this entity; None for an entity that can't be watched."""
    if not isinstance(target, ConfigResource) or target.is_default or target.type not in _KINDS:
        return None
    return Watched(_KINDS[target.type], target.name)


def subjects_in(context: Context, name: str) -> tuple[Watched, ...]:
    """Return the subjects of a context's set. Raises CommandError if the set's text is invalid or names no subject."""
    from console.language.errors import CommandError, LanguageError
    from console.language.grammar import parse
    from console.language.verbs.watch import Watch

    try:
        statements = parse(f"watch {context.watch[name]}")
    except LanguageError as error:  # the place of the error is in the text of the set
        raise CommandError(f"set {name}: {error.message}", error.hint) from None
    match statements:
        case [Watch(subjects=subjects)] if subjects:
            return subjects
        case _:
            raise CommandError(f"set {name} names no subject", "for example: topic orders, group billing")
