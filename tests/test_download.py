"""The downloader: files arrive whole, checked and once, or the user is told what went wrong. No real network."""

import functools
import hashlib
import http.server
import threading
from pathlib import Path

import pytest

from features.datasets import DATASETS, download, oxford, photos, sequences, willow
from features.datasets.download import DownloadError, MissingData, Source

REAL = [key for key, dataset in DATASETS.items() if not dataset.builtin]


@pytest.mark.data
def test_the_registry_of_files_is_that_of_the_real_data(data_dir):
    assert len(download.sources()) == 2 * (111 + 101) + 30 + 20 + 8 * 11 + 610
    for source in download.sources()[::9]:
        there = (data_dir / source.file).parent.is_dir()  # some scenes and classes come by download only
        assert not there or source.matches(data_dir / source.file), source.file
        assert source.url.startswith("https://") and source.url.endswith(source.file.rsplit("/", 1)[1])


class Quiet(http.server.SimpleHTTPRequestHandler):
    asked: list[str]

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *args):
        pass


@pytest.fixture
def mirror(tmp_path):
    """A server on this computer, its folder, and the list of what it was asked for."""
    folder, asked = tmp_path / "mirror", []
    folder.mkdir()
    handler = functools.partial(type("Handler", (Quiet,), {"asked": asked}), directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder, asked
        server.shutdown()


def offered(address: str, folder: Path, file: str, content: bytes, promised: bytes | None = None) -> Source:
    """A file on the mirror; ``promised`` is what the registry says it is."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(content)
    right = content if promised is None else promised
    return Source(file, len(right), hashlib.sha256(right).hexdigest(), f"{address}/{file}")


def test_files_arrive_whole_once_and_in_their_place(mirror, tmp_path):
    address, folder, asked = mirror
    files = [offered(address, folder, f"set/labels/f{i}", bytes([i]) * (100 * i + 1)) for i in range(12)]
    steps = []
    cache = download.fetch(files, tmp_path / "cache", lambda *step: steps.append(step))
    assert all(source.matches(cache / source.file) for source in files)
    assert sorted(path.name for path in (cache / "set/labels").iterdir()) == sorted(f"f{i}" for i in range(12))
    total = sum(source.bytes for source in files)
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
    assert steps[-1][:2] == (total, total) and {name for _, _, name in steps} == {s.file for s in files}
    asked.clear()
    (cache / files[3].file).unlink()
    (cache / files[5].file).write_bytes(b"spoilt")
    download.fetch(files, cache)
    assert sorted(asked) == ["/set/labels/f3", "/set/labels/f5"], "only what is missing or spoilt is fetched again"
    assert all(source.matches(cache / source.file) for source in files)


@pytest.mark.data
def test_real_files_come_through(mirror, tmp_path, data_dir):
    address, folder, _ = mirror
    wanted = [s for s in download.sources() if s.file in ("hotel/labels/hotel1.txt", "cars/pair_30.mat")]
    local = [offered(address, folder, s.file, (data_dir / s.file).read_bytes()) for s in wanted]
    assert [(s.bytes, s.sha256) for s in local] == [(s.bytes, s.sha256) for s in wanted]
    cache = download.fetch(local, tmp_path / "cache")
    assert all(s.matches(cache / s.file) for s in wanted)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"right conte", r"sent another file than expected"),
        (b"right content and more", r"sent more than the 13 bytes expected"),
        (b"wrong content", r"sent another file than expected"),
    ],
)
def test_what_is_not_the_file_is_refused(mirror, tmp_path, content, complaint):
    address, folder, _ = mirror
    source = offered(address, folder, "set/file", content, promised=b"right content")
    with pytest.raises(DownloadError, match=complaint) as caught:
        download.fetch([source], tmp_path / "cache")
    assert source.url in str(caught.value) and "ADGM_DATA_DIR" in str(caught.value)
    assert not list((tmp_path / "cache").rglob("*.*")) and not (tmp_path / "cache/set/file").exists()


def test_a_missing_page_and_a_dead_server_are_told_plainly(mirror, tmp_path):
    address, folder, _ = mirror
    there = offered(address, folder, "set/good", b"good")
    gone = Source("set/gone", 4, "0" * 64, f"{address}/set/gone")
    with pytest.raises(DownloadError, match=r"answered 404 for http://127\.0\.0\.1:\d+/set/gone"):
        download.fetch([there, gone], tmp_path / "cache", workers=1)
    assert there.matches(tmp_path / "cache/set/good"), (
        "what came before stays, so that the next call goes on from there"
    )
    dead = Source("set/file", 4, "0" * 64, "http://127.0.0.1:9/set/file")
    with pytest.raises(DownloadError, match=r"http://127\.0\.0\.1:9/set/file could not be reached .* online\?"):
        download.fetch([dead], tmp_path / "cache")


def test_a_caller_can_stop_a_download(mirror, tmp_path):
    address, folder, asked = mirror
    files = [offered(address, folder, f"set/{i}", b"x") for i in range(60)]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download.fetch(files, tmp_path / "cache", stop, workers=1)
    assert len(asked) < 60


def test_a_place_that_cannot_be_written_is_told_plainly(mirror, tmp_path):
    address, folder, _ = mirror
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(DownloadError, match="could not be written to"):
        download.fetch([offered(address, folder, "set/file", b"x")], tmp_path / "cache")


def test_data_is_looked_for_in_the_users_folder_then_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ADGM_DATA_DIR", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert download.cache_dir() == tmp_path / "caches" / "adgm"
    with pytest.raises(MissingData, match=r"cars/pair_1\.mat is not on this computer\. Download the data set 'cars'"):
        download.find("cars/pair_1.mat")
    for folder in (download.cache_dir(), tmp_path / "mine"):
        (folder / "cars").mkdir(parents=True)
        (folder / "cars/pair_1.mat").write_bytes(b"")
        assert download.find("cars/pair_1.mat") == folder / "cars/pair_1.mat"
    assert not DATASETS["cars"].available()
    with pytest.raises(ValueError, match="those are cars, hotel, house, motorbikes, oxford, willow"):
        download.sources_of("turntable")


@pytest.mark.parametrize("key", REAL)
def test_without_the_files_a_real_set_says_what_to_do(key, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ADGM_DATA_DIR", raising=False)
    assert not DATASETS[key].available()
    last = {"left": DATASETS[key].count - 2} if key in ("house", "hotel") else {}
    for cached in (photos.everything, photos.photographs, sequences.frame_points, willow.landmarks, oxford.photograph):
        cached.cache_clear()
    oxford.load.cache_clear()
    lacking = download.MADE_OF.get(key, (key,))[0]
    with pytest.raises(MissingData, match=f"Download the data set '{lacking}', or set ADGM_DATA_DIR"):
        DATASETS[key].load(images=False, **last)


@pytest.mark.parametrize("content", [b"", b"not a MATLAB file at all", b"\0" * 200])
def test_a_spoilt_data_file_is_told_plainly(content, monkeypatch, tmp_path):
    monkeypatch.setenv("ADGM_DATA_DIR", str(tmp_path))
    photos.everything.cache_clear()
    (tmp_path / "cars").mkdir()
    (tmp_path / "cars/pair_2.mat").write_bytes(content)
    with pytest.raises(ValueError, match=r"pair_2\.mat"):
        DATASETS["cars"].load(number=2, images=False)
