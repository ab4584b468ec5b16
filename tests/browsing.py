"""Pages opened in a real Chromium.

A busy browser does things late: what an action causes is waited for, never read once. Limits are
there for hangs only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from limits import HANG_SECONDS


def eventually(page: Any, read: Callable[[], Any], expected: Any) -> None:
    """Wait until `read()` equals `expected`, which may be a pytest.approx."""
    deadline = time.monotonic() + HANG_SECONDS
    while (value := read()) != expected:
        assert time.monotonic() < deadline, f"stayed {value!r}, expected {expected!r}"
        page.wait_for_timeout(50)


class Opened:
    """A page opened from disk, with its requests and everything it logged."""

    def __init__(self, browser, path: Path, **options) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def wait_for(self, condition: str) -> None:
        # Playwright's own waiting needs eval, which the page's content policy forbids.
        deadline = time.monotonic() + HANG_SECONDS
        while not self.value(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"never came true: {condition}"
            self.page.wait_for_timeout(50)

    def value(self, expression: str):
        return self.page.evaluate(expression)

    def wait_for_value(self, expression: str, expected: Any) -> None:
        """Wait until an expression has a value, which may be a pytest.approx."""
        eventually(self.page, lambda: self.value(expression), expected)

    def wait_for_text(self, selector: str, expected: str) -> None:
        """Wait until an element shows a text; spaces count once."""
        eventually(self.page, lambda: " ".join(self.page.inner_text(selector).split()), expected)
