from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from stepreel.errors import DatasetError, DatasetMissingError
from stepreel.evaluation.datasets import tfrecord
from stepreel.evaluation.datasets.base import Request
from stepreel.evaluation.datasets.penn import FORMAT
from stepreel.evaluation.datasets.tfrecord import masked_crc32c, parse_example, read_records
from stepreel.evaluation.truth.annotation import Problems
from stepreel.features.array_files import READERS, Arrays


def write_labels(root: Path, split: str, action: str, name: str, phases: list[int]) -> Path:
    path = root / "penn_action_labels" / split / action / f"{name}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, np.array(phases))
    return path


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    head = b""
    while number > 127:
        head += bytes([number & 127 | 128])
        number >>= 7
    return head + bytes([number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def named(name: str, content: bytes) -> bytes:
    return field(1, field(1, name.encode()) + field(2, content))


def integer(number: int) -> bytes:
    return field(3, field(1, varint(number)))  # an Int64List, packed


def example(name: str, phases: list[int], length: int | None = None) -> bytes:
    context = named("name", field(1, field(1, name.encode())))
    context += named("len", integer(len(phases) if length is None else length))
    context += named("label", integer(-1))
    frames = b"".join(field(1, integer(phase)) for phase in phases)
    pictures = b"".join(field(1, field(1, field(1, b"\xff\xd8jpeg"))) for _ in phases)
    return field(1, context) + field(2, named("video", pictures) + named("frame_labels", frames))


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    sums = (struct.pack("<I", masked_crc32c(part)) for part in (length, data))
    return length + next(sums) + data + next(sums)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_labels(tmp_path, "train", "golf_swing", "0946", [0, 0, 1, 2])
    write_labels(tmp_path, "val", "golf_swing", "0950", [1, 2])
    return tmp_path


def request(root: Path, **more: object) -> Request:
    return Request(root, Problems(), **more)  # type: ignore[arg-type]


def lenient(root: Path) -> Request:
    return Request(root, Problems(lenient=True))


def test_phases_count_from_one_and_there_is_no_background(root: Path) -> None:
    (task,) = FORMAT.read(request(root))
    assert (task.name, task.group) == ("golf_swing", "penn")
    assert task.step_names == {1: "phase 1", 2: "phase 2", 3: "phase 3"}
    first, second = task.recordings
    assert first.annotation.labels_at(np.arange(4) / 25).tolist() == [1, 1, 2, 3]
    assert second.annotation.labels_at(np.arange(2) / 25).tolist() == [2, 3]
    assert [(take.name, take.split) for take in task.recordings] == [
        ("0946", "train"),
        ("0950", "test"),
    ]
    assert first.annotation.duration_seconds == pytest.approx(4 / 25)
    (task,) = FORMAT.read(request(root, fps=50.0))
    assert task.recordings[0].annotation.duration_seconds == pytest.approx(4 / 50)


def test_actions_may_be_spelled_differently(root: Path) -> None:
    write_labels(root, "train", "bowling", "0500", [0, 2])
    write_labels(root, "train", "pushups", "1500", [0, 1])
    assert [task.name for task in FORMAT.read(request(root))] == ["bowl", "golf_swing", "pushup"]
    (task,) = FORMAT.read(request(root, task="Bowling"))
    assert task.name == "bowl"
    with pytest.raises(DatasetError, match="no task 'strum_guitar'; known here: baseball_pitch"):
        FORMAT.read(request(root, task="strum_guitar"))


def test_features_have_one_row_per_label(root: Path) -> None:
    (root / "features").mkdir()
    np.save(root / "features" / "0946.npy", np.ones((4, 3)))
    np.savez(root / "features" / "0950.npz", pose=np.ones((2, 6)))
    (root / "videos").mkdir()
    (root / "videos" / "0946.mp4").touch()
    (task,) = FORMAT.read(request(root))
    first, second = task.recordings
    assert first.features().tracks["features"].times[1] == pytest.approx(1 / 25)
    assert second.features().tracks["pose"].times[1] == pytest.approx(1 / 25)
    assert [take.video for take in task.recordings] == [root / "videos" / "0946.mp4", None]
    for rows in (1, 7):
        np.save(root / "features" / "0946.npy", np.ones((rows, 3)))
        message = rf"train/golf_swing/0946\.npy: has 4 .* features/0946\.npy has {rows} rows"
        with pytest.raises(DatasetError, match=message):
            FORMAT.read(request(root))
    (root / "features" / "0950.npz").unlink()
    query = lenient(root)
    assert FORMAT.read(query) == []
    assert len(query.problems.skipped) == 2


def test_features_and_labels_that_differ_by_two_frames_are_cut_to_the_shorter(root: Path) -> None:
    (root / "features").mkdir()
    np.save(root / "features" / "0946.npy", np.arange(12.0).reshape(6, 2))
    np.save(root / "features" / "0950.npy", np.ones((1, 2)))
    query = request(root)
    (task,) = FORMAT.read(query)
    first, second = task.recordings
    recording = first.features()
    assert recording.tracks["features"].features.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert first.annotation.labels_at(np.arange(4) / 25).tolist() == [1, 1, 2, 3]
    assert first.annotation.duration_seconds == pytest.approx(4 / 25)
    assert second.annotation.labels_at(np.arange(1) / 25).tolist() == [2]
    assert second.annotation.duration_seconds == pytest.approx(1 / 25)
    assert len(second.features().tracks["features"]) == 1
    assert query.problems.notes == [
        "golf_swing: labels and features differ by up to 2 frames (videos: 2, first 0946); both "
        "are cut to the shorter length"
    ]
    np.save(root / "features" / "0946.npy", np.arange(8.0).reshape(4, 2))
    (task,) = FORMAT.read(request(root))
    assert task.recordings[0].features().fingerprint != recording.fingerprint


def test_labels_use_the_times_of_the_features_if_there_are_some(root: Path) -> None:
    (root / "features").mkdir()
    times = np.array([1.0, 1.1, 1.2, 1.4])
    np.savez(root / "features" / "0946.npz", times=times, pose=np.ones((4, 3)))
    np.savez(root / "features" / "0950.npz", times=times[:2], pose=np.ones((2, 3)))
    (task,) = FORMAT.read(request(root))
    (take, _) = task.recordings
    assert take.features().start_seconds == 1.0
    assert take.annotation.labels_at(times).tolist() == [1, 1, 2, 3]
    assert take.annotation.duration_seconds == pytest.approx(1.6)
    (task,) = FORMAT.read(request(root, fps=10.0))
    assert task.recordings[0].annotation.duration_seconds == pytest.approx(0.4)
    np.savez(root / "features" / "0946.npz", times=np.arange(9.0), pose=np.ones((9, 3)))
    with pytest.raises(DatasetError, match=r"has 4 labels, but features/0946\.npz has 9 rows"):
        FORMAT.read(request(root))
    np.savez(root / "features" / "0946.npz", times=times[::-1], pose=np.ones((4, 3)))
    with pytest.raises(DatasetError, match=r"0946\.npz: times must be .* increasing"):
        FORMAT.read(request(root))


def test_features_with_their_own_times_are_read_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "features").mkdir()
    for name, n in (("0946", 4), ("0950", 3)):
        np.savez(root / "features" / f"{name}.npz", times=np.arange(n) / 5, hands=np.ones((n, 2)))
    opened: list[str] = []
    read_npz = READERS[".npz"]

    def counted(path: Path) -> Arrays:
        opened.append(path.name)
        return read_npz(path)

    monkeypatch.setitem(READERS, ".npz", counted)
    (task,) = FORMAT.read(request(root))
    assert [len(take.features().times) for take in task.recordings] == [4, 2]  # 0950 has 2 labels
    assert opened == ["0946.npz", "0950.npz"]


def test_features_and_videos_may_be_called_by_number_and_action(root: Path) -> None:
    for folder in ("features", "videos"):
        (root / folder).mkdir()
    np.save(root / "features" / "0946_golf_swing.npy", np.ones((4, 3)))
    np.save(root / "features" / "0950_golf_swing.npy", np.ones((2, 3)))
    (root / "videos" / "0950_golf_swing.mp4").touch()
    (task,) = FORMAT.read(request(root))
    assert [take.name for take in task.recordings] == ["0946", "0950"]
    lengths = [len(take.features().tracks["features"]) for take in task.recordings]
    assert lengths == [4, 2]
    watched = [take.video for take in task.recordings]
    assert watched == [None, root / "videos" / "0950_golf_swing.mp4"]


@pytest.mark.parametrize("other", ["0946_bowl", "0946_golf_swing"])
def test_a_number_does_not_match_another_action_or_two_files(root: Path, other: str) -> None:
    (root / "features").mkdir()
    np.save(root / "features" / "0950.npy", np.ones((2, 3)))
    np.save(root / "features" / f"{other}.npy", np.ones((4, 3)))
    if other == "0946_golf_swing":
        np.save(root / "features" / "0946_again.npy", np.ones((4, 3)))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == ["0950"]
    assert f"features/{other}.npy: has no labels, by its name or number" in (query.problems.skipped)
    assert query.problems.skipped[-1] == "train/golf_swing/0946.npy: has no features"


def test_features_without_labels_are_reported_for_their_own_task_only(root: Path) -> None:
    write_labels(root, "train", "bowl", "0306", [0, 1, 2])
    (root / "features").mkdir()
    for name, n in (("0946", 4), ("0950", 2), ("0306", 3), ("0307_bowl", 3)):
        np.save(root / "features" / f"{name}.npy", np.ones((n, 3)))
    with pytest.raises(DatasetError, match=r"features/0307_bowl\.npy: has no labels, by its name"):
        FORMAT.read(request(root))
    (task,) = FORMAT.read(request(root, task="golf_swing"))
    assert len(task.recordings) == 2


def test_a_folder_in_place_of_a_label_file_is_reported(root: Path) -> None:
    path = root / "penn_action_labels" / "train" / "golf_swing" / "0946.npy"
    path.unlink()
    path.mkdir()
    with pytest.raises(DatasetError, match=r"train/golf_swing/0946\.npy: is a folder; expected"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == ["0950"]
    assert len(query.problems.skipped) == 1


@pytest.mark.parametrize("closed", ["train", "train/golf_swing"])
def test_a_label_folder_that_cannot_be_read_is_reported(
    root: Path, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = root / "penn_action_labels" / closed
    usual = Path.iterdir

    def raise_dataset_error(path: Path) -> object:
        if path == folder:
            raise PermissionError(13, "Permission denied")
        return usual(path)

    monkeypatch.setattr(Path, "iterdir", raise_dataset_error)
    with pytest.raises(DatasetError, match=rf"{closed}: cannot be read \(Permission denied\)"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == ["0950"]
    assert len(query.problems.skipped) == 1


def test_messages_about_labels_and_features_of_the_same_name_differ(root: Path) -> None:
    (root / "features").mkdir()
    np.save(root / "features" / "0950.npy", np.ones((2, 3)))
    (root / "features" / "0946.npy").write_bytes(b"no such thing")
    with pytest.raises(DatasetError, match=r"^features: 0946\.npy: cannot be read"):
        FORMAT.read(request(root))
    path = root / "penn_action_labels" / "train" / "golf_swing" / "0946.npy"
    path.write_bytes(b"no such thing")
    with pytest.raises(DatasetError, match=r"^train/golf_swing: 0946\.npy: cannot be read"):
        FORMAT.read(request(root))


@pytest.mark.parametrize("phase", [3, -1])
def test_an_unknown_phase_is_named_with_its_frame(root: Path, phase: int) -> None:
    write_labels(root, "train", "golf_swing", "0946", [0, phase])
    with pytest.raises(DatasetError, match=rf"0946\.npy, frame 2: phase {phase}, but golf_swing"):
        FORMAT.read(request(root))
    query = lenient(root)
    (task,) = FORMAT.read(query)
    assert [take.name for take in task.recordings] == ["0950"]
    assert len(query.problems.skipped) == 1


def test_an_unknown_action_is_reported(root: Path) -> None:
    write_labels(root, "train", "yoga", "0001", [0])
    with pytest.raises(DatasetError, match="train/yoga: unknown action"):
        FORMAT.read(request(root))
    assert len(FORMAT.read(lenient(root))) == 1


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([{"frames": 3}], object), "pickled objects, which can run code"),
        (np.array([0.5]), "contains float64"),
        (np.array([[1]]), "expected one integer per frame"),
        (np.array([], int), "expected one integer per frame"),
    ],
)
def test_labels_of_the_wrong_form_are_reported(root: Path, array: object, message: str) -> None:
    path = write_labels(root, "train", "golf_swing", "0946", [0])
    np.save(path, array, allow_pickle=True)
    with pytest.raises(DatasetError, match=rf"0946\.npy: .*{message}"):
        FORMAT.read(request(root))
    query = lenient(root)
    assert len(FORMAT.read(query)[0].recordings) == 1
    assert len(query.problems.skipped) == 1


def test_a_video_in_both_splits_is_reported(root: Path) -> None:
    write_labels(root, "val", "golf_swing", "0946", [0])
    with pytest.raises(DatasetError, match=r"0946\.npy: 0946 occurs twice"):
        FORMAT.read(request(root))


def test_pickles_are_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissingError, match="neither penn_action_labels nor"):
        FORMAT.read(request(tmp_path))
    (tmp_path / "train.pkl").write_bytes(b"\x80\x04.")
    with pytest.raises(DatasetError, match=r"train\.pkl: pickles can run code .*numpy\.save"):
        FORMAT.read(request(tmp_path))


