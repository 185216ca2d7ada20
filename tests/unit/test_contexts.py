"""Tests of contexts from kac's own file and from other tools' files, and of the choice of the context to use."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from console.admin.settings import ConnectionSettings, KubeNamespace, SaslSettings, Store, TlsSettings
from console.cli import main as cli
from console.contexts import Context, ContextError, Contexts, load, resolve
from console.contexts.context import COMMAND_LINE
from console.model.secret import Secret
from tests.support.patience import PATIENCE

Configure = Callable[..., Contexts]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Provide a function that writes files below a home folder, given as path -> text, and loads the contexts from
    them.
    """

    def write(files: dict[str, str], **environ: str) -> Contexts:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
        return load(environ, tmp_path, cwd=tmp_path / "cwd")

    return write


def only(contexts: Contexts) -> Context:
    assert contexts.broken == ()
    assert contexts.problems == ()
    (context,) = contexts.contexts
    return context


OWN = ".config/kac/config.toml"

TWO = """
current_context = "prod"

[contexts.prod]
bootstrap.servers = ["b1:9093", "b2:9093"]
security.protocol = "SASL_SSL"
"sasl.mechanism" = "SCRAM-SHA-256"
sasl.jaas.config = 'x.ScramLoginModule required username="alice" password="${env:PASS}";'
ssl.truststore.type = "PEM"
ssl.truststore.location = "ca.pem"
request.timeout.ms = 5000
color = "red"
read_only = true
confirm = true
cluster_id = "MkU3OEVBNTcwNTJENDM2Qk"
records = "never"

[contexts."a b"]
"bootstrap.servers" = "c1"
color = "#00ff7f"

[settings]
start_pane = "brokers"
"""


def test_our_own_file(configure: Configure, tmp_path: Path) -> None:
    contexts = configure({OWN: TWO}, PASS='o"pen')
    prod, other = contexts.contexts
    assert prod == Context(
        "prod",
        "~/.config/kac/config.toml",
        ConnectionSettings(
            (("b1", 9093), ("b2", 9093)),
            "SASL_SSL",
            SaslSettings("SCRAM-SHA-256", "alice", Secret('o"pen')),
            TlsSettings(trust=Store("PEM", tmp_path / ".config/kac/ca.pem")),
            request_timeout=5.0,
        ),
        color="red",
        read_only=True,
        confirm=True,
        cluster_id="MkU3OEVBNTcwNTJENDM2Qk",
        records="never",
    )
    assert other.records == "shown"
    assert (other.name, other.settings, other.color) == ("a b", ConnectionSettings((("c1", 9092),)), "#00ff7f")
    assert (other.read_only, other.confirm, other.cluster_id) == (False, False, None)
    assert contexts.current == "prod"
    assert contexts.settings.start_pane == "brokers"
    assert (contexts.broken, contexts.problems) == ((), ())
    assert resolve(contexts) is prod


def test_a_secret_that_is_missing_breaks_one_context_alone(configure: Configure) -> None:
    contexts = configure({OWN: TWO})
    assert [context.name for context in contexts.contexts] == ["a b"]
    (broken,) = contexts.broken
    assert broken.name == "prod"
    assert f"{OWN}:8: sasl.jaas.config: password: the environment has no variable PASS" in broken.problem
    assert resolve(contexts, name="a b").name == "a b"
    with pytest.raises(ContextError, match=r"the context prod can't be used: .*no variable PASS"):
        resolve(contexts)


def test_a_file_to_start_from(configure: Configure, tmp_path: Path) -> None:
    properties = "bootstrap.servers=p1:1\nclient.id=from-properties\nssl.truststore.location=t\n"
    contexts = configure(
        {
            OWN: '[contexts.a]\nproperties = "../prod.properties"\nbootstrap.servers = "b1:1"\n'
            'security.protocol = "SSL"\n',
            ".config/prod.properties": properties,
        }
    )
    settings = only(contexts).settings
    assert (settings.bootstrap, settings.client_id) == ((("b1", 1),), "from-properties")
    assert settings.tls == TlsSettings(trust=Store("JKS", tmp_path / ".config/kac/t"))
    assert contexts.current == "a"


