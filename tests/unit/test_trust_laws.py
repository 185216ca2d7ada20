"""Tests of properties of conflicts, outcomes and reverts, with random plans on a model cluster, and of the journal's
lines.
"""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from random import Random

from msgspec import structs
from msgspec.structs import replace

from console.journal.entries import Entry, Intent, Numbered, intent_line, record
from console.model.changes import Status
from console.model.codes import BROKER_LOGGER
from console.model.config import ConfigEntry, topic_resource
from console.model.journal_lines import Origin, Request, Who
from console.model.secret import Secret
from console.plan import edits
from console.plan.conflicts import conflicts, left_over, rebased, surprises
from console.plan.plan import EMPTY, Plan, stage
from console.plan.reconcile import verdicts
from console.plan.reversal import losses, reversal
from console.plan.staged import UNREAD, Staged
from console.session.applying import _is_secret
from tests.support.model_cluster import ModelCluster
from tests.unit.test_plan_laws import busy_cluster, carry_out, of_seeds, staged_on

law = of_seeds(20, at_length=60)
AT = datetime(2026, 3, 4, 5, 6, 7, 890_000, tzinfo=UTC)


def raw(cluster: ModelCluster, edit: edits.Edit) -> object:
    """Return the value that the model stores for an edit's target and key, read without the product's code."""
    slot = edit.slot
    match edit:
        case edits.UpsertScram() | edits.DeleteScram():
            return cluster.scram.get((edit.user.user, int(edit.user.mechanism)))
        case edits.CreateTopic() | edits.DeleteTopic() | edits.GrowTopic():
            return cluster.topics.get(str(slot.target))
    if hasattr(edit, "acl"):
        return edit.acl in cluster.acls
    if hasattr(edit, "entity"):
        return cluster.quotas.get(edit.entity, {}).get(slot.key)
    if edit.resource.type == BROKER_LOGGER:
        return cluster.levels.get((edit.resource.name, slot.key))
    return cluster.configs.get(edit.resource, {}).get(slot.key)


def own(plan: Plan) -> list[Staged]:
    """Return the staged edits whose target is not a topic that the same plan creates."""
    new = {topic_resource(s.edit.topic.name) for s in plan.staged if isinstance(s.edit, edits.CreateTopic)}
    return [s for s in plan.staged if s.edit.target not in new]


def canonical_differs(before: ModelCluster, after: ModelCluster, edit: edits.Edit) -> bool:
    """Return whether the described value of an edit's key differs between two models, and the value after also
    differs from the result that the edit wants. Values are compared in the form in which brokers write parsed
    values. An edit of another kind than configs returns True.
    """
    if not hasattr(edit, "resource"):
        return True
    one, other = (c.describe().configs.get(edit.resource) for c in (before, after))
    left, right = one and one.get(edit.key), other and other.get(edit.key)
    if (left and left.value, left and left.source) == (right and right.value, right and right.source):
        return False
    wanted, there = _items(getattr(edit, "value", "")), _items(right.value or "" if right else "")
    if isinstance(edit, edits.SubtractConfig):
        return bool(wanted & there)
    return not wanted <= there if isinstance(edit, edits.AppendConfig) else wanted != there


def _items(text: str) -> set[str]:
    return {part.strip().lower() for part in text.split(",")}


@law
def test_nothing_that_moved_is_gone_over_unseen_and_what_did_not_is_no_conflict(rng: Random) -> None:
    cluster = busy_cluster(rng)
    plan = staged_on(rng, cluster.describe())
    assert conflicts(plan.staged, cluster.describe()) == ()
    # If a raw value is neither the former one nor the edit's, there is a conflict.
    before = deepcopy(cluster)
    carry_out(cluster, staged_on(rng, cluster.describe()))
    found = {c.staged.edit.slot for c in conflicts(plan.staged, cluster.describe())}
    mine = deepcopy(before)
    carry_out(mine, plan)
    for staged in own(plan):
        edit = staged.edit
        is_, was = raw(cluster, edit), raw(before, edit)
        hidden = isinstance(edit, edits.SetConfig) and isinstance(edit.value, Secret)
        entry = staged.was
        if hidden or (isinstance(entry, ConfigEntry) and entry.sensitive) or isinstance(edit, edits.CreateTopic):
            continue
        if is_ != was and is_ != raw(mine, edit) and canonical_differs(before, cluster, edit):
            assert edit.slot in found, (edit, was, is_)


@law
def test_a_conflict_that_was_seen_is_accepted_and_a_new_one_is_not(rng: Random) -> None:
    cluster = busy_cluster(rng)
    plan = staged_on(rng, cluster.describe())
    carry_out(cluster, staged_on(rng, cluster.describe()))
    seen = conflicts(plan.staged, cluster.describe())
    assert left_over(conflicts(plan.staged, cluster.describe()), seen) == ()
    assert left_over(seen, ()) == seen
    again = conflicts(rebased(plan.staged, cluster.describe()), cluster.describe())
    assert all(conflict.now is UNREAD for conflict in again), "only of a topic that is gone nothing can be said"


