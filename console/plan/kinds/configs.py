"""Configs: setting and removing a value, and adding items to a list or removing them from it.

`console.plan.config_rules` has the checks before staging, `predict_configs` predicts the values that brokers will
describe, and `topic_risks` has the warnings about topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec.structs import replace

from console.model import config
from console.model.broker_keys import UpdateMode, broker_key_of, broker_synonyms, update_mode
from console.model.changes import Target
from console.model.codes import BROKER, DEFAULT_CONFIG, GROUP, ConfigType
from console.model.grouping import grouped
from console.model.inheritance import Inheritance
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.model.unordered import as_it_counts
from console.plan import config_rules, kafka_tools, limit_risks, record_risks, risk_rules, topic_risks
from console.plan import edits as plan_edits
from console.plan.config_requests import config_steps
from console.plan.edit_kind import Batch, EditKind, Reversal, Stage
from console.plan.effective_values import DiffLine, EffectiveValue, inherited_value
from console.plan.kinds import features
from console.plan.kinds.schemas import turns_off_checks
from console.plan.predict_configs import predict_configs
from console.plan.room_risks import no_room
from console.plan.service_configs import BY_TYPE, entry_before
from console.plan.staged import UNREAD, Described, Draft, Verdict, Was
from console.plan.stale_throttles import unthrottled, unthrottled_needs
from console.plan.values import appended, as_compared, canonical, own_text, parts_of, result_of, same_value, subtracted
from console.sensitive import is_reference

# -- the present state -------------------------------------------------------------------------------------------------


def _parsed(entry: config.ConfigEntry, type_: ConfigType) -> str | None:
    """Return the value of an entry in the form that brokers give it after parsing, because some brokers describe the
    parsed value, others the text that was set. None for a hidden or missing value.
    """
    return entry.value if entry.value is None else as_compared(entry.name, type_, entry.value)


def _is_own(was: config.ConfigEntry | None, resource: config.ConfigResource) -> bool:
    return was is not None and config.is_override(was, resource)


def _own_is(
    edit: plan_edits.ConfigEdit,
    now: config.ConfigEntry | None,
    as_wanted: Callable[[config.ConfigEntry, str], bool | None],
) -> bool | None:
    """Return whether the resource has an override with the wanted value; None if the broker hides the value.

    Args:
        as_wanted: a function from the entry and the override's value to whether it is the wanted one.
    """
    if now is None or not config.is_override(now, edit.resource):
        return False
    own = own_text(now, edit.resource)
    return None if own is None else as_wanted(now, own)


# -- values before and after -------------------------------------------------------------------------------------------


def _slots_beneath(edit: plan_edits.UnsetConfig, snapshot: Snapshot) -> Iterator[plan_edits.Slot]:
    """Yield the slots of other edits that may change the value which a resource inherits after its override is removed:
    slots of the cluster default, and for topics and groups also those of the broker that described them. Nothing for
    the cluster default, which inherits only from brokers' files.
    """
    resource, broker = edit.resource, snapshot.configs_from
    key = edit.key if resource.type == BROKER else broker_key_of(resource.type, edit.key)
    if key is None or resource.is_cluster_default:
        return
    for name in broker_synonyms(key):
        yield plan_edits.Slot(config.CLUSTER_DEFAULT, name)
        if resource.type != BROKER and broker is not None:
            yield plan_edits.Slot(config.broker_resource(broker), name)


# -- reversal ----------------------------------------------------------------------------------------------------------


def _reversal(edit: plan_edits.ConfigEdit, was: config.ConfigEntry | None, left: Was) -> Reversal:
    resource, key = edit.resource, edit.key
    if was is None or not config.is_override(was, resource):
        return Reversal((plan_edits.UnsetConfig(resource, key),), left)
    own = own_text(was, resource)
    if own is None:
        return Reversal((), left, "the former value is sensitive and nowhere kept", (key,))
    loss = ""
    if resource.type.entity.has_levels:
        if own not in config_rules.LOG_LEVELS:
            return Reversal((), left, f"the workers had different levels: {own}")
        loss = "whether the level was the logger's own is unknown: it is set"
    return Reversal((plan_edits.SetConfig(resource, key, own),), left, loss)


def _own_entry(edit: plan_edits.ConfigEdit, value: str | None, was: config.ConfigEntry | None) -> config.ConfigEntry:
    """Return the entry that the resource's description will have for the key after the edit. value: None for a
    secret.
    """
    source = config.own_source(edit.resource)
    if was is None:
        return config.ConfigEntry(edit.key, value, source, sensitive=value is None)
    shown = value if value is None else canonical(was.type, value)
    return config.ConfigEntry(edit.key, shown, source, was.read_only, was.sensitive, was.type)


# -- effects and risks -------------------------------------------------------------------------------------------------


def _kept_for_ever(edit: plan_edits.ConfigEdit, seen: Described) -> Iterator[str]:
    """Yield a line if an edit makes cleanup.policy empty, for a topic or for a default that topics inherit: records are
    then never deleted.
    """
    if topic_risks.topic_key(edit) != topic_risks.POLICY or isinstance(edit, plan_edits.UnsetConfig):
        return
    value = result_of(edit, config.entry_in(seen.snapshot.configs, edit.resource, edit.key), seen.inheritance)
    if value is not None and (text := topic_risks.keeps_all(value)):
        yield text


def _needs_restart(edit: plan_edits.SetConfig, judged: risk_rules.Judged) -> Iterator[str]:
    described = Inheritance(judged.before).described(edit.resource, edit.key)
    if edit.resource.type == BROKER and update_mode(BROKER, edit.key, described) is UpdateMode.RESTART:
        yield "brokers read it from their file, when they start; as a dynamic config most refuse it"


DEAD_LETTERS, _TAKES_THEM, _MADE_FOR_THEM = (
    f"errors.deadletterqueue.{key}" for key in ("topic.name", "group.enable", "auto.create.topics.enable")
)


def _dead_letters_needs(edit: plan_edits.SetConfig) -> risk_rules.RiskNeeds:
    topic = _dead_letters_topic(edit)
    return risk_rules.RiskNeeds(topics=frozenset({topic}), a_broker=True) if topic else risk_rules.NOTHING


def _dead_letters_topic(edit: plan_edits.SetConfig) -> str:
    """Return the dead-letter topic of a share group (KIP-1191) that an edit sets; ``""`` for other edits."""
    is_one = edit.resource.type == GROUP and edit.key == DEAD_LETTERS and isinstance(edit.value, str)
    return str(edit.value) if is_one else ""


def _dead_letters_lost(edit: plan_edits.SetConfig, judged: risk_rules.Judged) -> Iterator[str]:
    """Yield the reason why brokers will drop records that a share group can't process, if the edit sets a
    dead-letter topic to which brokers can't write. Brokers only log the loss (ShareGroupDLQStateManager).
    """
    topic = _dead_letters_topic(edit)
    broker = next((config.broker_resource(each.id) for each in judged.after.cluster.brokers), config.CLUSTER_DEFAULT)
    if not topic:
        return
    if topic in judged.after.topics and judged.then(config.topic_resource(topic), _TAKES_THEM) == "false":
        why = f"the topic takes none until {_TAKES_THEM}=true is set on it"
    elif topic not in judged.after.topics and judged.then(broker, _MADE_FOR_THEM) == "false":
        why = f"there is no such topic, and brokers make none ({_MADE_FOR_THEM}=false)"
    else:
        return
    yield f"records that can't be delivered are dropped, not written into {topic}: {why}"


# -- requests ----------------------------------------------------------------------------------------------------------


def _predict(snapshot: Snapshot, edits: Sequence[plan_edits.ConfigEdit]) -> Snapshot:
    by_resource = grouped((edit.resource, edit) for edit in edits)
    return replace(snapshot, configs=predict_configs(snapshot, by_resource))


# -- kafka-configs -----------------------------------------------------------------------------------------------------


def _commands(target: Target, lines: Sequence[DiffLine]) -> Iterator[kafka_tools.Command]:
    """Yield kafka-configs commands: one with the values that fit a command line, one that reads values from a file, and
    one for secrets.
    """
    assert isinstance(target, config.ConfigResource)
    if (service := BY_TYPE.get(target.type)) is not None and service.by_hand:
        cluster, _, own = target.name.partition("/")
        keys = ", ".join(line.key for line in lines)
        by_hand = service.by_hand.format(cluster=cluster, name=own)
        yield kafka_tools.Command((), note=f"no tool of Kafka sets {keys}: {by_hand}")
        return
    words = kafka_tools.entity_words(target.type.entity.kafka_type, target.name or None)
    beyond = [line.key for line in lines if not kafka_tools.can_name_key(line.key, added=line.verb != "unset")]
    removed = [line.key for line in lines if line.verb == "unset" and line.key not in beyond]
    given = [line for line in lines if line.verb != "unset" and line.key not in beyond]
    unknown = [line.key for line in given if line.new.value is None and not line.new.hidden]
    secret = [(line.key, "…") for line in given if line.new.hidden]
    values = [(line.key, str(line.new.value)) for line in given if line.new.value is not None]
    # groupby needs pairs with equal keys next to each other; the sort is stable, so the pairs keep their order.
    for in_file, pairs in groupby(sorted(values, key=_needs_file), key=_needs_file):
        if in_file:
            content = "".join(f"{kafka_tools.property_line(key, value)}\n" for key, value in pairs)
            yield kafka_tools.alter_configs(words, "--add-config-file", kafka_tools.STDIN)._replace(stdin=content)
        else:
            yield kafka_tools.alter_configs(
                words, "--add-config", ",".join(f"{key}={kafka_tools.bracketed(value)}" for key, value in pairs)
            )
    if secret:
        yield kafka_tools.alter_with_secrets(words, secret)
    if removed:
        yield kafka_tools.alter_configs(words, "--delete-config", ",".join(removed))
    if beyond:
        yield kafka_tools.Command(
            (), note=f"kafka-configs can't name {', '.join(map(repr, beyond))} of {' '.join(words)}"
        )
    if unknown:
        note = f"no command can say this while the list is not read: {', '.join(unknown)} of {' '.join(words)}"
        yield kafka_tools.Command((), note=note)


def _needs_file(pair: tuple[str, str]) -> bool:
    return kafka_tools.needs_file(pair[1])


# -- the kinds of edits ------------------------------------------------------------------------------------------------

CONFIGS = Batch(stage=Stage.CONFIGS, steps=config_steps, predict=_predict, commands=_commands)
BY_LEVEL = Batch(
    stage=Stage.CONFIGS,
    steps=config_steps,
    predict=_predict,
    commands=_commands,
    waits_for=features.FEATURES,
    why="brokers take it once the level of the feature is as planned",
    refused_before=True,
)
"""The batch of configs that depend on a feature whose level the same plan changes."""


class _ConfigKind(EditKind):
    state = config.ConfigEntry
    batch = CONFIGS
    risks: tuple[risk_rules.RiskRule, ...] = (
        risk_rules.RiskRule(risk_rules.ISR_ABOVE_REPLICATION, topic_risks.isr, topic_risks.isr_needs),
        risk_rules.RiskRule(risk_rules.UNCLEAN_ELECTION, topic_risks.unclean, topic_risks.unclean_needs),
        risk_rules.RiskRule(risk_rules.RETENTION_ZERO, topic_risks.retention_zero, topic_risks.retention_needs),
        risk_rules.RiskRule(risk_rules.RETENTION_TINY, topic_risks.retention_tiny, topic_risks.retention_needs),
        risk_rules.RiskRule(
            risk_rules.RETENTION_IN_SECONDS, topic_risks.retention_in_seconds, topic_risks.retention_needs
        ),
        risk_rules.RiskRule(risk_rules.RETENTION_ABOVE_DISK, no_room),
        risk_rules.RiskRule(
            risk_rules.MESSAGE_SIZE_LOWERED, record_risks.message_size, record_risks.message_size_needs
        ),
        risk_rules.RiskRule(risk_rules.KEYLESS_RECORDS, record_risks.keyless, record_risks.keyless_needs),
        risk_rules.RiskRule(risk_rules.TIMES_REFUSED, record_risks.short_times, record_risks.short_times_needs),
        risk_rules.RiskRule(
            risk_rules.SYSTEM_TOPIC,
            topic_risks.system_config,
            topic_risks.system_config_needs,
            lambda edit, _: edit.resource.name,
        ),
        risk_rules.RiskRule(risk_rules.MOVE_UNTHROTTLED, unthrottled, unthrottled_needs),
        risk_rules.RiskRule(risk_rules.SETTINGS_CONTRADICT, limit_risks.contradiction, limit_risks.contradiction_needs),
        risk_rules.RiskRule(risk_rules.NOTHING_CHECKED, turns_off_checks),
    )

    def kept(self, was: config.ConfigEntry) -> config.ConfigEntry:
        """Return the entry in the form that files store: without sensitive values and documentation. A value that
        refers to a config provider is not a secret.
        """
        if not was.sensitive or is_reference(was.value or ""):
            return replace(was, documentation=None)
        synonyms = tuple(each._replace(value=None) for each in was.synonyms)
        return replace(was, value=None, synonyms=synonyms, documentation=None)

    def current(self, edit: plan_edits.ConfigEdit, seen: Described) -> Was:
        configs = seen.snapshot.configs.get(edit.resource)
        return UNREAD if configs is None else entry_before(configs, edit.resource, edit.key)

    def moved(
        self, edit: plan_edits.ConfigEdit, was: config.ConfigEntry | None, now: config.ConfigEntry | None
    ) -> bool:
        """Return whether the described entry changed, apart from its documentation. A missing key equals a key that is
        not set. If the broker hides a value, only the sources are compared.
        """
        if was is None or now is None:
            return _is_own(was, edit.resource) != _is_own(now, edit.resource)
        # Brokers before 2.6 describe keys without a type: use the known type for both.
        hidden, type_ = was.hidden or now.hidden, was.type or now.type
        if was.source != now.source or hidden or was.value == now.value:
            return was.source != now.source
        return _parsed(was, type_) != _parsed(now, type_)

    def own_moved(
        self, edit: plan_edits.ConfigEdit, was: config.ConfigEntry | None, now: config.ConfigEntry | None
    ) -> bool:
        if was is None or now is None:
            return self.moved(edit, was, now)
        mine, theirs = _is_own(was, edit.resource), _is_own(now, edit.resource)
        if mine != theirs or not mine or was.hidden or now.hidden:
            return mine != theirs
        before, after = own_text(was, edit.resource), own_text(now, edit.resource)
        return as_it_counts(edit.key, before or "") != as_it_counts(edit.key, after or "")

    def before(
        self, edit: plan_edits.ConfigEdit, there: config.ConfigEntry | None, inheritance: Inheritance
    ) -> EffectiveValue:
        if there is None:  # an unlisted key inherits its value, or has none
            return inherited_value(inheritance.without_override(edit.resource, edit.key))
        name = there.synonyms[0].name if there.synonyms else there.name
        return EffectiveValue(there.value, there.source, name, there.hidden)

    def effects(self, edit: plan_edits.ConfigEdit, seen: Draft) -> tuple[str, ...]:
        inheriting = (
            topic_risks.inheriting(edit.resource, edit.key, seen.snapshot) if edit.resource.type == BROKER else ()
        )
        service = BY_TYPE.get(edit.resource.type)
        of_service = service.effects(edit, seen) if service is not None else ()
        return (*_kept_for_ever(edit, seen), *inheriting, *of_service)

    def with_secrets(self, edit: plan_edits.ConfigEdit, secrets: Mapping[str, Secret]) -> tuple[plan_edits.Edit, str]:
        return plan_edits.SetConfig(edit.resource, edit.key, secrets[edit.key]), ""

    def takes_away(self, edit: plan_edits.ConfigEdit) -> bool:
        """Return whether a former value is lost if the edit can't be reverted: False for a logger, whose level can
        always be set again, else True.
        """
        return not edit.resource.type.entity.has_levels


class _ListKind(_ConfigKind):
    def after(
        self,
        edit: plan_edits.AppendConfig | plan_edits.SubtractConfig,
        there: config.ConfigEntry | None,
        inheritance: Inheritance,
    ) -> EffectiveValue:
        known = own_text(there, edit.resource) is not None or inheritance.default(edit.resource, edit.key) is not None
        value = result_of(edit, there, inheritance) if known else None
        return EffectiveValue(value, config.own_source(edit.resource), edit.key, known=known)

    def note(
        self,
        edit: plan_edits.AppendConfig | plan_edits.SubtractConfig,
        there: config.ConfigEntry | None,
        old: EffectiveValue,
        inheritance: Inheritance,
    ) -> str:
        if there is None or config.is_override(there, edit.resource):
            return ""
        base = inheritance.default(edit.resource, edit.key)
        if old.source == DEFAULT_CONFIG or base is None or canonical(there.type, base) == old.value:
            return ""
        return f"starts from Kafka's default {base}, not from the inherited {old.value}"


class _SetConfigKind(_ConfigKind):
    edit = plan_edits.SetConfig
    verb = "set"
    risks = (
        *_ConfigKind.risks,
        risk_rules.RiskRule(risk_rules.NEEDS_RESTART, _needs_restart),
        risk_rules.RiskRule(risk_rules.CONNECTIONS_BELOW_USE, limit_risks.connections, limit_risks.connection_needs),
        risk_rules.RiskRule(risk_rules.OFFSETS_EXPIRE, limit_risks.expiry, limit_risks.expiry_needs),
        risk_rules.RiskRule(risk_rules.DEAD_LETTERS_LOST, _dead_letters_lost, _dead_letters_needs),
    )

    def judge(self, edit: plan_edits.SetConfig, draft: Draft) -> Verdict:
        return config_rules.judge_set(edit, draft)

    def wanted(self, edit: plan_edits.SetConfig, now: config.ConfigEntry | None) -> bool | None:
        value = edit.value

        def as_wanted(entry: config.ConfigEntry, own: str) -> bool | None:
            if isinstance(value, Secret):
                return None
            return same_value(entry.type, as_it_counts(edit.key, own), as_it_counts(edit.key, value))

        return _own_is(edit, now, as_wanted)

    def after(self, edit: plan_edits.SetConfig, _there: object, _inheritance: object) -> EffectiveValue:
        source = config.own_source(edit.resource)
        if isinstance(edit.value, Secret):
            return EffectiveValue(None, source, edit.key, hidden=True)
        return EffectiveValue(edit.value, source, edit.key)

    def reversal(self, edit: plan_edits.SetConfig, was: config.ConfigEntry | None, _overrides: object) -> Reversal:
        value = None if isinstance(edit.value, Secret) else edit.value
        return _reversal(edit, was, _own_entry(edit, value, was))


class _UnsetConfigKind(_ConfigKind):
    edit = plan_edits.UnsetConfig
    verb = "unset"

    def judge(self, edit: plan_edits.UnsetConfig, draft: Draft) -> Verdict:
        return config_rules.judge_unset(edit, draft)

    def wanted(self, edit: plan_edits.UnsetConfig, now: config.ConfigEntry | None) -> bool | None:
        # Brokers describe each logger with a level of its own, even if it inherits its parent's.
        return None if edit.resource.type.entity.has_levels else not _is_own(now, edit.resource)

    def after(self, edit: plan_edits.UnsetConfig, _there: object, inheritance: Inheritance) -> EffectiveValue:
        return inherited_value(inheritance.without_override(edit.resource, edit.key))

    def beneath(self, edit: plan_edits.UnsetConfig, draft: Draft) -> Inheritance:
        """Return the inherited values as they are after the draft's edits of the resources from which the edited
        resource inherits.
        """
        edits = grouped(
            (staged.edit.resource, staged.edit)
            for slot in _slots_beneath(edit, draft.snapshot)
            if (staged := draft.at(slot)) is not None and isinstance(staged.edit, plan_edits.ConfigEdit)
        )
        if not edits:
            return draft.inheritance
        return Inheritance(replace(draft.snapshot, configs=predict_configs(draft.snapshot, edits)))

    def reversal(self, edit: plan_edits.UnsetConfig, was: config.ConfigEntry | None, _overrides: object) -> Reversal:
        return _reversal(edit, was, UNREAD if edit.resource.type.entity.has_levels else None)


class _AppendConfigKind(_ListKind):
    edit = plan_edits.AppendConfig
    verb = "append"

    def judge(self, edit: plan_edits.AppendConfig, draft: Draft) -> Verdict:
        return config_rules.judge_append(edit, draft)

    def wanted(self, edit: plan_edits.AppendConfig, now: config.ConfigEntry | None) -> bool | None:
        return _own_is(edit, now, lambda _, own: set(parts_of(edit.value)) <= set(parts_of(own)))

    def reversal(self, edit: plan_edits.AppendConfig, was: config.ConfigEntry | None, _overrides: object) -> Reversal:
        own = own_text(was, edit.resource)
        # Without its own value, the list begins with a default, which may be unknown.
        return _reversal(edit, was, UNREAD if own is None else _own_entry(edit, appended(own, edit.value), was))


class _SubtractConfigKind(_ListKind):
    edit = plan_edits.SubtractConfig
    verb = "subtract"

    def judge(self, edit: plan_edits.SubtractConfig, draft: Draft) -> Verdict:
        return config_rules.judge_subtract(edit, draft)

    def wanted(self, edit: plan_edits.SubtractConfig, now: config.ConfigEntry | None) -> bool | None:
        return _own_is(edit, now, lambda _, own: set(parts_of(edit.value)).isdisjoint(parts_of(own)))

    def reversal(self, edit: plan_edits.SubtractConfig, was: config.ConfigEntry | None, _overrides: object) -> Reversal:
        own = own_text(was, edit.resource)
        return _reversal(edit, was, UNREAD if own is None else _own_entry(edit, subtracted(own, edit.value), was))


KINDS = (_SetConfigKind(), _UnsetConfigKind(), _AppendConfigKind(), _SubtractConfigKind())
