"""The base class of kinds of edits, whose methods each kind in `console.plan.kinds` overrides; and `Batch`, by which
edits are sent together.

Methods that most kinds don't need have a default here. Kinds whose edits are sent in one request share a `Batch`.
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
    """The edits that revert an edit, and a description of what they do not restore."""

    edits: tuple[Edit, ...]
    """The edits that together revert the edit; empty if it can't be reverted."""
    left: Was
    """The state of the target after the edit that is reverted: `edits` are staged against it."""
    loss: str = ""
    """A text on what the edits do not restore; ``""`` if they restore everything."""
    secrets: tuple[str, ...] = ()
    """The keys whose former values are secret and so not stored. `edits` (one edit or none) does not restore them;
    `EditKind.with_secrets` adds the values that an operator gives.
    """


class EditKind:
    """The base class of the kinds of edits: everything that the plan needs to know about one kind. The plan itself
    names no kind.

    Methods are pure and read nothing but their arguments; `Any` stands for the kind's own classes of edits and states.
    A kind's method declares `object` for an argument that it does not read.

    Args:
        edit: an edit of the class in the attribute `edit`.
        was, now, there: a state of the edit's target, as `current` returns it: `was` at staging, `now` when the target
            is read again, `there` at either time. None if the target is absent. UNREAD is passed only to `settled`;
            `note` and `after` get None in its place.
        seen, draft: a snapshot with lookups that are computed once; a draft also has all staged edits.
        inheritance: the inherited values of config resources in that snapshot.
    """

    edit: type[Edit]
    """The class of this kind's edits."""
    verb: str
    """The verb of this kind's lines in a diff: ``set``, ``delete``."""
    words = ""
    """A format string that describes a change of a whole target, with ``{old}`` and ``{new}`` for both values as text;
    ``""`` to use `verb`.
    """
    state: Any
    """The type of the target's state in plan files and journals: that of `current`'s result, or of `kept`'s if it
    differs.
    """
    batch: Batch
    """The batch in which its edits are sent; kinds whose edits fit one request share it."""
    risks: tuple[RiskRule, ...] = ()
    """The warnings about edits of this kind, in the order of `risk_rules.NAMES`."""
    no_way_back: str
    """For a kind without `reversal`: the reason why its edits can't be reverted, as a text for operators."""
    left: Was = None
    """For a kind without `reversal`: the state of the target after an edit; None if the target is absent then."""
    is_loss = True
    """Whether the operator loses something with an edit that can't be reverted, so that kac has to warn him
    (`takes_away`).
    """

    def kept(self, was: Any) -> Any:
        """Return the form of a state that plan files and journals store; by default the state itself."""
        return was

    def state_of(self, kept: Any) -> Was:
        """Return the state for its form in plan files and journals; the inverse of `kept`."""
        found: Was = kept
        return found

    # -- staging -------------------------------------------------------------------------------------------------------

    def judge(self, edit: Any, draft: Draft) -> Verdict:
        """Return Staged, with parsed values and the state of the edit's target, or Dropped if the edit would change
        nothing. Brokers check more than this: a staged edit may still fail.

        Raises:
            Refused: the edit can't be staged.
        """
        raise NotImplementedError

    # -- the present state ---------------------------------------------------------------------------------------------

    def current(self, edit: Any, seen: Described) -> Was:
        """Return the state of the edit's target: None if the target is absent, UNREAD if it was not read. An unread
        target must never count as absent: an apply would overwrite a value that kac has not seen.
        """
        raise NotImplementedError

    def touches(self, edit: Any) -> tuple[Target, ...]:
        """Return the targets that have to be read again before `current` shows the present state; by default the edit's
        target.
        """
        return (edit.target,)

    def obstacle(self, edit: Any, now: Any) -> str:
        """Return the reason why the edit is impossible now, even if its target is unchanged; ``""`` if it is possible,
        which is the default.
        """
        return ""

    def moved(self, edit: Any, was: Any, now: Any) -> bool:
        """Return whether the target changed in a way that matters to the edit, so that there is a conflict; by default
        any change.
        """
        changed: bool = was != now
        return changed

    def own_moved(self, edit: Any, was: Any, now: Any) -> bool:
        """Return whether the target's own value changed; False if only an inherited value did. By default the result
        of `moved`.
        """
        return self.moved(edit, was, now)

    def wanted(self, edit: Any, now: Any) -> bool | None:
        """Return whether the state is the one that the edit produces; None, which is the default, if the state can't
        show it: the value is a secret, or the edit leaves no state. The status of a lost response is then unknown.
        """
        return None

    def settled(self, edit: Any, was: Any, now: Any, changed: bool) -> Status | None:
        """Return the status of an edit whose response was lost; None, which is the default, to let `wanted` decide.
        changed: the result of `moved`.
        """
        return None

    # -- presentation --------------------------------------------------------------------------------------------------

    def before(self, edit: Any, there: Any, inheritance: Inheritance) -> EffectiveValue:
        """Return the effective value of the target without the edit."""
        raise NotImplementedError

    def after(self, edit: Any, there: Any, inheritance: Inheritance) -> EffectiveValue:
        """Return the effective value of the target after the edit."""
        raise NotImplementedError

    def beneath(self, edit: Any, draft: Draft) -> Inheritance:
        """Return the inheritance to pass to `after`, since other staged edits may change the values that the target
        inherits; by default that of the snapshot.
        """
        return draft.inheritance

    def note(self, edit: Any, there: Any, old: EffectiveValue, inheritance: Inheritance) -> str:
        """Return a text on an effect that the operator may not expect; ``""`` for no such text."""
        return ""

    def phrase(self, edit: Any, line: DiffLine, old: str, new: str) -> str:
        """Return the change of a whole target as text; by default `words` with both values, or the line's verb if there
        are no `words`.

        Args:
            line: the line of the diff.
            old, new: the texts of the values before and after.
        """
        return self.words.format(old=old, new=new) if self.words else line.verb

    def implies(self, edit: Any) -> tuple[Edit, ...]:
        """Return further edits that this edit includes; empty by default. A staged edit overrides an included one of
        the same slot.
        """
        return ()

    def effects(self, edit: Any, draft: Draft) -> tuple[str, ...]:
        """Return lines on effects beyond the target, given all staged edits; empty by default."""
        return ()

    # -- applying and reverting ----------------------------------------------------------------------------------------

    def recorded(self, edit: Any, snapshot: Snapshot) -> Mapping[str, str]:
        """Return facts for the journal that `reversal` needs besides the former state; empty by default.

        Args:
            snapshot: the snapshot immediately before the edit is sent.
        """
        return {}

    def reversal(self, edit: Any, was: Any, recorded: Mapping[str, str]) -> Reversal:
        """Return the reversal of an edit. recorded: the result of `recorded` for the edit."""
        return Reversal((), self.left, self.no_way_back)

    def with_secrets(self, edit: Any, secrets: Mapping[str, Secret]) -> tuple[Edit, str]:
        """Return the edit that reverts an edit, with the secrets that an operator gave, and a text on what it does not
        restore even with all of them.

        Args:
            edit: the reverting edit without the secrets; the original edit if the reversal has no edit.
            secrets: key of `Reversal.secrets` -> value.
        """
        raise NotImplementedError

    def takes_away(self, edit: Any) -> bool:
        """Return whether kac has to warn the operator if the edit can't be reverted, because something is lost then."""
        return self.is_loss

    def relapses(self, edit: Any, snapshot: Snapshot) -> float:
        """Return the seconds after the apply within which the cluster itself may revert the edit; 0 if it never
        does.
        """
        return 0.0

    def doubt(self, edit: Any, change: int, same_topic: bool) -> str:
        """Return the reason why the present target of a reverting edit may not be the one that a change left; ``""`` if
        there is no doubt.

        Args:
            change: the number of the change in the journal.
            same_topic: whether the topic is known to have the same id as at the time of the change.
        """
        return ""


