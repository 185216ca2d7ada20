"""Tests of references to config providers in files: kac resolves those that the file declares, and never sends any
other reference.
"""

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.contexts import ContextError, load
from console.contexts.client_files import from_properties
from console.contexts.config_providers import placeholder, references
from console.contexts.context import BrokenContext, Surroundings
from console.contexts.properties import References
from tests.support.cpu_time import least_cpu_seconds
from tests.support.patience import PATIENCE

KAFKA = "org.apache.kafka.common.config.provider"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LOGIN = "bootstrap.servers=b\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "ops").write_bytes(b"two\r\nlines\n")
    (tmp_path / "logins.properties").write_text("ops.password = se;s\\u0061me \nnested=${env:HOME}\n")
    return tmp_path


def provider(name: str, kind: str, **parameters: str) -> str:
    lines = [f"config.providers={name}", f"config.providers.{name}.class={KAFKA}.{kind}"]
    lines += [f"config.providers.{name}.param.{key.replace('_', '.')}={value}" for key, value in parameters.items()]
    return "\n".join(lines) + "\n"


def password(folder: Path, declared: str, reference: str, jaas: str = "", **environ: str) -> str:
    """Return the password that kac reads from a properties file. declared: its lines that declare providers. reference:
    the password in it. jaas: the login; ``""`` for PLAIN. environ: environment variables.
    """
    file = folder / "client.properties"
    jaas = jaas or f'{PLAIN} username="ops" password="{reference}";'
    file.write_text(f"{LOGIN}{declared}sasl.jaas.config={jaas}\n")
    settings, _ = from_properties(file, Surroundings(environ, folder / "home", folder))
    assert settings.sasl is not None
    assert settings.sasl.password is not None
    return settings.sasl.password.reveal()


def test_kafkas_own_providers_by_any_name_and_for_the_whole_login(folder: Path) -> None:
    in_file = provider("creds", "FileConfigProvider")
    assert password(folder, in_file, f"${{creds:{folder}/logins.properties:ops.password}}") == "se;same "
    assert password(folder, in_file, "<${creds:logins.properties:ops.password}>") == "<se;same >", "from the folder"
    in_folder = provider("mounted", "DirectoryConfigProvider", allowed_paths=f"/usr,{folder}/vault")
    assert password(folder, in_folder, f"${{mounted:{folder}/vault:ops}}") == "two\r\nlines\n", "whole, as Kafka does"
    variables = provider("v", "EnvVarConfigProvider", allowlist_pattern="KAFKA_[A-Z]+")
    assert password(folder, variables, "${v:KAFKA_PW}${v::KAFKA_PW}", KAFKA_PW="p") == "pp"
    login = f'{PLAIN} username="ops" password="${{env:P}}";'
    (folder / "vault" / "login").write_text(login)
    declared = provider("d", "DirectoryConfigProvider")
    assert password(folder, declared, "", jaas=f"${{d:{folder}/vault:login}}", P="sesame") == "sesame"