@law
def test_verdicts_are_never_wrong(rng: Random) -> None:
    """For an edit whose response was lost, kac never concludes "not applied" if it was applied, nor "applied" if it was
    not sent.
    """
    cluster = busy_cluster(rng)
    plan = staged_on(rng, cluster.describe())
    untouched = cluster.describe()
    assert Status.APPLIED not in verdicts(plan.staged, untouched).values()
    carry_out(cluster, plan)
    after = cluster.describe()
    assert Status.NOT_APPLIED not in verdicts(plan.staged, after).values()
    assert surprises(plan.staged, after) == ()


@law
def test_what_is_taken_back_is_as_it_was(rng: Random) -> None:
    """After reverting an edit that loses nothing, the model stores the former value again, or no value if there was
    none.
    """
    cluster = busy_cluster(rng)
    plan = staged_on(rng, cluster.describe())
    plan = Plan(
        tuple(s for s in own(plan) if not isinstance(s.edit, edits.CreateTopic | edits.DeleteTopic | edits.GrowTopic))
    )
    lost = {staged.edit.slot for staged, _ in losses(plan.staged)}
    before, described = deepcopy(cluster), cluster.describe()
    carry_out(cluster, plan)
    backs = [back for staged in plan.staged if (back := reversal(staged)).edits]
    undo = stage(EMPTY, [edit for back in backs for edit in back.edits], cluster.describe())
    assert undo.refused == ()
    carry_out(cluster, undo.plan)
    for staged in plan.staged:
        edit = staged.edit
        if edit.slot in lost or (hasattr(edit, "resource") and edit.resource.type == BROKER_LOGGER):
            continue
        if hasattr(edit, "resource"):
            entry, now = (d.configs[edit.resource].get(edit.key) for d in (described, cluster.describe()))
            assert (entry and (entry.value, entry.source)) == (now and (now.value, now.source))
        else:
            assert raw(cluster, edit) == raw(before, edit), edit


@law
def test_a_reversal_stands_on_what_the_edit_left(rng: Random) -> None:
    """A revert, staged on the state after the edit, has no conflict while no other client changes anything."""
    cluster = busy_cluster(rng)
    plan = Plan(tuple(own(staged_on(rng, cluster.describe()))))
    carry_out(cluster, plan)
    after = cluster.describe()
    backs = [reversal(staged) for staged in plan.staged]
    upon = [Staged(edit, back.left) for back in backs for edit in back.edits]
    assert conflicts([s for s in upon if not isinstance(s.edit, edits.CreateTopic)], after) == ()


@law
def test_the_journal_reads_what_it_wrote(rng: Random) -> None:
    """A change is read back from its journal line, except the secrets, which are in no byte of the line."""
    cluster = busy_cluster(rng)
    plan = staged_on(rng, cluster.describe())
    entries = tuple(
        Entry(
            structs.replace(staged, lasts_ms=rng.choice((None, 1000))),
            AT + timedelta(hours=1) if rng.randrange(2) else None,
            bool(rng.randrange(2)),
            {"retention.ms": "1"} if isinstance(staged.edit, edits.DeleteTopic) else {},
            _is_secret(staged.edit),
        )
        for staged in plan.staged
    )
    requests = (Request("IncrementalAlterConfigs", 1, tuple(range(len(entries)))),)
    origin = Origin("host", "run", 7, "x")
    intent = Intent(AT, "prod\n", Who("alice", "root", "bob", "10.0.0.1"), origin, entries, requests)
    line = intent_line(42, intent)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert b"hush" not in line
    read = record(line)
    assert isinstance(read, Numbered)
    assert read.number == 42
    assert without_secrets(read.intent) == without_secrets(intent)


def without_secrets(intent: Intent) -> Intent:
    """Return the intent with the same placeholder for every secret, and with the configs of new topics as plain
    dicts.
    """
    return replace(intent, entries=tuple(replace(e, staged=_bare(e.staged)) for e in intent.entries))


def _bare(staged: Staged) -> Staged:
    edit, was = staged.edit, staged.was
    if isinstance(edit, edits.SetConfig) and isinstance(edit.value, Secret):
        edit = structs.replace(edit, value=Secret("?"))
    if isinstance(edit, edits.UpsertScram):
        edit = structs.replace(edit, password=Secret("?"))
    if isinstance(edit, edits.CreateTopic):
        edit = edits.CreateTopic(structs.replace(edit.topic, configs=dict(edit.topic.configs)))
    return structs.replace(staged, edit=edit, was=was)


def test_a_value_under_a_key_called_like_a_secret_is_not_written() -> None:
    edit = edits.SetConfig(next(iter(ModelCluster().describe().configs)), "a.plugin.password", "hush")
    assert _is_secret(edit)
    entry = Entry(Staged(edit, None), secret=True)
    intent = Intent(AT, "c", Who("a", "b"), Origin("h", "run", 1), (entry,), ())
    assert b"hush" not in intent_line(1, intent)
    assert edits.Slot(edit.resource, "a.plugin.password") == edit.slot
