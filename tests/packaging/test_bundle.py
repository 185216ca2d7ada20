"""Tests of kac in one file, which is built here: its contents, and that it runs in a root directory with nothing but
glibc.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bundle.inputs import GLIBC, ROOT, Missing
from bundle.make import LIMITS, Bundle, make
from bundle.packages import UNIT, packages
from console.cli.manual.completion_scripts import script
from tests.support.children import Child
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal

pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("bundle"),
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed, and the launcher is compiled with it"),
]
OF_GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1"}
CACHE = ROOT / "build" / "bundle"
MACHINE = os.uname().machine


def made(arch: str, out: Path, *, with_lake: bool = False) -> Bundle:
    CACHE.mkdir(parents=True, exist_ok=True)
    try:
        return make(arch, MACHINE, out, CACHE, with_lake=with_lake, level=3, version="0.0.test")
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return made(MACHINE, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def root(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a root directory with six libraries of glibc, its loader, and the one-file kac, but without /tmp, home or
    shell.
    """
    made = tmp_path_factory.mktemp("root")
    loader = next(
        Path(each) for each in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if Path(each).exists()
    )
    libraries = Path(f"/lib/{MACHINE}-linux-gnu")
    for path in (loader, *(libraries / name for name in sorted(OF_GLIBC))):
        target = made / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o755)
    for name in ("dev", "proc", "var/tmp"):
        (made / name).mkdir(parents=True)
    shutil.copy(bundle.file, made / "kac")
    return made


def inside(root: Path, *command: str, network: bool = True) -> list[str]:
    """Return the command line that runs a command in this root directory, with the machine's own /dev and /proc.
    network: whether the command has the machine's network.
    """
    script = f'mount --rbind /dev {root}/dev; mount --rbind /proc {root}/proc; exec chroot {root} "$@"'
    return ["unshare", "-rm" if network else "-rmn", "sh", "-ec", script, "sh", *command]


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)


def elf_files(tree: Path) -> Iterator[Path]:
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def readelf(*options: str) -> str:
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not installed")
    return run(["readelf", "-W", *options], PATH=os.environ["PATH"], LC_ALL="C").stdout


def wants_only_glibc(tree: Path) -> None:
    own = {path.name for path in (tree / "lib").glob("*.so*")}
    polled = list(elf_files(tree))
    assert len(polled) > 8
    for path in polled:
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", str(path))))
        assert all(each in OF_GLIBC | own or each.startswith("ld-linux-") for each in needed), (path, needed)
        versions = {
            tuple(map(int, each.split("."))) for each in re.findall(r"GLIBC_([0-9.]+)", readelf("-V", str(path)))
        }
        assert max(versions, default=(0,)) <= GLIBC, (path, max(versions))


def test_every_library_finds_what_it_wants(bundle: Bundle) -> None:
    wants_only_glibc(bundle.tree)


def test_the_launcher_wants_nothing(bundle: Bundle) -> None:
    assert "NEEDED" not in readelf("-d", str(bundle.file))
    assert "INTERP" not in readelf("-l", str(bundle.file))


def test_the_same_sources_make_the_same_bytes(bundle: Bundle, tmp_path: Path) -> None:
    first = bundle.file.read_bytes()
    assert made(MACHINE, tmp_path).file.read_bytes() == first


def test_it_is_as_small_as_promised(bundle: Bundle) -> None:
    most, most_unpacked = LIMITS[False]
    assert bundle.unpacked <= most_unpacked
    # The test packs the file at a fast level, so that it is up to a quarter larger than at zstd's usual level.
    assert bundle.size <= most * 1.25


def test_the_list_of_parts_and_the_licences_name_every_package(bundle: Bundle) -> None:
    parts = json.loads((bundle.tree / "share/kac/sbom.cdx.json").read_text())
    names = {part["name"].lower().replace("_", "-") for part in parts["components"]}
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE))
    elsewhere = {"backports-zstd", "colorama", "win32-setctime", "pyreadline3", "tzdata"}
    assert locked - elsewhere <= names
    assert {"cpython", "libunwind", "openssl"} <= names
    licences = (bundle.tree / "share/kac/licenses.txt").read_text()
    assert all(
        re.search(rf"^{re.escape(name)} ", licences, re.MULTILINE | re.IGNORECASE) for name in ("textual", "aiokafka")
    )
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in licences


