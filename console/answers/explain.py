"""The result of `explain`: the operations that ACLs allow a principal on one resource, and the ACL that decides on
each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console.answers.results import Column, Result, Row, Table, rows_of
from console.language.acl_words import require_checked
from console.language.errors import CommandError
from console.language.verbs.explain import Explain
from console.language.vocabulary import problems
from console.model import authorizer
from console.model.acl import CLUSTER_NAME, Acl, has_type
from console.model.codes import AclOperation, AclResourceType
from console.model.numbers import Data
from console.model.parts import Part
from console.model.snapshot import Snapshot, host_ranges
from console.present import names
from console.present.acls import ACLS, AclRow
from console.present.failures import failure_text
from console.present.names import plural
from console.present.text import clean

SUPER_USERS = "super.users"
_ADDRESSES = 20
"""Maximum number of addresses that are listed because their decision differs from that for all other addresses."""
_TOPIC, _CLUSTER = AclResourceType.parse("TOPIC"), AclResourceType.parse("CLUSTER")
_CREATE, _WRITE, _IDEMPOTENT = map(AclOperation.parse, ("CREATE", "WRITE", "IDEMPOTENT_WRITE"))


def explain(statement: Explain, snapshot: Snapshot) -> Table:
    """Return a table with the decision on each operation.

    Raises:
        CommandError: brokers never check an operation on the resource, the host is not an address, or the ACLs could
            not be read.
    """
    require_checked(statement.resource_type, statement.operations, statement.operations_span)
    host = _host(statement)
    if Part.ACLS not in snapshot.read_at:
        raise _unread(snapshot)
    type_, name = statement.resource_type, statement.resource_name or CLUSTER_NAME
    index = authorizer.AclIndex(_concerned(statement, name, snapshot), ranges=host_ranges(snapshot))
    decided: list[tuple[authorizer.Request, authorizer.Decision, str]] = []
    more = 0
    for operation in _asked(statement.operations, type_):
        request = authorizer.Request(statement.principal, host, operation, type_, name)
        decision = index.decide(request)
        others = [] if host is not None else [*_by_address(request, decision, index)]
        decided.append((request, decision, "elsewhere" if others else host or "anywhere"))
        decided += others[:_ADDRESSES]
        more += len(others[_ADDRESSES:])
    notes = [*_conditions(decided), *_hints(decided, index), *_untyped(statement.principal, name, type_, index)]
    if more:
        notes.append(f"{plural(more, 'more address', 'more addresses')} with another answer: name one with from HOST")
    places = {place for _, _, place in decided}
    where = f", from {places.pop()}" if len(places) == 1 else ""
    # If all rows have the same address, it moves from a column into the title.
    columns = (Column("Operation"), Column("" if where else "From"), Column("Answer"), Column("By"))
    return Table(
        "explanation",
        columns,
        tuple(_row(request, decision, "" if where else place) for request, decision, place in decided),
        f"{statement.principal} on {names.acl_resource(type_, name)}{where}",
        notes=tuple(notes),
        problems=problems(snapshot, Part.ACLS),
    )


def is_denied(results: Iterable[Result]) -> bool:
    """Return whether the ACLs deny one of the requested operations. Brokers' settings that they do not report may still
    allow it.
    """
    return any(row.get("allowed") is False for result in results for row in rows_of(result))


def _concerned(statement: Explain, name: str, snapshot: Snapshot) -> Iterable[Acl]:
    """Return the ACLs that may match the resource, and the ACLs on the cluster: to index only these is ten times as
    fast as to index all 100,000. For IDEMPOTENT_WRITE return all ACLs, because WRITE on any topic allows it.
    """
    if _IDEMPOTENT in _asked(statement.operations, statement.resource_type):
        return snapshot.acls
    return [
        acl
        for acl in snapshot.acls
        if name.startswith(on := acl.resource_name) or on in (authorizer.WILDCARD, CLUSTER_NAME)
    ]


def _host(statement: Explain) -> str | None:
    if statement.host == authorizer.WILDCARD:
        return None
    host = authorizer.address_as_compared(statement.host)
    if host is None:
        hint = "brokers compare the address that a connection comes from, never a name"
        raise CommandError(f"'{clean(statement.host, 80)}' is not an address", hint, statement.host_span)
    return host


def _unread(snapshot: Snapshot) -> CommandError:
    failed = next((each.failure for each in problems(snapshot, Part.ACLS)), None)
    if failed is None:
        return CommandError("the ACLs were not read", "")
    if failed.name == "SECURITY_DISABLED":
        return CommandError("the brokers have no authorizer: everyone may do everything", "")
    return CommandError(f"the ACLs could not be read: {failure_text(failed)}", "")


def _asked(operations: Iterable[AclOperation], type_: AclResourceType) -> Iterator[AclOperation]:
    """Yield each operation once; in place of ALL every operation of the type of resource."""
    each = [
        one
        for operation in operations
        for one in (authorizer.OPERATIONS_OF[type_] if operation == authorizer.ALL else (operation,))
    ]
    yield from dict.fromkeys(each)


def _by_address(
    request: authorizer.Request, elsewhere: authorizer.Decision, index: authorizer.AclIndex
) -> Iterator[tuple[authorizer.Request, authorizer.Decision, str]]:
    """Yield the request, the decision and the host for each address or range in ACLs for which the decision differs
    from `elsewhere`, the decision for all other addresses. The decision for a range is that for an address in it
    which no other ACL names.
    """
    found = index.of(request.principal, request.resource_type, request.resource_name)
    named = {acl.host for acl in found}
    for host in sorted(
        each for each in named if each != authorizer.WILDCARD and authorizer.is_compared(each, ranges=index.ranges)
    ):
        at = request._replace(host=authorizer.address_in(host, named))
        decision = index.decide(at)
        if bool(decision.allowed) != bool(elsewhere.allowed):
            yield at, decision, host


def _row(request: authorizer.Request, decision: authorizer.Decision, place: str) -> Row:
    answer = "allowed" if decision.allowed else "denied"
    data: dict[str, Data] = {
        "principal": request.principal,
        "host": request.host,
        "operation": request.operation.name,
        "resource_type": request.resource_type.name,
        "resource_name": request.resource_name,
        "allowed": bool(decision.allowed),
        "by": _acls_data(decision.by),
        "overridden": _acls_data(decision.overridden),
        "acls_on_resource": decision.has_acls,
        "unless": _unless(decision),
    }
    return Row((request.operation.name, place, answer, by_text(decision)), data)


def _acls_data(acls: Iterable[Acl]) -> list[Data]:
    return [dict(ACLS["resource"].data(AclRow(acl, "", False))) for acl in acls]


def _unless(decision: authorizer.Decision) -> list[Data]:
    """Return the unreported settings of brokers that could change a decision; empty if the request is allowed."""
    if decision.allowed:
        return []
    return [SUPER_USERS] if decision.allowed is False or decision.has_acls else [SUPER_USERS, authorizer.OPEN]


def by_text(decision: authorizer.Decision) -> str:
    """Return a text with the ACL that decides, and the number of further ACLs with the same effect; or that no ACL
    decides.
    """
    if decision.by:
        more = f" and {plural(len(decision.by) - 1, 'other ACL')}" if len(decision.by) > 1 else ""
        return names.acl(decision.by[0]) + more
    return "no ACL allows it" if decision.has_acls else "no ACL is on it"


def _conditions(decided: Iterable[tuple[authorizer.Request, authorizer.Decision, str]]) -> Iterator[str]:
    """Yield lines on the unreported settings that would change a decision, and on the allows that a deny overrides."""
    denied = [(request, decision) for request, decision, _ in decided if not decision.allowed]
    for _, decision in denied:
        if decision.overridden:
            more = len(decision.overridden) - 1
            also = f" and {plural(more, 'other')}" if more else ""
            yield f"The deny overrides {names.acl(decision.overridden[0])}{also}."
    if not denied:
        return
    who = denied[0][0].principal
    who = "the user" if who == authorizer.EVERYBODY else clean(who, 120)
    yield f"Denied unless {who} is a super user, which brokers do not say."
    if any(decision.allowed is None and not decision.has_acls for _, decision in denied):
        yield (
            f"No ACL is on the resource: allowed where the brokers have {authorizer.OPEN}=true, which they do not say."
        )


def _hints(
    decided: Iterable[tuple[authorizer.Request, authorizer.Decision, str]], index: authorizer.AclIndex
) -> Iterator[str]:
    """Yield lines on facts that are easily overlooked, such as ACLs that never match."""
    denied = {request.operation: request for request, decision, _ in decided if not decision.allowed}
    if not denied:
        return
    request = next(iter(denied.values()))
    if request.resource_type == _TOPIC and _CREATE in denied:
        at = request._replace(operation=_CREATE, resource_type=_CLUSTER, resource_name=CLUSTER_NAME)
        if index.allows(at):
            yield "CREATE on the cluster allows to create any topic, and is allowed."
    if request.resource_type == _CLUSTER and _IDEMPOTENT in denied:
        writes = index.allows_somewhere(request.principal, request.host, _WRITE, _TOPIC)
        found = "is allowed on one" if writes else "is allowed on none"
        yield f"From Kafka 3.0 on an idempotent producer needs only WRITE on some topic, which {found}."
    yield from _near_misses(request, index)


def _untyped(principal: str, name: str, type_: AclResourceType, index: authorizer.AclIndex) -> Iterator[str]:
    """Yield lines on principals without a type, which old brokers accepted: the requested one, and those in ACLs."""
    if not has_type(principal):
        who = clean(principal, 120)
        yield f"{who} has no type, and every client's principal has one: User:{who}?"
    there = {who for each in index.patterns_on(type_, name) for who in index.principals_at(each)}
    if wrong := sorted(who for who in there if not has_type(who)):
        who = clean(wrong[0], 120)
        yield f"An ACL on it is of {who}, which has no type: for all but super users brokers fail to decide. Revoke it."


def _near_misses(request: authorizer.Request, index: authorizer.AclIndex) -> Iterator[str]:
    """Yield lines on ACLs on the resource that are probably meant for this principal, but never match it."""
    type_, name = request.resource_type, request.resource_name
    there = [*index.patterns_on(type_, name)]
    wanted = request.principal.casefold()
    alike = {who for each in there for who in index.principals_at(each) if who.casefold() == wanted}
    if other := sorted(alike - {request.principal}):
        yield f"There are ACLs for {clean(other[0], 120)}: upper and lower case count in a principal."
    hosts = {acl.host for acl in index.of(request.principal, type_, name) if acl.host != authorizer.WILDCARD}
    if never := sorted(host for host in hosts if not authorizer.is_compared(host, ranges=index.ranges)):
        written = authorizer.address_as_compared(never[0])
        why = f"brokers write that address {written}" if written else "it is not an address as brokers write it"
        if authorizer.range_of(never[0]) is not None:
            why = "brokers before 4.4 know no ranges of addresses"
        yield f"An ACL from {clean(never[0], 80)} never matches: {why}."