def test_a_missing_file_to_start_from_and_an_unknown_java_key_are_told(configure: Configure) -> None:
    (broken,) = configure({OWN: '[contexts.a]\nproperties = "none.properties"\n'}).broken
    assert "none.properties: there is no such file" in broken.problem
    context = only(configure({OWN: '[contexts.a]\nbootstrap.servers = "b"\n\nsasl.mecanism = "PLAIN"\n'}))
    (warning,) = context.warnings
    assert f"{OWN}:4: there is no key 'sasl.mecanism'; did you mean sasl.mechanism?" in warning


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("readonly = true", ":3: there is no key 'readonly'; did you mean read_only?"),
        ("read-only = true", ":3: there is no key 'read-only'; did you mean read_only?"),
        ('read_only = "yes"', ":3: read_only is true or false, without quotes"),
        ("confirm = 1", ":3: confirm is true or false, without quotes"),
        ("cluster_id = 5", ":3: cluster_id is a text in quotes, not 5"),
        ('records = "hiden"', ":3: records is one of shown, hidden, never, in quotes, not 'hiden'"),
        ('mask = ["$.card", "email"]', ":3: mask: a path begins with $, as $.card or $.**.email, not 'email'"),
        ('mask = ["$.a..b"]', ":3: mask: '..b' is no step of a path"),
        ('mask = "$.card"', ":3: mask is a list of paths"),
        ("records = false", ":3: records is one of shown, hidden, never, in quotes, not False"),
        ('color = "pink"', ":3: color is one of red, green"),
        ("bootstrap.servers = [1]", ":3: bootstrap.servers is a text, a number or a list of texts"),
        ('security.protocol = "TLS"', ":3: security.protocol: it is one of PLAINTEXT"),
    ],
)
def test_a_guard_that_is_misspelt_is_not_a_guard_that_is_off(configure: Configure, line: str, words: str) -> None:
    first = "" if "bootstrap" in line else '"bootstrap.servers" = "b"'
    contexts = configure({OWN: f'[contexts.a]\n{first}\n{line}\n[contexts.b]\n"bootstrap.servers" = "b"\n'})
    (broken,) = contexts.broken
    assert f"{OWN}{words}" in broken.problem
    assert [context.name for context in contexts.contexts] == ["b"]


def test_what_else_is_wrong_in_our_file(configure: Configure) -> None:
    text = (
        'current_context = "nobody"\ncontext = 1\n[settings]\nrefresh = "fast"\n[contexts.a]\nbootstrap.servers="b"\n'
    )
    problems = "\n".join(configure({OWN: text}).problems)
    assert f"{OWN}:2: there is no key 'context'; did you mean contexts?" in problems
    assert f"{OWN}:4: refresh is a number of seconds, not 'fast'" in problems
    assert "current_context is 'nobody', and there is no such context" in problems
    contexts = configure({OWN: "[contexts.a]\nbootstrap.servers = b1\n"})
    (problem,) = contexts.problems
    assert f"{OWN}:2: not TOML: " in problem
    with pytest.raises(ContextError, match=r"there is no context 'a' \(.*config.toml:2: not TOML"):
        resolve(contexts, name="a")
    contexts = configure({OWN: "[settings]\ntheem = 1\n", ".kaf/config": "clusters: 5"})
    assert len(contexts.own_problems) == 1
    assert "did you mean theme?" in contexts.own_problems[0]
    assert len(contexts.problems) == 2


def test_another_file_by_the_environment(configure: Configure, tmp_path: Path) -> None:
    other = '[contexts.other]\nbootstrap.servers = "b"\n'
    assert only(configure({OWN: TWO, "x.toml": other}, KAC_CONFIG=str(tmp_path / "x.toml"))).name == "other"
    assert only(configure({"xdg/kac/config.toml": other}, XDG_CONFIG_HOME=str(tmp_path / "xdg"))).name == "other"
    (problem,) = configure({}, KAC_CONFIG="~/none.toml").problems
    assert "none.toml: there is no such file" in problem


# Files of other tools


KAFKACTL = """
contexts:
  default:
    brokers: [localhost:9092]
  prod:
    brokers:
      - b1:9093
      - b2:9093
    requestTimeout: 1m30s
    clientid: me
    tls:
      enabled: true
      ca: ca.pem
      cert: /client.pem
      certKey: /client.key
      certKeyPassphrase: k
    sasl:
      enabled: true
      mechanism: scram-sha512
      username: alice
      password: 0123
  lax:
    brokers: b
    tls: {enabled: true, insecure: true}
  off:
    brokers: b
    tls: {enabled: false, ca: x}
    sasl: {enabled: false, username: x}
  pod:
    brokers: kafka-0.kafka:9092
    kubernetes: {enabled: true, kubeContext: k8s, namespace: mq}
  ring:
    brokers: b
    sasl: {enabled: true, username: alice}
  azure:
    brokers: b
    sasl: {enabled: true, mechanism: oauth, tokenprovider: {plugin: azure}}
"""


