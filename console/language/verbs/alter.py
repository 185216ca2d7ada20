"""``set``, ``append`` and ``subtract``: change values of configs and quotas."""

from __future__ import annotations

from collections.abc import Iterator

from console.language import statements
from console.language.arguments import assign, duration, entity
from console.language.errors import CommandError
from console.language.quoting import quote_beside_equals
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import Needs, subject_or, to_change
from console.language.staging import Staging
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.codes import CONNECTOR
from console.model.config import ConfigEntry, ConfigResource
from console.model.quota import QuotaEntity
from console.plan.amounts import duration_text, exact_number
from console.plan.edits import AppendConfig, Edit, SetConfig, SetQuota, SubtractConfig
from console.present.text import clean


class Alter(statements.EditStatement, frozen=True):
    """A statement ``set``, ``append`` or ``subtract``. `entity` is None if the statement names none, so that it is
    about the selected one.
    """

    verb: str
    entity: statements.Entity | None
    assigns: tuple[statements.Assign, ...]
    for_ms: int | None = None
    """The duration of the change in milliseconds; None for a permanent change."""

    @property
    def leaves_out_entity(self) -> bool:
        """Whether the statement names no entity, so that it is about the selected one."""
        return self.entity is None

    @property
    def holds_ms(self) -> int | None:
        """The duration of the change in milliseconds; None for a permanent change."""
        return self.for_ms


def _parse(reader: Reader) -> Alter:
    named = entity(reader)
    subject = named.subject if named else None
    assigns = [assign(reader, subject)]
    # `for` ends the pairs, so a key of this name has to be quoted.
    while not reader.ended:
        if reader.take_keyword("for") is not None:
            return Alter(reader.verb, named, tuple(assigns), duration(reader))
        assigns.append(assign(reader, subject))
    reader.expect(Expected(What.ASSIGN, "KEY=VALUE", subject=subject, detail=reader.verb))
    reader.expect(Expected(What.WORDS, "for", ("for",)))
    return Alter(reader.verb, named, tuple(assigns))


def _text(statement: Alter) -> str:
    limit = f"for {duration_text(statement.for_ms)}" if statement.for_ms is not None else ""
    return statements.joined(
        statement.verb, statements.entity_text(statement.entity), *map(statements.assign_text, statement.assigns), limit
    )


def _needs(statement: Alter, selected: statements.Subject | None) -> Needs:
    return to_change(subject_or(statement.entity, selected), [each.key.name for each in statement.assigns])


def _secrets(statement: Alter) -> tuple[statements.SecretSlot, ...]:
    if statement.entity is not None and isinstance(statement.entity.subject, QuotaEntity):
        return ()  # quotas are no secrets, and a prompt for a value that is then refused would be useless
    about = f"{statements.subject_text(statement.entity.subject)} " if statement.entity else ""
    return statements.secrets_among(statement.assigns, about)


# -- edits -------------------------------------------------------------------------------------------------------------


def _edits(statement: Alter, staging: Staging) -> Iterator[Edit]:
    keys = tuple(assign.key for assign in statement.assigns)
    subject, span = staging.subject(statement.entity, statement.span, keys)
    if isinstance(subject, QuotaEntity):
        yield from _quotas(statement, subject)
        return
    staging.require(subject, span)
    for each in statement.assigns:
        entry = staging.entry(subject, each.key)
        if statement.verb == "set":
            yield SetConfig(subject, each.key.name, staging.value(subject, each, entry))
        else:
            edit = AppendConfig if statement.verb == "append" else SubtractConfig
            yield edit(subject, each.key.name, _items(statement.verb, subject, each, entry))


def _quotas(statement: Alter, entity: QuotaEntity) -> Iterator[Edit]:
    from console.language.vocabulary import check_key
    from console.plan.values import parse_quota

    if statement.verb != "set":
        raise CommandError(f"quotas have no lists to {statement.verb}", "set gives a quota a value", statement.span)
    for each in statement.assigns:
        check_key(entity, each.key)
        if not isinstance(each.value, str):
            hint = f"write {quote_beside_equals(each.key.name)}=VALUE"
            raise CommandError("a quota can't be a secret", hint, each.value_span)
        try:
            yield SetQuota(entity, each.key.name, parse_quota(each.key.name, each.value))
        except ValueError as error:
            raise CommandError(clean(str(error), 400), "", each.value_span) from None


