"""Follow every link of a built site, without the network: files and anchors.

    python docs/check_links.py FOLDER

A page may link to the world, but loads nothing from it, so that the site can be read offline.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href"}
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author"}  # of <link rel=...>


class Page(HTMLParser):
    """Where a page leads, what it loads, and the places in it that can be led to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in LOADED and LOADED[tag] in given and given.get("rel") not in NOT_LOADED:
            self.loads.append(given[LOADED[tag]])
        elif "href" in given:
            self.links.append(given["href"])


def read_page(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    return page


def broken_links(site: Path) -> list[str]:
    """One sentence for each link that leads nowhere and each thing loaded from elsewhere."""
    site = site.resolve()
    paths = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    pages = {path: read_page(path) for path in sorted(paths)}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name} loads {url}" for url in page.loads if is_outside(url)]
        for url in dict.fromkeys(page.links + page.loads):
            if not is_outside(url) and not leads_somewhere(url, path, pages):
                found.append(f"{name} links to {url}")
    return found


def is_outside(url: str) -> bool:
    parts = urlsplit(url)
    return bool((parts.scheme and parts.scheme != "data") or parts.netloc)


def leads_somewhere(url: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(url)
    if parts.scheme == "data":
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    anchor = unquote(parts.fragment)
    if anchor and target in pages:
        return anchor in pages[target].anchors
    return target.exists()


if __name__ == "__main__":
    found = broken_links(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(bool(found))
