"""Where compiled kernels are kept: in one folder for each version of their sources.

The folder is named by a fingerprint of all kernel sources, of numba and of the processor. Numba alone looks only at the
file of the function that it loads, and would go on using a kernel after a change in another kernel that it calls. The
fingerprint does not depend on where the sources are, so all clones of the project on a machine share what is compiled.

Every file ends with its checksum. A damaged file is removed, and the kernel is compiled again.
"""

import atexit
import hashlib
import logging
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.misc.appdirs import AppDirs

from adgm._kernels.interpreted import INTERPRETER, interpretable

config: Any = numba.config
VARIABLE = "NUMBA_CACHE_DIR"
ROOM = 64_000_000  # bytes: what all kernels take, several times
VERSIONS = 8  # folders of other versions that stay: branches and clones that are in use at the same time
CHECKSUM = hashlib.sha256().digest_size
log = logging.getLogger(__name__)


class Damaged(Exception):
    """A file of the cache does not match its checksum."""


# ---------------------------------------------------------------- the place


def digest(folder: Path, *words: str) -> str:
    """Of some words and of all Python files below a folder: of their names in it and of their content."""
    told = hashlib.sha256("\n".join(words).encode())
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        told.update(f"\n{path.relative_to(folder).as_posix()} {len(source)}\n".encode() + source)
    return told.hexdigest()


@cache
def fingerprint() -> str:
    """Of what decides whether compiled kernels still hold: their sources, numba, Python, the processor."""
    cpu = [llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()]
    return digest(Path(__file__).parent, numba.__version__, llvmlite.__version__, sys.version, *cpu)


def places() -> Iterator[Path]:
    """Folders that may hold the cache: where the user told numba to write, else the user's cache, else the tree."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
        return
    yield Path(AppDirs(appname="adgm", appauthor=False).user_cache_dir, "kernels")
    yield Path(__file__).with_name("__pycache__")


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


def remove_old_versions(place: Path, keep: str) -> None:
    """Remove the folders of versions that have not been compiled for longest; a process that still uses one compiles
    again what it has not loaded yet."""
    with suppress(OSError):
        folders = [folder for folder in place.iterdir() if len(folder.name) == len(keep) and folder.name != keep]
        for folder in sorted(folders, key=lambda each: each.stat().st_mtime)[:-VERSIONS]:
            shutil.rmtree(folder, ignore_errors=True)


def settle() -> Path | None:
    """Choose the folder of this version; None if there is no place, and every process has to compile for itself."""
    name_temporary_folder()
    name = fingerprint()[:32]
    if place := next(filter(writable, places()), None):
        if not (place / name).is_dir():
            remove_old_versions(place, name)
        return place / name
    shipped = config.CACHE_DIR
    try:
        folder = tempfile.mkdtemp(prefix="adgm-kernels-")  # private: what lies in it will be run
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        if not writable(Path(folder)):
            raise OSError("the disk is full")
    except OSError as error:
        log.warning("Compiled kernels cannot be kept (%s): every process compiles its own: a minute.", error)
        return None
    with suppress(OSError, shutil.Error):
        if shipped:  # compiled when an image was built, and read-only now
            shutil.copytree(shipped, folder, copy_function=shutil.copyfile, dirs_exist_ok=True)
        for each in (Path(folder), *Path(folder).rglob("*/")):  # copied with the modes of what may be read-only
            each.chmod(0o700)
    config.CACHE_DIR = os.environ[VARIABLE] = folder  # for child processes
    log.warning("Compiled kernels are kept in %s until this process ends: nothing else can be written.", folder)
    return Path(folder, name)


FOLDER = settle()
INTERPRETER.file = FOLDER and FOLDER / "interpreted"


def mark() -> Path | None:
    """The file that says that everything has been compiled: by this version of the kernels and of what calls them."""
    return FOLDER and FOLDER / f"complete-{digest(Path(__file__).parents[1])[:32]}"


# ---------------------------------------------------------------- the files


class Locator:
    """Tells numba where the files of a function are; their folder says that they are fresh."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._disambiguator = f"{Path(file).stem}-{function.__code__.co_firstlineno}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "Locator":
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(FOLDER)

    def get_source_stamp(self) -> str:
        return fingerprint()

    def get_disambiguator(self) -> str:
        return self._disambiguator


class KernelImpl(CompileResultCacheImpl):
    _locator_classes: Any = (Locator,)


class KernelFiles(IndexDataCacheFile):
    """Index and data of one kernel. Unpickling stops where the pickle ends, so a checksum can follow it."""

    def _dump(self, obj: object) -> bytes:
        content: bytes = super()._dump(obj)
        return content + hashlib.sha256(content).digest()

    def _check(self, content: bytes) -> None:
        if hashlib.sha256(content[:-CHECKSUM]).digest() != content[-CHECKSUM:]:
            raise Damaged

    def _load_index(self) -> Any:
        with suppress(FileNotFoundError), Path(self._index_path).open("rb") as file:
            pickle.load(file)  # numba's version stands before the index
            self._check(file.read())
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        self._check(Path(self._data_path(name)).read_bytes())
        return super()._load_data(name)

    def remove(self) -> None:
        for path in Path(self._cache_path).glob(f"{Path(self._index_path).stem}.*"):
            with suppress(OSError):
                path.unlink()


class KernelCache(FunctionCache):
    """Numba's cache of one function: a full disk or a damaged file costs a compilation, never a run."""

    _impl_class = KernelImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file: Any = KernelFiles(self._cache_path, self._impl.filename_base, fingerprint())

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)
        except Exception as error:  # whatever numba, pickle or LLVM make of a damaged file
            log.warning("A damaged kernel is compiled again (%s: %s).", self._impl.filename_base, type(error).__name__)
            self._cache_file.remove()
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        try:
            super().save_overload(signature, compiled)
        except OSError as error:
            log.warning("A compiled kernel cannot be kept (%s).", error.strerror or error)
        except Exception:  # the index could not be read
            self._cache_file.remove()


def kept(dispatcher: Any) -> Any:
    """The compiled function, which loads what another process has compiled."""
    if FOLDER is not None:
        dispatcher._cache = KernelCache(dispatcher.py_func)
    return interpretable(dispatcher)
