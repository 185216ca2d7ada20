"""ACL requests in short: bindings and filters as tuples, errors as ``(name, message)``."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.contract.target import Target
from tests.contract.verbs import Error, error

UNKNOWN, ANY_, MATCH, LITERAL, PREFIXED = range(5)
ANY_TYPE, TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, TOKEN, USER = range(1, 8)
ANY_PERMISSION, DENY, ALLOW = range(1, 4)
ANY_OPERATION, ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(1, 9)
CREATE_TOKENS, TWO_PHASE_COMMIT = 13, 15
FINE, FOUND = ("NONE", ""), ("NONE", "")


class Binding(NamedTuple):
    """One ACL; what a filter leaves open is null or ANY."""

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


def create(target: Target, *bindings: Binding, user: str = "admin") -> list[Error]:
    answer = target.ask(
        "create_acls",
        2,
        lambda m: m.CreateAclsRequest(
            creations=tuple(
                m.AclCreation(
                    resource_type=each.kind,
                    resource_name=each.name,
                    resource_pattern_type=each.pattern,
                    principal=each.principal,
                    host=each.host,
                    operation=each.operation,
                    permission_type=each.permission,
                )
                for each in bindings
            )
        ),
        user=user,
    )
    return answer if answer == "no answer" else [error(each) for each in answer["results"]]


def describe_request(m: Any, wanted: Filter = EVERYTHING) -> Any:
    return m.DescribeAclsRequest(
        resource_type_filter=wanted.kind,
        resource_name_filter=wanted.name,
        pattern_type_filter=wanted.pattern,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission,
    )


def found(target: Target, wanted: Filter = EVERYTHING, user: str = "admin") -> tuple[Error, set[Binding]] | str:
    answer = target.ask("describe_acls", 2, lambda m: describe_request(m, wanted), user=user)
    if answer == "no answer":
        return "no answer"
    return error(answer), bindings_in(answer)


def bindings_in(answer: dict[str, Any]) -> set[Binding]:
    return {
        Binding(
            each["resource_name"],
            acl["principal"],
            each["resource_type"],
            each["pattern_type"],
            acl["host"],
            acl["operation"],
            acl["permission_type"],
        )
        for each in answer["resources"]
        for acl in each["acls"]
    }


def delete(target: Target, *filters: Filter, user: str = "admin") -> list[tuple[Error, set[Binding]]] | str:
    answer = target.ask(
        "delete_acls",
        2,
        lambda m: m.DeleteAclsRequest(
            filters=tuple(
                m.DeleteAclsFilter(
                    resource_type_filter=each.kind,
                    resource_name_filter=each.name,
                    pattern_type_filter=each.pattern,
                    principal_filter=each.principal,
                    host_filter=each.host,
                    operation=each.operation,
                    permission_type=each.permission,
                )
                for each in filters
            )
        ),
        user=user,
    )
    return answer if answer == "no answer" else [(error(each), _matching(each)) for each in answer["filter_results"]]


def _matching(result: dict[str, Any]) -> set[Binding]:
    assert {error(acl) for acl in result["matching_acls"]} <= {("NONE", None)}
    return {
        Binding(
            acl["resource_name"],
            acl["principal"],
            acl["resource_type"],
            acl["pattern_type"],
            acl["host"],
            acl["operation"],
            acl["permission_type"],
        )
        for acl in result["matching_acls"]
    }
