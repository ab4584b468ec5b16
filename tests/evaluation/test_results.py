"""results.json as a contract: what is read, written and published."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from cli.commands import stepreel
from evaluations import make_evaluation

from stepreel.errors import StepreelError
from stepreel.evaluation.results import Results, read_results, results_schema

VERSION_1 = Path(__file__).parents[1] / "fixtures" / "v0.1.0" / "results.json"


def made_up(**options):
    return Results.model_validate(make_evaluation(**options)[0])


def test_results_of_version_1_are_read():
    results = read_results(VERSION_1)
    assert results.version == 2
    assert results.method_kinds["equal-split"] == "blind"
    assert results.method_kinds["time-kmeans"] == "clustered"
    assert results.method_kinds["stepreel"] == "learned"
    assert results.protocols["egoprocel"]["random"].f1.mean == 39.2549
    assert results.dataset.tasks["fx"].recordings == ["take0", "take1"]


def test_names_nesting_order_and_layout_are_those_of_version_1():
    lines = VERSION_1.read_text().splitlines()
    written = read_results(VERSION_1).to_json().splitlines()
    assert [line for line in written if '"method_kinds"' not in line] == [
        line.replace('"version": 1', '"version": 2') for line in lines
    ]


def test_what_is_written_is_read_back_and_nothing_is_added(tmp_path):
    results = made_up(tasks=["tea", "coffee"])
    (tmp_path / "results.json").write_text(results.to_json())
    assert read_results(tmp_path / "results.json") == results
    values = json.loads(results.to_json())
    assert {"tasks", "groups"} < set(values)
    assert not {"sweeps", "task_metrics"} & set(values)
    assert "ceiling" not in values["protocols"]["egoprocel"]["paper"]
    assert "per_step" not in values["groups"]["hot"]["protocols"]["strict"]["paper"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 0}, "version 1 to 2: field version=.* is wrong; expected 2"),
        ({"verdict": "good"}, "unknown field .verdict.; known here"),
        ({"protocols": {"strict": {"paper": {}}}}, r"protocols\.strict\.paper\.f1 is missing"),
    ],
)
def test_a_file_of_another_form_is_explained(tmp_path, change, words):
    values = json.loads(VERSION_1.read_text()) | change
    (tmp_path / "results.json").write_text(json.dumps(values))
    with pytest.raises(StepreelError, match=words) as problem:
        read_results(tmp_path / "results.json")
    assert "stepreel schema results" in str(problem.value)


def test_a_file_of_a_later_version_says_to_upgrade(tmp_path):
    values = json.loads(VERSION_1.read_text()) | {"version": 3}
    (tmp_path / "results.json").write_text(json.dumps(values))
    with pytest.raises(StepreelError, match="has version 3, but this stepreel reads up to 2"):
        read_results(tmp_path / "results.json")


def test_a_missing_or_foreign_file_is_explained(tmp_path):
    with pytest.raises(StepreelError, match="does not exist; expected results"):
        read_results(tmp_path / "nowhere.json")
    (tmp_path / "results.json").write_bytes(b"\xff\xfe")
    with pytest.raises(StepreelError, match="not UTF-8"):
        read_results(tmp_path / "results.json")


def test_results_cannot_be_changed_and_print_short():
    results = made_up(tasks=["tea", "coffee"])
    with pytest.raises(ValueError, match="frozen"):
        results.notes = []
    assert repr(results) == ("Results('drinks', 2 tasks, 6 recordings, 9 methods, 2 seeds, K = 4)")


def test_the_schema_is_published():
    done = stepreel("schema", "results")
    assert json.loads(done.stdout) == results_schema()
    assert results_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(results_schema()["properties"]) == set(Results.model_fields)


def test_the_schema_of_a_storyboard_is_the_usual_one():
    usual, named = stepreel("schema"), stepreel("schema", "storyboard")
    assert usual.stdout == named.stdout
    assert json.loads(usual.stdout)["$schema"]
    assert stepreel("schema", "recipe").returncode == 2


def test_a_frame_has_one_row_per_task_protocol_method_figure_and_seed():
    pytest.importorskip("pandas")
    results = made_up(tasks=["tea", "coffee"])
    frame = results.to_frame()
    assert list(frame.columns) == [
        "task", "group", "protocol", "method", "kind", "figure", "seed", "value",
    ]  # fmt: skip
    assert set(frame.task) == {"tea", "coffee"}
    f1 = frame.query("figure == 'f1' and protocol == 'strict' and method == 'paper'")
    assert len(f1) == 4
    own = results.protocols["strict"]["paper"].f1
    assert f1.groupby("seed").value.mean().tolist() == pytest.approx(own.seeds, abs=1e-3)
    assert f1.value.mean() == pytest.approx(own.mean, abs=1e-3)


def test_rows_of_a_frame_are_there_without_pandas():
    rows = list(made_up()._rows())
    # 6 protocols, 9 methods, 2 seeds; 9 figures, and a ceiling under both strict protocols.
    # Coverage, and borders with 3 tolerances: 3 rates, also of 3 null baselines, and 2 numbers.
    assert len(rows) == 9 * 2 * (6 * 9 + 2 + 4 * (3 + 3 * 3 + 2))
    f1 = [row[-1] for row in rows if row[2:6] == ("strict", "paper", "learned", "f1")]
    assert np.mean(f1) == pytest.approx(made_up().protocols["strict"]["paper"].f1.mean, abs=1e-3)


def test_without_pandas_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(StepreelError, match="pip install pandas"):
        made_up().to_frame()
