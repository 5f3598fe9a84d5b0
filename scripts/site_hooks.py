"""What MkDocs does besides: the notebook becomes a page of the site, with all that its cells gave.

The pages link the notebook's file, which GitHub shows as a notebook; on the site the same links lead to the page.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

NOTEBOOK, PAGE = "notebook.ipynb", "notebook.md"
FENCE = "````"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    from mkdocs.structure.files import File

    text = as_page(json.loads((Path(config.docs_dir) / NOTEBOOK).read_text(encoding="utf-8")))
    files.append(File.generated(config, PAGE, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links to the file to the page."""
    return markdown.replace(f"({NOTEBOOK})", f"({PAGE})")


def as_page(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code":
            parts.append(f"{FENCE}python\n{text}\n{FENCE}")
            parts += map(shown, cell["outputs"])
    return "\n\n".join(parts) + "\n"


def shown(output: dict[str, Any]) -> str:
    """What a cell gave: markup as it is, a picture, or text."""
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    if "text/html" in data:
        return f'<div class="given">\n{data["text/html"]}\n</div>'
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{escape(data["image/png"].strip())}">'
    text = "".join(output.get("text", "")) or data.get("text/plain", "")
    return f"{FENCE}text\n{text.rstrip()}\n{FENCE}"