@pytest.mark.parametrize(
    ("declared", "reference", "words"),
    [
        ("", "${vault:secret/kafka:pw}", r"nothing resolves \$\{vault:…\}"),
        ("config.providers=vault\n", "${vault:secret/kafka:pw}", r"nothing resolves \$\{vault:…\}"),
        (
            "config.providers=vault\nconfig.providers.vault.class=com.example.Vault\n",
            "x${vault:secret/kafka:pw}",
            "vault is com.example.Vault, Java code",
        ),
        (provider("f", "FileConfigProvider"), "${f:FOLDER/logins.properties:ops.pw}", "has no key ops.pw"),
        (provider("f", "FileConfigProvider"), "${f:FOLDER/none:ops.pw}", "can't be read: No such file"),
        (provider("f", "FileConfigProvider"), "${f:FOLDER/none}", r"whose references are \$\{f:FILE:KEY\}"),
        (provider("f", "FileConfigProvider"), "${f:FOLDER/logins.properties:nested}", "is a reference itself"),
        (provider("d", "DirectoryConfigProvider"), "${d:FOLDER/vault:../logins.properties}", "has no file"),
        (provider("d", "DirectoryConfigProvider"), "${d:FOLDER:vault}", "has no file vault"),
        (provider("d", "DirectoryConfigProvider"), "${d:FOLDER/vault:}", "has no file .empty name"),
        (provider("e", "EnvVarConfigProvider"), "${e:NO_SUCH}", "no variable NO_SUCH"),
        (provider("e", "EnvVarConfigProvider"), "${e:FOLDER:HOME}", r"whose references are \$\{e:NAME\}"),
        (provider("e", "EnvVarConfigProvider", allowlist_pattern="HO"), "${e:HOME}", "does not match .*allowlist"),
        ("", "${env:LEFT}", "is a reference itself, and is not looked up again"),
        ("", "${env:TEMPLATE}", "is a reference itself, and is not looked up again"),
        ("", "${KAFKA_PASSWORD}", r"a variable of the environment is \$\{env:NAME\}"),
        ("", "a${KAFKA_PASSWORD:-changeit}", r"nothing resolves \$\{KAFKA_PASSWORD:…\}"),
        ("", "${env:HOME", r"\$\{env:… has no end; write \} after it"),
        (provider("f", "FileConfigProvider"), "${env:HOME}${f:FOLDER/logins.properties:pw", r"\$\{f:… has no end"),
    ],
)
def test_what_is_not_resolved_is_an_error_with_its_line(
    folder: Path, declared: str, reference: str, words: str
) -> None:
    environ = {"HOME": "/h", "LEFT": "${vault:a:b}", "TEMPLATE": " ${PASSWORD} "}
    line = len((LOGIN + declared).splitlines()) + 1
    with pytest.raises(ContextError, match=words) as refused:
        password(folder, declared, reference.replace("FOLDER", str(folder)), **environ)
    assert str(refused.value).startswith(f"{folder}/client.properties:{line}: sasl.jaas.config: password: ")


@pytest.mark.parametrize("allowed", ["vault/..", "/no/such/folder", "/usr, /usr"])
def test_allowed_paths_are_whole_and_there(folder: Path, allowed: str) -> None:
    declared = provider("d", "DirectoryConfigProvider", allowed_paths=allowed)
    with pytest.raises(ContextError, match=r"properties: config.providers.d.param.allowed.paths: |:\d+: config.prov"):
        password(folder, declared, "plain")


def test_a_path_that_is_not_allowed_and_a_name_of_our_own_are_refused(folder: Path) -> None:
    declared = provider("f", "FileConfigProvider", allowed_paths=str(folder / "vault"))
    for path in (f"{folder}/vault/../logins.properties", "logins.properties"):
        with pytest.raises(ContextError, match=r"is not below config\.providers\.f\.param"):
            password(folder, declared, f"${{f:{path}:ops.password}}")
    with pytest.raises(ContextError, match=r"config\.providers: exec is kac's own"):
        password(folder, provider("exec", "FileConfigProvider"), "plain")


@pytest.mark.parametrize(
    "line",
    [
        "ssl.truststore.location=/etc/${vault:ca}",
        "ssl.truststore.location=${CA_FILE}",
        "ssl.truststore.location=/c\nssl.truststore.password=${vault:a:b}",
        "ssl.truststore.type=PEM\nssl.truststore.certificates=${vault:a:b}",
        "ssl.keystore.location=/k\nssl.key.password=${pw:a}${pw:b}",
        "ssl.keystore.type=PEM\nssl.keystore.certificate.chain=c\nssl.keystore.key=${k8s:ns/secret:key}",
        "[kafka]\nbootstrap.servers=b\nsecurity.protocol=SSL\nssl.ca.location=${vault:ca}",
        "[kafka]\nbootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanisms=PLAIN\nsasl.username=u\n"
        "sasl.password=${vault:pw}",
    ],
)
def test_paths_certificates_and_stores_too(tmp_path: Path, line: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers=b\nsecurity.protocol=SSL\n{line}\n")
    with pytest.raises(ContextError, match=rf"{file}:{3 + line.count(chr(10))}: .*\$\{{"):
        from_properties(file, Surroundings({}, tmp_path, tmp_path))


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        (".kaf/config", "clusters:\n- name: k\n  brokers: [b]\n  SASL: {username: u,\n    password: '${v:p}'}\n", 5),
        (".kaf/config", "clusters:\n- name: k\n  brokers:\n  - b\n  - ${v:broker}\n", 5),
        (
            ".config/kafkactl/config.yml",
            "contexts:\n  k:\n    brokers: b\n    tls:\n      enabled: true\n      ca: ${CA}\n",
            6,
        ),
        (".config/kcl/config.toml", '[profiles.k]\n[profiles.k.sasl]\nmethod="plain"\nuser="u"\npass="${v:p}"\n', 5),
        (
            ".config/rpk/rpk.yaml",
            "profiles:\n- name: k\n  kafka_api:\n    brokers: [b]\n    sasl: {user: '${U:x}', password: p}\n",
            5,
        ),
    ],
)
def test_other_tools_files_resolve_nothing(tmp_path: Path, file: str, text: str, line: int) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (broken,) = load({}, tmp_path).broken
    assert isinstance(broken, BrokenContext)
    assert broken.problem.startswith(f"{path}:{line}: ")
    assert "nothing resolves ${" in broken.problem


