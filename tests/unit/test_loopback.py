"""Tests of loopback addresses: those that may get a secret in clear text, and those that only this host can reach."""

import ipaddress
import socket

from hypothesis import given
from hypothesis import strategies as st

from console.model.loopback import binds_loopback, is_loopback


@given(st.ip_addresses().map(str) | st.text(max_size=20) | st.from_regex(r"[0-9a-fx.:]{1,15}", fullmatch=True))
def test_a_secret_goes_to_nothing_but_a_whole_address_or_localhost(host: str) -> None:
    if is_loopback(host):
        assert host == "localhost" or ipaddress.ip_address(host).is_loopback
        assert binds_loopback(host)


@given(st.integers(0, 2**32 - 1))
def test_short_forms_listen_where_the_system_reads_them_and_get_no_secret(number: int) -> None:
    whole = ipaddress.ip_address(number)
    one, two = number >> 24, number & 0xFFFFFF
    for form in (str(number), hex(number), f"{one}.{two}"):
        assert ipaddress.ip_address(socket.inet_ntoa(socket.inet_aton(form))) == whole
        assert binds_loopback(form) == whole.is_loopback
        assert not is_loopback(form)


def test_names() -> None:
    assert [binds_loopback(each) for each in ("localhost", "LOCALHOST", "localhost.", "127.1")] == [True] * 4
    assert [binds_loopback(each) for each in ("localhost.evil", "127.1.evil", "10.1", "", "::", "a\0b", "\udcff")] == [
        False
    ] * 7
    assert [is_loopback(each) for each in ("127.0.0.1.evil", "127.0.0.999", "127.1", "localhost.")] == [False] * 4
