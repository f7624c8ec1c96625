"""What the bed takes from npm: installed once into a cache folder outside the tree, then offline.

emulate is installed with its dependencies from a lock file. The three data packages are fetched
with `npm pack`, checked against their integrity, and only the files we read are unpacked (one of
them would be 385 MB otherwise). A file lock makes it safe for test runs side by side.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from tests.need import missing, need

HERE = Path(__file__).parent / "node"
INSTALL_LIMIT_S = 100
# npm's own patience is minutes; without a network the tests should be skipped in seconds
_HASTE = (
    "--prefer-offline",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=500",
    "--fetch-retry-maxtimeout=2000",
)


@dataclass(frozen=True)
class DataPackage:
    """A package of which one file is wanted, its pinned version and npm's sha512 of the tarball."""

    name: str
    version: str
    sha512: str
    member: str


OPENAPI = DataPackage(
    "@octokit/openapi",
    "23.0.2",
    "pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
    "package/generated/api.github.com.json",
)
GRAPHQL_SCHEMA = DataPackage(
    "@octokit/graphql-schema",
    "15.26.1",
    "RFDC2MpRBd4AxSRvUeBIVeBU7ojN/SxDfALUd7iVYOSeEK3gZaqR2MGOysj4Zh2xj2RY5fQAUT+Oqq7hWTraMA==",
    "package/schema.graphql",
)
WEBHOOKS = DataPackage(
    "@octokit/webhooks-examples",
    "7.6.1",
    "De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ==",
    "package/api.github.com/index.json",
)


class InstallError(Exception):
    """npm could not give us a package."""


def cache_folder() -> Path:
    """Where the packages are kept: $CIWM_TESTS_CACHE, else the user's cache folder (XDG)."""
    stated = os.environ.get("CIWM_TESTS_CACHE")
    path = Path(stated) if stated else user_cache_path("ciwm-tests")
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()


def emulate() -> Path:
    """The script that starts emulate; the running test is skipped when it cannot be had."""
    need("node")
    lock_file = (HERE / "package-lock.json").read_bytes()
    kept = cache_folder() / f"emulate-{hashlib.sha256(lock_file).hexdigest()[:12]}"
    script = kept / "node_modules/emulate/dist/index.js"
    if not script.is_file():
        _once(kept, _install_emulate, what="emulate")
    return script


def data_file(package: DataPackage) -> Path:
    """The wanted file of a data package; the running test is skipped when it cannot be had."""
    kept = cache_folder() / f"{package.name.rpartition('/')[2]}-{package.version}"
    path = kept / Path(package.member).name
    if not path.is_file():
        _once(kept, lambda folder: _unpack(package, folder), what=package.name)
    return path


def _once(kept: Path, make: object, *, what: str) -> None:
    """Fill `kept` by `make(folder)`, by one process only, and all or nothing."""
    assert callable(make)
    need("npm")
    with FileLock(f"{kept}.lock", timeout=2 * INSTALL_LIMIT_S):
        if kept.is_dir() and any(kept.iterdir()):
            return  # another process was first
        with tempfile.TemporaryDirectory(prefix="new-", dir=kept.parent) as temporary:
            folder = Path(temporary) / "kept"
            folder.mkdir()
            try:
                make(folder)
            except InstallError as error:
                missing(f"npm could not install {what}: {error}")
            shutil.rmtree(kept, ignore_errors=True)
            folder.rename(kept)


def _install_emulate(folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder / name)
    _npm(folder, "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def _unpack(package: DataPackage, folder: Path) -> None:
    spec = f"{package.name}@{package.version}"
    _npm(folder, "pack", spec, "--ignore-scripts", "--pack-destination", str(folder))
    (tarball,) = folder.glob("*.tgz")
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    if digest != package.sha512:
        raise InstallError(f"the tarball of {spec} is not the pinned one (sha512 {digest})")
    with tarfile.open(tarball) as archive:
        source = archive.extractfile(package.member)
        assert source is not None
        (folder / Path(package.member).name).write_bytes(source.read())
    tarball.unlink()


def _npm(folder: Path, *arguments: str) -> None:
    """Run npm in a folder; a second try, since registries have bad moments."""
    last = ""
    for _ in range(2):
        try:
            done = subprocess.run(
                [need("npm"), *arguments, *_HASTE],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=INSTALL_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InstallError(f"no answer within {INSTALL_LIMIT_S} s") from None
        if done.returncode == 0:
            return
        last = next(iter(done.stderr.strip().splitlines()), f"status {done.returncode}")
    raise InstallError(last)
