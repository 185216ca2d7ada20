"""``unset``: removes the values set on an entity itself, so that inherited values apply."""

from __future__ import annotations

from collections.abc import Iterator

from console.language import statements
from console.language.arguments import entity, key, keys
from console.language.reader import Reader
from console.language.snapshot_parts import Needs, subject_or, to_change
from console.language.staging import Staging
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.quota import QuotaEntity
from console.plan.edits import Edit, UnsetConfig, UnsetQuota


class Unset(statements.EditStatement, frozen=True):
    """The statement ``unset``. `entity` is None if the statement names none, so that it is about the selected one."""

    entity: statements.Entity | None
    keys: tuple[statements.Key, ...]

    @property
    def leaves_out_entity(self) -> bool:
        """Whether the statement names no entity, so that it is about the selected one."""
        return self.entity is None


def _parse(reader: Reader) -> Unset:
    named = entity(reader)
    subject = named.subject if named else None
    return Unset(named, (key(reader, subject), *keys(reader, subject)))


def _needs(statement: Unset, selected: statements.Subject | None) -> Needs:
    return to_change(subject_or(statement.entity, selected), [each.name for each in statement.keys])


def _edits(statement: Unset, staging: Staging) -> Iterator[Edit]:
    from console.language.vocabulary import check_key

    subject, span = staging.subject(statement.entity, statement.span, statement.keys)
    if isinstance(subject, QuotaEntity):
        # Allow any quota that is set, even if kac does not know its key.
        for each in statement.keys:
            check_key(subject, each, staging.snapshot.quotas.get(subject, {}))
            yield UnsetQuota(subject, each.name)
        return
    staging.require(subject, span)
    for each in statement.keys:
        staging.entry(subject, each)
        yield UnsetConfig(subject, each.name)


_UNSET = StatementKind(
    statement=Unset,
    text=lambda statement: statements.joined(
        "unset", statements.entity_text(statement.entity), *map(statements.key_text, statement.keys)
    ),
    needs=_needs,
    edits=_edits,
    of_edits={
        UnsetConfig: lambda edit: Unset(statements.Entity(edit.resource), (statements.key_of_edit(edit),)),
        UnsetQuota: lambda edit: Unset(statements.Entity(edit.entity), (statements.Key(edit.key),)),
    },
)

VERBS = (
    Verb(
        "unset",
        CHANGE,
        ("unset [ENTITY] KEY {KEY}",),
        "Stage the removal of overrides or quotas, so that inherited values apply again",
        "",
        ("unset topic orders retention.ms", "unset user alice producer_byte_rate consumer_byte_rate"),
        takes_away=True,
        rank=2,
        stands_for={
            "unset topic NAME retention.ms": "config delete",
            "unset user NAME producer_byte_rate": "quota delete",
        },
        parse=_parse,
        statements=(_UNSET,),
    ),
)
