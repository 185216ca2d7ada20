"""Tests of which programs and modules kac runs: none from the working directory, and none that another user may
change.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from console import programs
from console.admin.aws_keys import AwsSource
from console.admin.errors import AdminError
from console.admin.oauth import token_provider
from console.collecting.java import candidates
from console.contexts import ContextError, load, resolve
from console.contexts.secret_sources import unlocked
from console.safe_files import UntrustedPath, require_own

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
STRANGER = 54_321
"""A user id that no user of this host has."""
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")

MODULES = (
    *("pyspark", "py4j", "console", "widgets", "grpc_tools", "google", "sitecustomize", "usercustomize"),
    *("json", "socket", "subprocess", "zipfile", "site", "asyncio", "msgspec", "numpy", "pandas", "pyarrow"),
)
SETTINGS = {
    "log4j2.xml": "<Configuration",
    "log4j2.properties": "status = \0",
    "conf/spark-defaults.conf": "spark.plugins no.such.Plugin\n",
    "spark-defaults.conf": "spark.plugins no.such.Plugin\n",
    "core-site.xml": "<no",
    "hive-site.xml": "<no",
    "ivysettings.xml": "<no",
    ".mvn/jvm.config": "-javaagent:planted.jar\n",
    ".hotspotrc": "+NoSuchOption\n",
    "pyvenv.cfg": "home = /nowhere\n",
}


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Path]:
    """Provide a folder with modules and programs that write their names to the file `ran` when they run. After the
    test, check that this file does not exist and that no other file was created.
    """
    folder = tmp_path / "shared"
    for name in MODULES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write('{name}\\n')\n")
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write('{name}.py\\n')\n")
    for name, text in SETTINGS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "java").write_text(f"#!/bin/sh\necho java >> {folder}/ran\n")
    for name in ("git", "ssh", "less", "mvn", "cat", "python3", "token"):
        shutil.copy(folder / "java", folder / name)
    for name in ("git", "ssh", "less", "mvn", "cat", "python3", "token", "java"):
        (folder / name).chmod(0o755)
    before = sorted(folder.rglob("*"))
    yield folder
    assert not (folder / "ran").exists(), (folder / "ran").read_text()
    assert sorted(folder.rglob("*")) == before


def ran_there(folder: Path, code: str) -> str:
    """Run Python code in the folder, with `.` first on PATH; return its output. Raises AssertionError if its exit code
    is not 0.
    """
    environ = {**os.environ, "PATH": f".:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


CLUSTER = """
from console.embedded.cluster_command import run_in_process
with run_in_process(["--brokers", "1"]) as reached:
    print(reached.bootstrap)
"""
ARCHIVE = """
from pathlib import Path
from console.collecting.java import Java, archive_of, begin
folder = Path(FOLDER)
(folder / "recording").write_text("java/lang/Object")
(folder / "program").write_text("#!/bin/sh\\npwd > " + str(folder / "stood"))
(folder / "program").chmod(0o755)
archive = archive_of({"XDG_CACHE_HOME": str(folder)}, Java(folder, "", "17", folder / "program"), ["-cp", "none.jar"])
assert begin(archive, folder / "recording").wait(60) == 0
print((folder / "stood").read_text().strip() == str(archive.folder))
"""
COMPILER = """
from console.admin.protobuf_compiler import compiled
from console.model.schemas import SchemaText
print(len(compiled(SchemaText("PROTOBUF", 'syntax = "proto3"; message M { int32 a = 1; }'))))
"""
SPARK = """
import os
from console.collecting.spark_session import lake_session
with lake_session(os.environ, is_whole=True) as spark:
    where = spark.sparkContext._jvm.java.lang.System.getProperty("user.dir")
    def found(_):
        import sys
        yield os.getcwd(), [each for each in sys.path if not os.path.isabs(each)]
    print(where, spark.sparkContext.range(2).mapPartitions(found).collect()[0])
    print(spark.range(10).count())
