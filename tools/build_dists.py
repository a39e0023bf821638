"""Build the source distribution and the wheel, the same bytes from the same commit: `python tools/build_dists.py`.

The archives are built from a copy of the tracked files. The time stamps in both are SOURCE_DATE_EPOCH, by default the
time of the commit; owners, permissions and the order of files do not depend on the machine. Relative links of README.md
become absolute, because package indexes show it without the other pages. The script fails if a tracked file is missing
from the source distribution, or a source file, py.typed or the license from the wheel. `--twice` builds again from a
copy with other permissions and times, and compares the bytes. The script needs git and the package `build`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LEFT_OUT = (".ci/",)
"""Beginnings of tracked paths that the source distribution leaves out."""

FIRST_ZIP_TIME = 315532800
"""1980-01-01, the earliest time that a zip archive can hold."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "dist", help="where to write (default: dist)")
    parser.add_argument("--twice", action="store_true", help="build again from a copy, and compare the bytes")
    options = parser.parse_args()
    epoch = max(int(os.environ.get("SOURCE_DATE_EPOCH") or commit_time()), FIRST_ZIP_TIME)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = build(copied(folder / "sources", mode=0o644, time=epoch), options.folder, epoch)
        problems = missing_files(*built)
        if options.twice:
            again = build(copied(folder / "elsewhere", mode=0o600, time=10**9), folder / "dist", epoch)
            problems += [
                f"a second build of {one.name} differs"
                for one, other in zip(built, again, strict=True)
                if one.read_bytes() != other.read_bytes()
            ]
    for path in built:
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")
    if problems:
        sys.exit("\n".join(f"error: {problem}" for problem in problems))


def git(*arguments: str) -> list[str]:
    """The output of git in the repository, as NUL-terminated texts."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return [text for text in done.stdout.split("\0") if text]


def commit_time() -> str:
    return git("log", "-1", "-z", "--format=%ct")[0]


def tracked_files() -> list[str]:
    """Paths of the files of the working tree that git tracks, with slashes."""
    return [path for path in git("ls-files", "-z") if (ROOT / path).is_file()]


def build(source: Path, folder: Path, epoch: int) -> tuple[Path, Path]:
    """Build the source distribution and the wheel of `source`, and return their paths in `folder`."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
        command = [sys.executable, "-m", "build", "--outdir", str(made), str(source)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        (sdist,), (wheel,) = made.glob("*.tar.gz"), made.glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / sdist.name).write_bytes(normalized_tar(sdist, epoch))
        (folder / wheel.name).write_bytes(normalized_zip(wheel))
        return folder / sdist.name, folder / wheel.name


def normalized_tar(path: Path, epoch: int) -> bytes:
    """The .tar.gz at `path` with files in order of their names, owned by root, and with the time `epoch`."""
    plain, packed = io.BytesIO(), io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = epoch
            member.mode = 0o755 if member.isdir() else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    with gzip.GzipFile("", "wb", 9, packed, mtime=epoch) as file:
        file.write(plain.getvalue())
    return packed.getvalue()


def normalized_zip(path: Path) -> bytes:
    """The wheel at `path` with permissions that do not depend on the umask; its times are SOURCE_DATE_EPOCH already."""
    packed = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3  # Unix
            new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def copied(folder: Path, *, mode: int, time: int) -> Path:
    """A copy of the tracked files in `folder`, all with these permissions and this modification time."""
    for path in tracked_files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)
    readme = folder / "README.md"
    readme.write_text(with_absolute_links(readme.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    for path in tracked_files():
        (folder / path).chmod(mode)
        os.utime(folder / path, (time, time))
    return folder


def with_absolute_links(page: str) -> str:
    """`page` with links into the repository at the tag of this version in place of relative ones."""
    return re.sub(
        r"\]\((?!https?:|#)",
        f"]({constant('pyproject.toml', 'Source')}/blob/v{constant('gather_infer/__init__.py', '__version__')}/",
        page,
    )


def constant(path: str, name: str) -> str:
    """The text that a line `name = "..."` of a file assigns."""
    found = re.search(rf'^{name} = "(.*)"$', (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, f"{path} assigns {name}"
    return found[1]


def missing_files(sdist: Path, wheel: Path) -> list[str]:
    """A text for each file that one of the archives should contain and does not."""
    with tarfile.open(sdist) as archive:
        unpacked = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        installed = set(archive.namelist())
    wanted = [path for path in tracked_files() if not path.startswith(LEFT_OUT)]
    problems = [f"{path} is not in {sdist.name}" for path in wanted if path not in unpacked]
    sources = [path.replace("cli/", "gather_infer_cli/", 1) if path.startswith("cli/") else path
               for path in wanted if path.startswith(("gather_infer/", "cli/"))]  # fmt: skip
    problems += [f"{path} is not in {wheel.name}" for path in sources if path not in installed]
    if not any(name.endswith("/licenses/LICENSE") for name in installed):
        problems.append(f"LICENSE is not in {wheel.name}")
    return problems


if __name__ == "__main__":
    main()
