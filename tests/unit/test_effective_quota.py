"""Tests of effective quotas: for random quotas, kac's result equals a brute-force evaluation of the definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import quota

NAMES = st.sampled_from(["alice", "bob", "<default>", None])
CLIENTS = st.sampled_from(["app", "mirror", "", None])
ENTITIES = st.one_of(
    st.builds(lambda user: quota.QuotaEntity.of({quota.USER: user}), NAMES),
    st.builds(lambda client: quota.QuotaEntity.of({quota.CLIENT_ID: client}), CLIENTS),
    st.builds(lambda user, client: quota.QuotaEntity.of({quota.USER: user, quota.CLIENT_ID: client}), NAMES, CLIENTS),
    st.builds(lambda address: quota.QuotaEntity.of({quota.IP: address}), st.sampled_from(["10.0.0.1", None])),
)
VALUES = st.dictionaries(st.sampled_from(quota.CLIENT_KEYS), st.floats(1, 1000), min_size=1)
QUOTAS = st.dictionaries(ENTITIES, VALUES, max_size=12)


def rank(entity: quota.QuotaEntity) -> tuple[int, int]:
    """Return a sort key of a quota entity, strongest first: user before client, name before default, default before
    absent.
    """
    parts = entity.as_dict()

    def how(type_: str) -> int:
        return 2 if type_ not in parts else 1 if parts[type_] is None else 0

    return how(quota.USER), how(quota.CLIENT_ID)


def applies(entity: quota.QuotaEntity, user: str, client: str) -> bool:
    parts = entity.as_dict()
    if not client and quota.CLIENT_ID in parts:
        return False  # limits of client ids, and the default client's, do not apply to a client without an id
    return (
        quota.IP not in parts and parts.get(quota.USER) in (None, user) and parts.get(quota.CLIENT_ID) in (None, client)
    )


@given(QUOTAS, st.sampled_from(["alice", "bob", "eve", "<default>"]), st.sampled_from(["app", "other", ""]))
def test_the_strongest_level_that_has_the_key_wins(
    quotas: dict[quota.QuotaEntity, dict[str, float]], user: str, client: str
) -> None:
    for key in quota.CLIENT_KEYS:
        candidates = sorted(
            (entity for entity, values in quotas.items() if key in values and applies(entity, user, client)), key=rank
        )
        found = quota.effective(quotas, user, client, key)
        if not candidates:
            assert found is None
            continue
        assert found is not None
        assert found.level == 1 + 3 * rank(found.entity)[0] + rank(found.entity)[1]
        assert (found.key, found.entity, found.value) == (key, candidates[0], quotas[candidates[0]][key])
        assert [level.entity for level in found.beaten] == candidates[1:]
        assert [level.value for level in found.beaten] == [quotas[entity][key] for entity in candidates[1:]]


def test_an_entity_is_one_object_with_its_types_in_order() -> None:
    entity = quota.QuotaEntity.of({"client-id-prefix": "p", quota.CLIENT_ID: None, quota.USER: "alice"})
    assert tuple(entity) == (quota.USER, "alice", quota.CLIENT_ID, None, "client-id-prefix", "p")
    assert entity.types == (quota.USER, quota.CLIENT_ID, "client-id-prefix")
    assert [(part.type, part.name) for part in entity.parts] == list(entity.as_dict().items())
    assert entity.is_combined
    assert not quota.QuotaEntity.of({quota.USER: quota.CLIENT_ID}).is_combined
    assert not quota.QuotaEntity.of({quota.USER: quota.CLIENT_ID}).has(quota.CLIENT_ID)
    with pytest.raises(KeyError):
        entity.name_of("ip")


def test_the_eight_levels() -> None:
    every = quota.levels("u", "c")
    assert [quota.level_of(entity) for entity in every] == list(range(1, 9))
    assert [n for n, entity in enumerate(every, 1) if not entity.has(quota.CLIENT_ID)] == list(quota.USER_LEVELS)
    assert [n for n, entity in enumerate(every, 1) if None not in entity.as_dict().values()] == list(quota.OWN_LEVELS)


def test_each_key_is_found_on_its_own_level() -> None:
    alice, default = quota.QuotaEntity.of({quota.USER: "alice"}), quota.QuotaEntity.of({quota.USER: None})
    pair = quota.QuotaEntity.of({quota.USER: "alice", quota.CLIENT_ID: None})
    quotas = {
        default: {"producer_byte_rate": 10.0, "consumer_byte_rate": 20.0},
        alice: {"consumer_byte_rate": 50.0, "request_percentage": 200.0},
        pair: {"producer_byte_rate": 1.0},
    }
    produce = quota.effective(quotas, "alice", "checkout-7", "producer_byte_rate")
    consume = quota.effective(quotas, "alice", "checkout-7", "consumer_byte_rate")
    assert produce is not None
    assert consume is not None
    assert (produce.value, produce.entity, produce.shared) == (1.0, pair, "client")
    assert [(level.entity, level.value) for level in produce.beaten] == [(default, 10.0)]
    assert (consume.value, consume.entity, consume.shared) == (50.0, alice, "user")
    assert quota.effective(quotas, "alice", "checkout-7", "controller_mutation_rate") is None


def test_what_shares_a_limit() -> None:
    shares = {
        quota.QuotaEntity.of({quota.USER: None, quota.CLIENT_ID: None}): "client",
        quota.QuotaEntity.of({quota.USER: None}): "user",
        quota.QuotaEntity.of({quota.CLIENT_ID: "app"}): "client-id",
    }
    for entity, shared in shares.items():
        found = quota.effective({entity: {"request_percentage": 5.0}}, "u", "app", "request_percentage")
        assert found is not None
        assert found.shared == shared


def test_addresses() -> None:
    named, default = quota.QuotaEntity.of({quota.IP: "10.0.0.1"}), quota.QuotaEntity.of({quota.IP: None})
    quotas = {named: {"connection_creation_rate": 5.0}, default: {"connection_creation_rate": 20.0}}
    own, other = quota.effective_ip(quotas, "10.0.0.1"), quota.effective_ip(quotas, "10.0.0.2")
    assert own is not None
    assert other is not None
    assert (own.entity, own.value, [level.value for level in own.beaten], own.shared) == (named, 5.0, [20.0], "ip")
    assert (other.entity, other.beaten) == (default, ())
    assert quota.effective_ip({}, "10.0.0.1") is None
