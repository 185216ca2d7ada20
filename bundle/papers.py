"""What goes with a bundle on paper: licences of all parts, and a CycloneDX list of them."""

from __future__ import annotations

import json
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from bundle.inputs import INTERPRETER, LAUNCHER, digest, run
from bundle.tree import SITE

SBOM = "share/kac/sbom.cdx.json"
LICENSES = "share/kac/licenses.txt"
_NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "COPYRIGHT")
STATIC = (
    # Part of the program: python-build-standalone links them in.
    ("OpenSSL", "Apache-2.0", "openssl.org"),
    ("libffi", "MIT", "sourceware.org/libffi"),
    ("zlib", "Zlib", "zlib.net"),
    ("bzip2", "bzip2-1.0.6", "sourceware.org/bzip2"),
    ("XZ Utils (liblzma)", "0BSD", "tukaani.org/xz"),
    ("Zstandard", "BSD-3-Clause", "facebook.github.io/zstd"),
    ("SQLite", "blessing", "sqlite.org"),
    ("Expat", "MIT", "libexpat.github.io"),
    ("mpdecimal", "BSD-2-Clause", "www.bytereef.org/mpdecimal"),
    ("libedit", "BSD-3-Clause", "thrysoee.dk/editline"),
    ("ncurses", "X11-distribute-modifications-variant", "invisible-island.net/ncurses"),
    ("libuuid", "BSD-3-Clause", "github.com/util-linux/util-linux"),
)


def write(tree: Path, wheels: list[Path], arch: str, zig: Path | None, version: str) -> None:
    """Write both into a pruned tree. zig: the compiler's folder, which has libunwind's licence; None without it."""
    parts: list[dict[str, Any]] = []
    texts: list[str] = []
    for info in sorted((tree / SITE).glob("*.dist-info")):
        about = HeaderParser().parsestr((info / "METADATA").read_text())
        name, release = about["Name"], about["Version"]
        licence = _licence(about)
        texts.append(_section(f"{name} {release}", licence, _texts(info)))
        if name == "kafka-admin-console":
            continue
        part: dict[str, Any] = {"type": "library", "name": name, "version": release, "licenses": [_entry(licence)]}
        part["purl"] = f"pkg:pypi/{name.lower().replace('_', '-')}@{release}"
        stem = f"{info.name.removesuffix('.dist-info').lower()}-"
        (wheel,) = [each for each in wheels if each.name.lower().startswith(stem)]
        part["hashes"] = [{"alg": "SHA-256", "content": digest(wheel)}]
        parts.append(part)
    module = next(line.split()[-1] for line in (LAUNCHER / "go.mod").read_text().splitlines() if INTERPRETER in line)
    python_release = module.split("-")[1]
    parts.append(_part("CPython", python_release, "Python-2.0", f"pkg:golang/{INTERPRETER}@{module}"))
    parts += [_part(name, "", licence, f"pkg:generic/{name.split()[0].lower()}") for name, licence, _ in STATIC]
    parts.append(_part("klauspost/compress", _release("klauspost/compress"), "BSD-3-Clause AND Apache-2.0 AND MIT", ""))
    parts.append(_part("golang.org/x/sys", _release("golang.org/x/sys"), "BSD-3-Clause", ""))
    if zig is not None:
        parts.append(
            _part(
                "libunwind", "", "Apache-2.0 WITH LLVM-exception", f"pkg:pypi/ziglang@{zig.parent.name.split('-')[1]}"
            )
        )
    python = (tree / "lib" / "python3.14" / "LICENSE.txt").read_text()
    texts.append(_section(f"CPython {python_release}", "Python-2.0", python))
    if zig is not None:
        texts.append(
            _section("libunwind", "Apache-2.0 WITH LLVM-exception", (zig / "lib/libunwind/LICENSE.TXT").read_text())
        )
    modules = ("github.com/klauspost/compress", "golang.org/x/sys")
    texts.extend(_section(name, "see below", _module_licence(name)) for name in modules)
    linked = "\n".join(f"{name}: {licence}, {where}" for name, licence, where in STATIC)
    texts.append(_section("Linked into CPython by python-build-standalone", "as listed", linked))
    for part in parts:
        part["bom-ref"] = part["name"]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "kac",
                "version": version,
                "bom-ref": "kac",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "properties": [{"name": "kac:architecture", "value": arch}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": "kac", "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    (tree / SBOM).parent.mkdir(parents=True, exist_ok=True)
    (tree / SBOM).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    (tree / LICENSES).write_text("\n".join(texts))


def _part(name: str, version: str, licence: str, purl: str) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "library", "name": name, "licenses": [_entry(licence)]}
    return part | ({"version": version} if version else {}) | ({"purl": purl} if purl else {})


def _entry(licence: str) -> dict[str, Any]:
    """CycloneDX has identifiers, expressions of them, and names for all else."""
    words = licence.split()
    if len(words) == 1:
        return {"license": {"id": licence}}
    if any(word in ("AND", "OR", "WITH") for word in words):
        return {"expression": licence}
    return {"license": {"name": licence}}


def _licence(about: Message) -> str:
    """The licence that a package's metadata names, by an expression, a classifier or a short text."""
    if about["License-Expression"]:
        return str(about["License-Expression"])
    found = [each.split(" :: ")[-1] for each in about.get_all("Classifier", []) if each.startswith("License ::")]
    return " and ".join(found) or str(about["License"] or "not named").splitlines()[0]


def _texts(info: Path) -> str:
    """The licence files of a package."""
    files = [path for path in sorted(info.rglob("*")) if path.is_file() and path.name not in ("METADATA", "RECORD")]
    found = [path for path in files if path.parent.name == "licenses" or path.name.upper().startswith(_NAMES)]
    return "\n".join(path.read_text(errors="replace") for path in found)


def _module_licence(name: str) -> str:
    where = json.loads(run(["go", "mod", "download", "-json", name], LAUNCHER))["Dir"]
    return (Path(where) / "LICENSE").read_text()


def _release(name: str) -> str:
    return next(line.split()[-1] for line in (LAUNCHER / "go.mod").read_text().splitlines() if f"{name} v" in line)


def _section(name: str, licence: str, text: str) -> str:
    return f"{'=' * 100}\n{name} ({licence})\n{'=' * 100}\n\n{text.strip()}\n"
