from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.procel import FORMAT, split_overlaps
from stepreel.evaluation.truth.annotation import Problems
from stepreel.evaluation.truth.rows import Row

NAMES = ("check response", "open airway", "give compression")
Times = list[list[tuple[float, float]]]
USUAL: Times = [[(1.0, 3.0)], [], [(4.0, 6.0), (8.0, 9.5)]]


def cells(items: list[object]) -> np.ndarray:
    """Return a column of cells, as MATLAB has it."""
    column = np.empty((len(items), 1), object)
    for row, item in enumerate(items):
        column[row, 0] = item
    return column


def write_task(
    root: Path, task: str, videos: dict[str, Times], *, parts: list[object] | None = None
) -> None:
    folder = root / task
    folder.mkdir(parents=True, exist_ok=True)
    times = [
        cells(
            [
                np.array(spans, float).reshape(-1, 2) if spans else np.zeros((0, 0))
                for spans in video
            ]
        )
        for video in videos.values()
    ]
    content = {"grammar": cells(list(NAMES)), "key_steps_time": cells(times)}
    if parts is not None:
        content["superframe_time"] = cells(parts)
    savemat(folder / "data.mat", content)
    lines = "".join(f"{i}\t{video}\thttp://x\n" for i, video in enumerate(videos, 1))
    (folder / "readme.txt").write_text(lines)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_task(tmp_path, "perform_cpr", {"cpr_0002": USUAL, "cpr_0001": [[], [(0.0, 5.0)], []]})
    return tmp_path


def request(root: Path, **more: object) -> Request:
    return Request(root, Problems(), **more)  # type: ignore[arg-type]


def lenient(root: Path) -> Request:
    return Request(root, Problems(lenient=True))


def steps(take: object) -> list[tuple[float, float, int]]:
    return [(s.start, s.end, s.step) for s in take.annotation.steps]  # type: ignore[attr-defined]


def test_names_and_times_are_matched_by_position_and_videos_sorted_by_name(root: Path) -> None:
    (task,) = FORMAT.read(request(root))
    assert (task.name, task.group) == ("perform_cpr", "procel")
    assert task.step_names == {1: "check response", 2: "open airway", 3: "give compression"}
    assert [take.name for take in task.recordings] == ["cpr_0001", "cpr_0002"]
    assert steps(task.recordings[0]) == [(0.0, 5.0, 2)]
    assert steps(task.recordings[1]) == [(1.0, 3.0, 1), (4.0, 6.0, 3), (8.0, 9.5, 3)]


def test_too_many_or_too_few_names_match_nothing_of_that_task(root: Path) -> None:
    readme = root / "perform_cpr" / "readme.txt"
    write_task(root, "make_coffee", {"coffee_0001": USUAL})
    for listed, n in (("1\tcpr_0002\n2\tcpr_0009\n3\tcpr_0001\n", 3), ("1\tcpr_0002\n", 1)):
        readme.write_text(listed)
        with pytest.raises(DatasetError, match=rf"of perform_cpr: lists {n} videos, .* of 2;"):
            FORMAT.read(request(root))
        query = lenient(root)
        assert [task.name for task in FORMAT.read(query)] == ["make_coffee"]
        assert len(query.problems.skipped) == 1


def test_a_name_known_to_have_no_labels_shifts_no_other(root: Path) -> None:
    lines = ("cpr_0002", "cpr_0041", "cpr_0001")
    address = "https://www.youtube.com/watch?v=x"
    (root / "perform_cpr" / "readme.txt").write_text(
        "".join(f"{address}\t{name}\n" for name in lines)
    )
    (root / "perform_cpr" / "features").mkdir()
    for name in lines:
        np.save(root / "perform_cpr" / "features" / f"{name}.npy", np.ones((10, 4)))
    query = request(root, fps=1.0)
    (task,) = FORMAT.read(query)
    assert [(take.name, steps(take)) for take in task.recordings] == [
        ("cpr_0001", [(0.0, 5.0, 2)]),
        ("cpr_0002", [(1.0, 3.0, 1), (4.0, 6.0, 3), (8.0, 9.5, 3)]),
    ]
    assert query.problems.notes == [
        "perform_cpr: cpr_0041 is left out: the release has neither key steps nor a video of it"
    ]
    (root / "perform_cpr" / "readme.txt").write_text("1\tcpr_0041\n")
    query = lenient(root)
    assert FORMAT.read(query) == []
    assert (len(query.problems.skipped), query.problems.notes) == (1, [])


