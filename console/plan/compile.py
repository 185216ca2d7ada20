"""From a plan to the fewest requests that carry it, in an order that is safe.

What is added comes before what is taken away: topics, partitions, configs, ACLs, quotas, credentials, then the removal
of ACLs, and of topics last. Each kind is one request, cut only where a controller's limit wants it (limits.py); for
configs see config_requests.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from console.model.changes import (
    AlterQuotas,
    AlterScram,
    ChangeRequest,
    CreateAcls,
    CreatePartitions,
    CreateTopics,
    DeleteAcls,
    DeleteTopics,
    NewTopic,
)
from console.model.cluster import Topic
from console.model.codes import TOPIC
from console.model.quota import QuotaEntity
from console.plan.edits import (
    AddAcl,
    AppendConfig,
    ConfigEdit,
    CreateTopic,
    DeleteScram,
    DeleteTopic,
    GrowTopic,
    RemoveAcl,
    SetConfig,
    SetQuota,
    SubtractConfig,
    UnsetConfig,
    UnsetQuota,
    UpsertScram,
)
from console.plan.kinds.configs import config_steps
from console.plan.plan import Plan
from console.plan.requests import RECORD_LIMIT, Facts, Step, acl_removals, cut_note, pack
from console.plan.staged import Staged

__all__ = ["Facts", "Step", "compile_plan"]


def compile_plan(plan: Plan, facts: Facts) -> tuple[Step, ...]:
    """The requests for everything in the plan, each edit in exactly one of them."""
    creations = [s for s in plan.staged if isinstance(s.edit, CreateTopic)]
    created = {s.edit.topic.name: [s] for s in creations if isinstance(s.edit, CreateTopic)}
    configs: list[Staged] = []
    for staged in _of(plan, SetConfig, UnsetConfig, AppendConfig, SubtractConfig):
        assert isinstance(staged.edit, ConfigEdit)
        resource = staged.edit.resource
        folded = created.get(resource.name) if resource.type == TOPIC else None
        (configs if folded is None else folded).append(staged)

    steps = [
        *_cut(((group, _creation_records(group, facts)) for group in created.values()), RECORD_LIMIT, _create_topics),
        *_cut((([s], _new_partitions(s)) for s in _of(plan, GrowTopic)), RECORD_LIMIT, _create_partitions),
        *config_steps(configs, facts),
    ]
    first = len(steps)
    steps += _cut(_singly(plan, AddAcl), RECORD_LIMIT, _create_acls)
    additions = tuple(range(first, len(steps)))
    steps += _cut(_quota_groups(plan), RECORD_LIMIT, _alter_quotas)
    steps += _scram_steps(plan, len(steps))
    removals = _cut(_singly(plan, RemoveAcl), acl_removals(facts.acls), _delete_acls, "of so many ACLs")
    steps += [Step(step.request, step.staged, step.note, additions) for step in removals]
    steps += _cut(_singly(plan, DeleteTopic), RECORD_LIMIT, _delete_topics)
    return tuple(steps)


def _of(plan: Plan, *kinds: type) -> list[Staged]:
    return [staged for staged in plan.staged if type(staged.edit) in kinds]


Group = tuple[Sequence[Staged], int]


def _singly(plan: Plan, *kinds: type) -> Iterable[Group]:
    return (([staged], 1) for staged in _of(plan, *kinds))


def _cut(
    groups: Iterable[Group], limit: int, request: Callable[[list[Staged]], ChangeRequest], what: str = "records"
) -> list[Step]:
    bins = pack(groups, limit)
    return [
        Step(request(each.staged), tuple(each.staged), cut_note(place, len(bins), limit, what))
        for place, each in enumerate(bins)
    ]


def _creation_records(group: Sequence[Staged], facts: Facts) -> int:
    topic = _created(group[0])
    partitions = len(topic.assignments) or (topic.partitions if topic.partitions > 0 else facts.default_partitions)
    return 1 + partitions + len(topic.configs) + len(group) - 1


def _created(staged: Staged) -> NewTopic:
    assert isinstance(staged.edit, CreateTopic)
    return staged.edit.topic


def _create_topics(some: list[Staged]) -> CreateTopics:
    """Config edits on a topic of the same plan are folded into its creation and win over what it was created with."""
    topics = {s.edit.topic.name: s.edit.topic for s in some if isinstance(s.edit, CreateTopic)}
    configs = {name: dict(topic.configs) for name, topic in topics.items()}
    for staged in some:
        if isinstance(staged.edit, SetConfig):
            configs[staged.edit.resource.name][staged.edit.key] = staged.edit.value
    asked = [topic.timeout_ms for topic in topics.values() if topic.timeout_ms is not None]
    together = tuple(replace(topic, configs=configs[topic.name]) for topic in topics.values())
    # A request has one timeout; the topic that was given the longest decides.
    return CreateTopics(together, max(asked)) if asked else CreateTopics(together)


def _new_partitions(staged: Staged) -> int:
    assert isinstance(staged.edit, GrowTopic)
    was = len(staged.was.partitions) if isinstance(staged.was, Topic) else 0
    return staged.edit.partitions - was


def _create_partitions(some: list[Staged]) -> CreatePartitions:
    return CreatePartitions(
        {s.edit.name: s.edit.partitions for s in some if isinstance(s.edit, GrowTopic)},
        {s.was.name: len(s.was.partitions) for s in some if isinstance(s.was, Topic)},
    )


def _create_acls(some: list[Staged]) -> CreateAcls:
    return CreateAcls(tuple(s.edit.acl for s in some if isinstance(s.edit, AddAcl)))


def _delete_acls(some: list[Staged]) -> DeleteAcls:
    return DeleteAcls(tuple(s.edit.acl for s in some if isinstance(s.edit, RemoveAcl)))


def _delete_topics(some: list[Staged]) -> DeleteTopics:
    return DeleteTopics(tuple(s.edit.name for s in some if isinstance(s.edit, DeleteTopic)))


def _quota_groups(plan: Plan) -> Iterable[Group]:
    """An entity's quotas stay together: the same entity twice in a request, or in two, is two answers for one."""
    groups: dict[QuotaEntity, list[Staged]] = {}
    for staged in _of(plan, SetQuota, UnsetQuota):
        assert isinstance(staged.edit, SetQuota | UnsetQuota)
        groups.setdefault(staged.edit.entity, []).append(staged)
    return ((group, len(group)) for group in groups.values())


