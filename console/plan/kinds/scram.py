"""SCRAM credentials: setting and deleting one.

The limits of iterations are those of ScramControlManager. Brokers don't return passwords, so setting one always counts
as a change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from console.model.changes import AlterScram, ScramUser, Status
from console.model.cluster import ScramCredential
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan import edit_kind
from console.plan import staged as plan_staged
from console.plan.edits import DeleteScram, ScramEdit, UpsertScram
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, alter_configs, alter_with_secrets, entity_words
from console.plan.requests import RECORD_LIMIT, Facts, Step, singly, steps_of
from console.plan.risk_rules import OWN_LOGIN_DELETED, Judged, RiskRule

MIN_ITERATIONS = 4096
MAX_ITERATIONS = 16384

# -- checks before staging ---------------------------------------------------------------------------------------------


def _check_user(edit: ScramEdit) -> None:
    if not edit.user.user:
        raise plan_staged.Refused("the user has no name", "Name the user.")


# -- requests ----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    """Return requests in each of which a user occurs once: a broker refuses a user that occurs twice, even with two
    mechanisms (ScramControlManager).
    """
    rounds: list[list[plan_staged.Staged]] = []
    named: Counter[str] = Counter()
    for each in staged:
        assert isinstance(each.edit.target, ScramUser)
        user = each.edit.target.user
        if named[user] == len(rounds):
            rounds.append([])
        rounds[named[user]].append(each)
        named[user] += 1
    steps = []
    for place, some in enumerate(rounds):
        for step in steps_of(singly(some), RECORD_LIMIT, _request):
            note = "a request can change one credential of a user" if place else step.note
            steps.append(Step(step.request, step.staged, note))
    return steps


def _request(some: list[plan_staged.Staged]) -> AlterScram:
    return AlterScram(
        {s.edit.user: (s.edit.iterations, s.edit.password) for s in some if isinstance(s.edit, UpsertScram)},
        tuple(s.edit.user for s in some if isinstance(s.edit, DeleteScram)),
    )


def _with_set(snapshot: Snapshot, edits: Sequence[UpsertScram]) -> Snapshot:
    return _changed(snapshot, {edit.user: ScramCredential(edit.user.mechanism, edit.iterations) for edit in edits})


def _changed(snapshot: Snapshot, wanted: Mapping[ScramUser, ScramCredential | None]) -> Snapshot:
    after = dict(snapshot.scram)
    for user, credential in wanted.items():
        credentials = [each for each in after.get(user.user, ()) if each.mechanism != user.mechanism]
        credentials += [credential] if credential is not None else []
        if credentials:
            after[user.user] = tuple(sorted(credentials))
        else:
            after.pop(user.user, None)
    return replace(snapshot, scram=after)


def _set_command(edit: UpsertScram, _line: DiffLine) -> Command:
    value = f"iterations={edit.iterations},password=…"
    return alter_with_secrets(entity_words("users", edit.user.user), [(edit.user.mechanism.label, value)])


def _delete_command(edit: DeleteScram, _line: DiffLine) -> Command:
    user, mechanism = edit.user.user, edit.user.mechanism
    if mechanism.known:
        return alter_configs(entity_words("users", user), "--delete-config", mechanism.label)
    return Command((), note=f"kafka-configs can't name {mechanism.label} of {user}: it is of a newer release")


# -- the kinds of edits ------------------------------------------------------------------------------------------------

UPSERTS = edit_kind.Batch(
    stage=edit_kind.Stage.ACCESS, steps=_steps, predict=_with_set, commands=edit_kind.each_line(_set_command)
)
DELETIONS = edit_kind.Batch(
    stage=edit_kind.Stage.LOGINS_GONE,
    steps=_steps,
    predict=lambda snapshot, edits: _changed(snapshot, dict.fromkeys(edit.user for edit in edits)),
    commands=edit_kind.each_line(_delete_command),
    # Brokers of Kafka 3.9 to 4.3 lose a new credential if the same change deletes the last other credential of its
    # mechanism (ScramDelta.apply), although the controller reports success.
    waits_for=UPSERTS,
    why="deleted once those that are set are there",
)


class _ScramKind(edit_kind.EditKind):
    state = ScramCredential

    def current(self, edit: ScramEdit, seen: plan_staged.Described) -> plan_staged.Was:
        if any(each.part == Part.SCRAM and each.entity == edit.user.user for each in seen.snapshot.failures):
            return plan_staged.UNREAD
        credentials = seen.snapshot.scram.get(edit.user.user, ())
        there = next((each for each in credentials if each.mechanism == edit.user.mechanism), None)
        return seen.found(there, Part.SCRAM)

    def before(self, _edit: object, there: ScramCredential | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue(there.iterations, hidden=True)


class _UpsertScramKind(_ScramKind):
    edit = UpsertScram
    verb = "set"
    batch = UPSERTS

    def judge(self, edit: UpsertScram, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _check_user(edit)
        mechanism = edit.user.mechanism
        if not mechanism.known:
            raise plan_staged.Refused(f"{mechanism.label} is no SCRAM mechanism", "Use SCRAM-SHA-256 or SCRAM-SHA-512.")
        if not MIN_ITERATIONS <= edit.iterations <= MAX_ITERATIONS:
            raise plan_staged.Refused(
                f"{edit.iterations} iterations",
                f"Give from {MIN_ITERATIONS} to {MAX_ITERATIONS}; more cost every login.",
            )
        if not edit.password.reveal():
            raise plan_staged.Refused("the password is empty", "Give a password.")
        return plan_staged.Staged(edit, self.current(edit, draft))

    def wanted(self, _edit: object, now: ScramCredential | None) -> bool | None:
        return False if now is None else None

    def settled(self, edit: UpsertScram, _was: object, now: plan_staged.Was, changed: bool) -> Status | None:
        if not isinstance(now, ScramCredential):
            return None
        # The password can't be read, so an unchanged number of iterations proves nothing.
        return Status.APPLIED if changed and now.iterations == edit.iterations else Status.UNKNOWN

    def after(self, edit: UpsertScram, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(edit.iterations, hidden=True)

    def reversal(self, edit: UpsertScram, was: ScramCredential | None, _overrides: object) -> edit_kind.Reversal:
        if was is None:
            return edit_kind.Reversal((DeleteScram(edit.user),), ScramCredential(edit.user.mechanism, edit.iterations))
        return edit_kind.Reversal((), plan_staged.UNREAD, "the former password is nowhere kept")


def _own_login(edit: DeleteScram, judged: Judged) -> Iterator[str]:
    """Yield a warning if kac itself logs in with the credential that is deleted."""
    user = edit.user
    if judged.facts.principal == f"User:{user.user}" and judged.facts.mechanism == user.mechanism.label:
        yield (
            "this console logs in with it: it is locked out once its connections end, like all others who are "
            f"{user.user}"
        )


class _DeleteScramKind(edit_kind.Removal, _ScramKind):
    edit = DeleteScram
    verb = "delete"
    batch = DELETIONS
    risks = (RiskRule(OWN_LOGIN_DELETED, _own_login, subject=lambda edit, _: edit.user.user),)
    no_way_back = "the password is nowhere kept"

    def judge(self, edit: DeleteScram, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _check_user(edit)
        was = self.current(edit, draft)
        if was is None:
            return plan_staged.Dropped(edit, f"{edit.user.user} has no {edit.user.mechanism.label} credential")
        return plan_staged.Staged(edit, was)

    def doubt(self, _edit: object, change: int, _same_topic: object) -> str:
        return (
            f"whether this is still the credential that change {change} set can't be seen: brokers return no password"
        )


KINDS = (_UpsertScramKind(), _DeleteScramKind())