def test_videos_last_as_long_as_the_parts_they_were_cut_into(root: Path) -> None:
    videos = {"b": USUAL, "a": USUAL}
    parts = [np.array([[0.0, 4.0], [4.0, 9.0]]), np.array([[0.0, 12.5]])]
    write_task(root, "perform_cpr", videos, parts=parts)
    (task,) = FORMAT.read(request(root))
    assert [take.annotation.duration_seconds for take in task.recordings] == [12.5, 9.0]
    assert steps(task.recordings[1])[-1] == (8.0, 9.0, 3)  # a little past the end: cut
    write_task(root, "perform_cpr", videos, parts=[np.array([[0.0, 5.0]]), parts[1]])
    with pytest.raises(DatasetError, match=r"cpr, b: 8 to 9.5 s .* past the end .*\(5 s\)"):
        FORMAT.read(request(root))


@pytest.mark.parametrize(
    "part", [np.zeros((0, 0)), np.array([[0.0, np.nan]]), np.zeros((1, 2)), np.zeros(3), "long"]
)
def test_parts_of_the_wrong_form_give_no_duration(root: Path, part: object) -> None:
    write_task(root, "perform_cpr", {"a": USUAL}, parts=[part])
    (task,) = FORMAT.read(request(root))
    assert task.recordings[0].annotation.duration_seconds is None
    write_task(root, "perform_cpr", {"a": USUAL}, parts=[np.array([[0.0, 10.0]])] * 2)
    (task,) = FORMAT.read(request(root))
    assert task.recordings[0].annotation.duration_seconds is None


def test_the_length_of_features_overrules_that_of_parts(root: Path) -> None:
    write_task(root, "perform_cpr", {"a": USUAL}, parts=[np.array([[0.0, 11.0]])])
    (root / "perform_cpr" / "features").mkdir()
    np.save(root / "perform_cpr" / "features" / "a.npy", np.ones((10, 4)))
    (task,) = FORMAT.read(request(root, fps=1.0))
    assert task.recordings[0].annotation.duration_seconds == 10.0
    (task,) = FORMAT.read(request(root))
    assert task.recordings[0].annotation.duration_seconds == 11.0


def test_a_list_of_videos_that_is_not_text_is_reported_once(root: Path) -> None:
    (root / "perform_cpr" / "readme.txt").write_bytes(b"\xff\xfe")
    query = lenient(root)
    assert FORMAT.read(query) == []
    assert len(query.problems.skipped) == 1
    assert "is not UTF-8 text" in query.problems.skipped[0]


def test_a_line_without_a_name_keeps_its_position(root: Path) -> None:
    (root / "perform_cpr" / "readme.txt").write_text("1 cpr_0002\n2\tcpr_0001\n")
    with pytest.raises(DatasetError, match=r"readme\.txt of perform_cpr, line 1"):
        FORMAT.read(request(root))
    (task,) = FORMAT.read(lenient(root))
    assert [(take.name, steps(take)) for take in task.recordings] == [("cpr_0001", [(0.0, 5.0, 2)])]


def test_a_name_listed_twice_is_reported(root: Path) -> None:
    (root / "perform_cpr" / "readme.txt").write_text("1\ta\n2\ta\n")
    with pytest.raises(DatasetError, match="a is listed twice"):
        FORMAT.read(request(root))
    (task,) = FORMAT.read(lenient(root))
    assert len(task.recordings) == 1


def test_steps_that_overlap_meet_in_the_middle() -> None:
    def apart(*spans: tuple[float, float]) -> list[tuple[float, float, str]]:
        rows = [Row(start, end, "abc"[i]) for i, (start, end) in enumerate(spans)]
        return [(row.start, row.end, row.label) for row in split_overlaps(rows)]

    assert apart((4, 9), (0, 6)) == [(0, 5, "b"), (5, 9, "a")]
    assert apart((0, 2), (2, 3)) == [(0, 2, "a"), (2, 3, "b")]
    assert apart((0, 10), (4, 6)) == [(0, 5, "a"), (5, 6, "b"), (6, 10, "a")]
    assert apart((0, 10), (4, 10), (5, 6)) == [(0, 7, "a"), (7, 10, "b")]
    assert apart((0, 4), (2, 6), (5, 9)) == [(0, 3, "a"), (3, 5.5, "b"), (5.5, 9, "c")]


