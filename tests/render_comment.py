"""Photograph the comment of a report as GitHub would show it.

    python -m tests.render_comment [--report report.json] [--case NAME] --out docs/comment.png

Without a report it takes the example of the tests; `--case` names another of the golden comments.
Needs Chromium (`apt-get install chromium`) and npm, which brings GitHub's CSS.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ciwm.records import BumpReport, read_record
from ciwm.report.bump_markdown import comment_markdown
from tests.browser import page, photograph, run_in
from tests.github_bed.npm import DataPackage, data_file
from tests.golden.cases import CASES

CSS = DataPackage(
    "github-markdown-css",
    "5.9.0",
    "tmT5sY+zvg2302XLYEfH2mtkViIM1SWf2nvYoF5N1ZsO0V6B2qZTiw3GOzw4vpjLygK/KG35qRlPFweHqfzz5w==",
    "package/github-markdown-light.css",
)
WIDTH = 860  # a comment on github.com, margins included


def main() -> None:
    """Write the picture, as high as the comment is."""
    parser = argparse.ArgumentParser(description="Photograph a comment as GitHub would show it.")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--case", default="one regression", choices=sorted(CASES))
    parser.add_argument("--out", type=Path, default=Path("docs/comment.png"))
    asked = parser.parse_args()
    report = read_record(asked.report, BumpReport) if asked.report else CASES[asked.case]()
    html = page(comment_markdown(report), css=data_file(CSS).read_text(encoding="utf-8"))
    # laid out at the same width, not at the browser's default
    framed = html.replace("<body>", f"<body style='width: {WIDTH - 32}px'>")
    height = int(run_in(framed, "document.querySelector('article').scrollHeight"))
    photograph(framed, asked.out.resolve(), width=WIDTH, height=height + 32)


if __name__ == "__main__":
    main()
