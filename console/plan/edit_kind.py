"""The interface of a kind of edit, a class whose methods each kind of `console.plan.kinds` overrides, and its batches.

Methods that most kinds omit have a default here. Kinds that are sent in one request share a `Batch`.
"""

# ruff: noqa: ARG002 -- defaults need fewer arguments than the kinds' methods.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum, auto
from typing import Any, NamedTuple

from msgspec import Struct

from console.model.changes import Status, Target
from console.model.inheritance import Inheritance
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan.edits import Edit
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command
from console.plan.requests import Steps
from console.plan.risk_rules import RiskRule
from console.plan.staged import Described, Draft, Verdict, Was


class Reversal(NamedTuple):
    """The edits that revert an edit, and the part that they do not restore."""

    edits: tuple[Edit, ...]
    """The edits that together revert the edit; empty if that is impossible."""
    left: Was
    """The state of the targets after the edit that is reverted, on which `edits` are based."""
    loss: str = ""
    """The part that the edits do not restore; ``""`` if they restore all."""
    secrets: tuple[str, ...] = ()
    """The keys whose former values are secret and not stored. `edits` (one edit or none) does not restore them;
    `EditKind.with_secrets` adds the values that an operator gives."""


class EditKind:
    """The interface of one kind of edit: the seam between a noun and the plan, which knows no kind by name.

    Methods are pure and read nothing but their arguments; `Any` stands for the kind's own edit and state. A kind's
    method takes `object` where it does not read an argument.

    Args:
        edit: an edit of the class in the attribute `edit`.
        was, now, there: a state of the edit's target as `current` returns it: `was` at staging, `now` when the target
            is read again, `there` at either time. None if the target is absent. UNREAD reaches only `settled`; `note`
            and `after` receive None instead.
        seen, draft: the snapshot with lookups that are computed once; a draft also has all staged edits.
        inheritance: the inherited values of config resources in that snapshot.
    """

    edit: type[Edit]
    """The class of the edits; each kind has its own."""
    verb: str
    """The verb of its lines in a diff, in an operator's terms: ``set``, ``delete``."""
    words = ""
    """The change of a whole target, with ``{old}`` and ``{new}`` for the texts of both values."""
    state: Any
    """The type of the target's state in plan files and journals: the state's own type, or that of `kept`."""
    batch: Batch
    """The batch in which its edits are sent. Kinds that one request can carry share a batch."""
    risks: tuple[RiskRule, ...] = ()
    """The warnings about edits of this kind, in the order of `risk_rules.NAMES`."""
    no_way_back: str
    """For a kind without a `reversal`: the reason why an edit can't be reverted, as a text for operators."""
    left: Was = None
    """For a kind without a `reversal`: the state of the target after an edit."""
    is_loss = True
    """Whether it is a loss for an operator that an edit can't be reverted."""

    def kept(self, was: Any) -> Any:
        """Return the form of a state that files store."""
        return was

    def state_of(self, kept: Any) -> Was:
        """Return the state from its form in files."""
        found: Was = kept
        return found

    # -- staging -------------------------------------------------------------------------------------------------------

    def judge(self, edit: Any, draft: Draft) -> Verdict:
        """Return Staged with parsed values and the state of its target, or Dropped if it would change nothing. Checks
        that only brokers can make are left out: a staged edit may still fail.

        Raises:
            Refused: the edit can't be staged.
        """
        raise NotImplementedError

    # -- the present state ---------------------------------------------------------------------------------------------

    def current(self, edit: Any, seen: Described) -> Was:
        """Return the state of the edit's target: None if the target is absent, UNREAD if that part was not read. An
        unread target never counts as absent: an apply would overwrite it unseen.
        """
        raise NotImplementedError

    def touches(self, edit: Any) -> tuple[Target, ...]:
        """Return the targets to describe again before `current` shows the present state."""
        return (edit.target,)

    def obstacle(self, edit: Any, now: Any) -> str:
        """Return the reason why the edit is impossible now, even if its value is unchanged; ``""`` if it is
        possible.
        """
        return ""

    def moved(self, edit: Any, was: Any, now: Any) -> bool:
        """Return whether the target changed in a way that matters to the edit: a conflict."""
        changed: bool = was != now
        return changed

    def own_moved(self, edit: Any, was: Any, now: Any) -> bool:
        """Return whether the target changed, without inherited values."""
        return self.moved(edit, was, now)

    def wanted(self, edit: Any, now: Any) -> bool | None:
        """Return whether the state is the wanted one; None if it can't be seen: a secret, or an edit that is done once
        and leaves no state. The outcome of a lost response is then unknown.
        """
        return None

    def settled(self, edit: Any, was: Any, now: Any, changed: bool) -> Status | None:
        """Return the outcome of an edit whose response was lost; None leaves the decision to `wanted`."""
        return None

    # -- presentation --------------------------------------------------------------------------------------------------

    def before(self, edit: Any, there: Any, inheritance: Inheritance) -> EffectiveValue:
        """Return the effective value without the edit."""
        raise NotImplementedError

    def after(self, edit: Any, there: Any, inheritance: Inheritance) -> EffectiveValue:
        """Return the effective value after the edit."""
        raise NotImplementedError

    def beneath(self, edit: Any, draft: Draft) -> Inheritance:
        """Return the inheritance for `after`: other staged edits may change the values that the target inherits."""
        return draft.inheritance

    def note(self, edit: Any, there: Any, old: EffectiveValue, inheritance: Inheritance) -> str:
        """Return a note on an effect that the operator may not expect; ``""`` for no note."""
        return ""

    def phrase(self, edit: Any, line: DiffLine, old: str, new: str) -> str:
        """Return the change of a whole target as text, from its line and the texts of both values; by default `words`,
        or the line's verb without them.
        """
        return self.words.format(old=old, new=new) if self.words else line.verb

    def implies(self, edit: Any) -> tuple[Edit, ...]:
        """Return the additional edits that this edit makes; none by default. A staged edit overrides an additional edit
        of its slot.
        """
        return ()

    def effects(self, edit: Any, draft: Draft) -> tuple[str, ...]:
        """Return a line for each effect on others, given all staged edits; none by default."""
        return ()

    # -- applying and reverting ----------------------------------------------------------------------------------------

    def recorded(self, edit: Any, snapshot: Snapshot) -> Mapping[str, str]:
        """Return the facts that the journal stores for `reversal` besides the state, from the snapshot just before
        sending; none by default.
        """
        return {}

    def reversal(self, edit: Any, was: Any, recorded: Mapping[str, str]) -> Reversal:
        """Return the reversal of an edit. recorded: the facts that `recorded` returned."""
        return Reversal((), self.left, self.no_way_back)

    def with_secrets(self, edit: Any, secrets: Mapping[str, Secret]) -> tuple[Edit, str]:
        """Return the reversal with the values of `Reversal.secrets` that an operator gave, and the part that it does
        not restore even with all of them.

        Args:
            edit: the reversal without the secrets; the original edit if the reversal has no edit.
        """
        raise NotImplementedError

    def takes_away(self, edit: Any) -> bool:
        """Return whether a missing reversal is a loss: kac then warns the operator."""
        return self.is_loss

    def relapses(self, edit: Any, snapshot: Snapshot) -> float:
        """Return the seconds after the apply within which the cluster itself may revert the edit; 0: never."""
        return 0.0

    def doubt(self, edit: Any, change: int, same_topic: bool) -> str:
        """Return the reason why the target of a reverting edit may not be the result of the change; ``""`` for no
        doubt.

        Args:
            same_topic: whether the topic's id is known to be the same.
        """
        return ""