def test_kafkactl(configure: Configure, tmp_path: Path) -> None:
    files = {
        ".config/kafkactl/config.yml": KAFKACTL,
        ".config/kafkactl/current-context.yml": "current-context: prod\n",
        ".config/kafkactl/ca.pem": "",
    }
    contexts = configure(files)
    found = {context.name: context for context in contexts.contexts}
    assert list(found) == ["default", "prod", "lax", "off", "pod"]
    assert found["pod"].settings.via == KubeNamespace("mq", "k8s")
    assert found["prod"].settings == ConnectionSettings(
        (("b1", 9093), ("b2", 9093)),
        "SASL_SSL",
        SaslSettings("SCRAM-SHA-512", "alice", Secret("0123")),
        TlsSettings(
            trust=Store("PEM", tmp_path / ".config/kafkactl/ca.pem"),
            key_store=Store("PEM", Path("/client.pem")),
            key_file=Store("PEM", Path("/client.key")),
            key_password=Secret("k"),
        ),
        "me",
        90.0,
    )
    assert found["prod"].origin == "kafkactl, ~/.config/kafkactl/config.yml"
    assert found["default"].settings == found["off"].settings.__class__((("localhost", 9092),))
    assert found["off"].settings.security_protocol == "PLAINTEXT"
    lax = found["lax"].settings.tls
    assert lax is not None
    assert (lax.verify_chain, lax.verify_host) == (False, False)
    assert "any server is accepted as the broker" in found["lax"].warnings[0]
    problems = {broken.name: broken.problem for broken in contexts.broken}
    assert list(problems) == ["ring", "azure"]
    assert "password is not in the file" in problems["ring"]
    assert "az account get-access-token --resource https://" in problems["azure"]
    assert contexts.current == "prod"
    assert resolve(contexts).name == "prod"


def test_where_kafkactl_keeps_its_files(configure: Configure, tmp_path: Path) -> None:
    text = "contexts: {Here: {brokers: b}, there: {brokers: b}}\ncurrent-context: there\n"
    assert configure({".kafkactl/config.yml": text}).current == "there"
    moved = configure(
        {"else/where.yml": text, "else/current-context.yml": "current-context: here"},
        KAFKA_CTL_CONFIG="~/else/where.yml",
    )
    assert moved.current == "Here"
    chosen = configure(
        {"w.yml": "current-context: there"}, KAFKA_CTL_CONFIG="~/else/where.yml", KAFKA_CTL_WRITABLE_CONFIG="~/w.yml"
    )
    assert chosen.current == "there"


def test_files_of_the_working_folder_are_not_read(configure: Configure) -> None:
    contexts = configure({"cwd/kafkactl.yml": "contexts: {a: {brokers: b}}", "cwd/.kafkactl.yml": "contexts: {a: {}}"})
    assert (contexts.contexts, contexts.broken, contexts.problems) == ((), (), ())


KCL = """
current_profile = "prod"
[profiles.prod]
seed_brokers = ["b1:9093"]
dial_timeout = "2s"
[profiles.prod.tls]
ca_cert_path = "/ca.pem"
[profiles.prod.sasl]
method = "scram_sha_256"
user = "alice"
pass = "open-sesame"
[profiles.local]
[profiles.msk.sasl]
method = "aws_msk_iam"
"""


def test_kcl(configure: Configure) -> None:
    contexts = configure({".config/kcl/config.toml": KCL})
    prod, local, msk = contexts.contexts
    assert prod.settings == ConnectionSettings(
        (("b1", 9093),),
        "SASL_SSL",
        SaslSettings("SCRAM-SHA-256", "alice", Secret("open-sesame")),
        TlsSettings(trust=Store("PEM", Path("/ca.pem"))),
        connect_timeout=2.0,
    )
    assert (local.name, local.settings) == ("local", ConnectionSettings((("localhost", 9092),)))
    assert msk.settings.sasl == SaslSettings("AWS_MSK_IAM", options={"aws": "iam"})
    assert not contexts.broken
    assert contexts.current == "prod"


