"""The effect of AlterConfigs and IncrementalAlterConfigs requests, by the rules of a broker and of the controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

from kio.schema.errors import ErrorCode

from console.embedded import config_changes
from console.embedded.config_definitions import (
    NOTHING,
    BrokerLayers,
    Definitions,
    checked_value,
    release_configs,
)
from console.embedded.config_describe import check_is_own, describable_types, layers_of
from console.embedded.config_rules import check_broker_values, check_group, check_topic, inherited_configs
from console.embedded.context import Cluster, RequestContext
from console.embedded.controllers import is_not_active, not_active_message
from console.embedded.own_resources import own_resource
from console.embedded.refusals import DONE, TOO_MANY_CHANGES, Refusal
from console.embedded.state import MAX_RECORDS
from console.embedded.topics import is_legal, name_refusal
from console.model.codes import BROKER, GROUP, TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource

MIN_ISR = "min.insync.replicas"
ELR = "eligible.leader.replicas.version"

Records = dict[str, str | None]


_BROKERS_DECIDE_FROM = _GROUPS_JUDGED_FROM = (4, 4)
"""The first release whose brokers check changes of their own configs before they forward the request to the controller,
and whose rules for groups (`check_group`) are the newer ones.
"""


class Altering:
    """The processing of one request: first the broker that received it checks it, then the controller.

    The changes of a resource are applied all or not at all, independently of the other resources. One exception: a
    change that needs too many records fails for all resources (ConfigAdminManager, ControllerApis,
    ConfigurationControlManager).
    """

    def __init__(self, context: RequestContext, *, validate_only: bool, authorized: bool = False) -> None:
        """Set the request's options. authorized: whether the caller has checked the principal's rights already."""
        self._context = context
        self._authorized = authorized
        self._cluster = context.cluster
        self._state = context.state
        self._validate_only = validate_only
        self._messages = config_changes.config_messages(context.cluster.release.name)
        self._configs = release_configs(context.cluster.release.name)

    def _check_is_own(self, name: str, wrong: str) -> None:
        """Raise ConfigProblem if the resource is not the node that received the request. wrong: the message for another
        id.
        """
        check_is_own(name, self._context.broker_id, wrong, config_changes.NODE_NOT_NUMBER)

    def alter(self, changes: Sequence[config_changes.ConfigChange]) -> list[Refusal]:
        """Apply the changes. Return a result for each, in order: DONE, or the reason why the resource was not
        changed.
        """
        times = Counter(change.resource for change in changes)
        outcomes: list[Refusal | None] = []
        for change in changes:
            if times[change.resource] > 1:
                outcomes.append(Refusal(ErrorCode.invalid_request, config_changes.RESOURCE_TWICE))
                continue
            refused = _outcome(partial(self._by_broker, change), ErrorCode.invalid_request)
            done = refused.code or change.resource.type.entity.has_levels
            outcomes.append(refused if done else None)
        rest = [change for change, outcome in zip(changes, outcomes, strict=True) if outcome is None]
        by_controller = iter(self._by_controller(rest))
        return [outcome or next(by_controller) for outcome in outcomes]

    def _by_broker(self, change: config_changes.ConfigChange) -> None:
        """Apply the checks of the broker that received the request. If the resource is the broker's loggers, also set
        their levels, unless the request only validates. Raises ConfigProblem, ValueError.
        """
        resource, context = change.resource, self._context
        config_changes.check_operations(change.operations)
        if resource.type.entity.has_levels and not change.replaces:
            if not (self._authorized or context.allowed("ALTER_CONFIGS")):
                raise config_changes.authorization_problem(resource, with_message=False)
            self._check_is_own(resource.name, self._messages.wrong_logger_broker)
            config_changes.alter_loggers(
                self._cluster.loggers, context.broker_id, change.operations, self._validate_only
            )
        elif resource.type == BROKER and not context.at_controller:
            if resource.name:
                self._check_is_own(resource.name, config_changes.WRONG_BROKER)
            view = context.view
            now = {} if change.replaces else view.configs.get(resource, NOTHING)
            values = config_changes.altered_by_broker(change.operations, now, self._configs.broker, self._messages)
            layers = layers_of(self._cluster, context.broker_id, view)
            check_broker_values(layers, values, self._messages, own=bool(resource.name))
        elif resource.type.entity.has_levels or resource.type not in describable_types(self._cluster.release.name):
            raise config_changes.invalid_request(f"Unknown resource type {int(resource.type)}")

    def _by_controller(self, changes: Sequence[config_changes.ConfigChange]) -> list[Refusal]:
        if is_not_active(self._context):
            return [Refusal(ErrorCode.not_controller, not_active_message(self._state))] * len(changes)
        outcomes: list[Refusal] = []
        written: list[tuple[ConfigResource, Records]] = []
        try:
            for change in changes:
                records: Records = {}
                recording = partial(self._record, change, records)
                outcomes.append(_outcome(recording, ErrorCode.invalid_config))
                if not outcomes[-1].code:
                    written.append((change.resource, records))
        # ControllerFailure has no error code: Kafka's controller fails the whole event, so the changes of all resources
        # fail.
        except config_changes.ControllerFailure:
            return [Refusal(ErrorCode.unknown_server_error)] * len(changes)
        # Kafka's controller applies all resources of a request as one batch, so one resource too many also fails the
        # valid ones.
        if sum(len(records) for _, records in written) > MAX_RECORDS:
            return [Refusal(ErrorCode.policy_violation, TOO_MANY_CHANGES)] * len(changes)
        if not self._validate_only:
            for resource, records in written:
                if records:
                    self._state.alter_config(resource, records)
        return outcomes

    def _record(self, change: config_changes.ConfigChange, written: Records) -> None:
        """Check a change as the controller does, and add to `written` the records that the controller would write for
        it.

        Raises ConfigProblem, ValueError, ControllerFailure.
        """
        resource = change.resource
        # Since Kafka 4.4, brokers decide on changes of their own configs before they forward requests to the
        # controller.
        by_broker = resource.type == BROKER and self._cluster.release.number >= _BROKERS_DECIDE_FROM
        problem = config_changes.authorization_problem(resource, with_message=not by_broker)
        if not (self._authorized or self._context.allowed("ALTER_CONFIGS", *problem.resource)):
            raise problem
        now = self._state.configs.get(resource, NOTHING)
        altered = config_changes.altered_by_controller(
            change.operations, now, self._definitions(resource), self._messages
        )
        # Write a record for a broker even if no value changes: the record makes the broker read its keystore again.
        records = {key: value for key, value in altered.items() if value != now.get(key) or resource.type == BROKER}
        gone: Records = {key: None for key in now if change.replaces and key not in altered}
        after = {key: value for key, value in {**now, **records, **gone}.items() if value is not None}
        self._check_elr(resource, {**records, **gone})
        self._check(resource, after)
        # Like Kafka, check the values before the existence of the topic, and the policy last.
        if resource.type == TOPIC and resource.name not in self._state.topics:
            raise config_changes.ConfigProblem(
                ErrorCode.unknown_topic_or_partition, f"The topic '{resource.name}' does not exist."
            )
        if self._cluster.spec.alter_config_policy is not None:
            # The policy gets only the altered keys, and not the keys that a legacy AlterConfigs deletes by omission.
            self._cluster.spec.alter_config_policy.validate(resource, records)
        written.update(records | gone)

    def _definitions(self, resource: ConfigResource) -> Definitions:
        """Return the definitions of a topic's or broker's config keys; empty for other types of resources, for which
        the controller does not use any.
        """
        if resource.type == TOPIC:
            return self._configs.topic
        return self._configs.broker if resource.type == BROKER else {}

    def _check_elr(self, resource: ConfigResource, records: Records) -> None:
        if resource.type != BROKER or MIN_ISR not in records or not self._state.features.get(ELR):
            return
        if resource.name:
            raise config_changes.invalid_config(f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.")
        if records[MIN_ISR] is None:
            raise config_changes.invalid_config(f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.")

    def _check(self, resource: ConfigResource, values: Mapping[str, str]) -> None:
        if resource.type == TOPIC:
            if not resource.name:
                raise config_changes.invalid_request("Default topic resources are not allowed.")
            refusal = None if is_legal(resource.name) else name_refusal(resource.name, self._state)
            if refusal is not None:
                raise config_changes.ConfigProblem(ErrorCode.invalid_topic_exception, refusal.message)
            check_topic(self._configs, values, self._inherited)
        elif resource.type == GROUP:
            if not resource.name:
                raise config_changes.invalid_request("Default group resources are not allowed.")
            check_group(self._layers, values, since_44=self._cluster.release.number >= _GROUPS_JUDGED_FROM)
        elif resource.type in self._configs.others:
            rules = own_resource(resource.type)
            if not resource.type.entity.names.allows(resource.name):
                raise config_changes.invalid_request(rules.misnamed_altered)
            rules.check(self._layers, values, self._cluster.release)

    @cached_property
    def _layers(self) -> BrokerLayers:
        """The layers of configs from which the controller computes effective values."""
        controller = self._state.controller_id
        asked = controller if controller in self._state.brokers else self._context.broker_id
        return layers_of(self._cluster, asked, self._state.view)

    @cached_property
    def _inherited(self) -> Mapping[str, str]:
        return inherited_configs(self._configs, self._layers)


def _outcome(done: Callable[[], object], wrong_value: int) -> Refusal:
    """Call a function that changes a resource, and return DONE or its error. wrong_value: the error code for a
    ValueError.
    """
    try:
        done()
    except config_changes.ConfigProblem as problem:
        return Refusal(problem.code, problem.message)
    except ValueError as error:
        return Refusal(wrong_value, str(error))
    return DONE


def begin_configs(cluster: Cluster) -> None:
    """Check the configs in the brokers' files, and store the initial configs of a new cluster. Raises ValueError for an
    invalid config.

    If the feature for eligible leader replicas is on, min.insync.replicas must be stored as a cluster default
    (KIP-966).
    """
    definitions = release_configs(cluster.release.name).broker
    for key, value in cluster.spec.static_configs.items():
        if key in definitions:
            checked_value(definitions[key], value)

    if cluster.state.features.get(ELR):
        cluster.state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: cluster.spec.static_configs.get(MIN_ISR, "1")})


def take_min_isr_from_brokers(cluster: Cluster) -> None:
    """Store min.insync.replicas as a cluster default and remove it from single brokers, when the feature for eligible
    leader replicas is turned on (ConfigurationControlManager.maybeGenerateElrSafetyRecords). A cluster default that
    exists already stays.
    """
    state = cluster.state
    if MIN_ISR not in state.configs.get(CLUSTER_DEFAULT, {}):
        state.alter_config(CLUSTER_DEFAULT, {MIN_ISR: cluster.spec.static_configs.get(MIN_ISR, "1")})
    for resource in [each for each in state.configs if each.type == BROKER and not each.is_cluster_default]:
        if MIN_ISR in state.configs[resource]:
            state.alter_config(resource, {MIN_ISR: None})
