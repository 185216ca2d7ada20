"""Compiles libgcc_s.so.1 for a bundle: packages with code in Rust require it, and the host may not have it.

It is LLVM's libunwind, whose sources come with zig, with the symbols and versions of GCC's library. GCC's own library
in a current distribution requires a glibc that is too new.
"""

from __future__ import annotations

from pathlib import Path

from bundle.inputs import GLIBC, compiler, run

NAME = "libgcc_s.so.1"
_VERSIONS = """
GCC_3.0 {
  global: _Unwind_DeleteException; _Unwind_Find_FDE; _Unwind_ForcedUnwind; _Unwind_GetDataRelBase; _Unwind_GetGR;
    _Unwind_GetIP; _Unwind_GetLanguageSpecificData; _Unwind_GetRegionStart; _Unwind_GetTextRelBase;
    _Unwind_RaiseException; _Unwind_Resume; _Unwind_SetGR; _Unwind_SetIP; __deregister_frame; __register_frame;
  local: *;
};
GCC_3.3 {
  global: _Unwind_Backtrace; _Unwind_FindEnclosingFunction; _Unwind_GetCFA; _Unwind_Resume_or_Rethrow;
} GCC_3.0;
GCC_3.3.1 { global: __gcc_personality_v0; } GCC_3.3;
GCC_4.2.0 { global: _Unwind_GetIPInfo; } GCC_3.3.1;
"""
_C = ("UnwindLevel1.c", "UnwindLevel1-gcc-ext.c", "gcc_personality_v0.c")
_ASSEMBLY = ("UnwindRegistersRestore.S", "UnwindRegistersSave.S")


def build(arch: str, target: Path, cache: Path) -> Path:
    """Compile the library for an architecture into the file `target`. Return the compiler's folder, which has the
    library's licence.
    """
    zig = compiler(cache)
    place = {"ZIG_GLOBAL_CACHE_DIR": str(cache / "zig"), "ZIG_LOCAL_CACHE_DIR": str(cache / "zig")}
    versions, part = target.with_suffix(".map"), target.with_suffix(".o")
    versions.write_text(_VERSIONS)
    # Use paths below the compiler's own folder, so that the bytes do not depend on the place of the sources.
    sources = Path("lib/libunwind/src")
    cc = ["./zig", "cc", "-target", f"{arch}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}", "-fPIC", "-O2", "-g0", "-funwind-tables"]
    cc += ["-fno-sanitize=all", "-I", "lib/libunwind/include", "-I", str(sources)]
    cpp = ["-std=c++17", "-nostdinc++", "-fno-exceptions", "-fno-rtti"]
    run([*cc, *cpp, "-c", str(sources / "libunwind.cpp"), "-o", str(part)], zig, **place)
    rest = [str(sources / name) for name in (*_C, *_ASSEMBLY)]
    link = ["-shared", "-s", "-fexceptions", f"-Wl,-soname,{NAME}", f"-Wl,--version-script={versions}"]
    run([*cc, *link, str(part), *rest, "-o", str(target)], zig, **place)
    versions.unlink()
    part.unlink()
    target.chmod(0o644)
    return zig