def test_labels_in_records_are_read(tmp_path: Path) -> None:
    (tmp_path / "tfrecords").mkdir()
    train = record(example("0001_baseball_pitch", [0, 1, 3])) + record(example("7_bowling", [2]))
    (tmp_path / "tfrecords" / "pitch_train-0-of-1.tfrecord").write_bytes(train)
    (tmp_path / "squats_val_0_of_1.tfrecords").write_bytes(record(example("0003", [3, 0])))
    tasks = FORMAT.read(request(tmp_path))
    assert [(task.name, take.name, take.split) for task in tasks for take in task.recordings] == [
        ("baseball_pitch", "0001_baseball_pitch", "train"),
        ("bowl", "7_bowling", "train"),
        ("squat", "0003", "test"),
    ]
    annotation = tasks[0].recordings[0].annotation
    assert annotation.labels_at(np.arange(3) / 25).tolist() == [1, 2, 4]


def test_records_find_features_and_videos_by_number(tmp_path: Path) -> None:
    (tmp_path / "bowl_val.tfrecord").write_bytes(record(example("0007_bowl", [2])))
    for folder in ("features", "videos"):
        (tmp_path / folder).mkdir()
    np.save(tmp_path / "features" / "0007.npy", np.ones((1, 3)))
    (tmp_path / "videos" / "0007_bowl.mp4").touch()
    (task,) = FORMAT.read(request(tmp_path))
    assert task.recordings[0].video == tmp_path / "videos" / "0007_bowl.mp4"
    assert task.recordings[0].features().tracks["features"].width == 3


