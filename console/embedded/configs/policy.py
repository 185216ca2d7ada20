"""A cluster's own say in config changes (org.apache.kafka.server.policy.AlterConfigPolicy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kio.schema.errors import ErrorCode

from console.embedded.configs.problems import ConfigProblem
from console.model.config import ConfigResource


class PolicyViolation(ConfigProblem):
    """What a policy refuses; the text reaches the client."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.policy_violation, message)


class AlterConfigPolicy(Protocol):
    """Looks at each resource's change after everything else was found good."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Called once before the cluster starts, with what is in the brokers' files."""
        ...

    def validate(self, resource: ConfigResource, configs: Mapping[str, str | None]) -> None:
        """configs: the keys that change, None for one that is deleted. Raises PolicyViolation."""
        ...

    def close(self) -> None:
        """Called once when the cluster has stopped."""
        ...
