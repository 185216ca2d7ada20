"""Tests of SCRAM credentials (KIP-554)."""

from collections.abc import Iterator, Sequence

import pytest

from tests.contract.target import Target
from tests.contract.verbs import FINE, Error, error
from tests.support.kafka_messages import with_fields

SHA_256, SHA_512 = 1, 2
FOUND = ("NONE", "")
TWICE = ("DUPLICATE_RESOURCE", "A user credential cannot be altered twice in the same request")
NOT_THERE = ("RESOURCE_NOT_FOUND", "Attempt to delete a user credential that does not exist")
Upsertion = tuple[str, int, int]
Deletion = tuple[str, int]


def alter(target: Target, *upsertions: Upsertion, deletions: Sequence[Deletion] = ()) -> dict[str, Error]:
    """Set and delete SCRAM credentials; return user -> error. upsertions: (user, mechanism, iterations). deletions:
    (user, mechanism).
    """
    salted = [(*each, b"salt", b"x" * 32) for each in upsertions]
    asked = with_fields(deletions=deletions, upsertions=salted)
    answer = target.ask("alter_user_scram_credentials", 0, asked)
    return {each["user"]: error(each) for each in answer["results"]}


def describe(target: Target, *users: str) -> dict[str, tuple[Error, list[tuple[int, int]]]]:
    """Return user -> (error, list of (mechanism, iterations)). users: the users to describe; all users if none is
    given.
    """
    answer = target.ask("describe_user_scram_credentials", 0, with_fields(users=users or None))
    assert error(answer) == FOUND
    return {
        each["user"]: (error(each), [(info["mechanism"], info["iterations"]) for info in each["credential_infos"]])
        for each in answer["results"]
    }


@pytest.fixture(autouse=True)
def nothing_is_left(target: Target) -> Iterator[None]:
    """Delete all SCRAM credentials before each test, because other tests use the same clusters, and after it."""
    forget_all(target)
    yield
    forget_all(target)


def forget_all(target: Target) -> None:
    """Delete all SCRAM credentials of each cluster. A description right after a change may still have a deleted
    credential, so the error for a missing one is ignored.
    """
    for side in target.sides():
        for user, (_, credentials) in describe(side).items():
            for mechanism, _ in credentials:
                assert alter(side, deletions=[(user, mechanism)])[user] in (FINE, NOT_THERE)
    assert describe(target) == {}


def test_set_and_delete(target: Target, name: str) -> None:
    other = f"{name}-2"
    assert alter(target, (name, SHA_256, 4096), (other, SHA_512, 16384)) == {name: FINE, other: FINE}
    assert alter(target, (name, SHA_512, 8192)) == {name: FINE}
    everybody = {name: (FOUND, [(SHA_256, 4096), (SHA_512, 8192)]), other: (FOUND, [(SHA_512, 16384)])}
    assert describe(target) == everybody
    assert describe(target, name) == {name: everybody[name]}
    assert alter(target, (name, SHA_256, 5000)) == {name: FINE}
    assert describe(target, name) == {name: (FOUND, [(SHA_256, 5000), (SHA_512, 8192)])}
    assert alter(target, deletions=[(name, SHA_512)]) == {name: FINE}
    assert describe(target, name) == {name: (FOUND, [(SHA_256, 5000)])}
    assert alter(target) == {}


def test_who_can_not_be_described(target: Target, name: str) -> None:
    assert alter(target, (name, SHA_256, 4096)) == {name: FINE}
    missing = f"Attempt to describe a user credential that does not exist: {name}-no"
    assert describe(target, f"{name}-no") == {f"{name}-no": (("RESOURCE_NOT_FOUND", missing), [])}
    twice = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    assert describe(target, name, name) == {name: (("DUPLICATE_RESOURCE", twice), [])}
    nobody = "Attempt to describe a user credential that does not exist: "
    assert describe(target, "") == {"": (("RESOURCE_NOT_FOUND", nobody), [])}


