"""Photograph the comment of a report as GitHub would show it.

    python -m tests.render_comment [--report report.json] [--case NAME] --out docs/comment.png
    python -m tests.render_comment --shown

Without a report it takes the example of the tests; `--case` names another of the golden comments,
`--shown` photographs those that docs/reading.md shows, and docs/comment.png.
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


SHOWN = ("all green", "one regression", "forty wrong", "sync only", "first run")
FOLDER = Path("docs/comments")


def main() -> None:
    """Write the picture or the pictures, each as high as its comment is."""
    parser = argparse.ArgumentParser(description="Photograph a comment as GitHub would show it.")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--case", default="one regression", choices=sorted(CASES))
    parser.add_argument("--out", type=Path, default=Path("docs/comment.png"))
    parser.add_argument("--shown", action="store_true")
    asked = parser.parse_args()
    if not asked.shown:
        report = read_record(asked.report, BumpReport) if asked.report else CASES[asked.case]()
        render(report, asked.out)
        return
    FOLDER.mkdir(exist_ok=True)
    for case in SHOWN:
        render(CASES[case](), FOLDER / f"{case.replace(' ', '-')}.png")
    render(CASES["one regression"](), Path("docs/comment.png"))


def render(report: BumpReport, out: Path) -> None:
    """Photograph the comment of a report."""
    html = page(comment_markdown(report), css=data_file(CSS).read_text(encoding="utf-8"))
    # laid out at the same width, not at the browser's default
    framed = html.replace("<body>", f"<body style='width: {WIDTH - 32}px'>")
    height = int(run_in(framed, "document.querySelector('article').scrollHeight"))
    photograph(framed, out.resolve(), width=WIDTH, height=height + 32)


if __name__ == "__main__":
    main()
