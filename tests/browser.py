"""A real browser: Markdown as GitHub would show it, photographed or taken apart.

Chromium runs headless on a page in a file; nothing on the page can reach the network.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from html import unescape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from tests.need import need

_CHROMIUM = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
_GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_LIMIT_S = 60


def page(*comments: str, css: str = "") -> str:
    """An HTML page with each Markdown text rendered as a comment of its own."""
    articles = "".join(
        f"<article class='markdown-body'>{_GITHUB.render(comment)}</article>"
        for comment in comments
    )
    return (
        "<!doctype html><html><head><meta charset='utf-8'><style>"
        f"{css}\nbody {{ margin: 0; padding: 16px; }} .markdown-body {{ font-size: 14px; }}"
        f"</style></head><body>{articles}</body></html>"
    )


def photograph(html: str, picture: Path, *, width: int, height: int) -> None:
    """Save a picture of the page, so many pixels wide and high."""
    _chromium(html, f"--screenshot={picture}", f"--window-size={width},{height}")


def run_in(html: str, script: str) -> Any:
    """What a JavaScript expression gives in the loaded page, by way of JSON."""
    result = "<pre id='result-of-the-test'></pre>"
    call = (
        "<script>document.getElementById('result-of-the-test').textContent = "
        f"JSON.stringify({script});</script>"
    )
    dumped = _chromium(html.replace("</body>", f"{result}{call}</body>"), "--dump-dom")
    start = dumped.rindex('<pre id="result-of-the-test">') + len('<pre id="result-of-the-test">')
    return json.loads(unescape(dumped[start : dumped.index("</pre>", start)]))


def _chromium(html: str, *arguments: str) -> str:
    browser = need("chromium")
    with tempfile.TemporaryDirectory(prefix="ciwm-browser-") as folder:
        file = Path(folder) / "page.html"
        file.write_text(html, encoding="utf-8")
        done = subprocess.run(
            [browser, *_CHROMIUM, f"--user-data-dir={folder}/data", *arguments, file.as_uri()],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=True,
        )
    return done.stdout