def test_kcl_without_profiles_and_with_its_environment(configure: Configure) -> None:
    flat = configure({".config/kcl/config.toml": 'seed_brokers = ["b"]\n[tls]\n'})
    assert (only(flat).name, only(flat).settings.security_protocol) == ("kcl", "SSL")
    assert flat.current == "kcl"
    changed = configure(
        {".config/kcl/config.toml": KCL}, KCL_SEED_BROKERS="x:1,y:2", KCL_SASL_PASS="other", KCL_TLS_INSECURE="anything"
    )
    prod = resolve(changed, name="prod").settings
    assert prod.bootstrap == (("x", 1), ("y", 2))
    assert prod.sasl == SaslSettings("SCRAM-SHA-256", "alice", Secret("other"))
    assert prod.tls == TlsSettings(trust=Store("PEM", Path("/ca.pem")), verify_host=False, verify_chain=False)
    assert resolve(changed, name="local").settings.bootstrap == (("localhost", 9092),)
    alone = configure({}, KCL_SEED_BROKERS="x:1", KCL_NO_CONFIG_FILE="1", KCL_USE_TLS="")
    assert only(alone).settings.security_protocol == "SSL"
    assert only(alone).origin == "kcl, environment"


KAF = """
current-cluster: oauth
clusters:
- name: local
  brokers: [localhost:9092]
  SASL: null
  TLS: null
  security-protocol: ""
- name: clear
  brokers: [b:1]
  SASL: {mechanism: SCRAM-SHA-512, username: alice, password: p}
- name: scram
  brokers: [b:1]
  SASL: {mechanism: SCRAM-SHA-512, username: alice, password: p}
  TLS: {cafile: /ca.pem}
  security-protocol: SASL_SSL
- name: oauth
  brokers: [b:1]
  SASL: {mechanism: OAUTHBEARER, clientID: kac, clientSecret: s, tokenURL: "https://x/t", scopes: [a, b]}
  security-protocol: SASL_SSL
- name: token
  brokers: [b:1]
  SASL: {mechanism: OAUTHBEARER, token: abc}
  security-protocol: SASL_SSL
- name: msk
  brokers: [b:1]
  SASL: {mechanism: AWS_MSK_IAM}
  security-protocol: SASL_SSL
- name: half
  brokers: [b:1]
  TLS: {clientfile: /c}
- just a text
"""


def test_kaf(configure: Configure) -> None:
    contexts = configure({".kaf/config": KAF})
    found = {context.name: context.settings for context in contexts.contexts}
    b1 = (("b", 1),)
    assert found == {
        "local": ConnectionSettings((("localhost", 9092),)),
        # Without security-protocol kaf takes PLAIN, whatever the mechanism says.
        "clear": ConnectionSettings(b1, "SASL_PLAINTEXT", SaslSettings("PLAIN", "alice", Secret("p"))),
        "scram": ConnectionSettings(
            b1,
            "SASL_SSL",
            SaslSettings("SCRAM-SHA-512", "alice", Secret("p")),
            TlsSettings(trust=Store("PEM", Path("/ca.pem"))),
        ),
        "oauth": ConnectionSettings(
            b1,
            "SASL_SSL",
            SaslSettings("OAUTHBEARER", "kac", Secret("s"), {"token.endpoint.url": "https://x/t", "scope": "a b"}),
            TlsSettings(),
        ),
        "token": ConnectionSettings(b1, "SASL_SSL", SaslSettings("OAUTHBEARER", password=Secret("abc")), TlsSettings()),
        "msk": ConnectionSettings(b1, "SASL_SSL", SaslSettings("AWS_MSK_IAM", options={"aws": "iam"}), TlsSettings()),
    }
    problems = {broken.name: broken.problem for broken in contexts.broken}
    assert list(problems) == ["half", "kaf-7"]
    assert "clusters[6].TLS: clientfile is given without clientkeyfile" in problems["half"]
    assert contexts.current == "oauth"


RPK = """
version: 6
current_profile: prod
profiles:
  - name: prod
    kafka_api:
      brokers: [b1, "b2:9093"]
      tls: {}
      sasl: {user: alice, password: p}
  - name: old
    kafka_api:
      brokers: b
      tls: {truststore_file: /ca.pem, cert_file: /c, key_file: /k}
      sasl: {user: alice, password: p, type: SCRAM-SHA-512}
  - name: empty
  - name: cloud
    kafka_api: {brokers: [b], sasl: {mechanism: CLOUD-OIDC}}
  - name: prod
"""