class Removal(EditKind):
    """The base class of kinds whose edits remove their target."""

    def wanted(self, edit: Any, now: Any) -> bool | None:
        """Return whether the target is absent."""
        return now is None

    def after(self, edit: Any, there: Any, inheritance: Inheritance) -> EffectiveValue:
        """Return NOTHING, since no value is left."""
        return NOTHING


# -- requests ----------------------------------------------------------------------------------------------------------


def each_line(command: Callable[[Any, DiffLine], Command]) -> Callable[[Target, Sequence[DiffLine]], Iterable[Command]]:
    """Return a function for `Batch.commands` that yields one command for each edit. command: a function from an edit
    and its line to the edit's command.
    """
    return lambda _target, lines: (command(line.edit, line) for line in lines)


class Stage(IntEnum):
    """The order in which batches are sent: additions before removals, deletions of topics last."""

    TOPICS = auto()
    FEATURES = auto()
    """Before configs, because some configs depend on features' levels."""
    CONFIGS = auto()
    ACCESS = auto()
    """ACLs, quotas and credentials."""
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
    """After deletions of connectors, because the tasks of a connector are members of groups."""
    TOPICS_GONE = auto()


class Batch(Struct, frozen=True, eq=False, kw_only=True):
    """How to send the edits of some kinds together. `kinds.registry.BATCHES` has the order in which batches are sent.
    Each batch is a constant in the file of its kinds.

    Kinds share a batch by naming the same object; batches are compared by identity, and each edit is sent in one batch.
    """

    stage: Stage
    """The stage of the batch. Batches of the same stage are sent in the order of their files' names, and within a file
    in its order.
    """
    steps: Steps
    predict: Callable[[Snapshot, Sequence[Any]], Snapshot]
    """A function from a snapshot and edits to the predicted snapshot after them; unchanged parts stay the same objects.
    """
    commands: Callable[[Target, Sequence[DiffLine]], Iterable[Command]] = lambda *_: ()
    """A function from a target and its lines to the commands of Kafka's tools that change the target."""
    all_commands: Callable[[Sequence[DiffLine]], Iterable[Command]] | None = None
    """A function from the lines of all targets to commands, for tools whose command takes many targets; None if each
    target has commands of its own.
    """
    carries: Callable[[DiffLine], bool] = lambda _: False
    """For a batch that creates topics: a function from a line to whether the command of the creation can include it."""
    waits_for: Batch | None = None
    """An earlier batch in `BATCHES`, all of whose requests have to succeed before the requests of this one are sent;
    None if there is none.
    """
    why: str = ""
    """The note on a request that waits for `waits_for`."""
    refused_before: bool = False
    """Whether brokers refuse the requests of the batch until `waits_for` was applied, so that they can't be checked
    in advance.
    """
