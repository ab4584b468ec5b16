"""What a researcher does with the page of an evaluation, done in a real Chromium."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from browsing import eventually
from evaluations import make_evaluation, render

pytestmark = pytest.mark.browser

NASTY = "<img src=x onerror=window.hacked=1>" + "Donaudampfschifffahrt" * 8


@pytest.fixture
def open_evaluation(browser, tmp_path: Path):
    """Return a function that opens an evaluation's page, and hands out complaints and requests."""
    contexts = []

    def open_it(evaluation, **options: Any):
        file = tmp_path / "report.html"
        file.write_text(render(*evaluation), encoding="utf-8")
        contexts.append(browser.new_context(**options))
        page, heard = contexts[-1].new_page(), []
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: heard.append(request.url))
        page.goto(file.as_uri())
        return page, heard

    yield open_it
    for context in contexts:
        context.close()


@cache
def full_evaluation(tasks: tuple[str, ...] = ("tea",)) -> Any:
    results, barcodes = make_evaluation(
        tasks=tasks,
        n_recordings=14,
        step_names=["boil", NASTY, *(f"step {number}" for number in range(12))],
        n_clusters=16,
        dataset={"name": NASTY, "title": NASTY},
    )
    results["skipped"] = {"other": NASTY}
    results["left_out"] = [NASTY]
    results["sweeps"] = {"clusters": {"7": {"protocols": results["protocols"]}}}
    results["notes"] = [NASTY]
    figure = {"mean": 0.5, "std": 0.0, "seeds": [0.5, 0.5]}
    results["task_metrics"] = {"kendall": {"note": NASTY, "methods": {NASTY: {NASTY: figure}}}}
    return results, barcodes


@pytest.mark.parametrize("tasks", [("tea",), ("tea", NASTY)])
@pytest.mark.parametrize("width", [400, 900, 1400])
def test_nothing_sticks_out_nothing_complains_and_nothing_is_fetched(open_evaluation, tasks, width):
    page, heard = open_evaluation(full_evaluation(tasks), viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("window.hacked") is None
    assert {line.split(":")[0] for line in heard} <= {"file", "data"}


LONG_NAMES = [f"align_and_screw_the_{word}_bar_with_the_partial_model" for word in "abcdefghijklm"]
OVERFLOWING = """s => [...document.querySelectorAll(s)]
    .filter(one => one.scrollWidth > one.clientWidth).length"""


@pytest.mark.parametrize("names", [LONG_NAMES, ["1", "2", "3", "4", "5", "6", "7", "8"]])
@pytest.mark.parametrize("width", [400, 1280])
def test_confusions_are_seen_whole_where_there_is_room(open_evaluation, names, width):
    evaluation = make_evaluation(step_names=names, n_clusters=7)
    page, _ = open_evaluation(evaluation, viewport={"width": width, "height": 800})
    assert page.locator(".heat").count() == 7
    assert page.evaluate(OVERFLOWING, ".heats .scroll") == 0


@pytest.mark.parametrize("width", [400, 1280])
def test_no_name_is_cut_and_no_lead_is_hidden(open_evaluation, width):
    evaluation = make_evaluation(step_names=LONG_NAMES, n_clusters=7)
    page, _ = open_evaluation(evaluation, viewport={"width": width, "height": 800})
    page.check(".choices input:not(:checked)")
    assert page.evaluate(OVERFLOWING, ".keys .step-name, .step-bars .step-name, .lane-name") == 0
    assert page.locator(".step-bars h4").first.inner_text().endswith("_with_the_partial_model")
    region = page.locator(".by-protocol").bounding_box()
    for column in (2, 3):
        lead = page.locator(f".scores td:nth-child({column}) .lead-over").first.bounding_box()
        assert lead["x"] + lead["width"] <= region["x"] + region["width"]


def test_a_protocol_is_chosen_for_more_figures(open_evaluation):
    page, _ = open_evaluation(make_evaluation())
    shown = "[...document.querySelectorAll('[data-protocol]')].filter(one => !one.hidden)"
    names = f"{shown}.map(one => one.dataset.protocol)"
    assert page.evaluate(names) == ["strict"]
    page.select_option("#protocol", "per-video")
    eventually(page, lambda: page.evaluate(names), ["per-video"])


def test_without_scripts_everything_is_shown_and_no_control_is(open_evaluation):
    page, _ = open_evaluation(make_evaluation(), java_script_enabled=False)
    assert page.locator("[data-protocol]:visible").count() == 6
    assert page.locator("select:visible, .choices:visible").count() == 0


def test_methods_are_put_away_and_steps_picked_out(open_evaluation):
    page, _ = open_evaluation(make_evaluation())
    lanes = page.locator("[data-method='0']")
    assert lanes.first.is_visible()
    page.uncheck(".choices input[value='0']")
    lanes.first.wait_for(state="hidden")
    assert page.locator("[data-method='1']").first.is_visible()

    fills = """new Set([...document.querySelectorAll(".lanes path")]
        .map(e => getComputedStyle(e).fill)).size"""
    page.click("button.key[data-kind='1']")
    eventually(page, lambda: page.evaluate(fills), 2)
    page.click("button.key[data-kind='1']")
    eventually(page, lambda: page.evaluate(fills) > 3, True)


def test_lanes_with_nothing_to_see_come_when_asked_for(open_evaluation):
    page, _ = open_evaluation(make_evaluation())
    box = page.get_by_role("checkbox", name="concatenated-split")
    lanes = page.locator(f"[data-method='{box.get_attribute('value')}']")
    assert not lanes.first.is_visible()
    box.check()
    lanes.first.wait_for()


def test_the_time_axis_lies_over_the_bars(open_evaluation):
    page, _ = open_evaluation(make_evaluation())
    axis = page.locator(".axis svg").bounding_box()
    bars = page.locator(".lane.truth").last.locator("svg.scaled").bounding_box()
    assert axis["x"] == pytest.approx(bars["x"], abs=1)
    assert axis["width"] == pytest.approx(bars["width"], abs=1)  # the longest is the last


def test_bars_are_drawn_where_they_belong(open_evaluation):
    evaluation = make_evaluation(n_recordings=1)
    page, _ = open_evaluation(evaluation)
    lane = page.locator(".lane.truth svg.scaled").bounding_box()
    first = page.locator(".lane.truth path").first.bounding_box()
    bar = evaluation[1][0].barcodes[0].truth[0]
    assert first["x"] == pytest.approx(lane["x"], abs=1)
    assert first["width"] == pytest.approx(bar.end * lane["width"], abs=1)
    assert first["height"] == pytest.approx(lane["height"], abs=1)


def test_light_and_dark_differ_and_paper_is_white(open_evaluation):
    background = "getComputedStyle(document.body).backgroundColor"
    page, _ = open_evaluation(make_evaluation(), color_scheme="light")
    light = page.evaluate(background)
    page.click("#theme")
    eventually(page, lambda: page.evaluate(background) != light, True)
    page.emulate_media(media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert not page.is_visible("#theme")
