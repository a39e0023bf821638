"""The HTML document of a page: styles, scripts and data in one file that loads nothing."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Final

from gather_infer.report.json import Json
from gather_infer.report.layout import printable

PAGE: Final = (
    "elements", "dims", "rows", "graphs", "plots", "panel", "details", "frame", "sections", "start"
)  # fmt: skip
"""The scripts of the page of a model in their order; each uses those before it."""

REPORT: Final = (
    "elements",
    "rows",
    "graphs",
    "panel",
    "frame",
    "reports",
    "check_report",
    "diff_report",
    "change_report",
    "report",
)
"""The scripts of the report of a command in their order."""

_PAGE: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="gather-infer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This report needs JavaScript. It runs from this file alone and loads nothing.</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def document(data: Mapping[str, Json], name: str, scripts: Sequence[str]) -> str:
    """The HTML of a page with the title `name`, which `scripts` make from `data`.

    The browser runs the one script and applies the one style whose hashes are in the policy, and nothing else.
    """
    style, script = _asset("page.css"), _joined(scripts)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return _PAGE.format(
        policy=policy,
        title=escape(f"{printable(name)} · gather-infer"),
        style=style,
        data=_embedded(data),
        script=script,
    )


def _embedded(data: Mapping[str, Json]) -> str:
    """JSON that no HTML parser takes for markup: with `<` escaped, no tag can begin in it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _joined(scripts: Sequence[str]) -> str:
    parts = "\n".join(_asset(f"{name}.js") for name in scripts)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _asset(name: str) -> str:
    return (files("gather_infer.pages") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
