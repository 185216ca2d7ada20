"""Which quota counts: the same as the console's own answer, and what a broker's lookup implies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.history.entities import quota_key
from console.history.quotas.resolver import CLIENT_LEVELS, OWN_LEVELS, USER_LEVELS, effective, level_keys, scope
from console.model import effective_quota
from console.model.quota import QuotaEntity

KEY = "producer_byte_rate"
NAMES = st.sampled_from(["a", "b", "<default>", "a,client-id=b", "%2C", "ü +*"])
ENTITIES = st.fixed_dictionaries(
    {}, optional={"user": st.none() | NAMES, "client-id": st.none() | NAMES, "ip": st.just("127.0.0.1")}
).filter(bool)
WORLDS = st.lists(st.tuples(ENTITIES, st.sampled_from([KEY, "request_percentage"]), st.floats(1, 1e9)), max_size=12)


def spelled(world: list[tuple[dict[str, str | None], str, float]]) -> dict[str, dict[str, float]]:
    quotas: dict[str, dict[str, float]] = {}
    for parts, key, value in world:
        quotas.setdefault(quota_key(parts), {})[key] = value
    return quotas


@given(world=WORLDS, user=NAMES, client=NAMES)
def test_it_says_what_the_console_says(
    world: list[tuple[dict[str, str | None], str, float]], user: str, client: str
) -> None:
    model: dict[QuotaEntity, dict[str, float]] = {}
    for parts, key, value in world:
        model.setdefault(QuotaEntity.of(parts), {})[key] = value
    theirs = effective_quota.effective(model, user, client, KEY)
    ours = effective(spelled(world), user, client, KEY)
    assert (ours is None) == (theirs is None)
    if ours is None or theirs is None:
        return
    assert ours.value == theirs.value
    assert effective_quota.levels(user, client)[ours.level - 1] == theirs.entity
    shared = {(False, False): "client", (False, True): "user", (True, False): "client-id"}
    nobody_user, nobody_client = (part is None for part in scope(ours.level, user, client))
    assert shared[nobody_user, nobody_client] == theirs.shared


@given(world=WORLDS, user=NAMES)
def test_without_a_client_id_only_the_users_own_levels_hold(
    world: list[tuple[dict[str, str | None], str, float]], user: str
) -> None:
    users_alone = [(parts, key, value) for parts, key, value in world if parts.keys() == {"user"}]
    found = effective(spelled(world), user, "", KEY)
    assert found == effective(spelled(users_alone), user, "", KEY)
    assert found is None or found.level in USER_LEVELS


def test_every_level_is_an_entity_of_its_own() -> None:
    assert level_keys("u", "c") == (
        "user=u,client-id=c",
        "user=u,client-id=<default>",
        "user=u",
        "user=<default>,client-id=c",
        "user=<default>,client-id=<default>",
        "user=<default>",
        "client-id=c",
        "client-id=<default>",
    )
    assert [level for level, key in enumerate(level_keys("u", "c"), 1) if "<default>" not in key] == list(OWN_LEVELS)
    assert {scope(level, "u", "c") for level in CLIENT_LEVELS} == {(None, "c")}
    assert scope(None, "u", "c") == ("u", "c")