def test_overlaps_in_a_video_are_accepted(root: Path) -> None:
    write_task(root, "perform_cpr", {"a": [[(0.0, 4.0)], [(2.0, 6.0)], []]})
    (task,) = FORMAT.read(request(root))
    assert steps(task.recordings[0]) == [(0.0, 3.0, 1), (3.0, 6.0, 2)]


@pytest.mark.parametrize(
    ("span", "message"),
    [((3.0, 1.0), "3 to 1 s .* ends before"), ((1.0, np.nan), "finite"), ((-1.0, 1.0), "before")],
)
def test_wrong_times_are_reported_with_their_video(
    root: Path, span: tuple[float, float], message: str
) -> None:
    write_task(root, "perform_cpr", {"cpr_0007": [[span], [(5.0, 6.0)], []]})
    with pytest.raises(DatasetError, match=rf"data\.mat of perform_cpr, cpr_0007: .*{message}"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert steps(task.recordings[0]) == [(5.0, 6.0, 2)]
    assert len(query.problems.skipped) == 1


def test_a_different_number_of_cells_than_names_is_reported(root: Path) -> None:
    write_task(root, "perform_cpr", {"a": [[(0.0, 4.0)], []], "b": USUAL})
    with pytest.raises(DatasetError, match="perform_cpr, a: has times of 2 steps; expected 3"):
        FORMAT.read(request(root))
    (task,) = FORMAT.read(lenient(root))
    assert [take.name for take in task.recordings] == ["b"]


def test_features_are_read_at_the_given_frame_rate(root: Path) -> None:
    folder = root / "perform_cpr" / "features"
    folder.mkdir()
    np.save(folder / "cpr_0001.npy", np.ones((10, 4)))
    np.savez(folder / "cpr_0002.npz", hands=np.ones((20, 2)), gaze=np.ones((20, 1)))
    (task,) = FORMAT.read(request(root, fps=2.0))
    assert [take.annotation.duration_seconds for take in task.recordings] == [5.0, 10.0]
    assert list(task.recordings[1].features().tracks) == ["hands", "gaze"]
    with pytest.raises(DatasetError, match=r"cpr_0001: 0 to 5 s .* past the end"):
        FORMAT.read(request(root, fps=3.0))


def test_features_and_labels_need_each_other(root: Path) -> None:
    folder = root / "perform_cpr" / "features"
    folder.mkdir()
    np.save(folder / "cpr_0001.npy", np.ones((10, 4)))
    np.save(folder / "cpr_0003.npy", np.ones((10, 4)))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == ["cpr_0001"]
    assert query.problems.skipped == [
        "cpr_0003.npy: has no key steps in perform_cpr",
        "data.mat of perform_cpr, cpr_0002: has no features",
    ]


def test_csv_files_may_replace_data_mat(tmp_path: Path) -> None:
    folder = tmp_path / "annotations" / "make_coffee"
    folder.mkdir(parents=True)
    (folder / "b.csv").write_text("1.5,4,2 pour water\n3,6,5 stir\n")
    (folder / "a.csv").write_text("0,1,5 stir\n")
    (task,) = FORMAT.read(request(tmp_path, task="MAKE_coffee"))
    assert task.step_names == {2: "pour water", 5: "stir"}
    assert [steps(take) for take in task.recordings] == [
        [(0.0, 1.0, 5)],
        [(1.5, 3.5, 2), (3.5, 6.0, 5)],
    ]


def test_files_of_matlab_7_3_and_other_files_are_refused(root: Path) -> None:
    path = root / "perform_cpr" / "data.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["grammar"] = np.zeros(3)
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    with pytest.raises(DatasetError, match=r"MATLAB 7\.3 file \(HDF5\).*'-v7'"):
        FORMAT.read(request(root))
    path.write_bytes(b"no such thing")
    with pytest.raises(DatasetError, match=r"data\.mat of perform_cpr: is not a MATLAB file"):
        FORMAT.read(request(root))
    query = lenient(root)
    assert FORMAT.read(query) == []
    assert len(query.problems.skipped) == 1


def test_a_truncated_file_is_refused(root: Path) -> None:
    path = root / "perform_cpr" / "data.mat"
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(DatasetError, match=r"data\.mat of perform_cpr"):
            FORMAT.read(request(root))


def test_missing_files_are_named(root: Path) -> None:
    with pytest.raises(DatasetMissingError, match=r"neither TASK/data\.mat nor"):
        FORMAT.read(request(root / "perform_cpr"))
    (root / "perform_cpr" / "readme.txt").unlink()
    with pytest.raises(DatasetMissingError, match=r"readme\.txt"):
        FORMAT.read(request(root))
