"""The benchmarks run on miniatures; what they measure is not asserted here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from limits import HANG_SECONDS
from markdown import PAGE_WIDTH, code_lines, tables, visible_width
from videos import gray_steps, steady, write_video

from stepreel.evaluation.methods.catalog import METHODS
from stepreel.evaluation.metrics.localization import PROTOCOLS
from stepreel.evaluation.metrics.storyboard_worth import MEASURES
from stepreel.evaluation.results import Results

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
TINY = ["--set", "train.epochs=1", "--set", "train.n_chunks=8", "--clusters", "3"]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    for number in range(3):
        rng = np.random.default_rng(number)
        labels = np.repeat([0, 1, 2, 1], 10)
        arm = np.eye(3)[labels] + 0.1 * rng.normal(size=(40, 3))
        np.savez(
            folder / f"take{number}.npz",
            times=np.arange(40) / 4,
            left=arm,
            right=arm[:, :2],
            labels=labels,
        )
    return folder


def run(script, *arguments):
    command = [sys.executable, BENCHMARKS / script, *arguments]
    return subprocess.run(
        list(map(str, command)),
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # tests run side by side
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("table", ["clusters", "recordings"])
def test_an_ablation_writes_a_table_and_a_plot_and_resumes_from_finished_work(
    recordings, tmp_path, table
):
    first = run("ablation.py", table, recordings, *TINY, "-o", tmp_path)
    assert first.returncode == 0, first.stderr
    assert "models to train" in first.stdout
    text = (tmp_path / f"{table}-{recordings.name}.txt").read_text()
    assert "equal split" in text
    assert (tmp_path / f"{table}-{recordings.name}.png").read_bytes()[:4] == b"\x89PNG"
    second = run("ablation.py", table, recordings, *TINY, "-o", tmp_path)
    assert "to train" not in second.stdout
    assert (tmp_path / f"{table}-{recordings.name}.txt").read_text() == text


def test_a_folder_without_labels_cannot_be_scored(tmp_path):
    np.savez(tmp_path / "a.npz", times=np.arange(9.0), left=np.eye(9))
    done = run("ablation.py", "losses", tmp_path)
    assert done.returncode != 0
    assert "contains no `labels`" in done.stderr


def test_the_quality_of_windows_is_printed_per_cue(recordings):
    done = run("window_quality.py", recordings, "--window-seconds", 2)
    assert done.returncode == 0, done.stderr
    assert "all cues" in done.stdout


def test_results_are_measured_set_by_set_and_missing_sets_are_named(tmp_path):
    folder = tmp_path / "data" / "egoprocel"
    (folder / "annotations" / "meccano").mkdir(parents=True)
    (folder / "annotations" / "meccano" / "0003.csv").write_text("1,4,2 screw\n5,9,1 plug\n")
    (folder / "durations.csv").write_text("task,video,duration_s\nmeccano,0003,10\n")
    options = ["--work", tmp_path / "work", "--only", "meccano", "cad120"]
    done = run("results.py", tmp_path / "data", *options)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "work" / "meccano-more" / "results.json").exists()
    assert "cad120: does not exist, skipped" in done.stdout


SEEDLESS = ("equal-split", "concatenated-split", "one-cluster")


def figures(f1, std=1.5):
    figure = {"mean": f1, "std": std, "seeds": [f1] * 3}
    names = ("f1", "precision", "recall", "iou", "mof", "edit", "f1_10", "f1_25", "f1_50")
    return {**dict.fromkeys(names, figure), "ceiling": {**figure, "mean": 70.0}}


def worth(f1, split, n_shown):
    figure = figures(f1)["f1"]
    nulls = {"matched-split": split, "matched-random": 20.0, "equal-split": 30.0}
    rates = ("f1", "precision", "recall")
    return {
        **dict.fromkeys(rates, figure),
        "n_shown": {**figure, "mean": n_shown},
        "n_true": {**figure, "mean": 5.5},
        "nulls": {name: dict.fromkeys(rates, figures(f1)["f1"]) for name, f1 in nulls.items()},
    }


def made_up_storyboard():
    """Return figures in which `paper` alone shows more than as many equal parts do."""
    methods = {name: worth(33.3, 33.3, 7.0) for name in METHODS.own}
    methods["paper"] = worth(44.4, 40.0, 9.1)
    borders = {name: dict.fromkeys(("1s", "2s", "5%"), own) for name, own in methods.items()}
    tables = {"coverage": methods, "borders": borders}
    return {**tables, "recordings": 2, "left_out": 0, "alone": tables}


def made_up_results(tasks, metrics, strict):
    """Return results in which all methods have the same figures, except under `strict`."""
    methods = {name: figures(33.3, std=0.0 if name in SEEDLESS else 1.5) for name in METHODS.own}
    scored = {"protocols": dict.fromkeys(PROTOCOLS, methods)}
    facts = {"group": "", "moments": 9, "seconds": 9, "cues": {}, "steps": {}}
    metric = {"note": "how to read it", "methods": {"raw": {"tau_b": figures(33.3)["f1"]}}}
    return Results.model_validate(
        {
            "format": "stepreel-results",
            "version": 2,
            "stepreel_version": "0",
            "data_fingerprint": "0123456789abcdef",
            "dataset": {
                "name": "npz",
                "tasks": {task: {**facts, "recordings": ["a", "b"]} for task in tasks},
            },
            "settings": {
                "n_clusters": 7,
                "seeds": [0, 1, 2],
                "moments_per_second": 5,
                "methods": {},
            },
            "method_kinds": {name: method.kind for name, method in METHODS.own.items()},
            "skipped": {},
            "left_out": [],
            "notes": [],
            "protocols": {**scored["protocols"], "strict": {**methods, **strict}},
            "storyboard": made_up_storyboard(),
            "tasks": dict.fromkeys(tasks, scored),
            "groups": dict.fromkeys(tasks, scored),
            "sweeps": {what: {"7": scored} for what in ("clusters", "cues", "recordings")},
            "task_metrics": dict.fromkeys(metrics, metric),
        }
    )


@pytest.fixture
def result_pages(monkeypatch):
    """Return all pages; sets differ only in the lead of `stepreel` over `raw-kmeans`."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from results_document import GROUPS, pages
    from results_sets import ANNOTATIONS_ONLY, SETS

    strict = {
        "suturing": {"raw-kmeans": figures(40.0), "stepreel": figures(50.0)},
        "openpack": {"raw-kmeans": figures(40.0), "stepreel": figures(41.0)},  # in the spread
    }
    results = {}
    for name in (dataset.name for dataset in (*SETS, *ANNOTATIONS_ONLY)):
        phases = () if name in ("suturing", "openpack") else ("phases",)  # not measured there
        metrics = (*phases, "kendall", "key-steps", "samplers")
        results[name] = made_up_results(GROUPS, metrics, strict.get(name, {}))
    return pages(results, results, 3)


