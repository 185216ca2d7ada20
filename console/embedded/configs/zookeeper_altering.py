"""Config changes as brokers with ZooKeeper take them: by the one that was asked, alone (ZkAdminManager of 2.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kio.schema.errors import ErrorCode

from console.embedded.configs.broker_file import layers_of
from console.embedded.configs.broker_rules import DividedByZero, check_broker_values
from console.embedded.configs.changes import Change, Outcome, answered, rights_problem
from console.embedded.configs.definitions import PASSWORD, release_configs
from console.embedded.configs.describe import broker_number
from console.embedded.configs.inheritance import NOTHING, BrokerLayers
from console.embedded.configs.loggers import alter_loggers
from console.embedded.configs.messages import NO_PASSWORD_SECRET, WRONG_BROKER, messages_of
from console.embedded.configs.operations import altered_by_broker, check_operations
from console.embedded.configs.problems import ConfigProblem
from console.embedded.configs.topic_rules import check_topic, inherited_configs
from console.embedded.context import RequestContext
from console.model.codes import BROKER, BROKER_LOGGER, TOPIC
from console.model.config import ConfigResource

_KNOWN = (TOPIC, BROKER, BROKER_LOGGER)
WRONG_VALUE = -1000
"""Stands for a value that can't be, until it is told with its resource."""
_PASSWORD_SECRET = "password.encoder.secret"  # noqa: S105 - a key's name


class ZooKeeperAltering:
    """Answers one request."""

    def __init__(self, context: RequestContext, *, validate_only: bool) -> None:
        self._context = context
        self._cluster = context.cluster
        self._state = context.state
        self._validate_only = validate_only
        self._said = messages_of(context.cluster.release.name)
        self._configs = release_configs(context.cluster.release.name)

    def alter(self, changes: Sequence[Change]) -> list[Outcome]:
        """An outcome for each resource; of one that comes twice the last change counts."""
        unknown = next((change for change in changes if change.resource.type not in _KNOWN), None)
        if unknown is not None:
            message = "Unexpected resource type UNKNOWN"
            return [Outcome(change.resource, ErrorCode.invalid_request, message) for change in changes]
        last = {change.resource: change for change in changes}
        return [self._altered(change) for change in last.values()]

    def _altered(self, change: Change) -> Outcome:
        resource = change.resource
        outcome = answered(resource, lambda: self._alter(change), WRONG_VALUE)
        if outcome.code != WRONG_VALUE:
            return outcome
        message = self._said.wrong_value.format(type=resource.type.name, name=resource.name, reason=outcome.message)
        return Outcome(resource, ErrorCode.invalid_request, message)

    def _alter(self, change: Change) -> None:
        resource, context = change.resource, self._context
        problem = rights_problem(resource, told=False)
        if not context.allowed("ALTER_CONFIGS", *problem.resource):
            raise problem
        if change.replaces:
            if resource.type == BROKER_LOGGER:
                raise ConfigProblem(ErrorCode.invalid_request, self._said.legacy_loggers)
            if any(operation.value is None for operation in change.operations):
                raise ConfigProblem(ErrorCode.unknown_server_error)
        else:
            check_operations(change.operations, self._said)
        if resource.type == TOPIC:
            self._alter_topic(change)
        elif resource.type == BROKER:
            self._alter_broker(change)
        else:
            if resource.name:
                self._check_is_own(resource.name)
            alter_loggers(self._cluster.loggers, context.broker_id, change.operations, self._said, self._validate_only)

    def _alter_topic(self, change: Change) -> None:
        resource = change.resource
        if not change.replaces:
            _check_path(resource.name)
        now = {} if change.replaces else self._state.configs.get(resource, NOTHING)
        values = altered_by_broker(change.operations, now, self._configs.topic, self._said)
        if resource.name not in self._state.topics:
            raise ConfigProblem(ErrorCode.unknown_topic_or_partition, f"The topic '{resource.name}' does not exist.")
        check_topic(self._configs, values, inherited_configs(self._configs, self._layers()))
        self._write(change, values)

    def _alter_broker(self, change: Change) -> None:
        resource, own = change.resource, bool(change.resource.name)
        if own:
            self._check_is_own(resource.name)
        now = {} if change.replaces else self._state.configs.get(resource, NOTHING)
        values = altered_by_broker(change.operations, now, self._configs.broker, self._said)
        layers = self._layers()
        try:
            check_broker_values(layers, values, self._said, own=own)
        except DividedByZero:
            raise ConfigProblem(ErrorCode.unknown_server_error) from None
        if own and not self._validate_only and self._has_passwords(values) and _PASSWORD_SECRET not in layers.static:
            raise ValueError(NO_PASSWORD_SECRET)
        self._write(change, values)

    def _has_passwords(self, values: Mapping[str, str]) -> bool:
        passwords = [key for key in self._configs.dynamic if self._configs.broker[key].type == PASSWORD]
        return any(name.endswith(key) for name in values for key in passwords)

    def _write(self, change: Change, values: Mapping[str, str]) -> None:
        policy = self._cluster.spec.alter_config_policy
        if policy is not None:
            policy.validate(change.resource, {operation.key: operation.value for operation in change.operations})
        if not self._validate_only:
            self._state.replace_config(self._stored(change.resource), values)

    @staticmethod
    def _stored(resource: ConfigResource) -> ConfigResource:
        """Under the id as it is written: ``+1`` is broker 1."""
        number = broker_number(resource.name) if resource.type == BROKER else None
        return resource if number is None else ConfigResource(BROKER, str(number))

    def _check_is_own(self, name: str) -> None:
        number = broker_number(name)
        if number is None:
            raise ConfigProblem(ErrorCode.invalid_request, self._said.broker_not_number.format(name=name))
        if number != self._context.broker_id:
            raise ConfigProblem(ErrorCode.invalid_request, WRONG_BROKER.format(own=self._context.broker_id, name=name))

    def _layers(self) -> BrokerLayers:
        return layers_of(self._cluster, self._context.broker_id, self._state.view)


def _check_path(topic: str) -> None:
    """What ZooKeeper says of the path of a topic's configs (PathUtils.validatePath). Raises ValueError."""
    if not topic:
        raise ValueError("Path must not end with / character")
    if topic in (".", ".."):
        path = f"/config/topics/{topic}"
        raise ValueError(f'Invalid path string "{path}" caused by relative paths not allowed @{len(path) - 1}')
