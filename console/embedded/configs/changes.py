"""What a config request wants of a resource, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.configs.operations import Operation
from console.embedded.configs.problems import ConfigProblem
from console.model.acl import CLUSTER_NAME
from console.model.codes import GROUP, TOPIC
from console.model.config import ConfigResource


@dataclass(frozen=True, slots=True)
class Change:
    """What is wanted of one resource. replaces: whether what is not named goes (AlterConfigs)."""

    resource: ConfigResource
    operations: tuple[Operation, ...]
    replaces: bool = False


class Outcome(NamedTuple):
    """One resource's answer; message None where Kafka tells none."""

    resource: ConfigResource
    code: int = ErrorCode.none
    message: str | None = None


class RightsProblem(ConfigProblem):
    """A right is missing. resource: on what it would be, as `RequestContext.allowed` takes it."""

    def __init__(self, code: int, message: str | None, resource: tuple[str, str]) -> None:
        super().__init__(code, message)
        self.resource = resource


def rights_problem(resource: ConfigResource, *, told: bool = True) -> RightsProblem:
    """What to answer without the right; topics and groups have their own, all else hangs on the cluster."""
    if resource.type == TOPIC:
        code, message, on = (
            ErrorCode.topic_authorization_failed,
            "Topic authorization failed.",
            ("TOPIC", resource.name),
        )
    elif resource.type == GROUP:
        code, message, on = (
            ErrorCode.group_authorization_failed,
            "Group authorization failed.",
            ("GROUP", resource.name),
        )
    else:
        on = ("CLUSTER", CLUSTER_NAME)
        code, message = ErrorCode.cluster_authorization_failed, "Cluster authorization failed."
    return RightsProblem(code, message if told else None, on)


def answered(resource: ConfigResource, done: Callable[[], object], wrong_value: int) -> Outcome:
    """The outcome of doing it. wrong_value: the code of a value that can't be."""
    try:
        done()
    except ConfigProblem as problem:
        return Outcome(resource, problem.code, problem.message)
    except ValueError as error:
        return Outcome(resource, wrong_value, str(error))
    return Outcome(resource)
