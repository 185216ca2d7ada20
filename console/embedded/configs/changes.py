"""What a config request wants of a resource, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from console.embedded.configs.operations import Operation
from console.embedded.configs.problems import (
    CLUSTER_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED,
    NONE,
    TOPIC_AUTHORIZATION_FAILED,
    ConfigProblem,
)
from console.embedded.context import CLUSTER_RESOURCE
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
    code: int = NONE
    message: str | None = None


class RightsProblem(ConfigProblem):
    """A right is missing. resource: on what it would be, as `RequestContext.allowed` takes it."""

    def __init__(self, code: int, message: str | None, resource: tuple[str, str]) -> None:
        super().__init__(code, message)
        self.resource = resource


def rights_problem(resource: ConfigResource, *, told: bool = True) -> RightsProblem:
    """What to answer without the right; topics and groups have their own, all else hangs on the cluster."""
    if resource.type == TOPIC:
        code, message, on = TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.", ("TOPIC", resource.name)
    elif resource.type == GROUP:
        code, message, on = GROUP_AUTHORIZATION_FAILED, "Group authorization failed.", ("GROUP", resource.name)
    else:
        on = ("CLUSTER", CLUSTER_RESOURCE)
        code, message = CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
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