class Removal(EditKind):
    """A kind of edit that removes its target."""

    def wanted(self, edit: Any, now: Any) -> bool | None:
        """Return whether the target is absent."""
        return now is None

    def after(self, edit: Any, there: Any, inheritance: Inheritance) -> EffectiveValue:
        """Return NOTHING: no value is left."""
        return NOTHING


# -- requests ----------------------------------------------------------------------------------------------------------


def each_line(command: Callable[[Any, DiffLine], Command]) -> Callable[[Target, Sequence[DiffLine]], Iterable[Command]]:
    """Return a function that makes the commands of a batch, one for each edit. command: a function from an edit and its
    line to its command.
    """
    return lambda _target, lines: (command(line.edit, line) for line in lines)


class Stage(IntEnum):
    """The order in which batches are sent: additions before removals, topics last."""

    TOPICS = auto()
    FEATURES = auto()
    """Before configs, because some configs depend on levels."""
    CONFIGS = auto()
    ACCESS = auto()
    """Rights, quotas and credentials."""
    SCHEMAS = auto()
    CONNECTORS = auto()
    RECORDS = auto()
    MOVES = auto()
    ELECTIONS = auto()
    LOGINS_GONE = auto()
    SCHEMAS_GONE = auto()
    OFFSETS = auto()
    RIGHTS_GONE = auto()
    TRANSACTIONS = auto()
    VOTERS = auto()
    REGISTRATIONS_GONE = auto()
    RECORDS_GONE = auto()
    GROUPS_GONE = auto()
    """Connectors before groups, which their tasks leave."""
    TOPICS_GONE = auto()


class Batch(Struct, frozen=True, eq=False, kw_only=True):
    """The way to send edits of some kinds together, after all batches before it in `kinds.registry.BATCHES`: it is a
    constant in the file of its kinds.

    Kinds share a batch by naming the same object; two with equal fields are two batches, and each edit is sent once.
    """

    stage: Stage
    """Batches of one stage are sent in the order of their files' names, those of a file in its order."""
    steps: Steps
    predict: Callable[[Snapshot, Sequence[Any]], Snapshot]
    """(snapshot, edits) -> the predicted cluster after the edits; unchanged parts stay the same objects."""
    commands: Callable[[Target, Sequence[DiffLine]], Iterable[Command]] = lambda *_: ()
    """(target, its lines) -> the commands of Kafka's tools for the target."""
    all_commands: Callable[[Sequence[DiffLine]], Iterable[Command]] | None = None
    """(lines) -> the commands for the lines of all targets, if one command can carry the lines of many; None if each
    target has its own."""
    carries: Callable[[DiffLine], bool] = lambda _: False
    """(line) -> whether the command of a creation can carry this line too; for a batch that creates topics."""
    waits_for: Batch | None = None
    """An earlier batch in `BATCHES`, whose requests all have to succeed before the requests of this one are sent; None
    if they wait for none."""
    why: str = ""
    """The note of a waiting request."""
    refused_before: bool = False
    """Whether brokers refuse these requests before that batch was applied, so that they can't be checked in advance."""
