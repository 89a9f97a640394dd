"""Where compiled kernels are kept: where numba can write; else in a folder for this process and its children.

Numba gives up on a function that it cannot cache, so a read-only checkout without a writable home would not even start.
"""

import atexit
import hashlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba.core.caching import FunctionCache
from numba.misc.appdirs import AppDirs

config: Any = numba.config
VARIABLE = "NUMBA_CACHE_DIR"
ROOM = 64_000_000  # bytes: what all kernels take, several times
log = logging.getLogger(__name__)


def places() -> Iterator[Path]:
    """Where numba would keep what it compiles: where it was told to, else in the tree or the user's cache."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
        return
    yield Path(__file__).with_name("__pycache__")
    yield Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)


def writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        return shutil.disk_usage(folder).free >= ROOM
    except OSError:
        return False


def name_temporary_folder() -> None:
    """On a full disk Python names no temporary folder, and libraries that only look for one give up: take memory,
    or else a full one."""
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
        folders = filter(os.path.isdir, ["/dev/shm", *named, "/tmp", "/var/tmp"])
        tempfile.tempdir = next((folder for folder in folders if os.access(folder, os.W_OK)), None)


def settle() -> bool:
    """Choose a place; False if there is none, and every process has to compile for itself."""
    name_temporary_folder()
    if any(map(writable, places())):
        return True
    shipped = config.CACHE_DIR
    try:
        folder = tempfile.mkdtemp(prefix="adgm-kernels-")  # private: what lies in it will be run
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        if not writable(Path(folder)):
            raise OSError("the disk is full")
    except OSError as error:
        log.warning("Compiled kernels cannot be kept (%s): every process compiles its own: a minute.", error)
        return False
    with suppress(OSError, shutil.Error):
        if shipped:  # compiled when an image was built, and read-only now
            shutil.copytree(shipped, folder, copy_function=shutil.copyfile, dirs_exist_ok=True)
        for each in (Path(folder), *Path(folder).rglob("*/")):  # copied with the modes of what may be read-only
            each.chmod(0o700)
    config.CACHE_DIR = os.environ[VARIABLE] = folder
    log.warning("Compiled kernels are kept in %s until this process ends: nothing else can be written.", folder)
    return True


def forgive_full_disks() -> None:
    """A disk that fills up later costs the next process a compilation, never this one the run that needs the kernel."""
    kept: Any = FunctionCache
    save = kept.save_overload

    def save_if_possible(self: Any, signature: Any, compiled: Any) -> None:
        try:
            save(self, signature, compiled)
        except OSError as error:
            log.warning("A compiled kernel cannot be kept (%s).", error.strerror or error)

    kept.save_overload = save_if_possible


def mark(kernel: Any) -> Path:
    """Of a full cache: beside this kernel and named like it, so that it goes when the kernels do."""
    return Path(kernel._cache.cache_path, "stages.nbm")


def fingerprint() -> str:
    """Of what decides whether compiled kernels still hold: the solver's sources, numba, the processor."""
    words = [numba.__version__, sys.version, llvmlite.binding.get_host_cpu_name()]
    told = hashlib.sha256("\n".join(words).encode())
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):  # by content, as numba: moved images round times
        source = path.read_bytes()
        told.update(f"\n{path} {len(source)}\n".encode() + source)
    return told.hexdigest()


forgive_full_disks()
CACHED = settle()
