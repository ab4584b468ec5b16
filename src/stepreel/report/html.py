"""What every HTML page is made with: templates, inlined styles and scripts, a content policy."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stepreel.report.palette import kind_of
from stepreel.report.wording import clock_in, extent, length


@cache
def environment() -> Environment:
    """Return the template environment of this package; everything is escaped by default."""
    made = Environment(
        loader=PackageLoader("stepreel.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "clock_in": clock_in,
        "extent": extent,
        "lasting": length,
        "kind": kind_of,
    }
    return made


def inlined_style(names: Iterable[str], **values: Any) -> Markup:
    """Return the named style sheets, then the rules that depend on `values`."""
    computed = environment().get_template("computed.css.j2").render(**values)
    return Markup("\n".join([*map(_template_text, names), computed]))


def inlined_script(*names: str) -> Markup:
    """Return the named scripts, joined into one."""
    return Markup("\n".join(map(_template_text, names)))


def _template_text(name: str) -> str:
    """Return a style or script file; its newlines are plain, as a browser hashes them."""
    return (files("stepreel.report") / "templates" / name).read_text(encoding="utf-8")


def content_policy(style: str, scripts: Iterable[str], **sources: str) -> str:
    """Allow exactly this inline style, these inline scripts, and the given sources.

    >>> content_policy("", [], img="data:").split("; ")[:2]
    ["default-src 'none'", 'img-src data:']
    """
    return "; ".join(
        [
            "default-src 'none'",
            *(f"{kind}-src {allowed}" for kind, allowed in sources.items()),
            f"style-src {sha256_source(style)}",
            f"script-src {' '.join(map(sha256_source, scripts))}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def sha256_source(text: str) -> str:
    """Name `text` the way a content policy allows an inline style or script."""
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def script_safe_json(value: Any) -> Markup:
    """Write JSON that cannot end the script element that contains it."""
    text = json.dumps(value)  # ASCII only, which covers U+2028 and U+2029
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def jpeg_address(jpeg: bytes | None) -> str | None:
    """Return a JPEG as a data: address; None for anything that is not a JPEG."""
    if jpeg is None or not jpeg.startswith(b"\xff\xd8"):
        return None
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")
