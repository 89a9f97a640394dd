"""Where compiled kernels are kept on a machine that lets us write nowhere, or only in its temporary folder."""

import errno
import os
import tempfile
from pathlib import Path

import pytest
from numba import njit
from numba.core.caching import IndexDataCacheFile

from adgm._kernels import cache


@pytest.fixture
def nowhere(monkeypatch):
    """No place of numba's can be written: below a file there is no folder."""
    monkeypatch.setattr(cache.config, "CACHE_DIR", cache.config.CACHE_DIR)
    monkeypatch.setenv(cache.VARIABLE, os.environ.get(cache.VARIABLE, ""))
    monkeypatch.setattr(cache, "places", lambda: iter([Path(__file__) / "folder"]))


def test_the_usual_places_are_numbas_own(monkeypatch, tmp_path):
    monkeypatch.setattr(cache.config, "CACHE_DIR", "")
    assert Path(cache.__file__).with_name("__pycache__") in cache.places()
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path))
    assert list(cache.places()) == [tmp_path] and cache.settle()
    assert str(tmp_path) == cache.config.CACHE_DIR


def test_a_read_only_machine_gets_a_private_folder_with_what_was_shipped(nowhere, monkeypatch, tmp_path):
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "kernel.nbi").write_bytes(b"compiled")
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(shipped))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache.settle()
    folder = Path(cache.config.CACHE_DIR)
    assert folder.parent == tmp_path and folder.stat().st_mode & 0o777 == 0o700
    assert os.environ[cache.VARIABLE] == str(folder)
    assert (folder / "kernel.nbi").read_bytes() == b"compiled"


def test_without_any_room_every_process_compiles_for_itself_and_says_so(nowhere, monkeypatch, caplog):
    monkeypatch.setattr(cache, "ROOM", 2**63)
    before = cache.config.CACHE_DIR
    assert not cache.settle()
    assert before == cache.config.CACHE_DIR and "cannot be kept" in caplog.text


def test_a_disk_that_fills_up_later_costs_no_run(monkeypatch, tmp_path, caplog):
    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(IndexDataCacheFile, "save", full)

    @njit(cache=True)
    def one_more(number):
        return number + 1

    assert one_more(1) == 2 and "cannot be kept (No space left" in caplog.text


def test_a_tree_that_was_moved_has_the_same_fingerprint_and_a_changed_one_another(monkeypatch, tmp_path):
    folder = tmp_path / "adgm" / "_kernels"
    folder.mkdir(parents=True)
    source = folder / "cache.py"
    source.write_text("one = 1\n", encoding="utf-8")
    monkeypatch.setattr(cache, "__file__", str(source))
    before = cache.fingerprint()
    os.utime(source, (1, 1))  # as in an image that was saved and loaded
    assert cache.fingerprint() == before
    source.write_text("one = 2\n", encoding="utf-8")
    assert cache.fingerprint() != before
