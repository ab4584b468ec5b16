"""Fixtures shared by several packages: a separate cache, a real browser, a small video."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from limits import HANG_SECONDS

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

# There are as many test processes as cores: more threads in each of them only wait for one another.
# Set before anything that reads it is loaded; commands that tests start inherit it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# On a busy machine any example can be slow, and making examples too.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def shared_network_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep the user's own cache out of the tests; export the network once per test process."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPREEL_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start Chromium, or say how to get it; STEPREEL_REQUIRE_BROWSER=1 makes that a failure."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        reason = "no Chromium on the PATH: apt-get install chromium"
        if os.environ.get("STEPREEL_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program, args=_SWITCHES, timeout=1000 * HANG_SECONDS
        )
        yield _PatientBrowser(chromium)
        chromium.close()


class _PatientBrowser:
    """A browser whose pages wait longer than Playwright's 30 s."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def new_context(self, **options: Any) -> Any:
        context = self.browser.new_context(**options)
        context.set_default_timeout(1000 * HANG_SECONDS)
        return context


@pytest.fixture(scope="session")
def video_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Make 20 s of H.264: a white square that crosses a grey field."""
    path = tmp_path_factory.mktemp("video") / "box.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        stream.options = {"preset": "ultrafast", "g": "25"}
        for number in range(500):
            picture = np.full((180, 320, 3), 90, np.uint8)
            left = number * 280 // 500
            picture[70:110, left : left + 40] = 255
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path.read_bytes()


@pytest.fixture
def place_video(video_bytes: bytes, tmp_path: Path) -> Any:
    """Return a function that puts the video at a path relative to `tmp_path`."""

    def place(name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(video_bytes)
        return path

    return place


@pytest.fixture
def write_takes(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes an output folder with storyboards of takes: name="ABC"."""
    from boards import pictures_of
    from compared_takes import board_of

    from stepreel.report import write_index, write_report
    from stepreel.storyboard.editing import seal

    def write(index: bool = True, **takes: str) -> Path:
        out = tmp_path / "out"
        boards = [(name, seal(board_of(order, title=name))) for name, order in takes.items()]
        for name, board in boards:
            write_report(board, out / name, pictures=pictures_of(board), strip=None)
        if index:
            write_index(out, boards, failed=[])
        return out

    return write
