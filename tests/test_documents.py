"""The documentation beside the app: served where it was built, behind Streamlit's check of paths, and linked."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette.starlette_path_security_middleware import PathSecurityMiddleware

from ui.shell import documents, streamlit_patches
from ui.shell.streamlit_patches import FRAMING, SNIFFING


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit's outermost layer is given back unpatched."""
    monkeypatch.setattr(PathSecurityMiddleware, "__call__", PathSecurityMiddleware.__call__)
    streamlit_patches._patch_headers()


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    (site / "sub").mkdir(parents=True)
    (site / "index.html").write_text("the first page")
    (site / "sub" / "index.html").write_text("below")
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(documents, "BUILT", (tmp_path / "none", site))
    return site


def got(path: str) -> tuple[int, dict[bytes, bytes], bytes]:
    """The status, the headers and the text that the server answers with; 299 is the app's own."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": b"the app"})

    async def asked() -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return await asyncio.Event().wait()  # nothing more comes, and nobody leaves

        request = {
            "type": "http",
            "method": "GET",
            "headers": [],
            "query_string": b"",
            "server": ("h", 1),
            "scheme": "http",
        }
        await PathSecurityMiddleware(app)({**request, "path": path, "root_path": ""}, receive, send)
        return sent

    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(asyncio.run, asked()).result()
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(one.get("body", b"") for one in sent[1:])


def test_the_site_is_served_under_docs_and_the_app_elsewhere(patched, built):
    for path, said in (
        ("/docs/", b"the first page"),
        ("/docs/index.html", b"the first page"),
        ("/docs/sub/", b"below"),
    ):
        status, headers, text = got(path)
        assert (status, text) == (200, said) and headers.items() >= {SNIFFING, FRAMING}
    assert got("/docs/sub")[1][b"location"].endswith(b"/docs/sub/")
    assert got("/docs/none.html")[0] == 404
    for path in ("/", "/docs", "/docsx/index.html", "/match"):
        assert got(path)[0] == 299


@pytest.mark.parametrize(
    "path",
    ["/docs/../secret.txt", "/docs/sub/../../secret.txt", "/docs//etc/passwd", "/docs/%2e%2e/secret.txt", "/docs/\0"],
)
def test_nothing_outside_the_site_is_served(path, patched, built):
    status, _, text = got(f"/docs/{path}")
    assert status in (400, 404) and b"secret" not in text


def test_without_a_site_the_app_answers(patched, built):
    (built / "index.html").unlink()
    assert got("/docs/index.html")[0] == 299


def linked() -> None:
    from ui.shell import documents

    documents.link()


def test_the_app_links_to_the_site_or_says_where_the_documents_are(built, monkeypatch):
    page = AppTest.from_function(linked).run()
    (found,) = page.get("link_button")
    assert found.proto.url == "docs/index.html" and not page.caption
    (built / "index.html").unlink()
    page.run()
    assert not page.get("link_button") and "assets/docs" in page.caption[0].value
    assert documents.SOURCES.is_file()
    monkeypatch.setattr(documents, "SOURCES", built / "none")
    assert not page.run().caption
