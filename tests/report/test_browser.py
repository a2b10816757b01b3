"""A report in a real browser: it renders, in both colour schemes and on a phone, and asks nobody.

Skips where there is no Chromium.
"""

from __future__ import annotations

import http.server
import re
import shutil
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from maxmargin import LinearSVC, data
from tests.report.kinds import REPORTS, made, report_of_a_table

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium on the PATH")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    train, test = data.load_demo()
    path = tmp_path_factory.mktemp("report") / "report.html"
    LinearSVC(C=0.1).fit(train.X, train.y).report(test.X, test.y, path=path)
    return path


def browse(folder, *options: str) -> subprocess.CompletedProcess:
    profile = folder / "profile"
    return subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={profile}", *options],
        capture_output=True,
        timeout=300,
    )


def test_it_looks_different_in_the_dark_and_fits_a_phone(page, tmp_path):
    shots = {}
    for name, scheme, width in (("light", 1, 1000), ("dark", 0, 1000), ("phone", 1, 500)):
        shot = tmp_path / f"{name}.png"
        browse(
            tmp_path,
            f"--blink-settings=preferredColorScheme={scheme}",
            f"--window-size={width},800",
            f"--screenshot={shot}",
            page.as_uri(),
        )
        shots[name] = shot.read_bytes()
        assert struct.unpack(">I", shots[name][16:20])[0] == width
    assert len(set(shots.values())) == 3


def test_no_kind_of_report_asks_for_anything(tmp_path):
    pytest.importorskip("pandas")
    folder = tmp_path / "pages"
    folder.mkdir()
    for kind in REPORTS:
        made(kind).save(folder / f"{kind}.html")
    report_of_a_table(folder)
    pages = sorted(path.name for path in folder.glob("*.html"))
    assert len(pages) == len(REPORTS) + 1
    frames = "".join(f'<iframe src="{page}"></iframe>' for page in pages)
    (folder / "all.html").write_text(f"<!DOCTYPE html><title>all</title>{frames}Certificate")
    shown, asked, home = serve(folder, "all.html", tmp_path)
    assert b"Certificate" in shown
    # Chromium itself asks for the icon of a site, and its maker for the time.
    own = re.compile(r"favicon\.ico$|^http://[\w.]+\.google(apis)?\.com/")
    wanted = {home + page for page in [*pages, "all.html"]}
    assert {path for path in asked if not own.search(path)} == wanted


def serve(folder: Path, page: str, scratch: Path) -> tuple[bytes, list[str], str]:
    """What a browser makes of a page of a folder, all that it asked for, and the folder's URL."""
    asked = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            found = folder / self.path.rpartition("/")[2]
            body = found.read_bytes() if found.is_file() else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    home = f"http://127.0.0.1:{server.server_port}/"
    try:
        proxy = f"--proxy-server={home[:-1]}"  # it would see the rest
        done = browse(scratch, proxy, "--proxy-bypass-list=<-loopback>", "--dump-dom", home + page)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    return done.stdout, asked, home