def _items(verb: str, target: ConfigResource, assign: statements.Assign, entry: ConfigEntry | None) -> str:
    from console.plan.values import LIST, parse_value

    key = assign.key.name
    if entry is not None and entry.type.known and entry.type != LIST:
        type_ = entry.type.name.lower()
        raise CommandError(f"{verb} needs a list, and {key} is {type_}", "set gives it a value", assign.key.span)
    if target.type.entity.has_levels:
        raise CommandError(f"{verb} needs a list, not a log level", "set gives it a value", assign.key.span)
    if not isinstance(assign.value, str):
        raise CommandError(f"{verb} takes no secrets", f"write {quote_beside_equals(key)}=ITEM,ITEM", assign.value_span)
    return parse_value(key, LIST, assign.value)


def _of_config(verb: str, edit: SetConfig | AppendConfig | SubtractConfig) -> Alter:
    may_refer = edit.resource.type == CONNECTOR
    given = statements.assign_of(statements.key_of_edit(edit), edit.value, may_refer=may_refer)
    return Alter(verb, statements.Entity(edit.resource), (given,))


_ALTER = StatementKind(
    statement=Alter,
    text=_text,
    needs=_needs,
    edits=_edits,
    of_edits={
        SetConfig: lambda edit: _of_config("set", edit),
        AppendConfig: lambda edit: _of_config("append", edit),
        SubtractConfig: lambda edit: _of_config("subtract", edit),
        SetQuota: lambda edit: Alter(
            "set",
            statements.Entity(edit.entity),
            (statements.Assign(statements.Key(edit.key), exact_number(edit.value)),),
        ),
    },
    secrets=_secrets,
)

VERBS = (
    Verb(
        "set",
        CHANGE,
        ("set [ENTITY] KEY=VALUE {KEY=VALUE} [for DURATION]",),
        "Stage new values of configs or quotas",
        "You may use a unit if the key's name or type says what it counts. Examples: 10MB (10,000,000), 10MiB "
        "(10,485,760), 7d, 12h, 90s, 250ms, 10MB/s. `KEY=` sets the empty value.\n\n"
        "Write a sensitive value as `KEY=@FILE` or `KEY=?`, never as text. With `?` kac asks for the value, and "
        "does not show what you type.\n\n"
        "`for DURATION` limits how long the change applies. When the time is over, kac lists the change at every "
        "start. `kac due --apply` reverts the change.",
        (
            "set topic orders retention.ms=7d max.message.bytes=2MiB",
            "set broker <default> log.cleaner.threads=2",
            "set broker 2 listener.name.external.ssl.keystore.password=@/run/secrets/keystore",
            "set user alice client <default> producer_byte_rate=10MB/s",
            "set logger 1 kafka.controller=DEBUG",
            "set logger connect main org.apache.kafka.connect.runtime=DEBUG for 1h",
            "set topic orders retention.ms=1h for 2h",
        ),
        rank=1,
        stands_for={
            "set topic NAME retention.ms=7d": "topic alter, config alter, config create",
            "set broker ID log.cleaner.threads=2": "broker alter",
            "set user NAME producer_byte_rate=10MB/s": "quota alter, quota create",
        },
        parse=_parse,
        statements=(_ALTER,),
    ),
    Verb(
        "append",
        CHANGE,
        ("append [ENTITY] KEY=VALUE {KEY=VALUE} [for DURATION]",),
        "Stage new items of configs that are lists",
        "kac adds the items to the effective value, even if the value is inherited. An item that is already in "
        "the list changes nothing.",
        ("append topic orders cleanup.policy=delete",),
        parse=_parse,
        statements=(_ALTER,),
    ),
    Verb(
        "subtract",
        CHANGE,
        ("subtract [ENTITY] KEY=VALUE {KEY=VALUE} [for DURATION]",),
        "Stage the removal of items from configs that are lists",
        "If you remove every item, the value is an empty list, and not the inherited value. To inherit the value, "
        "use `unset`.",
        ("subtract topic orders cleanup.policy=delete",),
        takes_away=True,
        parse=_parse,
        statements=(_ALTER,),
    ),
)
