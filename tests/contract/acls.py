"""Short forms of ACL requests: bindings and filters as tuples, errors as ``(name, message)``."""

from typing import Any, NamedTuple

from tests.contract.target import Target
from tests.contract.verbs import Error, error
from tests.support.kafka_messages import entity, with_fields

UNKNOWN, ANY_, MATCH, LITERAL, PREFIXED = range(5)
ANY_TYPE, TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, TOKEN, USER = range(1, 8)
ANY_PERMISSION, DENY, ALLOW = range(1, 4)
ANY_OPERATION, ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(1, 9)
CREATE_TOKENS, TWO_PHASE_COMMIT = 13, 15
FINE, FOUND = ("NONE", ""), ("NONE", "")


class Binding(NamedTuple):
    """An ACL, or a filter for ACLs: in a filter, None and ANY match every value of the field."""

    name: str | None
    principal: str | None = None
    kind: int = TOPIC
    pattern: int = LITERAL
    host: str | None = "*"
    operation: int = READ
    permission: int = ALLOW


class Filter(NamedTuple):
    name: str | None = None
    principal: str | None = None
    kind: int = ANY_TYPE
    pattern: int = ANY_
    host: str | None = None
    operation: int = ANY_OPERATION
    permission: int = ANY_PERMISSION


EVERYTHING = Filter()


def _row(each: Binding | Filter) -> tuple[Any, ...]:
    """Return the fields in the order in which the protocol sends them."""
    return each.kind, each.name, each.pattern, each.principal, each.host, each.operation, each.permission


def create(target: Target, *bindings: Binding, user: str = "admin") -> list[Error]:
    answer = target.ask("create_acls", 2, with_fields(creations=[*map(_row, bindings)]), user=user)
    return answer if answer == "no answer" else [error(each) for each in answer["results"]]


def describe_request(m: Any, wanted: Filter = EVERYTHING) -> Any:
    return entity(m.DescribeAclsRequest, _row(wanted))


def found(target: Target, wanted: Filter = EVERYTHING, user: str = "admin") -> tuple[Error, set[Binding]] | str:
    answer = target.ask("describe_acls", 2, lambda m: describe_request(m, wanted), user=user)
    if answer == "no answer":
        return "no answer"
    return error(answer), bindings_in(answer)


def bindings_in(answer: dict[str, Any]) -> set[Binding]:
    return {_binding(each | acl) for each in answer["resources"] for acl in each["acls"]}


def _binding(acl: dict[str, Any]) -> Binding:
    resource = acl["resource_name"], acl["principal"], acl["resource_type"], acl["pattern_type"]
    return Binding(*resource, acl["host"], acl["operation"], acl["permission_type"])


def delete(target: Target, *filters: Filter, user: str = "admin") -> list[tuple[Error, set[Binding]]] | str:
    answer = target.ask("delete_acls", 2, with_fields(filters=[*map(_row, filters)]), user=user)
    return answer if answer == "no answer" else [(error(each), _matching(each)) for each in answer["filter_results"]]


def _matching(result: dict[str, Any]) -> set[Binding]:
    assert {error(acl) for acl in result["matching_acls"]} <= {("NONE", None)}
    return set(map(_binding, result["matching_acls"]))