def test_a_shells_own_references_stay_in_a_command_for_a_token(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    command = "sh -c 'echo ${TOKEN:-none}-${env:STAGE}'"
    file.write_text(
        "bootstrap.servers=b\nsecurity.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.oauthbearer.token.command={command}\n"
    )
    file.chmod(0o600)
    settings, _ = from_properties(file, Surroundings({"STAGE": "prod"}, tmp_path, tmp_path))
    assert settings.sasl is not None
    assert settings.sasl.options["token.command"] == "sh -c 'echo ${TOKEN:-none}-prod'"


def test_what_is_not_used_is_not_refused(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=b\ninterceptor.classes=${plugins:a:b}\nmy.template=${NAME}\n")
    assert from_properties(file, Surroundings({}, tmp_path, tmp_path))[1] == ()


def test_our_own_file_declares_providers_too(tmp_path: Path) -> None:
    (tmp_path / "pw.properties").write_text("k=sesame\n")
    (tmp_path / "config.toml").write_text(
        f'[contexts.c]\n"bootstrap.servers" = "b"\n"security.protocol" = "SASL_SSL"\n"sasl.mechanism" = "PLAIN"\n'
        f'"config.providers" = "pw"\n"config.providers.pw.class" = "{KAFKA}.FileConfigProvider"\n'
        f'"sasl.jaas.config" = \'{PLAIN} username="u" password="${{pw:pw.properties:k}}";\'\n'
    )
    (context,) = load({"KAC_CONFIG": str(tmp_path / "config.toml")}, tmp_path).contexts
    assert context.settings.sasl is not None
    assert context.settings.sasl.password is not None
    assert context.settings.sasl.password.reveal() == "sesame"
    assert not [warning for warning in context.warnings if "config.providers" in warning]


@pytest.mark.parametrize("password", ["${pw:/run/secrets:kafka}", "${KAFKA_PASSWORD}"])
@pytest.mark.parametrize("command", [["run", "-e", "list topics"], ["triage"], ["doctor"], ["topics", "--list"]])
def test_nothing_is_sent(tmp_path: Path, password: str, command: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        file = tmp_path / "client.properties"
        file.write_text(
            f"bootstrap.servers=127.0.0.1:{server.getsockname()[1]}\nsecurity.protocol=SASL_PLAINTEXT\n"
            f'sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN} username="u" password="{password}";\n'
        )
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "console", *command, "--command-config", str(file)],
            capture_output=True, text=True, check=False, env=environ, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode not in (0, 4)
        assert f"{file}:4: sasl.jaas.config: password: " in done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


PIECES = st.lists(
    st.sampled_from(["${", "}", ":", "a", "env", "file", "P", "$", "{", "exec", " ", "${env:P}", "${a:b}", "\\"])
).map("".join)


@given(PIECES)
def test_what_is_expanded_has_no_reference_left_and_references_stand_where_they_say(text: str) -> None:
    """For any text, the resolver raises ValueError, or returns a text without references."""
    resolver = References(Surroundings({"P": "pass"}, Path("/none"), Path("/none")), (Path("/none"),))
    expanded = None
    with contextlib.suppress(ValueError):
        expanded = resolver.expand(text)
    if expanded is None:
        assert "${" in text
    else:
        assert placeholder(expanded) is None
        assert expanded.replace("pass", "") == text.replace("${env:P}", "")
    last = 0
    for each in references(text):
        assert last <= each.start
        assert text[each.start : each.end] == f"${{{each.provider}:{each.target}}}"
        assert "}" not in each.provider + each.target
        last = each.end


def test_looking_for_references_is_linear() -> None:
    def search(size: int) -> None:
        for text in ("${" * size, "${a:" * size, "${a}" * size, "$" * size, "${a:b}" * size):
            list(references(text))
            placeholder(text)

    many, few = least_cpu_seconds(lambda: search(320_000), 2), least_cpu_seconds(lambda: search(40_000))
    assert many < 20 * max(few, 0.01), (many, few)