def test_every_figure_has_its_place_on_a_page(result_pages):
    assert not [page for page, text in result_pages.items() if "<<" in text]
    assert "| F1 at most | 70.0 |" in result_pages["localization"]
    assert "evaluate egoprocel DATA/egoprocel --task meccano" in result_pages["commands"]
    assert "| STEPs, EGTEA | 30.8/12.4 | – | 6 |" in result_pages["paper-tables"]
    assert "In the tables: how to read it." in result_pages["task-metrics"]
    assert "| `paper` | **44.4 ± 1.5 (+4.4)** |" in result_pages["storyboards"]
    assert "| `equal-split` | 33.3 ± 1.5 (0.0) |" in result_pages["storyboards"]
    assert "| `paper` | 9.1 ± 1.5 |" in result_pages["storyboards"]
    assert "| true steps | 5.5 |" in result_pages["storyboards"]


def test_a_lead_within_the_spread_over_seeds_is_not_counted(result_pages):
    text = " ".join(result_pages["results"].split())
    assert (
        "By more than the spread over seeds, `stepreel` beats the best of seven null baselines on "
        "1 of 8 sets, and the paper's method beats it on 0:"
    ) in text


def test_the_first_page_has_the_headlines_and_links_to_all_others(result_pages):
    text = result_pages["results"]
    first = [table[0][0] for table in tables(text)]
    assert first == [
        "set",
        "confidence",
        "left out",
        "left out",
        "noise",
    ]  # the rest is how far to trust it
    row = (
        "| JIGSAWS Suturing | 12 | 33.3 | 40.0 ± 1.5 (`raw-kmeans`) "
        "| 33.3 ± 1.5 | **50.0 ± 1.5** | 70.0 |"
    )
    assert row in text
    linked = {f"results/{page}.md" for page in result_pages if page != "results"}
    linked |= {f"results/{page}.md" for page in ("decoders", "number", "clusterings")}  # of others
    assert linked == set(re.findall(r"\((results/[\w-]+\.md)\)", text))


