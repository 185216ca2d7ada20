"""What will be sent, in words, before it is."""

from __future__ import annotations

from collections.abc import Iterable

from console.model.changes import (
    AlterConfigs,
    AlterQuotas,
    AlterReassignments,
    AlterScram,
    ChangeRequest,
    CreateAcls,
    CreatePartitions,
    CreateTopics,
    DeleteAcls,
    DeleteTopics,
    ElectLeaders,
)
from console.plan.compile import Step
from console.present.names import plural
from console.present.sanitize import clean
from console.present.spans import Line


def request_text(request: ChangeRequest) -> tuple[str, str]:
    """A request's name in the protocol, and what is in it."""
    match request:
        case AlterConfigs(ops=ops, broker=broker):
            keys = sum(map(len, ops.values()))
            where = f", to broker {broker}" if broker is not None else ""
            return (
                "IncrementalAlterConfigs",
                f"{plural(keys, 'key')} of {plural(len(ops), 'entity', 'entities')}{where}",
            )
        case AlterQuotas(ops=quotas):
            return "AlterClientQuotas", plural(len(quotas), "entity", "entities")
        case CreateTopics(topics=topics):
            return "CreateTopics", plural(len(topics), "topic")
        case DeleteTopics(names=names):
            return "DeleteTopics", plural(len(names), "topic")
        case CreatePartitions(counts=counts):
            return "CreatePartitions", plural(len(counts), "topic")
        case CreateAcls(acls=acls):
            return "CreateAcls", plural(len(acls), "ACL")
        case DeleteAcls(acls=acls):
            return "DeleteAcls", plural(len(acls), "ACL")
        case AlterScram(upserts=upserts, deletions=deletions):
            return "AlterUserScramCredentials", plural(len(upserts) + len(deletions), "credential")
        case ElectLeaders(partitions=partitions):
            return "ElectLeaders", plural(len(partitions), "partition")
        case AlterReassignments(moves=moves):
            return "AlterPartitionReassignments", plural(len(moves), "partition")


def request_lines(steps: Iterable[Step]) -> list[Line]:
    """A line for each request, and why one stands apart."""
    lines: list[Line] = []
    for step in steps:
        name, what = request_text(step.request)
        danger = isinstance(step.request, DeleteTopics | DeleteAcls)
        line: Line = [(name, "danger" if danger else "strong"), (f"  {what}", "")]
        if step.note:
            line.append((f"  ({clean(step.note, 200)})", "muted"))
        lines.append(line)
    return lines
