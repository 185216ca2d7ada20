"""Tests of the small parsers for contexts: addresses, JAAS, references, lines of TOML, settings."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.settings import KubeNamespace, Proxy, Route, SshHost
from console.contexts.console_settings import ConsoleSettings, read_settings
from console.contexts.context import Surroundings, check_schemes, format_bootstrap, parse_bootstrap
from console.contexts.jaas import parse_jaas
from console.contexts.own_file import key_lines, line_of
from console.contexts.properties import References, open_to_others
from console.contexts.routes import address_rules, bootstrap_of, parse_via

HOSTS = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True) | st.ip_addresses(v=6).map(str)
PORTS = st.integers(1, 65535)


@given(st.lists(st.tuples(HOSTS, PORTS), min_size=1, max_size=5, unique=True))
def test_addresses_are_read_back(addresses: list[tuple[str, int]]) -> None:
    assert parse_bootstrap(format_bootstrap(tuple(addresses))) == tuple(addresses)


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("b1", (("b1", 9092),)),
        (" b1:1 , b2:2,", (("b1", 1), ("b2", 2))),
        ("[::1]", (("::1", 9092),)),
        ("[fe80::1%eth0]:9093", (("fe80::1%eth0", 9093),)),
        ("SASL_SSL://b1:9093", (("b1", 9093),)),
        ("b1:1,b1:1", (("b1", 1),)),
        ("bücher.example:9092", (("bücher.example", 9092),)),
    ],
)
def test_spellings_of_addresses(text: str, addresses: tuple[tuple[str, int], ...]) -> None:
    assert parse_bootstrap(text) == addresses


@pytest.mark.parametrize(
    ("text", "protocol", "words"),
    [
        ("SSL://b1:9093", "PLAINTEXT", "says TLS"),
        ("b0:9092,kafka+ssl://b1:9093", "SASL_PLAINTEXT", "'kafka\\+ssl://b1:9093' says TLS"),
        ("https://b1", "PLAINTEXT", "says TLS"),
        ("EXTERNAL_TLS://b1:9093", "PLAINTEXT", "nothing was sent"),
        ("SASL_PLAINTEXT://b1:9093", "PLAINTEXT", "clients log in"),
        ("sasl_ssl://b1:9093", "SSL", "clients log in"),
        ("PLAINTEXT://b1:9092", "SASL_SSL", "says no TLS"),
    ],
)
def test_a_scheme_that_contradicts_the_protocol(text: str, protocol: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_schemes(text, protocol)


@pytest.mark.parametrize(
    ("text", "protocol"),
    [
        ("ssl://b1:9093", "SASL_SSL"),
        ("kafka+ssl://b1", "SSL"),
        ("PLAINTEXT://b1,PLAINTEXT_HOST://b2", "PLAINTEXT"),
        ("INTERNAL://b1,kafka://b2", "PLAINTEXT"),
        ("sslgate:9092,[::1]:9092", "PLAINTEXT"),
    ],
)
def test_a_scheme_that_agrees_or_says_nothing(text: str, protocol: str) -> None:
    check_schemes(text, protocol)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "HOST:PORT"),
        (" , ", "HOST:PORT"),
        ("b1:", "port is a number"),
        ("b1:kafka", "port is a number"),
        ("b1:0", "from 1 to 65535"),
        ("b1:65536", "from 1 to 65535"),
        ("::1", r"\[::1\]:9092"),
        ("a b:1", "is not HOST:PORT"),
        ("b1\x1b[31m:1", "is not HOST:PORT"),
    ],
)
def test_what_is_no_address(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse_bootstrap(text)
    assert str(caught.value).isprintable()


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(ValueError, match="--command-config") as caught:
        parse_bootstrap("alice:open-sesame@b1:9092")
    assert "open-sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "host", "shown"),
    [
        ("ssh:bastion", SshHost("bastion"), "bastion"),
        ("ssh:ops@bastion", SshHost("bastion", user="ops"), "ops@bastion"),
        ("ssh://ops@bastion:2222/", SshHost("bastion", 2222, "ops"), "ops@bastion:2222"),
        ("ssh:[::1]:2222", SshHost("::1", 2222), "[::1]:2222"),
        ("ssh:[::1]", SshHost("::1"), "::1"),
    ],
)
def test_ways_by_ssh(text: str, host: SshHost, shown: str) -> None:
    assert parse_via(text) == host
    assert str(host) == shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bastion", "is not ssh:HOST"),
        ("ssh:", "is not ssh:HOST"),
        ("ssh:-oProxyCommand=id", "is not ssh:HOST"),  # an option of ssh
        ("ssh:-l@bastion", "is not ssh:HOST"),
        ("ssh:ops@-oProxyCommand=id", "is not ssh:HOST"),
        ("ssh:a b", "is not ssh:HOST"),
        ("ssh:a,b", "is not ssh:HOST"),
        ("ssh:ops:secret@bastion", "is not ssh:HOST"),
        ("ssh:bastion:0", "from 1 to 65535"),
        ("ssh:b\x1b[31m", "is not ssh:HOST"),
    ],
)
def test_what_is_no_way_by_ssh(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse_via(text)
    assert str(caught.value).isprintable()
    assert "secret" not in str(caught.value)


def test_ways_by_proxies_and_kubernetes() -> None:
    assert parse_via("socks5://proxy") == Proxy("socks5", "proxy", 1080)
    assert parse_via("socks5h://[::1]:9/") == Proxy("socks5", "::1", 9)
    assert parse_via("http://proxy:8080") == Proxy("http", "proxy", 8080)
    assert parse_via("kube:kafka") == KubeNamespace("kafka")
    assert parse_via("kube:kafka/orders") == KubeNamespace("kafka", service="orders")
    assert parse_via("kube:prod/kafka/") == KubeNamespace("kafka", "prod")
    assert parse_via("kube:admin@prod:1/kafka/orders") == KubeNamespace("kafka", "admin@prod:1", "orders")
    assert bootstrap_of(parse_via("kube:kafka/orders")) == "orders.kafka.svc:9092"
    assert bootstrap_of(parse_via("kube:kafka")) is None


@pytest.mark.parametrize(
    "text",
    [
        *("socks5://ops:secret@proxy", "socks4://proxy", "https://proxy", "http://proxy/secret", "socks5://proxy:0"),
        *("kube:", "kube:/", "kube:a/b/c/d", "kube:-n", "kube:a/--all", "kube:UPPER", "kube:a/b\x1b"),
    ],
)
def test_what_is_no_way(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is checked below
        parse_via(text)
    assert str(caught.value).isprintable()
    assert "secret" not in str(caught.value)


def test_the_first_rule_that_fits_an_address_counts() -> None:
    rules = address_rules(
        {
            "b1.internal:9092": "127.0.0.1:19092",
            "b?.internal": "127.0.0.1",
            "*.example.com:443": "[::1]:8443",
            "*.example.com": "edge:1",
        }
    )
    route = Route(addresses=rules)
    assert route.place_of(("B1.internal", 9092)) == ("127.0.0.1", 19092)
    assert route.place_of(("b1.internal", 9093)) == ("127.0.0.1", 9093)
    assert route.place_of(("b12.internal", 9092)) == ("b12.internal", 9092)
    assert route.place_of(("a.b.example.com", 443)) == ("::1", 8443)
    assert route.place_of(("a.example.com", 444)) == ("edge", 1)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"b1:9092": 9}, "is a text"),
        ({"b1:9092": "*:9"}, "is one address"),
        ({"b1:x": "a"}, "the port is a number"),
        ({"": "a"}, "is not HOST:PORT"),
        ({"a": "u:p@b"}, "is not HOST:PORT"),
    ],
)
def test_what_is_no_map_of_addresses(table: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        address_rules(table)


# JAAS


def test_a_login_module_has_options_with_references_also_as_one_of_several() -> None:
    (module,) = parse_jaas(
        "org.apache.kafka.common.security.scram.ScramLoginModule required\n"
        '  username="alice" // who\n  password="a \\"b\\"; \\\\ \\101\\t= c" /* the secret */ tokenauth=true;'
    )
    assert (module.short_name, module.flag) == ("ScramLoginModule", "required")
    assert module.options == {"username": "alice", "password": 'a "b"; \\ A\t= c', "tokenauth": "true"}
    assert "alice" not in repr(module)
    (module,) = parse_jaas("m.M required password=${env:P W} user=\"a-${file:/x}\" other='single';")
    assert module.options == {"password": "${env:P W}", "user": "a-${file:/x}", "other": "single"}
    assert [module.class_name for module in parse_jaas("a.A required; b.B optional x=y;")] == ["a.A", "b.B"]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_quoted_value_is_read_back(value: str) -> None:
    written = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    assert parse_jaas(f'm.M required password="{written}" b="1";')[0].options == {"password": value, "b": "1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("m.M", "control flag"),
        ("m.M always;", "required, requisite"),
        ('m.M required password="open-sesame"', "semicolon"),
        ('m.M required password="open-sesame;', "not closed"),
        ("m.M required password open-sesame;", "comes ="),
        ("m.M required password=;", "a value is missing"),
        ("m.M required {};", "unexpected"),
    ],
)
def test_broken_jaas_is_told_without_its_secrets(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse_jaas(text)
    assert "open-sesame" not in str(caught.value)


# References


@pytest.fixture
def references(tmp_path: Path) -> References:
    return References(Surroundings({"P": "pass", "EMPTY": ""}, tmp_path / "home", tmp_path), (tmp_path,))


def test_references_are_replaced_wherever_they_stand(references: References, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("öpen\nsesame\n", encoding="utf-8")
    secret.chmod(0o600)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "more.properties").write_text("a.key = its\\u0020value\n")
    assert references.expand("${env:P}") == "pass"
    assert references.expand("a${env:EMPTY}b-${env:P}") == "ab-pass"
    assert references.expand("${file:secret}") == "öpen\nsesame"
    assert references.expand(f"<${{file:{secret}}}>") == "<öpen\nsesame>"
    assert references.expand("${file:~/more.properties:a.key}") == "its value"
    assert references.expand("$P {env:P} {} ${P}- ${P") == "$P {env:P} {} ${P}- ${P"
    with pytest.raises(ValueError, match="has no end"):
        references.expand("${P}- ${env:P")
    assert references.exposed == [tmp_path / "home" / "more.properties"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("${env:NO_SUCH}", "no variable NO_SUCH"),
        ("${env:}", "no variable"),
        ("${file:no-such}", "no-such can't be read"),
        ("${file:}", "can't be read"),
        ("${file:present:key}", "has no key key"),
        ("${other:P}", r"nothing resolves \$\{other:…\}: the file declares no provider"),
        ("a${}${:}b", r"nothing resolves \$\{…:…\}"),
        (" ${P} ", r"a variable of the environment is \$\{env:NAME\}"),
    ],
)
def test_what_a_reference_misses_is_named(references: References, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "present").write_text("a=b")
    with pytest.raises(ValueError, match=words):
        references.expand(text)


def test_only_the_owner_may_read_secrets(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for mode, others in ((0o600, False), (0o400, False), (0o640, True), (0o604, True), (0o660, True)):
        file.chmod(mode)
        assert open_to_others(file) is others
    assert not open_to_others(tmp_path / "none")


# Lines of TOML


TOML = '''\
# a comment [contexts.x]
current_context = "a"

[contexts.a]
bootstrap.servers = ["b1:1",
  "b2:2"]
"sasl.jaas.config" = """
[contexts.b]
x = 1
"""
color = "red"

[contexts."b c".inner]
k = {x = 1, y = 2}
'''


def test_keys_are_found_on_their_lines() -> None:
    tomllib.loads(TOML)
    lines = key_lines(TOML)
    expected = {
        ("current_context",): 2,
        ("contexts", "a"): 4,
        ("contexts", "a", "bootstrap", "servers"): 5,
        ("contexts", "a", "sasl.jaas.config"): 7,
        ("contexts", "a", "color"): 11,
        ("contexts", "b c", "inner"): 13,
        ("contexts", "b c", "inner", "k", "y"): 14,
        # A missing key has the line of the table that would contain it.
        ("contexts", "a", "confirm"): 4,
        ("nothing",): None,
    }
    assert {path: line_of(path, lines) for path in expected} == expected
    assert ("contexts", "b") not in lines


# The table [settings]


def where(*keys: str) -> str:
    return "config.toml:" + ".".join(keys)


def test_settings_as_they_are_read() -> None:
    table = {
        "start_pane": "brokers",
        "theme": "light",
        "refresh": 10,
        "mouse": False,
        "editing_mode": "vi",
        "keys": {"refresh": "ctrl+r", "open": ["enter", "o"]},
    }
    settings, problems = read_settings(table, where)
    assert problems == ()
    assert (settings.start_pane, settings.theme, settings.refresh) == ("brokers", "light", 10.0)
    assert (settings.mouse, settings.editing_mode) == (False, "vi")
    assert settings.keys["open"].keys == ("enter", "o")
    assert settings.keys["refresh"].place == "config.toml:keys.refresh"


def test_what_is_wrong_is_told_and_the_rest_holds() -> None:
    table = {
        "theem": "dark",
        "theme": "pink",
        "refresh": 0.1,
        "mouse": "yes",
        "keys": {"open": [1]},
        "zzz": 1,
        "start_pane": "acls",
    }
    settings, problems = read_settings(table, where)
    assert settings == ConsoleSettings(start_pane="acls")
    text = "\n".join(problems)
    assert "config.toml:theem: there is no key 'theem'; did you mean theme?" in text
    assert "config.toml:theme: theme is one of dark, light, ansi, not 'pink'" in text
    assert "config.toml:refresh: refresh is 0, or from 1 to 3600 seconds" in text
    assert "config.toml:mouse: mouse is true or false" in text
    assert "config.toml:keys: the keys of 'open'" in text
    assert "config.toml:zzz: there is no key 'zzz'; there are start_pane, theme" in text
    assert len(problems) == 6
