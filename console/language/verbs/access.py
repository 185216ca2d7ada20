"""``allow``, ``deny`` and ``revoke``: add and remove ACLs."""

from __future__ import annotations

from collections.abc import Iterator

from console.language import acl_words
from console.language.arguments import named
from console.language.panes import pane
from console.language.quoting import quote
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import Needs, whole_parts
from console.language.staging import Staging
from console.language.statements import INTERACTIVE, EditStatement, Subject, joined
from console.language.tokenizer import NOWHERE, Span
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.acl import CLUSTER_NAME, LITERAL, PREFIXED, Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.parts import Part
from console.plan.edits import AddAcl, Edit, RemoveAcl

_PARTS = {"TOPIC": Part.TOPICS, "GROUP": Part.GROUPS}


class Access(EditStatement, frozen=True):
    """A statement ``allow`` or ``deny``, or a ``revoke`` of either."""

    revoke: bool
    permission: Permission
    principal: str
    operations: tuple[AclOperation, ...]
    resource_type: AclResourceType
    resource_name: str | None
    """The name of the resource; None for the cluster."""
    pattern: PatternType = LITERAL
    host: str = "*"
    operations_span: Span = NOWHERE


def _parse(reader: Reader) -> Access:
    revoke = reader.verb == "revoke"
    newer = acl_words.newer_code(reader, Permission) if revoke else None
    word = reader.need_keyword("allow", "deny") if revoke and newer is None else reader.verb
    who = acl_words.principal(reader, existing=revoke)
    what, place = acl_words.operations(reader, existing=revoke)
    reader.need_keyword("on")
    resource_type, resource_name, pattern = acl_words.acl_target(reader, existing=revoke)
    host = "*"
    if reader.take_keyword("from") is not None:
        host = named(reader, Expected(What.HOST, "an address"), may_be_empty=revoke)
    return Access(
        revoke,
        Permission.parse(word) if newer is None else newer,
        who,
        what,
        resource_type,
        resource_name,
        pattern,
        host,
        operations_span=reader.span(place),
    )


def _text(statement: Access) -> str:
    permission = statement.permission.name.lower()
    verb = f"revoke {permission}" if statement.revoke else permission
    on = acl_words.resource_text(statement.resource_type, statement.resource_name)
    pattern = "" if statement.pattern == LITERAL else statement.pattern.name.lower()
    host = f"from {quote(statement.host)}" if statement.host != "*" else ""
    return joined(
        verb, quote(statement.principal), acl_words.operations_text(statement.operations), "on", on, pattern, host
    )


def _needs(statement: Access, _selected: Subject | None) -> Needs:
    """Return the parts to read: always the ACLs. A statement with a range of hosts also needs the brokers' versions;
    any other statement that takes rights away from a pattern of resources also needs the names of the existing
    resources.
    """
    from console.model.authorizer import range_of

    if range_of(statement.host) is not None:
        return whole_parts(Part.ACLS, Part.VERSIONS)
    # Both revoking an allow and adding a deny take rights away: read the entities, as the effects name who loses access
    # to which.
    takes = statement.revoke != (statement.permission.name == "DENY")
    part = _PARTS.get(statement.resource_type.name)
    if not takes or part is None or not (statement.pattern == PREFIXED or statement.resource_name == "*"):
        return whole_parts(Part.ACLS)
    return whole_parts(Part.ACLS, part)


def _edits(statement: Access, _staging: Staging) -> Iterator[Edit]:
    """Yield an edit for each operation.

    An ACL for an operation that brokers never check on the resource type can be revoked but not added: a broker may
    have stored one.
    """
    if not statement.revoke:
        acl_words.require_checked(statement.resource_type, statement.operations, statement.operations_span)
    edit = RemoveAcl if statement.revoke else AddAcl
    name = CLUSTER_NAME if statement.resource_name is None else statement.resource_name
    for operation in statement.operations:
        yield edit(
            Acl(
                statement.resource_type,
                name,
                statement.pattern,
                statement.principal,
                statement.host,
                operation,
                statement.permission,
            )
        )


def _of_acl(edit: AddAcl | RemoveAcl) -> Access:
    acl = edit.acl
    return Access(
        isinstance(edit, RemoveAcl),
        acl.permission,
        acl.principal,
        (acl.operation,),
        acl.resource_type,
        None if acl.resource_type == acl_words.ACL_CLUSTER else acl.resource_name,
        acl.pattern_type,
        acl.host,
    )


_ACCESS = StatementKind(
    statement=Access, text=_text, needs=_needs, edits=_edits, of_edits={AddAcl: _of_acl, RemoveAcl: _of_acl}
)

VERBS = (
    Verb(
        "allow",
        CHANGE,
        ("allow PRINCIPAL OPERATION{,OPERATION} on TARGET [from HOST]",),
        "Stage ACLs that allow",
        "TARGET is cluster, or one of topic, group, transactional-id, delegation-token and user with a NAME. "
        "`prefixed` after NAME means all names with that prefix. The NAME `*` means every name. HOST is the "
        "client's address. Brokers of Kafka 4.4 and newer also accept a range of addresses, such as 10.0.0.0/8.",
        (
            "allow User:alice READ,DESCRIBE on topic orders",
            "allow User:svc-8 READ on group svc-8. prefixed from 10.0.0.1",
            "allow User:ops ALTER_CONFIGS on cluster",
        ),
        stands_for={"allow User:NAME READ on topic TOPIC": "acl create"},
        parse=_parse,
        statements=(_ACCESS,),
    ),
    Verb(
        "deny",
        CHANGE,
        ("deny PRINCIPAL OPERATION{,OPERATION} on TARGET [from HOST]",),
        "Stage ACLs that deny, which override those that allow",
        "",
        ("deny User:bob WRITE on topic orders",),
        parse=_parse,
        statements=(_ACCESS,),
    ),
    Verb(
        "revoke",
        CHANGE,
        ("revoke (allow | deny) PRINCIPAL OPERATION{,OPERATION} on TARGET [from HOST]",),
        "Stage the removal of exactly these ACLs and no others",
        "",
        ("revoke allow User:alice READ on topic orders",),
        takes_away=True,
        stands_for={"revoke allow User:NAME READ on topic TOPIC": "acl delete"},
        parse=_parse,
        statements=(_ACCESS,),
    ),
    pane("acls", "The ACLs", "acls User:alice", where=INTERACTIVE),
)