def test_no_table_or_command_on_a_page_is_wider_than_the_page(result_pages):
    for page, text in result_pages.items():
        assert not [t for t in tables(text) if visible_width(t) > PAGE_WIDTH], page
        assert not [c for c in code_lines(text) if len(c) > PAGE_WIDTH], page


def test_the_first_page_is_written_beside_the_folder_of_the_others(
    result_pages, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from results_document import write_pages

    files = write_pages(tmp_path / "docs" / "results.md", result_pages)
    assert len(files) == len(result_pages)
    assert (tmp_path / "docs" / "results.md").read_text() == result_pages["results"]
    assert (tmp_path / "docs" / "results" / "sweeps.md").read_text() == result_pages["sweeps"]


def test_scoring_is_timed_against_its_limits(tmp_path):
    done = run("evaluation_speed.py", tmp_path, "--recordings", 3)
    assert done.returncode == 0 or "too slow" in done.stderr, done.stderr  # the machine may be busy
    assert "limit 10" in done.stdout


def write_takes(data, steps):
    """Write five takes of a task as the source Bimacs, at five moments a second."""
    folder = data / "bimacs_zed"
    folder.mkdir(parents=True)
    for number in range(5):
        rng = np.random.default_rng(number)
        labels = np.repeat(steps, rng.integers(20, 40, size=len(steps)))
        hands = 3 * np.eye(4)[labels] + rng.normal(size=(len(labels), 4))
        times = np.arange(len(labels)) / 5
        np.savez(folder / f"take{number}.npz", times=times, hands=hands, labels=labels)


def test_decoders_are_measured_and_finished_figures_are_kept(tmp_path):
    write_takes(tmp_path / "data", [1, 2, 3, 2])
    options = ("--work", tmp_path / "work", "--seeds", 1, "--only", "bimacs", "--trained")
    first = run("accuracy.py", tmp_path / "data", *options)
    assert first.returncode == 0, first.stderr
    rows = {line.split("|")[1].strip(): line for line in first.stdout.splitlines() if "|" in line}
    assert "bimacs_zed *" in rows
    assert rows["mean of 1"].count("/") == 1
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*.json")}
    again = run("accuracy.py", tmp_path / "data", *options)
    assert again.stdout == first.stdout
    assert kept == {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*.json")}


def test_the_page_of_decoders_has_every_table(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import accuracy_tables
    from accuracy import METHODS as COMPARED

    rng = np.random.default_rng(0)

    def figures(method):
        said = "Steps recur: as they do." if method == "auto" else ""
        return {"strict": 40 * rng.random(), "egoprocel": 50 * rng.random(), "sentence": said}

    measured = accuracy_tables.Measured(COMPARED, (3, 5))
    for source, folder in (("Bimacs", "bimacs_zed"), ("OpenPack", "openpack/boxes")):
        measured.takes[source, folder] = {m: [figures(m), figures(m)] for m in COMPARED}
        measured.few[folder] = {3: [-1.0, 2.0]}
        for way in ("alone", "trained"):
            for position in range(4):
                row = {f"{m}{s}": rng.random() for m in MEASURES for s in ("", " null")}
                row |= {"found": 5, "true": 4, "strict": 30.0, "strict null": 31.0}
                measured.rows(way, source).append((position, row))
    measured.paper = {"OpenPack": (23.9, 24.9)}
    monkeypatch.setattr(accuracy_tables, "PAGE", tmp_path / "decoders.md")
    text = accuracy_tables.decoders_page(measured).read_text()
    assert "<<" not in text
    assert "| OpenPack | " in text
    assert "23.9 / 24.9" in text
    assert "bimacs_zed *" in text
    assert "+0.5 (−1.0)" in text
    assert text.count("× 1.25") == 6
    assert "mean of 1 not chosen on" in text


def test_clusterers_and_samplers_are_measured_and_finished_figures_are_kept(tmp_path):
    write_takes(tmp_path / "data", [1, 2, 3] * 4)  # more steps than ten moments can show
    options = ("--work", tmp_path / "work", "--seeds", 1, "--only", "bimacs")
    first = run("clusterings.py", tmp_path / "data", *options)
    assert first.returncode == 0, first.stderr
    by_title = {table[0][0]: table for table in tables(first.stdout)}
    assert by_title["`strict`"][0][-4:] == ["`finch`", "`tw-finch`", "`ward`", "`procut`"]
    assert by_title["task"][1][:3] == ["bimacs_zed", "3", "6"]  # true kinds, and K
    assert by_title["source"][1][:2] == ["Bimacs", "2"]  # of five recordings, two are odd
    assert by_title["coverage"][1][:2] == ["Bimacs", "2"]
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*.json")}
    again = run("clusterings.py", tmp_path / "data", *options)
    assert again.stdout == first.stdout
    assert kept == {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*.json")}


def test_the_page_of_clusterings_has_every_table(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import clustering_tables
    from clustering_tables import DIGITS, METHODS, WAYS

    measured, rng = clustering_tables.MeasuredClusterings(), np.random.default_rng(0)
    for source, folder in (("Bimacs", "bimacs_zed"), ("OpenPack", "openpack/boxes")):
        measured.together.takes[source, folder] = {
            method: [{"strict": f1, "egoprocel": f1 + 10} for f1 in (30.0, 32.0)]
            for method in METHODS
        }
        measured.alone[source] = [dict.fromkeys(METHODS, 40.0)]
        measured.numbers[source, folder] = {"true": 8, "K": 8, "finch": 4, "tw-finch": 16}
        measured.shown[source] = [
            {"found": 12, **{way: {name: rng.random() for name in DIGITS} for way in WAYS}}
            for _ in range(2)
        ]
    monkeypatch.setattr(clustering_tables, "PAGE", tmp_path / "clusterings.md")
    text = clustering_tables.clusterings_page(measured).read_text()
    assert "<<" not in text
    assert "| **error** |  | × 1.00 | × 2.00 | × 2.00 |" in text
    assert "| bias |  | × 1.00 | × 0.50 | × 2.00 |" in text
    assert "| ± over seeds | 1.4 | " in text
    assert "mean of 1 not chosen on" in text
    assert not [t for t in tables(text) if visible_width(t) > PAGE_WIDTH]


def test_the_plain_loop_makes_four_pictures_a_second(tmp_path):
    video = write_video(tmp_path / "a.mp4", steady(45), gray_steps)
    done = run("plain_loop.py", video)
    assert (done.stdout, done.stderr) == ("6 pictures\n", "")  # at 0, 0.25, ... 1.25 s


def test_a_video_for_benchmarks_is_720p_with_frames_out_of_order(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from recordings import camera_like, looped

    source = write_video(tmp_path / "small.mp4", steady(30), gray_steps)
    video = looped(camera_like(source, tmp_path), 3, tmp_path / "long.mp4")
    with av.open(str(video)) as container:
        stream = container.streams.video[0]
        shown = [packet.pts for packet in container.demux(stream) if packet.pts is not None]
        assert (stream.width, stream.height) == (1280, 720)
    assert len(shown) == 90
    assert shown != sorted(shown)


def test_finch_is_timed_at_every_number_of_moments():
    done = run("finch_speed.py", "--moments", 200, 400, "--width", 4)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["200", "400"]
    assert "core s" in done.stdout
