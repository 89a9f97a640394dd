"""Where compiled kernels are kept: one folder for each version, also on machines that can write nowhere; and what
happens to files that are damaged or cannot be written."""

import errno
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from numba import njit
from numba.core.caching import IndexDataCacheFile

from adgm._kernels import cache

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def nowhere(monkeypatch):
    """No place can be written: below a file there is no folder."""
    monkeypatch.setattr(cache.config, "CACHE_DIR", cache.config.CACHE_DIR)
    monkeypatch.setenv(cache.VARIABLE, os.environ.get(cache.VARIABLE, ""))
    monkeypatch.setattr(cache, "places", lambda: iter([Path(__file__) / "folder"]))


def test_the_cache_is_the_users_or_where_numba_was_told_to_write(monkeypatch, tmp_path):
    monkeypatch.setattr(cache.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    *_, in_tree = cache.places()
    assert in_tree == Path(cache.__file__).with_name("__pycache__")
    assert tmp_path in next(cache.places()).parents
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path / "told"))
    assert cache.settle() == tmp_path / "told" / cache.fingerprint()[:32]
    assert str(tmp_path / "told") == cache.config.CACHE_DIR


def test_a_read_only_machine_gets_a_private_folder_with_what_was_shipped(nowhere, monkeypatch, tmp_path):
    name = cache.fingerprint()[:32]
    shipped = tmp_path / "shipped" / name
    shipped.mkdir(parents=True)
    (shipped / "kernel.nbi").write_bytes(b"compiled")
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(shipped.parent))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = cache.settle()
    private = Path(cache.config.CACHE_DIR)
    assert private.parent == tmp_path and private.stat().st_mode & 0o777 == 0o700
    assert os.environ[cache.VARIABLE] == str(private)
    assert folder == private / name and (folder / "kernel.nbi").read_bytes() == b"compiled"


def test_without_any_room_every_process_compiles_for_itself_and_says_so(nowhere, monkeypatch, caplog):
    monkeypatch.setattr(cache, "ROOM", 2**63)
    before = cache.config.CACHE_DIR
    assert cache.settle() is None
    assert before == cache.config.CACHE_DIR and "cannot be kept" in caplog.text
    monkeypatch.setattr(cache, "FOLDER", None)
    assert cache.kept(njit(lambda x: x + 1))(1) == 2 and cache.mark() is None


def test_only_the_versions_used_last_stay(monkeypatch, tmp_path):
    folders = [tmp_path / f"{number:032x}" for number in range(cache.VERSIONS + 3)]
    for age, folder in enumerate(folders):
        folder.mkdir()
        os.utime(folder, (age, age))
    (tmp_path / "another program's").mkdir()
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path))
    cache.settle()
    assert [folder.exists() for folder in folders] == [False] * 3 + [True] * cache.VERSIONS
    assert (tmp_path / "another program's").exists()


# ---------------------------------------------------------------- versions


def test_a_copy_of_the_sources_has_the_same_digest_and_a_change_in_any_of_them_another(tmp_path):
    folder = Path(cache.__file__).parent
    copy = shutil.copytree(folder, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("__pycache__"))
    before = cache.digest(copy)
    assert before == cache.digest(folder) != cache.digest(folder, "another processor")
    for source in copy.glob("*.py"):
        os.utime(source, (1, 1))  # as in an image that was saved and loaded
        assert cache.digest(copy) == before
        content = source.read_bytes()
        source.write_bytes(content + b"\n")
        assert cache.digest(copy) != before
        source.write_bytes(content)


CALLED = "from adgm._kernels.types import inlined\n@inlined\ndef number():\n    return {}\n"
CALLER = (
    "from adgm._kernels.called import number\nfrom adgm._kernels.types import compiled\n"
    "@compiled\ndef ask():\n    return number()\n"
)


def test_a_change_in_an_inlined_kernel_reaches_its_callers_and_clones_share_what_is_compiled(tmp_path):
    def answer(tree: Path) -> list[str]:
        code = "from adgm._kernels.caller import ask; print(ask(), sum(ask.stats.cache_hits.values()))"
        settings = {**os.environ, cache.VARIABLE: str(tmp_path / "kernels"), "PYTHONPATH": ""}
        words = [sys.executable, "-c", code]
        return subprocess.run(words, cwd=tree, env=settings, capture_output=True, text=True, check=True).stdout.split()

    trees = [tmp_path / "one", tmp_path / "two"]
    for tree in trees:
        kernels = tree / "adgm" / "_kernels"
        kernels.mkdir(parents=True)
        (tree / "adgm" / "__init__.py").touch()
        (kernels / "__init__.py").touch()
        for name in ("cache.py", "interpreted.py", "by_numpy.py", "types.py"):
            shutil.copy(ROOT / "adgm" / "_kernels" / name, kernels)
        (kernels / "called.py").write_text(CALLED.format(1), encoding="utf-8")
        (kernels / "caller.py").write_text(CALLER, encoding="utf-8")
    assert answer(trees[0]) == ["1", "0"]
    assert answer(trees[1]) == ["1", "1"]
    (trees[0] / "adgm" / "_kernels" / "called.py").write_text(CALLED.format(2), encoding="utf-8")
    assert answer(trees[0]) == ["2", "0"]


# ---------------------------------------------------------------- damage


def fresh():
    """A kernel as a new process finds it: nothing of it is in memory."""

    def one_more(number):
        return number + 1

    return cache.kept(njit(one_more))


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "half", "first", "middle", "last"])
def test_a_damaged_file_is_removed_and_the_kernel_compiled_again(monkeypatch, tmp_path, caplog, suffix, damage):
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    assert fresh()(1) == 2
    [file] = tmp_path.glob(f"*{suffix}")
    content = bytearray(file.read_bytes())
    if damage == "empty":
        content = bytearray()
    elif damage == "half":
        content = content[: len(content) // 2]
    else:
        at = {"first": 0, "middle": len(content) // 2, "last": len(content) - 1}[damage]
        content[at] ^= 0xFF
    file.write_bytes(content)
    again = fresh()
    assert again(1) == 2 and not again.stats.cache_hits and "damaged kernel" in caplog.text
    caplog.clear()
    loaded = fresh()
    assert loaded(1) == 2 and loaded.stats.cache_hits and not caplog.text


def test_a_disk_that_fills_up_later_costs_no_run(monkeypatch, tmp_path, caplog):
    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    with caplog.at_level(logging.WARNING):
        assert fresh()(1) == 2
    assert "cannot be kept (No space left" in caplog.text