def test_damaged_records_are_reported_with_their_byte(tmp_path: Path) -> None:
    path = tmp_path / "bowl_train.tfrecord"
    first, second = record(example("a_bowl", [0, 1])), record(example("b_bowl", [2, 2]))
    for cut in (1, 11, 12, len(second) - 1):
        path.write_bytes(first + second[:cut])
        with pytest.raises(DatasetError, match=rf"bowl_train\.tfrecord, byte {len(first)}: ends"):
            FORMAT.read(request(tmp_path))
        query = lenient(tmp_path)
        (task,) = FORMAT.read(query)
        assert [take.name for take in task.recordings] == ["a_bowl"]
        assert len(query.problems.skipped) == 1
    for flipped, message in ((0, "checksum of a length"), (30, "checksum of a record is wrong")):
        damaged = bytearray(second)
        damaged[flipped] ^= 1
        path.write_bytes(first + damaged)
        with pytest.raises(DatasetError, match=rf"byte {len(first)}: .*{message}"):
            FORMAT.read(request(tmp_path))


def test_large_records_are_read_without_their_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tfrecord, "CHECKED_BYTES", 10)
    path = tmp_path / "x.tfrecord"
    path.write_bytes(record(b"more than ten bytes")[:-1] + b"?")
    assert [record.data for record in read_records(path)] == [b"more than ten bytes"]