def test_it_runs_in_an_empty_root(root: Path) -> None:
    version = run(inside(root, "/kac", "--version"))
    assert (version.returncode, version.stdout, version.stderr) == (0, version.stdout, "")
    assert version.stdout.startswith("kac ")
    assert run(inside(root, "/kac", "self", "verify")).returncode == 0
    offline = run(inside(root, "/kac", "topics", "-b", "127.0.0.1:9092", "--list", network=False))
    assert offline.returncode == 1
    assert "unreachable" in offline.stderr
    assert "Traceback" not in offline.stderr


ALL_MODULES = """
import importlib, pkgutil, console, widgets, themes
for root in (console, widgets, themes):
    for module in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        try:
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
        except ModuleNotFoundError as missing:
            if missing.name not in ("deltalake", "duckdb", "mcp", "obstore", "py4j", "pyarrow", "pyspark"):
                raise
import ctypes, sys
frames = 0
callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def count(context, argument):
    global frames
    frames += 1
    return 0
ctypes.CDLL("libgcc_s.so.1")._Unwind_Backtrace(callback(count), None)
assert frames > 5, frames
print("all", sys.prefix)
"""


def test_every_module_imports_in_an_empty_root(root: Path) -> None:
    folder = run(inside(root, "/kac", "self", "folder")).stdout.strip()
    done = run(inside(root, f"{folder}/bin/python3.14", "-I", "-c", ALL_MODULES))
    assert done.stdout == f"all {folder}\n", done.stderr


@pytest.mark.parametrize("term", ["xterm-256color", "xterm", "linux", "vt100", "screen", "tmux-256color", "nonsense"])
def test_the_console_opens_on_a_terminal_of_each_kind(root: Path, tmp_path: Path, term: str) -> None:
    environment = {"TERM": term, "PATH": os.environ["PATH"]}
    with Terminal(inside(root, "/kac", "-b", "127.0.0.1:1"), cwd=tmp_path, environment=environment) as terminal:
        terminal.wait_for("nothing listens there")
        terminal.send(":q\r")
        assert terminal.wait_for_end() == 0


def test_a_terminal_that_draws_nothing_is_told_what_works(root: Path, tmp_path: Path) -> None:
    with Terminal(inside(root, "/kac", "-b", "127.0.0.1:1"), cwd=tmp_path, environment={"TERM": "dumb"}) as terminal:
        assert terminal.wait_for_end() == 2
        assert "TERM is dumb" in terminal.text


def test_a_cluster_in_an_empty_root_answers_the_same_file(root: Path) -> None:
    cluster = Child(inside(root, "/kac", "cluster", "--port", "0"), stdout=subprocess.PIPE, text=True, env={})
    try:
        assert cluster.stdout is not None
        address = re.search(r"127\.0\.0\.1:\d+", cluster.stdout.readline())
        assert address is not None
        created = run(
            inside(
                root, "/kac", "run", "-b", address[0], "-e", "create topic made partitions=3 replication=1; apply --yes"
            )
        )
        assert created.returncode == 0, created.stdout + created.stderr
        listed = run(inside(root, "/kac", "topics", "-b", address[0], "--list"))
        assert "made" in listed.stdout, listed.stderr
    finally:
        cluster.terminate()
        cluster.wait(PATIENCE)


