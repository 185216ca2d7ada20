"""Config changes as KRaft brokers take them: looked at by the broker that was asked, then by the controller.

(ConfigAdminManager, ControllerApis, ConfigurationControlManager.) Each resource is changed as a whole or not at all,
and apart from the others; only a change that is too large for a controller's one write fails them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, partial

from kio.schema.errors import ErrorCode

from console.embedded.configs.broker_file import layers_of
from console.embedded.configs.broker_rules import check_broker_values
from console.embedded.configs.changes import Change, Outcome, answered, rights_problem
from console.embedded.configs.definitions import Definitions, release_configs
from console.embedded.configs.describe import broker_number, describable
from console.embedded.configs.group_rules import check_client_metrics, check_group
from console.embedded.configs.inheritance import NOTHING, BrokerLayers
from console.embedded.configs.loggers import alter_loggers
from console.embedded.configs.messages import TOO_LARGE, TWICE, WRONG_BROKER, messages_of
from console.embedded.configs.operations import (
    ControllerFailure,
    altered_by_broker,
    altered_by_controller,
    check_operations,
)
from console.embedded.configs.problems import ConfigProblem
from console.embedded.configs.topic_rules import check_topic, inherited_configs
from console.embedded.context import RequestContext
from console.embedded.state.topic_names import is_legal
from console.embedded.topics.naming import name_refusal
from console.model.codes import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from console.model.config import ConfigResource

MOST_RECORDS = 10_000
"""What a controller writes in one change (QuorumController.MAX_RECORDS_PER_USER_OP)."""
MIN_ISR = "min.insync.replicas"
ELR = "eligible.leader.replicas.version"
_TYPES_FROM = (4, 0)

Records = dict[str, str | None]


class KraftAltering:
    """Answers one request."""

    def __init__(self, context: RequestContext, *, validate_only: bool) -> None:
        self._context = context
        self._cluster = context.cluster
        self._state = context.state
        self._validate_only = validate_only
        self._said = messages_of(context.cluster.release.name)
        self._configs = release_configs(context.cluster.release.name)

    def alter(self, changes: Sequence[Change]) -> list[Outcome]:
        """An outcome for each change, in their order."""
        times = Counter(change.resource for change in changes)
        outcomes: list[Outcome | None] = []
        for change in changes:
            if times[change.resource] > 1:
                outcomes.append(Outcome(change.resource, ErrorCode.invalid_request, TWICE))
                continue
            refused = answered(change.resource, partial(self._by_broker, change), ErrorCode.invalid_request)
            done = refused.code or change.resource.type == BROKER_LOGGER
            outcomes.append(refused if done else None)
        rest = [place for place, outcome in enumerate(outcomes) if outcome is None]
        for place, outcome in zip(rest, self._by_controller([changes[place] for place in rest]), strict=True):
            outcomes[place] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

    def _by_broker(self, change: Change) -> None:
        """What the broker that was asked looks at; log levels it changes itself. Raises ConfigProblem, ValueError."""
        resource, context = change.resource, self._context
        check_operations(change.operations, self._said)
        if resource.type == BROKER_LOGGER and not change.replaces:
            if not context.allowed("ALTER_CONFIGS"):
                raise rights_problem(resource, told=False)
            self._check_is_own(resource.name, self._said.wrong_logger_broker)
            alter_loggers(self._cluster.loggers, context.broker_id, change.operations, self._said, self._validate_only)
        elif resource.type == BROKER:
            if resource.name:
                self._check_is_own(resource.name, WRONG_BROKER)
            view = context.view
            now = {} if change.replaces else view.configs.get(resource, NOTHING)
            values = altered_by_broker(change.operations, now, self._configs.broker, self._said)
            layers = layers_of(self._cluster, context.broker_id, view)
            check_broker_values(layers, values, self._said, own=bool(resource.name))
        elif resource.type == BROKER_LOGGER or resource.type not in describable(self._cluster.release.name):
            raise ConfigProblem(ErrorCode.invalid_request, f"Unknown resource type {int(resource.type)}")

    def _check_is_own(self, name: str, wrong: str) -> None:
        """Whether a resource is this very broker. wrong: what to say to another's id."""
        number = broker_number(name)
        if number is None:
            raise ConfigProblem(ErrorCode.invalid_request, self._said.broker_not_number.format(name=name))
        if number != self._context.broker_id:
            raise ConfigProblem(ErrorCode.invalid_request, wrong.format(own=self._context.broker_id, name=name))

    def _by_controller(self, changes: Sequence[Change]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        written: list[tuple[ConfigResource, Records]] = []
        try:
            for change in changes:
                records: Records = {}
                outcome = answered(change.resource, partial(self._record, change, records), ErrorCode.invalid_config)
                outcomes.append(outcome)
                if not outcome.code:
                    written.append((change.resource, records))
        except ControllerFailure:
            return [Outcome(change.resource, ErrorCode.unknown_server_error) for change in changes]
        if sum(len(records) for _, records in written) > MOST_RECORDS:
            return [Outcome(change.resource, ErrorCode.policy_violation, TOO_LARGE) for change in changes]
        if not self._validate_only:
            for resource, records in written:
                if records:
                    self._state.alter_config(resource, records)
        return outcomes

    def _record(self, change: Change, written: Records) -> None:
        """Add what the controller would write for one resource. Raises ConfigProblem, ValueError, ControllerFailure."""
        resource = change.resource
        problem = rights_problem(resource)
        if not self._context.allowed("ALTER_CONFIGS", *problem.resource):
            raise problem
        now = self._state.configs.get(resource, NOTHING)
        altered = altered_by_controller(change.operations, now, self._definitions(resource), self._said)
        records = {key: value for key, value in altered.items() if value != now.get(key) or resource.type == BROKER}
        gone: Records = {key: None for key in now if change.replaces and key not in altered}
        after = {key: value for key, value in {**now, **records, **gone}.items() if value is not None}
        self._check_elr(resource, {**records, **gone})
        self._check(resource, after)
        if resource.type == TOPIC and resource.name not in self._state.topics:
            raise ConfigProblem(ErrorCode.unknown_topic_or_partition, f"The topic '{resource.name}' does not exist.")
        if self._cluster.spec.alter_config_policy is not None:
            self._cluster.spec.alter_config_policy.validate(resource, records)
        written.update(records | gone)

    def _definitions(self, resource: ConfigResource) -> Definitions:
        """Those of which a controller knows the types."""
        if resource.type == TOPIC:
            return self._configs.topic
        return self._configs.broker if resource.type == BROKER else {}

    def _check_elr(self, resource: ConfigResource, records: Records) -> None:
        if resource.type != BROKER or MIN_ISR not in records or not self._state.features.get(ELR):
            return
        if resource.name:
            raise ConfigProblem(
                ErrorCode.invalid_config, f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
            )
        if records[MIN_ISR] is None:
            raise ConfigProblem(
                ErrorCode.invalid_config, f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled."
            )

    def _check(self, resource: ConfigResource, values: Mapping[str, str]) -> None:
        if resource.type == TOPIC:
            if not resource.name:
                raise ConfigProblem(ErrorCode.invalid_request, "Default topic resources are not allowed.")
            refusal = None if is_legal(resource.name) else name_refusal(resource.name, self._state)
            if refusal is not None:
                raise ConfigProblem(ErrorCode.invalid_topic_exception, refusal.message)
            check_topic(self._configs, values, self._inherited)
        elif resource.type == CLIENT_METRICS:
            if not resource.name:
                raise ConfigProblem(ErrorCode.invalid_request, "Subscription name can't be empty")
            check_client_metrics(self._layers, values, modern=self._cluster.release.number >= _TYPES_FROM)
        elif resource.type == GROUP:
            if not resource.name:
                raise ConfigProblem(ErrorCode.invalid_request, "Default group resources are not allowed.")
            check_group(self._layers, values)

    @cached_property
    def _layers(self) -> BrokerLayers:
        """What the controller goes by."""
        controller = self._state.controller_id
        asked = controller if controller in self._state.brokers else self._context.broker_id
        return layers_of(self._cluster, asked, self._state.view)

    @cached_property
    def _inherited(self) -> Mapping[str, str]:
        return inherited_configs(self._configs, self._layers)