def test_incomplete_records_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "train.tfrecord"
    good = record(example("a_bowl", [0]))
    for bad, message in (
        (example("nobody", [0]), "neither 'nobody' nor the file name"),
        (example("b_bowl", [0, 1], length=3), "b_bowl has 2 `frame_labels`; expected 3"),
        (example("b_bowl", []), "b_bowl has 0 `frame_labels`"),
        (b"\x0b", "is not a SequenceExample"),
        (example("b_bowl", [7]), r"train\.tfrecord, b_bowl, frame 1: phase 7"),
    ):
        path.write_bytes(good + record(bad))
        with pytest.raises(DatasetError, match=message):
            FORMAT.read(request(tmp_path))
        query = lenient(tmp_path)
        (task,) = FORMAT.read(query)
        assert [take.name for take in task.recordings] == ["a_bowl"]
        assert len(query.problems.skipped) == 1


def test_only_wanted_features_are_parsed_and_integers_may_be_negative_or_unpacked() -> None:
    data = example("a", [5, -3])
    parsed = parse_example(data, ("label", "frame_labels"))
    assert parsed.context == {"label": [-1]}
    assert parsed.lists == {"frame_labels": [[5], [-3]]}
    unpacked = field(1, named("len", field(3, b"\x08\x07\x08\x01")))
    assert parse_example(unpacked, ("len",)).context == {"len": [7, 1]}


def test_a_truncated_example_is_an_error_or_shorter_but_never_wrong() -> None:
    data = example("a_bowl", [0, 1, 2])
    for length in range(len(data)):
        try:
            parsed = parse_example(data[:length], ("name", "frame_labels"))
        except ValueError:
            continue
        assert "frame_labels" not in parsed.lists