def test_rpk(configure: Configure) -> None:
    contexts = configure({".config/rpk/rpk.yaml": RPK})
    found = {context.name: context.settings for context in contexts.contexts}
    assert found == {
        "prod": ConnectionSettings(
            (("b1", 9092), ("b2", 9093)),
            "SASL_SSL",
            SaslSettings("SCRAM-SHA-256", "alice", Secret("p")),
            TlsSettings(),
        ),
        "old": ConnectionSettings(
            (("b", 9092),),
            "SASL_SSL",
            SaslSettings("SCRAM-SHA-512", "alice", Secret("p")),
            TlsSettings(
                trust=Store("PEM", Path("/ca.pem")),
                key_store=Store("PEM", Path("/c")),
                key_file=Store("PEM", Path("/k")),
            ),
        ),
        "empty": ConnectionSettings((("127.0.0.1", 9092),)),
        "prod-4": ConnectionSettings((("127.0.0.1", 9092),)),
    }
    assert [broken.name for broken in contexts.broken] == ["cloud"]
    assert contexts.current == "prod"


def test_files_with_passwords_that_others_may_read(configure: Configure, tmp_path: Path) -> None:
    contexts = configure({".kaf/config": KAF})
    (tmp_path / ".kaf/config").chmod(0o644)
    warned = {context.name for context in contexts.contexts if any("chmod 600" in text for text in context.warnings)}
    assert warned == {"clear", "scram", "oauth", "token"}
    assert not any("\n" in text for context in contexts.contexts for text in context.warnings)
    file = tmp_path / OWN
    inline = TWO.replace("${env:PASS}", "open sesame")
    for text, mode, warned in ((inline, 0o640, True), (inline, 0o600, False), (TWO, 0o644, False)):
        contexts = configure({OWN: text}, PASS="p")
        file.chmod(mode)
        warnings = resolve(contexts, name="prod").warnings
        assert warnings == ((f"{file} holds secrets and others may read it; chmod 600 {file}",) if warned else ())
        assert resolve(contexts, name="a b").warnings == ()


def test_names_from_files_are_harmless_on_a_screen(configure: Configure) -> None:
    odd = 'contexts: {"a\\e[31m\\u202Eb": {brokers: "x\\e[0m y:1"}, "c\\n": {brokers: b}}'
    contexts = configure({".config/kafkactl/config.yml": odd})
    names = [*(context.name for context in contexts.contexts), *(broken.name for broken in contexts.broken)]
    assert names == ["c\\n", "a\\x1b[31m\\u202eb"]
    assert contexts.broken[0].problem.isprintable()


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        (".config/kafkactl/config.yml", "contexts:\n  a: [\n", "config.yml:3: not YAML: "),
        (".config/kafkactl/config.yml", "contexts: 5", "config.yml: contexts is not a table (kafkactl)"),
        (".config/kafkactl/config.yml", "- a", "config.yml: a mapping of keys to values is expected at the top"),
        (".config/kcl/config.toml", "a = ", "config.toml: not TOML: "),
        (".config/kcl/config.toml", "profiles = 3", "config.toml: profiles is not a table (kcl)"),
        (".kaf/config", "clusters: {a: b}", "config: clusters is not a list (kaf)"),
        (".config/rpk/rpk.yaml", "profiles:\n\t- a", "rpk.yaml:2: not YAML: "),
        (".config/rpk/rpk.yaml", "a: \x00", "rpk.yaml"),
    ],
)
def test_a_broken_file_is_one_line_and_the_rest_goes_on(configure: Configure, file: str, text: str, words: str) -> None:
    contexts = configure({OWN: '[contexts.mine]\nbootstrap.servers = "b"\n', file: text})
    assert [context.name for context in contexts.contexts] == ["mine"]
    (problem,) = contexts.problems
    assert words in problem
    assert "\n" not in problem


# The choice of a context


