"""Tests of the statements `token create`, `token renew` and `token expire`."""

from hypothesis import strategies as st

from console.language.statements import OneEdit
from console.plan.kinds.tokens import AT_ONCE, BROKERS_OWN, Expire, MakeToken, Renew
from tests.language.said import edits, one, refuses
from tests.language.strategies import NAMES, read_back

PERIODS = st.just(BROKERS_OWN) | st.integers(1, 10**12)
PRINCIPALS = st.from_regex(r"User:[a-z0-9=']{1,8}", fullmatch=True)


test_what_is_written_reads_back = read_back(
    st.one_of(
        st.builds(MakeToken, st.just("") | PRINCIPALS, st.lists(PRINCIPALS, max_size=3).map(tuple), PERIODS),
        st.builds(Renew, NAMES, PERIODS),
        st.builds(Expire, NAMES, PERIODS),
    ).map(OneEdit)
)


def test_token():
    assert one("token create") == OneEdit(MakeToken())
    made = MakeToken("User:a", ("User:b", "User:c"), 604_800_000)
    assert one("token create lifetime=7d owner=User:a renewers=User:b,User:c") == OneEdit(made)
    assert one("token renew abc") == OneEdit(Renew("abc", BROKERS_OWN))
    assert one("token expire abc") == OneEdit(Expire("abc", AT_ONCE))
    assert one("token expire abc in 1h") == OneEdit(Expire("abc", 3_600_000))


def test_what_is_staged():
    assert edits("token create owner=User:a") == (MakeToken("User:a"),)
    assert edits("token renew abc for 1d") == (Renew("abc", 86_400_000),)
    assert edits("token expire abd") == (Expire("abd", -1),)


test_what_is_not_understood = refuses(
    "token",
    "token make",
    "token renew",
    "token renew abc in 1d",
    "token expire abc for 1d",
    "token create lifetime=soon",
    "token create owner=User:a owner=User:b",
    "token create name=x",
)
