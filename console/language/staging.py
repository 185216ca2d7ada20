"""The context in which a statement is turned into edits, and the checks that verbs have in common: topics, partitions,
keys and values. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from console.language.errors import CommandError, did_you_mean
from console.language.quoting import quote_beside_equals, quoted
from console.language.statements import Assign, Entity, Key, Name, Subject
from console.language.tokenizer import Span
from console.model.codes import BROKER, CONNECTOR, ConfigType
from console.model.config import ConfigEntry, ConfigResource
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.present.names import resource_word
from console.present.text import clean
from console.sensitive import is_reference, seems_sensitive

if TYPE_CHECKING:
    from console.plan.plan import AnyPlan
    from console.plan.staged import Staged

# The grammar of verbs imports this module, so import the checks of names against a plan late, when a statement is
# staged.

Secrets = Mapping[str, Secret]
"""Key -> the secret of that key, for each secret that a statement needs."""
SAID = 5
"""Maximum number of edits of a statement if none of its edits would change anything. Staging reports these edits as
unchanged, so that the operator sees that the statement had no effect.
"""


class Staging(Struct, frozen=True):
    """The context in which a statement is turned into edits."""

    snapshot: Snapshot
    """The snapshot; it must contain the parts that the statement needs."""
    selected: Subject | None
    """The entity of a statement that names no entity; None if no entity is selected."""
    plan: AnyPlan
    """The edits that are already staged; a topic that they create counts as existing."""
    secrets: Secrets

    @property
    def staged(self) -> tuple[Staged, ...]:
        """The edits already staged."""
        from console.plan.plan import Plan

        return self.plan.staged if isinstance(self.plan, Plan) else self.plan.draft.staged

    def subject(self, entity: Entity | None, span: Span, keys: tuple[Key, ...]) -> tuple[Subject, Span]:
        """Return the entity of a statement, with its place in the script.

        Args:
            entity: the entity that the statement names; None for the selected one.
            span: the place of the statement, for an error without a better one.
            keys: the keys of the statement, which must differ.

        Raises:
            CommandError: the statement names no entity and none is selected, or it gives a key twice.
        """
        from console.language.vocabulary import subject_of

        found = subject_of(entity, self.selected, span, keys)
        no_key_twice(keys)
        return found

    def require(self, target: ConfigResource, span: Span) -> None:
        """Raise CommandError if the target is a topic or broker that does not exist. span: the place for the error."""
        from console.language.vocabulary import require

        require(self.snapshot, target, span, self.plan)

    def topic(self, name: Name) -> str:
        """Return the name of a topic. Raises CommandError if it does not exist."""
        from console.language.vocabulary import require_topic

        require_topic(self.snapshot, name.text or "", name.span, self.plan)
        return name.text or ""

    def partitions(self, topic: str) -> tuple[int, ...]:
        """Return the numbers of a topic's partitions; empty for a topic that the plan creates."""
        found = self.snapshot.topics.get(topic)
        return tuple(partition.number for partition in found.partitions) if found is not None else ()

    def require_partition(self, topic: str, number: int, span: Span) -> None:
        """Raise CommandError for a partition that a topic does not have."""
        there = self.partitions(topic)
        if number not in there:
            hint = f"it has {len(there)}, from 0 on" if there else ""
            raise CommandError(f"topic {clean(topic, 80)} has no partition {number}", hint, span)

    def entry(self, target: ConfigResource, key: Key) -> ConfigEntry | None:
        """Return the entry that describes a key: from the configs of the resource, else from those of another resource
        of its type.

        Returns:
            None if no keys of the type were read. Also None for a broker's key in quotes, since brokers accept unknown
            keys for their plug-ins, and for a throttle that is not set, which brokers do not describe.

        Raises:
            CommandError: the key is unknown.
        """
        from console.language.vocabulary import known_entry, known_keys
        from console.plan.predict_configs import UNDESCRIBED

        entry = known_entry(self.snapshot, target, key.name)
        if entry is not None:
            return entry
        # The keys of a connector's plugin, and the names of loggers, can't be listed by a request.
        legal = {} if target.type.entity.own_keys else known_keys(self.snapshot, target)
        if not legal or (target.type == BROKER and (key.quoted or key.name in UNDESCRIBED)):
            return None

        def hint() -> str:
            meant = did_you_mean(key.name, legal)
            if target.type != BROKER:
                return meant
            return f"{meant} Quote a plug-in's own key: {quoted(key.name)}".strip()

        what = "logger" if target.type.entity.has_levels else f"{resource_word(target.type)} config"
        raise CommandError(f"unknown {what} '{clean(key.name, 80)}'", hint, key.span)

    def value(self, target: ConfigResource, assign: Assign, entry: ConfigEntry | None) -> str | Secret:
        """Return the value for a config's key, in the key's own unit (ms, bytes, …), as text that a broker accepts.

        Args:
            entry: the entry of the key; None if its type is unknown.

        Returns:
            A `Secret` for a sensitive key, whose value is never in the script's text.

        Raises:
            CommandError: the value is invalid for the key, or a secret is in plain text.
        """
        from console.language.vocabulary import config_problems, is_sensitive
        from console.plan.values import parse_value
        from console.present.failures import failure_text

        key = assign.key.name
        refers = target.type == CONNECTOR and isinstance(assign.value, str) and is_reference(assign.value)
        if not refers and is_sensitive(target, key, entry):
            # Without a description, only the name shows whether a key is secret: refuse the value rather than write a
            # secret into a history.
            unread = config_problems(self.snapshot, target) if entry is None and not seems_sensitive(key) else ()
            if unread:
                message = f"whether {clean(key, 80)} is a secret is not known: {failure_text(unread[0].failure)}"
                raise CommandError(message, "", assign.key.span)
            if isinstance(assign.value, str):
                hint = f"write {quote_beside_equals(key)}=@FILE, or {quote_beside_equals(key)}=? to be asked, hidden"
                message = f"{clean(key, 80)} is sensitive: its value is never written out"
                raise CommandError(message, hint, assign.value_span)
            return self.secrets[key]
        text = assign.value if isinstance(assign.value, str) else self.secrets[key].reveal()
        if target.type == CONNECTOR and not isinstance(assign.value, str):
            return self.secrets[key]  # a key that no class defines may be secret under any name
        if target.type.entity.has_levels:
            return _level(text, assign)
        try:
            return parse_value(key, entry.type if entry is not None else ConfigType(0), text)
        except ValueError as error:
            raise CommandError(clean(str(error), 400), "", assign.value_span) from None


def no_key_twice(keys: Iterable[Key]) -> None:
    """Raise CommandError for a key that is given twice."""
    seen: set[str] = set()
    for key in keys:
        if key.name in seen:
            raise CommandError(f"'{clean(key.name, 80)}' is given twice", "give it once", key.span)
        seen.add(key.name)


def _level(text: str, assign: Assign) -> str:
    from console.plan.config_rules import LOG_LEVELS

    if text not in LOG_LEVELS:
        hint = did_you_mean(text.upper(), LOG_LEVELS) or f"levels: {', '.join(LOG_LEVELS)}"
        raise CommandError(f"unknown log level '{clean(text, 40)}'", hint, assign.value_span)
    return text
