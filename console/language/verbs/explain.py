"""``explain``: shows whether ACLs allow a principal an operation, and which ACLs decide."""

from __future__ import annotations

from console.language.acl_words import acl_resource, operations, operations_text, principal, resource_text
from console.language.arguments import named
from console.language.quoting import quote, quoted
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import whole_parts
from console.language.statements import QueryStatement, joined
from console.language.tokenizer import NOWHERE, Span
from console.language.verb import LOOK, StatementKind, Verb
from console.model.codes import AclOperation, AclResourceType
from console.model.parts import Part


class Explain(QueryStatement, frozen=True):
    """The query ``explain``."""

    principal: str
    operations: tuple[AclOperation, ...]
    resource_type: AclResourceType
    resource_name: str | None
    """The name of the resource; None for the cluster."""
    host: str = "*"
    """The client's address; ``*`` for any address."""
    operations_span: Span = NOWHERE
    host_span: Span = NOWHERE


def _parse(reader: Reader) -> Explain:
    """Read ``PRINCIPAL OPERATIONS on RESOURCE [from HOST]``, as the verbs ``allow`` and ``deny`` do, but with
    exactly one resource. Raises ParseError.
    """
    who = principal(reader, existing=True)
    what, word = operations(reader, existing=False)
    reader.need_keyword("on")
    resource_type, resource_name = acl_resource(reader)
    place, host = None, "*"
    if reader.take_keyword("from") is not None:
        place = reader.word
        host = named(reader, Expected(What.HOST, "an address"))
    return Explain(
        who,
        what,
        resource_type,
        resource_name,
        host,
        operations_span=reader.span(word),
        host_span=reader.span(place) if place is not None else NOWHERE,
    )


def _text(statement: Explain) -> str:
    # Quote the name *, as it means a single resource here.
    written = quoted if statement.resource_name == "*" else quote
    on = resource_text(statement.resource_type, statement.resource_name, written)
    host = f"from {quote(statement.host)}" if statement.host != "*" else ""
    return joined("explain", quote(statement.principal), operations_text(statement.operations), "on", on, host)


VERBS = (
    Verb(
        "explain",
        LOOK,
        ("explain PRINCIPAL OPERATION{,OPERATION} on RESOURCE [from HOST]",),
        "Whether ACLs allow or deny a principal an operation, and which ACL decides",
        "RESOURCE is cluster, or one of topic, group, transactional-id, delegation-token and user with a NAME. "
        "The resource need not exist. The operation ALL asks for every operation. HOST is the client's address. "
        "Without HOST kac also lists the addresses for which the answer differs.\n\n"
        "The answer follows the rules of Kafka's StandardAuthorizer:\n\n"
        "- A deny overrides every allow.\n"
        "- READ, WRITE, DELETE and ALTER imply DESCRIBE.\n"
        "- ALTER_CONFIGS implies DESCRIBE_CONFIGS.\n\n"
        "Brokers report neither the super users nor the value of `allow.everyone.if.no.acl.found`. If the answer "
        "depends on one of them, it names the condition.",
        (
            "explain User:alice READ on topic orders",
            "explain User:svc-8 READ,DESCRIBE on group svc-8.billing from 10.0.0.1",
            "explain User:ops ALL on cluster",
        ),
        parse=_parse,
        statements=(
            StatementKind(
                statement=Explain, text=_text, needs=lambda _statement, _selected: whole_parts(Part.ACLS, Part.VERSIONS)
            ),
        ),
    ),
)
