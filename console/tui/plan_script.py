"""The plan as commands of the language, for a script or a runbook; secrets stay out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from console.answers.plan_results import runbook_text
from console.language.arguments import ACL_TYPES
from console.language.quoting import quote, quote_beside_equals, quoted
from console.language.sensitive import looks_sensitive
from console.language.unparse import subject_text
from console.model.acl import Acl
from console.model.broker_keys import UpdateMode, update_mode
from console.model.codes import BROKER
from console.model.config import ConfigResource
from console.model.secret import Secret
from console.plan.amounts import duration_text
from console.plan.edits import (
    AddAcl,
    AppendConfig,
    CreateTopic,
    DeleteScram,
    DeleteTopic,
    Edit,
    GrowTopic,
    RemoveAcl,
    SetConfig,
    SetQuota,
    SubtractConfig,
    UnsetConfig,
    UnsetQuota,
    UpsertScram,
)
from console.plan.plan import Plan
from console.plan.staged import Staged
from console.present.text import Line, clean
from console.session.session import Session


class TextHost(Protocol):
    """Where a text is shown: the app."""

    @property
    def session(self) -> Session:
        """The session that is shown."""
        ...

    def show_text(self, title: str, make: Callable[[int], Sequence[Line]]) -> None:
        """Show a text above the panes; `make` returns its lines for a width."""
        ...


ASK = "?"
"""Stands for a secret: the language asks for it, hidden."""


def show_script(host: TextHost) -> None:
    """Show the plan as commands of the language, to copy into a script."""
    # Not cut: a command without its end would be another command.
    lines: list[Line] = [[(clean(line, len(line) + 1), "")] for line in script(host.session.plan).split("\n")]
    host.show_text("the plan as a script", lambda _width: lines)


def show_runbook(host: TextHost) -> None:
    """Show the plan as commands of Kafka's own tools, to copy into a runbook."""
    session = host.session
    text = runbook_text(session.plan, session.snapshot, session.context.settings) or "# nothing is staged"
    lines: list[Line] = [
        [(clean(line, len(line) + 1), "muted" if line.startswith("#") else "")] for line in text.split("\n")
    ]
    host.show_text("the plan as commands of Kafka's tools", lambda _width: lines)


def script(plan: Plan) -> str:
    """One command a line, in the order in which the edits were staged."""
    return "\n".join(command(staged.edit) + _lasting(staged) for staged in plan.staged)


def _lasting(staged: Staged) -> str:
    return f" for {duration_text(staged.lasts_ms)}" if staged.lasts_ms is not None else ""


def command(edit: Edit) -> str:
    """The command that stages an edit."""
    match edit:
        case SetConfig(resource, key, value):
            return f"set {subject_text(resource)} {_assign(key, value, resource)}"
        case AppendConfig(resource, key, value):
            return f"append {subject_text(resource)} {_assign(key, value, resource)}"
        case SubtractConfig(resource, key, value):
            return f"subtract {subject_text(resource)} {_assign(key, value, resource)}"
        case UnsetConfig(resource, key):
            return f"unset {subject_text(resource)} {_key(key, resource)}"
        case SetQuota(entity, key, value):
            return f"set {subject_text(entity)} {quote(key)}={value:.17g}"
        case UnsetQuota(entity, key):
            return f"unset {subject_text(entity)} {quote(key)}"
        case AddAcl(acl):
            return _access(acl)
        case RemoveAcl(acl):
            return f"revoke {_access(acl)}"
        case CreateTopic():
            return _create(edit)
        case DeleteTopic(name):
            return f"delete topic {quote(name)}"
        case GrowTopic(name, partitions):
            return f"grow topic {quote(name)} partitions={partitions}"
        case UpsertScram(user, iterations):
            return f"scram set {quote(user.user)} {user.mechanism.label} iterations={iterations} password={ASK}"
        case DeleteScram(user):
            return f"scram delete {quote(user.user)} {user.mechanism.label}"
        case _:
            raise TypeError(f"no command stages {edit!r}")


def _key(key: str, resource: ConfigResource | None = None) -> str:
    """A broker's key that is none of Kafka's dynamic ones may be a plug-in's own, which is quoted to say that it is
    meant."""
    if resource is not None and resource.type == BROKER and update_mode(resource.type, key) is UpdateMode.RESTART:
        return quoted(key)
    return quote_beside_equals(key)


def _assign(key: str, value: str | Secret, resource: ConfigResource | None = None) -> str:
    text = ASK if isinstance(value, Secret) or looks_sensitive(key) else quote(value) if value else ""
    return f"{_key(key, resource)}={text}"


def _access(acl: Acl) -> str:
    word = next((word for word, type_ in ACL_TYPES.items() if type_ == acl.resource_type), "cluster")
    where = word if word == "cluster" else f"{word} {quote(acl.resource_name)}"
    prefixed = " prefixed" if acl.pattern_type.name == "PREFIXED" else ""
    host = "" if acl.host == "*" else f" from {quote(acl.host)}"
    return f"{acl.permission.name.lower()} {quote(acl.principal)} {acl.operation.name} on {where}{prefixed}{host}"


def _create(edit: CreateTopic) -> str:
    topic = edit.topic
    words = [f"create topic {quote(topic.name)}"]
    if topic.assignments:
        words += [f"assign={','.join(':'.join(map(str, replicas)) for replicas in topic.assignments)}"]
    else:
        words += [f"partitions={topic.partitions}"] if topic.partitions > 0 else []
        words += [f"replication={topic.replication}"] if topic.replication > 0 else []
    return " ".join([*words, *(_assign(key, value) for key, value in topic.configs.items())])
