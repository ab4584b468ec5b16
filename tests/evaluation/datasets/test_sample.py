"""The generated recording is as documented, reproducible by seed, and not trivial to segment."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from stepreel.errors import StepreelError
from stepreel.evaluation.datasets.sample import (
    Sample,
    SampleStep,
    make_sample,
    plan_steps,
    read_sample_steps,
)

THUMBNAIL_STRIDE = 8


class Filmed:
    """One generated recording, decoded once for all tests."""

    def __init__(self, folder: Path) -> None:
        self.calls: list[tuple[float, float]] = []
        self.sample = make_sample(
            folder, progress=lambda done, total: self.calls.append((done, total))
        )
        self.steps = read_sample_steps(self.sample.truth)
        with av.open(str(self.sample.video)) as file:
            stream = file.streams.video[0]
            self.rate, self.size = stream.average_rate, (stream.width, stream.height)
            frames = [
                cv2.resize(frame.to_ndarray(format="rgb24"), (8, 8), interpolation=cv2.INTER_AREA)
                if number % THUMBNAIL_STRIDE == 0
                else None
                for number, frame in enumerate(file.decode(stream))
            ]
        self.seconds = len(frames) / 30
        self.thumbnails = np.array([f.ravel() for f in frames if f is not None], float)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Filmed:
    return Filmed(tmp_path_factory.mktemp("sample"))


def test_the_video_is_about_ninety_seconds_of_640_by_360_at_30_fps(filmed: Filmed) -> None:
    assert filmed.size == (640, 360)
    assert filmed.rate == 30
    assert 85 <= filmed.seconds <= 95


def test_only_the_three_files_are_left_in_the_folder(filmed: Filmed) -> None:
    sample = filmed.sample
    names = sorted(path.name for path in sample.video.parent.iterdir())
    assert names == ["work-bench.gaze.csv", "work-bench.mp4", "work-bench.steps.csv"]
    assert sample == Sample(sample.video, sample.gaze, sample.truth)


def test_the_written_steps_are_the_planned_ones(filmed: Filmed) -> None:
    planned, seconds = plan_steps(0)
    assert seconds == pytest.approx(filmed.seconds)
    assert [(s.step, s.name) for s in filmed.steps] == [(s.step, s.name) for s in planned]
    for written, meant in zip(filmed.steps, planned, strict=True):
        assert (written.start, written.end) == pytest.approx((meant.start, meant.end), abs=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_every_plan_has_seven_steps_one_of_them_twice_and_idle_stretches(seed: int) -> None:
    steps, seconds = plan_steps(seed)
    numbers = [s.step for s in steps]
    assert set(numbers) == set(range(1, 8))
    assert [n for n in set(numbers) if numbers.count(n) == 2] == [4]
    assert len({s.name for s in steps}) == 7
    assert 85 <= seconds <= 95
    lengths = [s.end - s.start for s in steps]
    assert 3.9 < min(lengths) < max(lengths) < 16.1
    assert max(lengths) > 1.8 * min(lengths)
    starts, ends = [*(s.start for s in steps), seconds], [0.0, *(s.end for s in steps)]
    idle = np.subtract(starts, ends)
    assert (idle > 0).all()
    assert ((idle > 1.5) & (idle < 4)).sum() >= len(idle) - 1


def test_the_repeated_step_is_not_repeated_at_once() -> None:
    for seed in range(8):
        numbers = [s.step for s in plan_steps(seed)[0]]
        first, second = (i for i, n in enumerate(numbers) if n == 4)
        assert second - first >= 3


def test_equal_seeds_give_equal_plans_and_others_do_not() -> None:
    assert plan_steps(3) == plan_steps(3)
    orders = {tuple(s.step for s in plan_steps(seed)[0]) for seed in range(8)}
    assert len(orders) == 8
    assert len({plan_steps(seed)[1] for seed in range(8)}) > 4


def test_the_gaze_is_inside_the_picture_at_60_hz_for_the_whole_video(filmed: Filmed) -> None:
    with filmed.sample.gaze.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["time_s", "x", "y", "confidence"]
    times = np.array([float(row[0]) for row in rows])
    assert len(times) == round(filmed.seconds * 60)
    assert np.diff(times) == pytest.approx(1 / 60, abs=2e-4)
    blinks = [row for row in rows if float(row[3]) == 0]
    assert 0 < len(blinks) < 0.1 * len(rows)
    assert all(row[1:3] == ["", ""] for row in blinks)
    seen = np.array([row[1:3] for row in rows if float(row[3]) > 0], float)
    assert seen.min() >= 0
    assert seen.max() <= 1
    assert (seen.std(axis=0) > 0.03).all()


def test_progress_climbs_to_the_total(filmed: Filmed) -> None:
    done = [call[0] for call in filmed.calls]
    assert done == sorted(done)
    assert filmed.calls[-1] == pytest.approx((filmed.seconds, filmed.seconds))


def test_clustering_eight_by_eight_pixels_does_not_find_the_steps(filmed: Filmed) -> None:
    times = np.arange(len(filmed.thumbnails)) * THUMBNAIL_STRIDE / 30
    assert strict_f1(filmed.thumbnails, times, filmed.steps) <= 50


def strict_f1(pictures: Any, times: Any, steps: list[SampleStep]) -> float:
    """Match k-means clusters one to one with steps; the mean F1 of the steps, in percent."""
    truth = np.zeros(len(times), int)
    for s in steps:
        truth[(times >= s.start) & (times < s.end)] = s.step
    numbers = sorted({s.step for s in steps})
    labels = KMeans(len(numbers) + 1, n_init=10, random_state=0).fit_predict(pictures)
    f1 = [
        [
            2 * np.sum((truth == n) & (labels == k)) / (np.sum(truth == n) + np.sum(labels == k))
            for k in range(len(numbers) + 1)
        ]
        for n in numbers
    ]
    rows, columns = linear_sum_assignment(f1, maximize=True)
    return 100 * float(np.array(f1)[rows, columns].mean())


def test_a_failure_midway_leaves_no_file_behind(tmp_path: Path) -> None:
    def give_up(done: float, total: float) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_sample(tmp_path, progress=give_up)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_table_of_steps_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("1.0,2.0,1 saw\n3.0,oops,2 glue\n", encoding="utf-8")
    with pytest.raises(StepreelError, match="start_s,end_s,N step name"):
        read_sample_steps(path)