def test_names_that_several_have(configure: Configure) -> None:
    files = {
        OWN: '[contexts.prod]\nbootstrap.servers = "own"\n',
        ".config/kafkactl/config.yml": "contexts: {prod: {brokers: theirs}, test: {brokers: b}, one: {brokers: b}}",
        ".config/kcl/config.toml": '[profiles.test]\nseed_brokers = ["kcl"]\n',
    }
    contexts = configure(files)
    assert [context.name for context in contexts.contexts] == [
        "prod",
        "kafkactl/prod",
        "kafkactl/test",
        "one",
        "kcl/test",
    ]
    assert resolve(contexts, name="prod").settings.bootstrap == (("own", 9092),)
    assert resolve(contexts, name="kafkactl/prod").settings.bootstrap == (("theirs", 9092),)
    assert resolve(contexts, name="kafkactl/one") is resolve(contexts, name="one")
    with pytest.raises(ContextError, match=r"there is no context 'test'; did you mean kcl/test\?"):
        resolve(contexts, name="test")
    assert contexts.current == "prod"


def test_the_current_one_of_several_tools_is_not_guessed(configure: Configure) -> None:
    both = {".config/kcl/config.toml": KCL, ".config/rpk/rpk.yaml": RPK}
    contexts = configure(both)
    assert contexts.current is None
    with pytest.raises(ContextError, match=r"which cluster\? give --context with one of kcl/prod, local, msk, rpk/"):
        resolve(contexts)


def test_nothing_is_configured(configure: Configure) -> None:
    with pytest.raises(ContextError, match=r"which cluster\? give -b HOST:PORT"):
        resolve(configure({}))
    with pytest.raises(ContextError, match=r"there is no context 'prod'$"):
        resolve(configure({}), name="prod")


def test_flags_and_the_environment(configure: Configure, tmp_path: Path) -> None:
    properties = tmp_path / "c.properties"
    properties.write_text("client.id=from-file\n")
    configured = {OWN: TWO}
    contexts = configure(configured, PASS="p", KAC_CONTEXT="a b", KAC_BOOTSTRAP="env:1")
    plain = resolve(contexts, bootstrap="[::1]:5,b2")
    assert (plain.name, plain.tool) == ("[::1]:5", COMMAND_LINE)
    assert plain.settings == ConnectionSettings((("::1", 5), ("b2", 9092)))
    assert resolve(contexts, name="prod").settings.bootstrap == (("b1", 9093), ("b2", 9093))
    over = resolve(contexts, name="prod", bootstrap="x:1")
    assert (over.name, over.read_only, over.settings.bootstrap) == ("prod", True, (("x", 1),))
    assert over.settings.sasl == SaslSettings("SCRAM-SHA-256", "alice", Secret("p"))
    given = resolve(contexts, command_config=properties, bootstrap="y:2")
    assert given.settings == ConnectionSettings((("y", 2),), client_id="from-file")
    with pytest.raises(ContextError, match=r"bootstrap.servers is missing; add it, or give -b"):
        resolve(contexts, command_config=properties)
    with pytest.raises(ContextError, match="give one of them"):
        resolve(contexts, command_config=properties, name="prod")
    with pytest.raises(ContextError, match=r"^-b: 'b:x' is not HOST:PORT"):
        resolve(contexts, bootstrap="b:x")

    environment = resolve(contexts)
    assert (environment.name, environment.settings.bootstrap) == ("a b", (("env", 1),))
    only_address = configure(configured, KAC_BOOTSTRAP="env:1")
    assert resolve(only_address).settings == ConnectionSettings((("env", 1),))
    with pytest.raises(ContextError, match=r"^KAC_BOOTSTRAP: "):
        resolve(configure({}, KAC_BOOTSTRAP="env:x"))


COLD = """
import sys
from pathlib import Path
from console.contexts import load, resolve
contexts = load({}, Path(sys.argv[1]))
assert resolve(contexts, bootstrap="127.0.0.1:9092").settings.bootstrap == (("127.0.0.1", 9092),)
assert contexts.settings.theme is None
heavy = {"yaml", "cryptography", "tomllib", "textual", "aiokafka", "kio", "ssl", "urllib.request"} & set(sys.modules)
assert not heavy, heavy
assert not any(name.startswith("console.contexts.foreign") for name in sys.modules)
"""