@pytest.mark.parametrize(
    ("upsertion", "refused"),
    [
        (("u", SHA_256, 4095), ("UNACCEPTABLE_CREDENTIAL", "Too few iterations")),
        (("u", SHA_512, 4095), ("UNACCEPTABLE_CREDENTIAL", "Too few iterations")),
        (("u", SHA_256, 16385), ("UNACCEPTABLE_CREDENTIAL", "Too many iterations")),
        (("u", 0, 4096), ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")),
        (("u", 9, 4096), ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")),
        (("", SHA_256, 4096), ("UNACCEPTABLE_CREDENTIAL", "Username must not be empty")),
    ],
)
def test_a_credential_that_can_not_be(target: Target, name: str, upsertion: Upsertion, refused: Error) -> None:
    """An invalid credential is refused, and the other credentials of the request are set."""
    assert alter(target, (name, SHA_256, 4096), upsertion) == {name: FINE, upsertion[0]: refused}
    assert describe(target) == {name: (FOUND, [(SHA_256, 4096)])}


def test_what_can_not_be_deleted(target: Target, name: str) -> None:
    assert alter(target, (name, SHA_256, 4096)) == {name: FINE}
    assert alter(target, deletions=[(f"{name}-no", SHA_256)]) == {f"{name}-no": NOT_THERE}
    assert alter(target, deletions=[(name, SHA_512)]) == {name: NOT_THERE}
    unknown = ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")
    assert alter(target, deletions=[(name, 9)]) == {name: unknown}
    nobody = ("UNACCEPTABLE_CREDENTIAL", "Username must not be empty")
    assert alter(target, deletions=[("", SHA_256)]) == {"": nobody}
    assert describe(target) == {name: (FOUND, [(SHA_256, 4096)])}


def test_a_user_named_twice(target: Target, name: str) -> None:
    """All changes of a user who is in a request more than once are refused, even if they have two mechanisms."""
    assert alter(target, (name, SHA_256, 4096)) == {name: FINE}
    for request in (
        ([(name, SHA_256, 5000), (name, SHA_256, 6000)], []),
        ([(name, SHA_256, 5000)], [(name, SHA_256)]),
        ([], [(name, SHA_256), (name, SHA_256)]),
    ):
        upsertions, deletions = request
        assert alter(target, *upsertions, deletions=deletions) == {name: TWICE}
    assert describe(target) == {name: (FOUND, [(SHA_256, 4096)])}
    assert alter(target, (name, SHA_512, 5000), deletions=[(name, SHA_256)]) == {name: TWICE}
    assert describe(target) == {name: (FOUND, [(SHA_256, 4096)])}


def test_set_beside_the_deletion_of_the_last(target: Target, name: str) -> None:
    # Real brokers lose the credential or keep it, by the order in which they iterate over the users: one of these pairs
    # of names shows the loss.
    for attempt in range(30):
        one, other = f"{name}-{attempt}", f"{name}-{attempt}-2"
        assert alter(target, (one, SHA_256, 4096)) == {one: FINE}
        both = alter(target, (other, SHA_256, 4096), deletions=[(one, SHA_256)])
        assert both == {one: FINE, other: FINE}
        kept = {other: (FOUND, [(SHA_256, 4096)])}
        told = [describe(side, other) for side in target.sides()]
        assert told[-1] == kept
        lost = target.real is not None and told[0] != kept
        if lost:
            with target.differing("a credential is lost") as is_real:
                assert is_real or describe(target, other) == kept
        assert alter(target, deletions=[(other, SHA_256)]) == {other: FINE}
        if lost or target.real is None:
            return
    pytest.fail("no credential was lost: differences.py is out of date")


def test_names_that_are_no_paths(target: Target, name: str) -> None:
    user = f"{name} ü/,="
    assert alter(target, (user, SHA_256, 4096)) == {user: FINE}
    known = {user: (FOUND, [(SHA_256, 4096)])}
    assert describe(target, user) == describe(target) == known
    assert alter(target, deletions=[(user, SHA_256)]) == {user: FINE}
