"""What is wrong with the links of a folder of HTML pages."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
ABOUT = {"canonical", "alternate", "next", "prev"}  # kinds of <link> that load nothing


class Page(HTMLParser):
    """The places that a page has, what it points to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") not in ABOUT:
            self.loads.append(given[LOADED[tag]])

    handle_startendtag = handle_starttag


def pages(folder: Path) -> dict[Path, Page]:
    """Those that visitors are led to; the page for what is not found is served under any address."""
    return {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html")) if path.name != "404.html"}


def dead(folder: Path) -> Iterator[str]:
    """Links to pages, places and files that are not there, and files that would be loaded from elsewhere."""
    known = pages(folder)
    for path, page in known.items():
        for link in dict.fromkeys([*page.links, *page.loads]):
            parts = urlsplit(link)
            if parts.scheme == "data" or (parts.scheme and link not in page.loads):
                continue
            if parts.scheme or parts.netloc:
                yield f"{path.relative_to(folder.resolve())} loads {link[:80]}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            lost = not target.is_file() or (
                parts.fragment and target in known and unquote(parts.fragment) not in known[target].places
            )
            if lost and parts.fragment != "__top":
                yield f"{path.relative_to(folder.resolve())}: {link[:80]}"