def test_controllers_by_a_flag(configure: Configure, tmp_path: Path) -> None:
    contexts = configure({OWN: TWO, "c.properties": "bootstrap.servers=b:1\nclient.id=mine\n"}, PASS="p")
    alone = resolve(contexts, controllers="c1:9093,c2:9094")
    assert alone.settings == ConnectionSettings((("c1", 9093), ("c2", 9094)), controllers=True)
    over = resolve(contexts, name="prod", controllers="c1:9093")
    assert (over.settings.bootstrap, over.settings.controllers) == ((("c1", 9093),), True)
    assert over.settings.sasl == resolve(contexts, name="prod").settings.sasl
    given = resolve(contexts, command_config=tmp_path / "c.properties", controllers="c1:9093")
    assert (given.settings.bootstrap, given.settings.controllers) == ((("c1", 9093),), True)
    with pytest.raises(ContextError, match="Only one of --bootstrap-server or --bootstrap-controller"):
        resolve(contexts, bootstrap="b:1", controllers="c:1")
    with pytest.raises(ContextError, match="--bootstrap-controller: 'c1' has no port: give HOST:PORT"):
        resolve(contexts, controllers="c1")


def test_a_start_with_an_address_loads_nothing_heavy(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", COLD, str(tmp_path)], check=True, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (OWN, '[contexts.prod]\nbootstrap.servers = "SSL://b1:9093"\n'),
        (OWN, '[contexts.prod]\nbootstrap.controllers = "kafka+ssl://b1:9093"\n'),
        (".kaf/config", "clusters:\n- name: prod\n  brokers: [SSL://b1:9093]\n"),
        (".config/kafkactl/config.yml", "contexts:\n  prod:\n    brokers: [SSL://b1:9093]\n"),
        (".config/kcl/config.toml", '[profiles.prod]\nseed_brokers = ["SSL://b1:9093"]\n'),
        (".config/rpk/rpk.yaml", "profiles:\n- name: prod\n  kafka_api: {brokers: [SSL://b1:9093]}\n"),
    ],
)
def test_no_file_connects_to_a_tls_address_in_the_clear(configure: Configure, file: str, text: str) -> None:
    (broken,) = configure({file: text}).broken
    assert "says TLS, and security.protocol is PLAINTEXT" in broken.problem


def test_no_flag_connects_to_a_tls_address_in_the_clear(configure: Configure, tmp_path: Path) -> None:
    contexts = configure(
        {
            OWN: '[contexts.prod]\nbootstrap.servers = "b1"\n[contexts.tls]\nbootstrap.servers = "b1"\n'
            'security.protocol = "SSL"\n',
            "a.conf": "bootstrap.servers=SSL://b1\nmetadata.broker.list=x\n",
        }
    )
    for flags in (
        {"bootstrap": "SSL://b1"},
        {"bootstrap": "SSL://b1", "name": "prod"},
        {"controllers": "tls://b1:9093", "name": "prod"},
        {"environ": {"KAC_BOOTSTRAP": "SSL://b1"}},
        {"command_config": tmp_path / "a.conf"},
    ):
        with pytest.raises(ContextError, match="says TLS"):
            resolve(contexts, **flags)  # type: ignore[arg-type]
    assert resolve(contexts, bootstrap="SSL://b2:9093", name="tls").settings.bootstrap == (("b2", 9093),)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("bootstrap_servers", "bootstrap.servers"),
        ("bootstrapServers", "bootstrap.servers"),
        ("security_protocol", "security.protocol"),
        ("readOnly", "read_only"),
    ],
)
def test_a_key_whose_words_are_joined_otherwise_gets_the_right_one(configure: Configure, key: str, meant: str) -> None:
    (broken,) = configure({OWN: f'[contexts.prod]\n{key} = "b1:9092"\n'}).broken
    assert broken.problem.endswith(f"did you mean {meant}?")


def test_addresses_under_a_key_that_is_nearly_right(configure: Configure, tmp_path: Path) -> None:
    contexts = configure({"a.conf": "bootstrap_servers=b1:9092\n"})
    with pytest.raises(ContextError, match=r"a\.conf:1: bootstrap_servers: .* did you mean bootstrap\.servers"):
        resolve(contexts, command_config=tmp_path / "a.conf")


@pytest.mark.parametrize("text", ['[contexts.prod]\nbootstrap_servers = "b1"\n', "contexts = nothing\n"])
def test_a_broken_file_is_not_no_file(
    text: str, configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.delenv("KAC_CONFIG", raising=False)
    assert cli.run(["contexts"]) == 0
    assert "No contexts are configured" in capsys.readouterr().out
    configure({OWN: text})
    assert cli.run(["contexts"]) == 2
    shown = capsys.readouterr().out
    assert "No context can be used" in shown
    assert "config.toml:" in shown