def _alter_quotas(some: list[Staged]) -> AlterQuotas:
    ops: dict[QuotaEntity, dict[str, float | None]] = {}
    for staged in some:
        edit = staged.edit
        if isinstance(edit, SetQuota | UnsetQuota):
            ops.setdefault(edit.entity, {})[edit.key] = edit.value if isinstance(edit, SetQuota) else None
    return AlterQuotas(ops)


def _scram_steps(plan: Plan, first: int) -> list[Step]:
    """Credentials that are set, then those that go; `first` is the place of the first step.

    A broker refuses a request that names a user twice, though it be for two mechanisms (ScramControlManager). Setting
    and deleting are apart because brokers of 3.9 to 4.3 lose a credential that is set in the same change in which the
    last other one of its mechanism is deleted (ScramDelta.apply), though the controller says that all went well.
    """
    steps: list[Step] = []
    for kind, why in ((UpsertScram, ""), (DeleteScram, "deleted once those that are set are there")):
        after = tuple(range(first, first + len(steps)))
        rounds: list[list[Staged]] = []
        named: Counter[str] = Counter()
        for staged in _of(plan, kind):
            assert isinstance(staged.edit, UpsertScram | DeleteScram)
            user = staged.edit.user.user
            if named[user] == len(rounds):
                rounds.append([])
            rounds[named[user]].append(staged)
            named[user] += 1
        for place, some in enumerate(rounds):
            for step in _cut((([staged], 1) for staged in some), RECORD_LIMIT, _alter_scram):
                note = "a request can change one credential of a user" if place else step.note or (why if after else "")
                steps.append(Step(step.request, step.staged, note, after))
    return steps


def _alter_scram(some: list[Staged]) -> AlterScram:
    return AlterScram(
        {s.edit.user: (s.edit.iterations, s.edit.password) for s in some if isinstance(s.edit, UpsertScram)},
        tuple(s.edit.user for s in some if isinstance(s.edit, DeleteScram)),
    )