"""


def test_the_embedded_cluster_takes_no_module_from_the_working_folder(planted: Path) -> None:
    assert "127.0.0.1:" in ran_there(planted, CLUSTER)


def test_the_class_archive_is_made_in_its_own_folder(planted: Path, tmp_path: Path) -> None:
    assert ran_there(planted, ARCHIVE.replace("FOLDER", repr(str(tmp_path)))) == "True\n"


def test_the_compiler_of_protobuf_takes_no_module_from_the_working_folder(planted: Path) -> None:
    pytest.importorskip("grpc_tools")
    assert int(ran_there(planted, COMPILER)) > 10


@pytest.mark.slow
def test_spark_and_its_python_stand_in_a_folder_of_their_own(planted: Path) -> None:
    pytest.importorskip("pyspark")
    first, second = ran_there(planted, SPARK).splitlines()
    assert str(planted) not in first
    assert "kac-java-" in first
    assert "[])" in first, "the workers look in no relative folder"
    assert second == "10"


def test_the_command_that_is_installed_takes_no_module_from_the_working_folder(planted: Path) -> None:
    command = Path(sys.executable).with_name("kac")
    if not command.exists():
        pytest.skip("kac is not installed beside this Python")
    environ = {**os.environ, "PATH": f".:{os.environ['PATH']}"}
    for argv in (["--version"], ["doctor"], ["contexts"]):
        subprocess.run([command, *argv], cwd=planted, env=environ, capture_output=True, check=False, timeout=PATIENCE)


@pytest.mark.parametrize("given", [":{0}", "{0}:", ".", "inner:{0}"])
def test_relative_folders_of_pythonpath_go_no_further(tmp_path: Path, given: str) -> None:
    """kac does not pass relative folders of PYTHONPATH on to the programs that it starts. Python makes them absolute at
    its start, so kac can't recognize them by their paths alone.
    """
    folder, own = tmp_path / "shared", tmp_path / "own"
    (folder / "inner").mkdir(parents=True)
    own.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", "import os; from console.programs import own_modules; print(own_modules())"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((given.format(own), str(ROOT)))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(folder) not in done.stdout
    assert str(ROOT) in done.stdout
    assert (str(own) in done.stdout) == ("{0}" in given)


# -- files that another user may change --------------------------------------------------------------------------------


def made(path: Path, text: str = "#!/bin/sh\necho token\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def in_a_sticky_folder_but_given_away(path: Path) -> None:
    path.parent.chmod(0o1777)
    os.chown(path, STRANGER, -1)


def by_a_link_in_an_open_folder(path: Path) -> None:
    own = path.parent.parent / "own"
    shutil.copytree(path.parent, own / "inner")
    shutil.rmtree(path.parent)
    open_one = path.parent.parent / "open"
    open_one.mkdir()
    open_one.chmod(0o777)
    (open_one / "way").symlink_to(own / "inner")
    path.parent.symlink_to(open_one / "way")


WAYS: dict[str, Callable[[Path], None]] = {
    "opened_file": lambda path: path.chmod(0o602),
    "opened_folder": lambda path: path.parent.chmod(0o777),
    "opened_above": lambda path: path.parent.parent.chmod(0o777),
    "given_away": lambda path: os.chown(path, STRANGER, -1),
    "folder_given_away": lambda path: os.chown(path.parent, STRANGER, -1),
    "in_a_sticky_folder_but_given_away": in_a_sticky_folder_but_given_away,
    "by_a_link_in_an_open_folder": by_a_link_in_an_open_folder,
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def java_file(folder: Path, lines: str) -> Path:
    return made(folder / "client.properties", f"bootstrap.servers=a:1\n{lines}", 0o600)


TOKEN = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.command={}\n"
EXEC = (
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="${{exec:{}}}";\n'
)
OWN = '[contexts.c]\nbootstrap.servers = "a:1"\nproperties = "client.properties"\n'
KAFKACTL = (
    "contexts:\n  c:\n    brokers: [a:1]\n    sasl:\n      enabled: true\n      mechanism: oauth\n"
    "      tokenprovider: {{plugin: generic, options: {{script: {}}}}}\n"
)


def by_included_exec(folder: Path, command: str) -> Path:
    made(folder.parent / "own.toml", OWN.replace("client.properties", str(folder / "client.properties")), 0o600)
    return java_file(folder, EXEC.format(command))


KINDS: dict[str, Callable[[Path, str], Path]] = {
    "by_token_command": lambda folder, command: java_file(folder, TOKEN.format(command)),
    "by_exec": lambda folder, command: java_file(folder, EXEC.format(command)),
    "by_included_exec": by_included_exec,
    "by_kafkactl": lambda folder, command: made(folder / "config.yml", KAFKACTL.format(command), 0o600),
    "by_aws": lambda folder, command: made(folder / "config", f"[profile p]\ncredential_process = {command}\n", 0o600),
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def ask(file: Path) -> str:
    """Read a file of credentials as a login does. Return the reason why kac refuses it; ``""`` if it does not."""
    home = file.parent.parent
    try:
        if file.name == "config":
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("HOME", str(home))
                patch.setenv("AWS_CONFIG_FILE", str(file))
                AwsSource("p", 5).keys()
        elif file.name == "config.yml":
            found = load({"KAFKA_CTL_CONFIG": str(file)}, home, home)
            if found.broken:
                return found.broken[0].problem
            sasl = found.contexts[0].settings.sasl
        elif (own := home / "own.toml").exists():
            unlocked(resolve(load({"KAC_CONFIG": str(own)}, home), name="c", unlock=False), ask=False)
            return ""
        else:
            context = resolve(load({}, home), command_config=file)
            sasl = context.settings.sasl
        if file.name != "config" and sasl is not None and "token.command" in sasl.options:
            token_provider(sasl)._fetch()
    except ContextError as error:
        return str(error)
    except AdminError as error:
        return error.failure.message
    return ""


@root
@ways
@kinds
def test_a_file_that_another_user_may_change_names_no_command(
    kind: Callable[[Path, str], Path], way: Callable[[Path], None], tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    program = made(tmp_path / "own" / "token", f"#!/bin/sh\ntouch {ran}\necho token\n")
    file = kind(tmp_path / "above" / "folder", str(program))
    ask(file)
    assert ran.exists(), "it is run where the file is this user's alone"
    ran.unlink()
    way(file)
    said = ask(file)
    assert not ran.exists()
    assert "is not run: " in said
    assert ("others may write " in said and "chmod go-w " in said) or "belongs to another user" in said
    assert str(tmp_path / "above") in said


@root
@ways
@kinds
def test_a_program_that_another_user_may_change_is_not_run(
    kind: Callable[[Path, str], Path], way: Callable[[Path], None], tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    program = made(tmp_path / "above" / "folder" / "token", f"#!/bin/sh\ntouch {ran}\necho token\n")
    file = kind(tmp_path / "own" / "folder", str(program))
    way(program)
    said = ask(file)
    assert not ran.exists()
    assert "token is not run: " in said
    assert str(tmp_path / "above") in said


@pytest.mark.parametrize("words", [("sh", "{}"), ("bash", "-e", "{}", "a"), (sys.executable, "-I", "{}")])
@ways
@root
def test_a_script_of_an_interpreter_is_looked_at_as_a_program_is(
    tmp_path: Path, way: Callable[[Path], None], words: tuple[str, ...]
) -> None:
    script = made(tmp_path / "above" / "folder" / "token", "print\n", mode=0o644)
    asked = [each.format("above/folder/token") for each in words]
    assert programs.of_user(asked, folder=tmp_path).words[1:] == tuple(asked[1:])
    way(script)
    with pytest.raises(UntrustedPath):
        programs.of_user(asked, folder=tmp_path)
    assert programs.of_user([words[0], "-c", "cat /dev/null"], folder=tmp_path)


def test_of_path_folders_count_that_nobody_else_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil, good = made(tmp_path / "evil" / "token"), made(tmp_path / "good" / "token")
    evil.parent.chmod(0o777)
    environ = {"PATH": f"{evil.parent}::.:{good.parent}", "HOME": "/"}
    monkeypatch.chdir(evil.parent)
    assert programs.along_path("token", environ) == good
    program = programs.of_user(["token", "a"], environ)
    assert (program.words, program.environ["PATH"]) == ((str(good), "a"), str(good.parent))
    good.unlink()
    with pytest.raises(UntrustedPath, match="others may write") as caught:
        programs.of_user(["token"], environ)
    assert caught.value.filename == str(evil.parent)
    with pytest.raises(FileNotFoundError):
        programs.of_user(["no-such-program"], environ)


@pytest.mark.parametrize("given", ["{}", "."])
def test_tmux_on_a_path_that_others_write_gets_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    from console.tui.clipboard import _in_tmux

    ran = tmp_path / "ran"
    tmux = made(tmp_path / "open" / "tmux", f"#!/bin/sh\n: > {ran}\n")
    monkeypatch.chdir(tmux.parent)
    environ = {"PATH": given.format(tmux.parent), "TMUX": "x", "HOME": str(tmp_path)}
    assert _in_tmux("text", environ) == (given == "{}")
    ran.unlink(missing_ok=True)
    tmux.parent.chmod(0o777)
    assert not _in_tmux("text", environ)
    assert not ran.exists()


def test_java_on_a_path_that_others_write_is_named_and_not_asked(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    java = made(tmp_path / "open" / "java", f"#!/bin/sh\ntouch {ran}\n")
    java.parent.chmod(0o777)
    found = next(iter(candidates({"PATH": str(java.parent)})))
    assert (found.place, found.works) == ("PATH", False)
    assert f"others may write {java.parent}; chmod go-w {java.parent}" in found.problem
    assert not ran.exists()


def test_no_device_is_to_be_made_private(tmp_path: Path) -> None:
    """kac accepts /dev/null as an empty file. It refuses other devices and pipes, with a message that does not suggest
    to change their mode.
    """
    require_own(Path(os.devnull))
    (tmp_path / "none").symlink_to(os.devnull)
    require_own(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "pipe").chmod(0o666)
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(UntrustedPath) as refused:
            require_own(path)
        assert refused.value.strerror == f"others may write {path}; it is no plain file: use one of yours"


def test_a_sticky_folder_is_no_danger_to_what_is_ones_own(tmp_path: Path) -> None:
    file = made(tmp_path / "temporary" / "own" / "file")
    file.parent.parent.chmod(0o1777)
    require_own(file)
    require_own(tmp_path / "temporary" / "not there")


@root
@pytest.mark.parametrize(("group", "accepted"), [("daemon", True), ("users", False)])
def test_a_private_group_may_write_and_another_may_not(group: str, accepted: bool) -> None:
    able = next((each for each in ("/usr/bin/python3", sys.executable) if _runs_as_daemon(each)), None)
    if able is None:
        pytest.skip("no Python here that another user may run")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        folder = Path(name, "folder")
        folder.mkdir()
        shutil.chown(folder, "daemon", group)
        folder.chmod(0o770)
        code = (
            f"from pathlib import Path\nfrom console.safe_files import require_own\nrequire_own(Path({str(folder)!r}))"
        )
        done = subprocess.run(
            [able, "-c", code],
            user="daemon",
            group="daemon",
            extra_groups=[],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=False,
        )
    assert (done.returncode == 0) is accepted, done.stderr


def _runs_as_daemon(program: str) -> bool:
    with suppress(OSError):
        code = f"import sys; assert sys.version_info >= (3, 11); open({str(ROOT / 'pyproject.toml')!r})"
        check = [program, "-c", code]
        return not subprocess.run(check, user="daemon", group="daemon", capture_output=True, check=False).returncode
    return False


def test_a_command_works_in_the_folder_of_the_file_that_names_it(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(planted)
    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", "of kac")
    own = tmp_path / "own"
    made(own / "token", '#!/bin/sh\necho "$PWD $HOME $PYSPARK_GATEWAY_SECRET."\n')
    assert programs.output_of("./token", 5, own).decode() == f"{own} {os.environ['HOME']} .\n"
    with pytest.raises(programs.ProgramFailed, match="no-such can't be run: No such file or directory"):
        programs.output_of("./no-such", 5, own)


def test_an_interpreter_gets_the_variables_that_it_needs_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    unwanted = ("PYTHONSTARTUP", "PYTHONHOME", "CLASSPATH", "JDK_JAVA_OPTIONS", "LD_PRELOAD", "BASH_ENV", "PASSWORD")
    for name in (*unwanted, "PYSPARK_GATEWAY_SECRET", "AWS_PROFILE", "LC_ALL", "JAVA_TOOL_OPTIONS"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setattr(sys, "path", ["", "relative", *sys.path])
    program = programs.python("-c", "pass", folder=Path("/"))
    assert not {*unwanted, "PYSPARK_GATEWAY_SECRET"} & program.environ.keys()
    assert {"AWS_PROFILE", "LC_ALL", "JAVA_TOOL_OPTIONS", "HOME", "PATH"} <= program.environ.keys()
    assert program.environ["PYTHONSAFEPATH"] == "1"
    assert all(Path(each).is_absolute() for each in program.environ["PYTHONPATH"].split(os.pathsep))
    assert program.words[:2] == (sys.executable, "-P")


def test_a_path_without_a_safe_folder_is_the_systems(tmp_path: Path) -> None:
    open_one = tmp_path / "open"
    open_one.mkdir()
    open_one.chmod(0o777)
    assert programs.safe_path({"PATH": f".:{open_one}:"}) == os.defpath