@pytest.fixture(scope="module")
def packed(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Provide suffix (deb, rpm) -> package, built with a umask that hides new files from other users."""
    umask = os.umask(0o077)
    try:
        made = list(packages(bundle.tree, MACHINE, "0.0.test", tmp_path_factory.mktemp("packages"), with_lake=False))
    finally:
        os.umask(umask)
    return {path.suffix.removeprefix("."): path for path in made}


def unpack_deb(package: Path, root: Path) -> set[str]:
    """Unpack a deb package into a root directory; return the modes of its files and directories, as ``-rwxr-xr-x``."""
    subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    listed = run(["dpkg-deb", "-c", str(package)], PATH=os.environ["PATH"]).stdout
    return {line.split()[0] for line in listed.splitlines()}


def install_rpm(package: Path, root: Path) -> set[str]:
    """Install an rpm package into a root directory that has no package of glibc; return the modes of its files and
    directories, as ``-rwxr-xr-x``.
    """
    rpm(root, "--install", "--nodeps", str(package))
    assert rpm(root, "--verify", "--nodeps", "kac") == ""
    return {line.split()[0] for line in rpm(root, "--query", "--list", "--verbose", "kac").splitlines()}


def rpm(root: Path, *words: str) -> str:
    done = run(["rpm", "--root", str(root), "--nosignature", *words], PATH=os.environ["PATH"])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("kind", "tool", "put", "zsh"),
    [
        ("deb", "dpkg-deb", unpack_deb, "vendor-completions"),
        ("rpm", "rpm", install_rpm, "site-functions"),
    ],
)
def test_a_package_runs_from_where_it_lies(
    packed: dict[str, Path], root: Path, kind: str, tool: str, put: Callable[[Path, Path], set[str]], zsh: str
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    shutil.rmtree(root / "usr", ignore_errors=True)
    assert put(packed[kind], root) == {"drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"}
    (root / "bin").mkdir(exist_ok=True)
    shutil.copy("/bin/dash", root / "bin" / "sh")
    done = run(inside(root, "/usr/bin/kac", "--version"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kac ")
    share = root / "usr" / "share"
    assert gzip.decompress((share / "man/man1/kac.1.gz").read_bytes()) == (ROOT / "docs/kac.1").read_bytes()
    assert (share / "bash-completion/completions/kac").read_text() == script("bash")
    assert (share / "zsh" / zsh / "_kac").read_text() == script("zsh")
    assert (root / "usr/lib/systemd/system" / UNIT).read_text() == (ROOT / "bundle" / UNIT).read_text()
    if kind == "rpm":
        rpm(root, "--erase", "kac")
        assert not (root / "usr" / "lib" / "kac").exists()


def test_a_package_of_the_same_commit_has_the_same_bytes(
    bundle: Bundle, packed: dict[str, Path], tmp_path: Path
) -> None:
    for path in packages(bundle.tree, MACHINE, "0.0.test", tmp_path, with_lake=False):
        assert path.read_bytes() == packed[path.suffix.removeprefix(".")].read_bytes(), path.name


DUCKDB = """
import duckdb, obstore
assert duckdb.sql("select 41 + 1").fetchall() == [(42,)]
try:
    duckdb.sql("select nonsense")
except duckdb.Error as error:
    print(type(error).__name__)
"""


def test_the_one_that_reads_lakes_has_duckdb(tmp_path: Path) -> None:
    lake = made(MACHINE, tmp_path, with_lake=True)
    done = run([str(lake.tree / "bin" / "python3.14"), "-I", "-c", DUCKDB])
    if "libstdc++" in done.stderr:
        pytest.skip("DuckDB wants libstdc++, which this host lacks")
    assert done.stdout == "BinderException\n", done.stderr


AWS = """
from botocore.session import Session
from console.admin.aws_keys import AwsSource
session = Session()
print(*session.get_available_services())
for service in session.get_available_services():
    session.create_client(service, region_name="eu-central-1")
print(AwsSource(None, 5).keys().source)
"""


def test_it_has_the_services_of_aws_that_give_credentials_and_no_others(bundle: Bundle) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"}
    done = run([str(bundle.tree / "bin" / "python3.14"), "-I", "-c", AWS], **keys)
    assert done.stdout == "sso sso-oidc sts\nthe environment\n", done.stderr


ARM = Path("/usr/aarch64-linux-gnu")


@pytest.mark.skipif(MACHINE != "x86_64", reason="the other architecture is emulated on x86_64")
def test_aarch64(tmp_path: Path) -> None:
    arm = made("aarch64", tmp_path)
    wants_only_glibc(arm.tree)
    emulator = shutil.which("qemu-aarch64-static")
    if emulator is None or not ARM.is_dir():
        pytest.skip("qemu-user-static and libc6-arm64-cross are not installed")
    place = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    folder = run([emulator, str(arm.file), "self", "folder"], **place)
    assert folder.returncode == 0, folder.stderr
    python = f"{folder.stdout.strip()}/bin/python3.14"
    done = run([emulator, "-L", str(ARM), python, "-I", "-c", ALL_MODULES])
    assert done.stdout == f"all {folder.stdout.strip()}\n", done.stderr
    started = "import sys; from console.__main__ import main; sys.exit(main())"
    version = run([emulator, "-L", str(ARM), python, "-I", "-B", "-c", started, "--version"])
    assert version.stdout.startswith("kac "), version.stderr
