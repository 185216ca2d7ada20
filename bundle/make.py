"""Makes an executable file, its licences and its list of parts, from pinned inputs."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bundle import inputs, papers, tree, unwinder
from bundle.locks import with_needs

LIMITS = {False: (40_000_000, 130_000_000), True: (60_000_000, 230_000_000)}
"""Whether the bundle contains the packages that read lakes -> maximum bytes of the file and of the tree that it
unpacks.
"""


class Bundle(NamedTuple):
    """A finished bundle. tree: the folder whose content the file unpacks. size, unpacked: bytes of the file and of the
    tree.
    """

    file: Path
    tree: Path
    size: int
    unpacked: int


def make(arch: str, machine: str, out: Path, cache: Path, *, with_lake: bool, level: int, version: str) -> Bundle:
    """Make a bundle for an architecture, and return it.

    Args:
        machine: the architecture of this machine, whose Python compiles and packs for all.
        out: the folder for the bundle.
        cache: the folder for downloads.
        with_lake: whether to include the packages that read lakes.
        level: zstd's level, 1 to 22.

    Raises Missing without Go, RuntimeError with the reason for any other failure.
    """
    name = f"kac-{version}{'-lake' if with_lake else ''}-linux-{arch}"
    work = cache / f"tree-{name}"
    shutil.rmtree(work, ignore_errors=True)
    made = work / "kac"
    python = _tool(machine, cache)
    inputs.interpreter(arch, made)
    runs = (inputs.LOCKS / "run.txt").read_text()
    names = ("botocore", *(("duckdb", "obstore") if with_lake else ()))
    locks = [runs, with_needs((inputs.LOCKS / "lake.txt").read_text(), *names, there=runs)]
    packages = [wheel for lock in locks for wheel in inputs.wheels(arch, lock, cache)]
    with TemporaryDirectory() as folder:
        own = inputs.own_wheel(Path(folder))
        for wheel in (*packages, own):
            tree.unpack_wheel(wheel, made)
    # With DuckDB, use the host's libgcc_s: DuckDB requires the host's libstdc++, which requires more of the host's
    # libgcc_s than the one that is built here provides.
    zig = None if with_lake else unwinder.build(arch, made / "lib" / unwinder.NAME, cache)
    tree.prune(made)
    papers.write(made, packages, arch, zig, version)
    tree.compile_sources(made, python)
    tree.clear_empty(made)
    out.mkdir(parents=True, exist_ok=True)
    file = out / name
    link(made, file, arch, cache, _pack(python, level))
    shutil.copyfile(made / papers.SBOM, out / f"{name}.cdx.json")
    (out / f"{name}.sha256").write_text(f"{inputs.digest(file)}  {name}\n")
    result = Bundle(file, made, file.stat().st_size, sum(path.stat().st_size for path in _files(made)))
    most, most_unpacked = LIMITS[with_lake]
    if level > 15 and (result.size > most or result.unpacked > most_unpacked):
        raise RuntimeError(
            f"{file}: {result.size:,} bytes, unpacked {result.unpacked:,}: above {most:,}, {most_unpacked:,}"
        )
    return result


def _tool(machine: str, cache: Path) -> Path:
    """Return the path of the bundle's Python for this machine, which compiles sources and has zstd."""
    folder = cache / "python"
    if not (folder / tree.PROGRAM).exists():
        shutil.rmtree(folder, ignore_errors=True)
        making = cache / "python.part"
        shutil.rmtree(making, ignore_errors=True)
        inputs.interpreter(machine, making)
        making.rename(folder)
    return folder / tree.PROGRAM


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*"), key=lambda path: path.as_posix()) if path.is_file())


def link(made: Path, file: Path, arch: str, work: Path, pack: Callable[[Path, Path], None]) -> None:
    """Compile the launcher with a packed tree inside.

    Args:
        made: the tree to pack.
        file: the path of the finished program.
        work: a folder for the launcher's sources.
        pack: compresses by zstd; its arguments are the file to read and the file to write.
    """
    source = work / f"launcher-{file.name}"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(inputs.LAUNCHER, source)
    payload = source / "payload"
    payload.mkdir()
    plain, packed = payload / "tree.tar", payload / "tree.tar.zst"
    index = []
    with tarfile.open(plain, "w", format=tarfile.USTAR_FORMAT) as archive:
        for path in _files(made):
            entry = tarfile.TarInfo(path.relative_to(made).as_posix())
            entry.size = path.stat().st_size
            entry.mode = 0o700 if path.stat().st_mode & 0o100 else 0o600
            index.append(f"{entry.size} {entry.name}\n")
            with path.open("rb") as content:
                archive.addfile(entry, content)
    (payload / "index").write_text("".join(index))
    pack(plain, packed)
    plain.unlink()
    (payload / "identity").write_text(inputs.digest(packed))
    go = ["go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid="]
    inputs.run(
        [*go, "-o", str(file.resolve()), "."],
        source,
        CGO_ENABLED="0",
        GOOS="linux",
        GOARCH=inputs.GO_NAMES[arch],
        GOFLAGS="",
    )
    shutil.rmtree(source)


def _pack(python: Path, level: int) -> Callable[[Path, Path], None]:
    code = (
        "import sys\n"
        "from compression import zstd\n"
        "from compression.zstd import CompressionParameter as P\n"
        "options = {P.compression_level: int(sys.argv[3]), P.window_log: 25, P.checksum_flag: 1}\n"
        "with open(sys.argv[1], 'rb') as plain, open(sys.argv[2], 'wb') as packed:\n"
        "    packed.write(zstd.compress(plain.read(), options=options))\n"
    )

    def pack(plain: Path, packed: Path) -> None:
        inputs.run([str(python), "-I", "-c", code, str(plain), str(packed), str(level)])

    return pack
