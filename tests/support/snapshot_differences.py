"""Where two snapshots differ, in lines that can be read when a test fails."""

from console.model.snapshot import Snapshot


def differences(left: Snapshot, right: Snapshot) -> list[str]:
    """What differs, one line for each place, so that a failure can be read."""
    found = []
    for resource in sorted({*left.configs, *right.configs}):
        a, b = left.configs.get(resource), right.configs.get(resource)
        if a != b:
            keys = sorted({e.name for e in a or ()} | {e.name for e in b or ()})
            for key in keys:
                one, other = a.get(key) if a else None, b.get(key) if b else None
                if one != other:
                    found.append(f"{resource} {key}: {one} / {other}")
    parts = ("topics", "quotas", "acls", "scram")
    return found + [
        f"{p}: {getattr(left, p)} / {getattr(right, p)}" for p in parts if getattr(left, p) != getattr(right, p)
    ]
