from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from evaluations import OWN_METHODS, make_evaluation, render

from stepreel.evaluation.methods.baselines import BASELINES
from stepreel.evaluation.methods.catalog import METHODS, NULL_METHODS
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.report.barcodes import Barcode, BarcodeSpan, Confusion, TaskBarcodes
from stepreel.evaluation.report.layout import in_order, lay_out_task
from stepreel.evaluation.results import Results
from stepreel.report.html import sha256_source

NASTY = "</title></script><script>alert(1)</script>\"'&\u2028<img src=x onerror=alert(2)>"
KINDS = {name: method.kind for name, method in METHODS.own.items()}
VOID = {"meta", "link", "input", "img", "br", "col", "wbr"}


class Page(HTMLParser):
    """Collects elements and text, and complains about tags that do not close in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if self.open and self.open[-1] in self.inside:
            self.inside[self.open[-1]][-1] += data
        else:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def spread(mean: float, std: float = 0.0) -> dict[str, Any]:
    return {"mean": mean, "std": std, "seeds": [mean]}


def with_f1(results: dict[str, Any], protocol: str, **means: tuple[float, float]) -> None:
    for method, (mean, std) in means.items():
        results["protocols"][protocol][method.replace("_", "-")]["f1"] = spread(mean, std)


def test_the_page_is_well_formed_and_names_every_method_and_protocol():
    page = Page(render(*make_evaluation()))
    assert page.open == []
    for name in (*OWN_METHODS, *PROTOCOLS):
        assert name in page.text
    assert all(PROTOCOLS[name].used_by in page.text for name in PROTOCOLS)
    assert "from the very recordings that are scored" in page.text


def test_the_content_policy_allows_these_styles_and_scripts_and_nothing_else():
    page = Page(render(*make_evaluation()))
    policy = next(a["content"] for a in page.all("meta") if "http-equiv" in a) or ""
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["style-src"].split() == [sha256_source(text) for text in page.inside["style"]]
    assert rules["script-src"].split() == [sha256_source(text) for text in page.inside["script"]]
    assert not [a for _, a in page.tags if "style" in a or any(key.startswith("on") for key in a)]


def test_the_page_asks_for_nothing():
    text = render(*make_evaluation())
    page = Page(text)
    addresses = [a[key] for _, a in page.tags for key in ("src", "href") if a.get(key)]
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"] for a in page.all("a")} <= {f"#{name}" for name in ids}


def test_names_stay_text():
    results, barcodes = make_evaluation(
        tasks=[NASTY],
        step_names=["boil", NASTY],
        dataset={"name": NASTY, "title": NASTY, "root": NASTY},
    )
    results["skipped"] = {NASTY: NASTY}
    results["left_out"] = [NASTY]
    results["notes"] = [NASTY]
    results["task_metrics"] = {NASTY: {"note": NASTY, "methods": {NASTY: {NASTY: spread(1.5)}}}}
    results["sweeps"] = {NASTY: {NASTY: {"protocols": results["protocols"]}}}
    page = Page(render(results, barcodes))
    assert page.open == []
    assert len(page.all("script")) == 2
    assert not page.all("img")
    assert not [a for _, a in page.tags if "onerror" in a]
    assert page.text.count(NASTY) > 10
    assert [a["title"] for _, a in page.tags if a.get("title") == NASTY]


def test_nulls_stand_apart_from_learned_methods_which_come_first():
    assert in_order(OWN_METHODS, KINDS)[:2] == ["paper", "stepreel"]
    page = Page(render(*make_evaluation()))
    groups = [a["class"] for a in page.all("tbody") if a.get("class")]
    assert groups == ["learned", "clustered", "blind"] * 2  # scores, and storyboards


def section(page: str, name: str) -> str:
    """Return one section of the page."""
    start = page.index(f'<section aria-labelledby="{name}">')
    return page[start : page.index("</section>", start) + len("</section>")]


def with_nulls(results: dict[str, Any], protocol: str, f1: float) -> None:
    for method in NULL_METHODS:
        results["protocols"][protocol][method]["f1"] = spread(f1)


def test_a_lead_over_the_best_null_is_shown_and_marked_unclear_within_either_spread():
    results, barcodes = make_evaluation()
    for protocol in PROTOCOLS:
        with_nulls(results, protocol, 10.0)
    with_f1(results, "strict", raw_kmeans=(40.0, 0.0), paper=(52.34, 1.0), stepreel=(41.0, 3.0))
    with_f1(results, "egoprocel", one_cluster=(40.0, 3.7), paper=(36.5, 1.0), stepreel=(35.9, 1.0))
    text = section(render(results, barcodes), "scores")
    assert '<span class="lead-over gain">+12.3</span>' in text
    assert '<span class="lead-over unclear">+1.0</span>' in text
    assert '<span class="lead-over unclear">−3.5</span>' in text
    assert '<span class="lead-over loss">−4.1</span>' in text
    assert text.count('class="lead-over') == 2 * len(PROTOCOLS)


@pytest.mark.parametrize(
    ("null", "n_seeds"), [("one-cluster", 2), ("time-kmeans", 2), ("equal-split", 1)]
)
def test_nothing_is_green_where_any_null_is_as_good(null, n_seeds):
    results, barcodes = make_evaluation(seeds=list(range(n_seeds)))
    for protocol in PROTOCOLS:
        with_nulls(results, protocol, 10.0)
        with_f1(results, protocol, paper=(60.0, 0.0), stepreel=(20.0, 0.0))
        results["protocols"][protocol][null]["f1"] = spread(60.0)
    text = section(render(results, barcodes), "scores")
    assert "lead-over gain" not in text
    assert text.count('<span class="lead-over unclear">+0.0</span>') == len(PROTOCOLS)
    assert text.count("<span>best null</span>") == len(PROTOCOLS)
    assert f"is level with the best null baseline, {null}" in " ".join(Page(text).text.split())


def test_storyboards_stand_next_to_the_same_number_without_looking():
    results, barcodes = make_evaluation()
    own = results["storyboard"]["borders"]["paper"]["1s"]
    own |= {"f1": spread(62.5, 1.0), "precision": spread(71.5), "recall": spread(55.5)}
    own |= {"n_shown": spread(4.1), "n_true": spread(5.2)}
    own["nulls"]["matched-split"]["f1"] = spread(50.2)
    own["nulls"]["matched-random"]["f1"] = spread(44.4)
    own["nulls"]["equal-split"]["f1"] = spread(47.7)
    text = section(render(results, barcodes), "storyboards")
    words = " ".join(Page(text).text.split())
    assert '<span class="lead-over gain">+12.3</span>' in text
    beside = "equal parts50.2 random44.4 P / R71.5 / 55.5 shown / true4.1 / 5.2"
    assert beside in words
    assert '<line class="mark" x1="50.2%"' in text
    own["f1"] = spread(62.5, 20.0)
    text = section(render(results, barcodes), "storyboards")
    assert '<span class="lead-over unclear">+12.3</span>' in text
    for method in OWN_METHODS:
        assert method in words
    for measure in ("coverage", "borders, 1 s", "borders, 2 s", "borders, 5 %"):
        assert measure in words


def test_storyboards_left_out_are_counted_and_clustering_alone_is_folded():
    results, barcodes = make_evaluation()
    assert "left out" not in section(render(results, barcodes), "storyboards")
    results["storyboard"]["left_out"] = 2
    results["storyboard"]["alone"] = {
        name: results["storyboard"][name] for name in ("coverage", "borders")
    }
    text = section(render(results, barcodes), "storyboards")
    assert "3 recordings; 2 left out, in which no key step is labelled" in text
    assert "<summary>Every recording clustered by itself</summary>" in text
    assert Page(render(results, barcodes)).open == []


def test_a_page_of_results_without_storyboards_has_no_such_section():
    results, barcodes = make_evaluation()
    del results["storyboard"]
    page = render(results, barcodes)
    assert "coverage" not in Page(page).text
    assert "#storyboards" not in page


def test_the_mark_on_a_bar_is_the_best_null_of_the_column():
    results, barcodes = make_evaluation()
    with_nulls(results, "strict", 10.0)
    with_f1(results, "strict", equal_split=(20.0, 0.0), time_kmeans=(33.33, 0.0))
    text = render(results, barcodes)
    assert text.count('<line class="mark" x1="33.33%"') == len(OWN_METHODS)
    assert '<line class="mark" x1="20.0%"' not in text


def test_steps_are_compared_with_the_best_null_and_an_equal_split():
    results, _ = make_evaluation()

    def view():
        figures = Results.model_validate(results).protocols["strict"]
        return lay_out_task(drawn([BarcodeSpan(0, 1, 5)]), figures, KINDS)

    with_nulls(results, "strict", 10.0)
    with_f1(results, "strict", time_kmeans=(33.0, 0.0))
    assert view().null == "time-kmeans"
    assert view().compared == ["paper", "stepreel", "time-kmeans", "equal-split"]
    with_f1(results, "strict", equal_split=(34.0, 0.0))
    assert view().compared == [
        "paper",
        "stepreel",
        "equal-split",
    ]


def test_the_best_learned_method_is_compared_with_the_best_null():
    results, barcodes = make_evaluation(methods=["equal-split", "raw-kmeans", "paper"])
    with_f1(results, "strict", equal_split=(20.0, 0.0), raw_kmeans=(30.0, 1.0), paper=(28.0, 4.0))
    words = " ".join(Page(render(results, barcodes)).text.split())
    assert "paper is 2.0 points below the best null baseline, raw-kmeans" in words
    assert "no more than the spread over seeds (±4.0)" in words


def test_what_strict_cannot_exceed_is_said():
    few = " ".join(Page(render(*make_evaluation(n_clusters=2))).text.split())
    assert "strict cannot exceed 66.7" in few
    enough = Page(render(*make_evaluation(n_clusters=3))).text
    assert "cannot exceed" not in enough


def test_one_seed_has_no_spread():
    text = Page(render(*make_evaluation(seeds=[0]))).text
    assert "±" not in text
    assert "with one seed, the spread is unknown" in text


def test_a_spread_that_would_be_written_0_is_hidden_everywhere():
    results, barcodes = make_evaluation()
    results["task_metrics"] = {
        "kendall": {"note": "", "methods": {"time": {"tau_b": spread(0.5, 0.0004)}}}
    }
    for methods in results["protocols"].values():
        for figures in methods.values():
            for name in figures.keys() - {"per_step"}:
                figures[name]["std"] = 0.049
    text = Page(render(results, barcodes)).text
    assert "±0.0" not in text


def test_labels_alone_give_a_page_of_baselines_and_say_what_was_skipped():
    results, barcodes = make_evaluation(methods=list(BASELINES))
    results["skipped"] = {"paper": "needs features: there are no videos"}
    results["left_out"] = ["r09: its length is unknown"]
    text = Page(render(results, barcodes)).text
    assert "no learned method was run" in text
    assert "on the very recordings" not in text
    assert "needs features: there are no videos" in text
    assert "r09: its length is unknown" in text


def test_how_many_recordings_are_scored_is_said_beside_what_was_left_out():
    results, barcodes = make_evaluation()
    results["left_out"] = [
        "tea 01: 2 of 120 rows with NaN",
        "tea 01: a step past the end",
        "x.csv: no steps",
    ]
    text = render(results, barcodes)
    assert "3 recordings are scored, 1 of them with something left out." in text
    parts, rest = text.index("Parts of recordings"), text.index("Recordings, files and labels")
    assert parts < text.index("2 of 120 rows") < text.index("past the end") < rest
    assert rest < text.index("x.csv: no steps")


def test_notes_are_shown_and_those_of_several_recordings_folded():
    results, barcodes = make_evaluation()
    assert "#notes" not in render(results, barcodes)
    results["notes"] = ["tea 00: is short", "tea 01: is short", "tea 02: is long"]
    words = " ".join(Page(render(results, barcodes)).text.split())
    assert words.count("is short") == 1
    assert "tea 02: is long" in words


@pytest.mark.parametrize(
    ("tasks", "heading"), [(["tea_time"], "tea_<wbr>time"), (["tea", "coffee"], "drinks")]
)
def test_the_heading_is_the_name_of_the_set_and_its_kind_is_a_fact(tasks, heading):
    text = render(*make_evaluation(tasks=tasks))
    assert f"<h1><bdi>{heading}</bdi></h1>" in text
    assert "<li>Drinks</li>" in text


@pytest.mark.parametrize("methods", [["paper"], ["stepreel", "random"], ["one-cluster"]])
def test_any_choice_of_methods_gives_a_page(methods):
    page = Page(render(*make_evaluation(methods=methods)))
    assert page.open == []


def test_several_tasks_fold_and_the_first_is_open():
    results, barcodes = make_evaluation(tasks=["tea", "coffee", "cocoa"])
    page = Page(render(results, barcodes))
    tasks = [a for a in page.all("details") if a.get("class") == "task"]
    assert ["open" in a for a in tasks] == [True, False, False]
    words = " ".join(page.text.split())
    assert "mean over 3 tasks" in words
    assert all(name in words for name in ("coffee", "cocoa", "hot", "cold"))


def test_a_method_that_ran_on_some_tasks_only_is_shown_there():
    results, barcodes = make_evaluation(tasks=["tea", "coffee"])
    for figures in (results, results["tasks"]["tea"], *results["groups"].values()):
        for methods in figures["protocols"].values():
            del methods["paper"]
    page = Page(render(results, barcodes))
    assert "paper" in page.text
    assert page.open == []


def test_sweeps_and_other_measures_become_tables():
    results, barcodes = make_evaluation()
    points = {k: {"protocols": make_evaluation()[0]["protocols"]} for k in ("5", "17")}
    with_f1(points["17"], "strict", paper=(12.34, 0.5))
    results["sweeps"] = {"clusters": points}
    results["task_metrics"] = {
        "kendall": {
            "note": "means over pairs",
            "methods": {"time": {"tau_b": spread(-0.5), "undefined": spread(3.0)}},
        },
        "phases": {
            "note": "accuracy",
            "methods": {
                "raw": {"with 0.1": spread(61.25, 2.0), "with 1": spread(80.5)},
                "paper": {
                    "with 0.1": {"mean": None, "std": None, "seeds": []},
                    "with 1": spread(9),
                },
            },
        },
    }
    text = render(results, barcodes)
    words = " ".join(Page(text).text.split())
    assert "Number of clusters" in words
    assert "12.3 ±0.5" in words
    assert "kendall: means over pairs" in words
    assert "<td>−0.500</td><td>3</td>" in text
    assert "<td>61.2 ±2.0</td><td>80.5</td>" in text
    assert "<td>–</td><td>9.0</td>" in text


def test_all_of_a_steps_bars_in_a_row_are_one_path():
    bars = [
        BarcodeSpan(0, 0.25, 5),
        BarcodeSpan(0.25, 0.5, 0),
        BarcodeSpan(0.5, 0.75, 5),
        BarcodeSpan(0.75, 1, -2),
    ]
    view = lay_out_task(drawn(bars, predicted={"paper": bars, "equal-split": bars[:3]}), {}, KINDS)
    assert [(step.name, path) for step, path in view.takes[0].lanes[1].paths] == [
        ("background", "M1000 0h1000v1h-1000"),
        ("pour", "M0 0h1000v1h-1000M2000 0h1000v1h-1000"),
    ]
    assert [lane.is_hatched for lane in view.takes[0].lanes] == [True, True, False]
    assert [lane.method for lane in view.takes[0].lanes] == [None, "paper", "equal-split"]


def test_colours_follow_the_place_of_a_step_and_not_its_number():
    view = lay_out_task(drawn([BarcodeSpan(0, 1, 9)]), {}, KINDS)
    kinds = [step.kind and step.kind.letter for step in view.steps]
    assert [step.id for step in view.steps] == [0, 5, 9]
    assert kinds == [None, "A", "B"]
    assert [letter.kind.letter for letter in view.takes[0].lanes[0].letters] == ["B"]


def test_recordings_share_a_scale_unless_the_short_ones_would_vanish():
    def shares(*seconds: float) -> list[float]:
        one = drawn([BarcodeSpan(0, 1, 5)])
        codes = [dataclasses.replace(one.barcodes[0], seconds=s) for s in seconds]
        return [
            take.share
            for take in lay_out_task(dataclasses.replace(one, barcodes=codes), {}, KINDS).takes
        ]

    assert shares(40, 20) == [100, 50]
    assert shares(40, 2) == [100, 100]


def test_steps_that_share_a_name_are_told_apart_in_a_confusion():
    one = drawn([BarcodeSpan(0, 1, 5)], names=("pour", "pour"))
    confusion = Confusion("paper", [0, 9, 5, -2], [[0.0] * 4] * 3)
    view = lay_out_task(dataclasses.replace(one, confusions=[confusion]), {}, KINDS)
    assert [(name, step and step.id) for name, step in view.confusions[0].columns] == [
        ("no step", None),
        ("pour", 9),
        ("pour", 5),
        ("–", None),
    ]


def test_a_confusion_names_its_clusters_by_the_ids_of_steps():
    confusions = make_evaluation()[1][0].confusions
    by_method = {one.method: one for one in confusions}
    assert by_method["equal-split"].clusters == [1, 2, 3, -2]  # K = 4, and 3 steps
    assert set(by_method["paper"].clusters) == {0, 1, 2, 3, -2}


def test_a_step_without_a_name_is_called_step_and_its_number():
    view = lay_out_task(drawn([BarcodeSpan(0, 1, 9)], names=("5", "stir")), {}, KINDS)
    assert [step.name for step in view.steps] == ["background", "step 5", "stir"]


def test_recordings_of_one_scale_have_a_time_axis():
    one = drawn([BarcodeSpan(0, 1, 5)])
    codes = [dataclasses.replace(one.barcodes[0], seconds=s) for s in (185.0, 100.0)]
    ticks = lay_out_task(dataclasses.replace(one, barcodes=codes), {}, KINDS).ticks
    assert [tick.text for tick in ticks] == ["0:00", "0:30", "1:00", "1:30", "2:00", "2:30", "3:05"]
    assert (ticks[0].x, ticks[2].x, ticks[-1].x) == (0, 32.432, 100)
    codes[1] = dataclasses.replace(codes[1], seconds=10.0)
    assert lay_out_task(dataclasses.replace(one, barcodes=codes), {}, KINDS).ticks == []


def test_bars_with_nothing_to_see_are_hidden_at_first_unless_there_is_nothing_else():
    bars = [BarcodeSpan(0, 1, 5)]
    both = lay_out_task(
        drawn(bars, predicted={"paper": bars, "concatenated-split": bars}), {}, KINDS
    )
    assert both.hidden_at_first == ["concatenated-split"]
    assert (
        lay_out_task(drawn(bars, predicted={"concatenated-split": bars}), {}, KINDS).hidden_at_first
        == []
    )


def test_a_page_of_many_recordings_stays_small():
    names = [f"step {number}, which has quite a long name indeed" for number in range(15)]
    results, barcodes = make_evaluation(n_recordings=38, step_names=names, n_clusters=20)
    noisy = [with_many_bars(barcode, 100) for barcode in barcodes[0].barcodes]
    page = render(results, [dataclasses.replace(barcodes[0], barcodes=noisy)])
    assert len(page.encode()) < 3_000_000
    assert "26 more recordings" in page


def test_the_same_results_give_the_same_page():
    assert render(*make_evaluation()) == render(*make_evaluation())


def drawn(
    truth: list[BarcodeSpan],
    predicted: dict[str, list[BarcodeSpan]] | None = None,
    names=("pour", "stir"),
) -> TaskBarcodes:
    steps = {0: "background", 5: names[0], 9: names[1]}
    predicted = predicted if predicted is not None else {"paper": truth}
    return TaskBarcodes("tea", steps, [Barcode("r1", 60.0, truth, predicted)], [])


def with_many_bars(barcode: Barcode, n_bars: int) -> Barcode:
    edges = np.linspace(0, 1, n_bars + 1).tolist()
    bars = [BarcodeSpan(edges[n], edges[n + 1], n % 16) for n in range(n_bars)]
    return dataclasses.replace(
        barcode, truth=bars, predicted=dict.fromkeys(barcode.predicted, bars)
    )
