"""Every kind of file that others or the cache can have: how it is made, damaged and read."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import shutil
import struct
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from fuzz_cache import cache_kinds, make_good_cache
from fuzz_changes import Random, damage_bytes, damage_json, damage_text, odd_arrays

from stepreel.config import load_settings

ARRAYS = ("times", "gaze", "hands", "hands_valid", "labels", "cluster")
FRAME_SIZE, N_FRAMES = (160, 96), 40
Content = bytes


@dataclass(frozen=True)
class Format:
    """A kind of file.

    file    its path within the folder of a case, and within that of the good files
    damage  makes a bad file from a good one
    read    reads the folder of a case as a user would make stepreel do it
    """

    file: str
    damage: Callable[[Content, Random], Content]
    read: Callable[[Path], object]


def make_good_files(folder: Path) -> None:
    """Write one good file of each kind below `folder`."""
    _make_videos(folder)
    random = np.random.default_rng(0)
    steps = np.repeat([0, 1, 2], 20)
    hands = np.eye(3)[steps] + 0.1 * random.normal(size=(60, 3))
    arrays = {"times": np.arange(60) / 4, "hands": hands, "labels": steps, "cluster": steps}
    np.save(folder / "take.npy", hands)
    np.savez(folder / "take.npz", **arrays)
    np.savez_compressed(folder / "packed.npz", **arrays)
    np.savez(folder / "labels.npz", **arrays)
    (folder / "take.safetensors").write_bytes(_safetensors(arrays))
    (folder / "take.h5").write_bytes(_h5(arrays))
    _make_labels(folder)
    _make_datasets(folder)
    _make_model(folder)
    make_good_cache(folder)


def _make_videos(folder: Path) -> None:
    import av
    import cv2

    from stepreel.evaluation.datasets.sample import sample_frames

    pictures = [cv2.resize(x, FRAME_SIZE) for x in islice(sample_frames(0), N_FRAMES)]
    for name, codec in (("a.mp4", "libx264"), ("b.mkv", "libx264"), ("c.avi", "mpeg4")):
        with av.open(str(folder / name), "w") as file:
            stream = file.add_stream(codec, 10, width=FRAME_SIZE[0], height=FRAME_SIZE[1])
            for picture in pictures:
                file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            file.mux(stream.encode())


def _make_labels(folder: Path) -> None:
    texts = {
        "egoprocel.csv": '0.0,4.5,1 cut\n5,9.5,2 "fold, twice"\n10,14.9,1 cut\n',
        "crosstask.csv": "1,0.0,4.5\n2,5,9.5\n1,10,14.9\n",
        "jigsaws.txt": "1 80 G1\n81 150 G2\n151 370 G1\n",
        "frames.txt": "".join(f"step{n // 100}\n" for n in range(300)),
        "steps.eaf": (
            '<?xml version="1.0" encoding="UTF-8"?>\n<ANNOTATION_DOCUMENT>\n'
            '<HEADER TIME_UNITS="milliseconds"><MEDIA_DESCRIPTOR MEDIA_URL="file:///steps.mp4" '
            'MIME_TYPE="video/mp4" TIME_ORIGIN="100"/></HEADER>\n<TIME_ORDER>\n'
            '<TIME_SLOT TIME_SLOT_ID="t1" TIME_VALUE="0"/><TIME_SLOT TIME_SLOT_ID="t2"/>\n'
            '<TIME_SLOT TIME_SLOT_ID="t3" TIME_VALUE="9000"/></TIME_ORDER>\n'
            '<TIER TIER_ID="steps"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" '
            'TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t2"><ANNOTATION_VALUE>1 cut</ANNOTATION_VALUE>'
            "</ALIGNABLE_ANNOTATION></ANNOTATION></TIER>\n</ANNOTATION_DOCUMENT>\n"
        ),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _make_datasets(folder: Path) -> None:
    from scipy.io import savemat

    def cells(items: list[object]) -> np.ndarray:
        column = np.empty((len(items), 1), object)
        column[:, 0] = items
        return column

    times = [cells([np.array([[1.0, 3.0]]), np.zeros((0, 0))]) for _ in range(2)]
    content = {"grammar": cells(["open", "close it"]), "key_steps_time": cells(times)}
    for name, compressed in (("plain.mat", False), ("packed.mat", True)):
        savemat(folder / name, content, do_compression=compressed)
    (folder / "labels.tfrecord").write_bytes(_record(_example(b"0001_bowl", [0, 1, 2])))
    mapping = {f"frames/0003/{n:05}.jpg": n for n in range(1, 9)}
    (folder / "mapping.pkl").write_bytes(pickle.dumps(mapping))
    database = {"version": "2", "database": {"Lack_Bench/take1": {"subset": "training"}}}
    spans = [{"label": "flip", "segment": [0, 9]}, {"label": "NA", "segment": [10, 19]}]
    database["database"]["Lack_Bench/take1"]["annotation"] = spans
    (folder / "gt_segments.json").write_text(json.dumps(database))


def _make_model(folder: Path) -> None:
    from stepreel.api import find_key_steps
    from stepreel.report import write_index

    small = {"train__epochs": 1, "encoder__width": 8, "clusters": 3}
    small["key_steps__decoder"] = "kmeans"  # a model with an encoder
    find_key_steps(
        folder / "take.npz", folder / "out", cache=folder / "cache", cues="hands", **small
    )
    shutil.copytree(folder / "out" / "model", folder / "model")
    shutil.copy(folder / "out" / "take" / "storyboard.json", folder / "storyboard.json")
    write_index(folder, [], failed=[("take2.mp4", "no video stream")])
    lines = [
        f"{part}.{name}={value}"
        for part, values in load_settings().model_dump().items()
        for name, value in values.items()
        if not isinstance(value, tuple)
    ]
    (folder / "settings.txt").write_text("\n".join(lines))


def _safetensors(arrays: dict[str, np.ndarray]) -> bytes:
    from safetensors.numpy import save

    kept = {n: np.ascontiguousarray(x) for n, x in arrays.items() if x.dtype.kind in "fiub"}
    return save({n: x.astype(x.dtype.newbyteorder("=")) for n, x in kept.items() if x.itemsize < 9})


def _h5(arrays: dict[str, np.ndarray]) -> bytes:
    import h5py

    file = io.BytesIO()
    with h5py.File(file, "w") as h5:
        for name, array in arrays.items():
            if array.dtype.kind in "fiubcS":
                chunked = {"chunks": True, "compression": "gzip"} if array.size else {}
                h5.create_dataset(name, data=array, **(chunked if array.ndim else {}))
    return file.getvalue()


def _npy(arrays: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    np.save(file, next(iter(arrays.values()), np.zeros(0)))
    return file.getvalue()


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _damage_arrays(
    pack: Callable[[dict[str, np.ndarray]], bytes], content: Content, random: Random
) -> Content:
    if random.random() < 0.6:
        return damage_bytes(content, random)
    return pack(odd_arrays(random, ARRAYS))


def _record(data: bytes) -> bytes:
    from stepreel.evaluation.datasets.tfrecord import masked_crc32c

    length = struct.pack("<Q", len(data))
    checks = [struct.pack("<I", masked_crc32c(part)) for part in (length, data)]
    return length + checks[0] + data + checks[1]


def _example(name: bytes, phases: list[int]) -> bytes:
    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    def named(key: bytes, content: bytes) -> bytes:
        return field(1, field(1, key) + field(2, content))

    integers = [field(3, field(1, bytes([phase]))) for phase in [len(phases), *phases]]
    context = named(b"name", field(1, field(1, name))) + named(b"len", integers[0])
    frames = b"".join(field(1, integer) for integer in integers[1:])
    return field(1, context) + field(2, named(b"frame_labels", frames))


def _damage_records(content: Content, random: Random) -> Content:
    """Damage the file, or a record within valid checksums."""
    if random.random() < 0.4:
        return damage_bytes(content, random)
    return _record(damage_bytes(_example(b"0001_bowl", [0, 1, 2]), random))


def _damage_matlab(content: Content, random: Random) -> Content:
    """Damage the file, or a variable before it is compressed."""
    if random.random() < 0.4:
        return damage_bytes(content, random)
    header, rest = content[:128], content[128:]
    packed = zlib.compress(damage_bytes(rest, random))
    return header + struct.pack("<II", 15, len(packed)) + packed


def _damage_pickle(content: Content, random: Random) -> Content:
    if random.random() < 0.5:
        return damage_bytes(content, random)
    keys = [f"frames/0003/{n:05}.jpg" for n in range(3)]
    values = [0, -1, 10**20, 1.5, "x", (), [[]], {}, True, None, b"x", 2**70000]
    mapping = {key: values[int(random.integers(len(values)))] for key in keys}
    return pickle.dumps(mapping, int(random.integers(2, 6)))


def _read_features(path: Path) -> None:
    from stepreel.features.feature_files import read_features

    read_features(path, fps=None if path.suffix == ".npz" else 4.0)


def _damage_times(content: Content, random: Random) -> Content:
    """Stretch, shift or cut times, or make features constant: all of it can be read."""
    arrays = {name: np.array(array) for name, array in np.load(io.BytesIO(content)).items()}
    times, first = arrays["times"], int(random.integers(1, 60))
    match int(random.integers(4)):
        case 0:
            times[first:] += 10.0 ** random.integers(0, 9)
        case 1:
            times *= 10.0 ** random.integers(-5, 8)
        case 2:
            arrays = {name: array[:first] for name, array in arrays.items()}
        case _:
            arrays["hands"][:first] = arrays["hands"][0]
    return _npz({name: arrays[name] for name in ("times", "hands")})


def _run(path: Path) -> None:
    """Find key steps in features that can be read, however odd they are, and write the page."""
    from stepreel.api import find_key_steps

    find_key_steps(path, path.parent / "out", cache=path.parent / "cache", clusters=4)


def _read_labels(path: Path) -> None:
    from stepreel.evaluation.truth.annotation import Problems
    from stepreel.evaluation.truth.label_files import read_label_file
    from stepreel.evaluation.truth.step_list import number_by_name

    labels = read_label_file(path, 30.0)
    numbered = labels.numbered(number_by_name(labels.labels), Problems(lenient=True), ends=15.0)
    numbered.at(np.arange(150) / 10)


def _score(path: Path) -> None:
    """Score a file as a prediction, against good labels."""
    from stepreel.evaluation.score_predictions import score

    (path.parent / "truth").mkdir()
    good = "".join(f"{n // 20}\n" for n in range(60))
    (path.parent / "truth" / "take.txt").write_text(good)
    (path.parent / "predicted").mkdir()
    path.rename(path.parent / "predicted" / f"take{path.suffix}")
    score(path.parent / "truth", path.parent / "predicted", fps=4.0, seeds=1, lenient=True)


def _read_board(path: Path) -> None:
    from stepreel.report.exports import EXPORTS
    from stepreel.report.page import render_page
    from stepreel.storyboard.schema import read_storyboard

    board = read_storyboard(path)
    for export in EXPORTS.own.values():
        export.make(board)
    render_page(board, pictures={}, strip=None)
    _score(path)


def _read_index(path: Path) -> None:
    from stepreel.report.index import rebuild_index

    rebuild_index(path.parent)


def _read_dataset(name: str, place: str, path: Path) -> None:
    from stepreel.evaluation.datasets.base import Request
    from stepreel.evaluation.datasets.catalog import DATASETS
    from stepreel.evaluation.truth.annotation import Problems

    root = path.parent / "root"
    target = root / place
    target.parent.mkdir(parents=True)
    path.rename(target)
    if name == "procel":
        target.with_name("readme.txt").write_text("1\tcpr_1\tx\n2\tcpr_2\tx\n")
    for lenient in (True, False):
        DATASETS[name].read(Request(root, Problems(lenient=lenient)))


def _convert(path: Path) -> None:
    from stepreel.evaluation.datasets.convert_mapping import convert

    convert(path)


def _read_model(good: Path, path: Path) -> None:
    """Read a model of which one file is damaged; its hash is made to fit."""
    from stepreel.features.feature_files import read_features
    from stepreel.learn.inference import embed_with_model
    from stepreel.learn.model import check_fits, read_model

    folder = path.parent / "model"
    shutil.copytree(good / "model", folder)
    path.replace(folder / path.name)
    if path.name == "model.safetensors":
        card = json.loads((folder / "model.json").read_text())
        content = (folder / path.name).read_bytes()
        card["weights_hash"] = hashlib.blake2b(content, digest_size=16).hexdigest()
        (folder / "model.json").write_text(json.dumps(card))
    model = read_model(folder)
    recording = read_features(good / "take.npz", cues=["hands"])
    check_fits(model, recording)
    list(embed_with_model(model, [recording], device="cpu"))


def _read_settings(path: Path) -> None:
    from stepreel.config import parse_assignments

    lines = path.read_text("utf-8", "replace").splitlines()
    load_settings(overrides=parse_assignments(lines))


def _read_video(path: Path) -> None:
    from stepreel.config import ExtractSettings
    from stepreel.errors import RecordingError
    from stepreel.features.sources import extract_recordings
    from stepreel.system.store import Store

    settings = ExtractSettings(cues=("motion",))
    loaded = extract_recordings([path], settings, Store(path.parent / "cache"))
    for reason in loaded.failures.values():
        raise RecordingError(reason)


def formats(good: Path) -> dict[str, Format]:
    """Return all kinds of files by name; `good` is the folder of `make_good_files`."""
    warnings.simplefilter("ignore")
    labels = ("egoprocel.csv", "crosstask.csv", "jigsaws.txt", "frames.txt", "steps.eaf")
    packed = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors, ".h5": _h5}
    features = {
        f"features {suffix}": Format(f"take{suffix}", partial(_damage_arrays, pack), _read_features)
        for suffix, pack in packed.items()
    }
    return {
        **{
            f"video {n[-3:]}": Format(n, damage_bytes, _read_video)
            for n in ("a.mp4", "b.mkv", "c.avi")
        },
        **features,
        "features run": Format("take.npz", _damage_times, _run),
        "features packed .npz": Format("packed.npz", damage_bytes, _read_features),
        **{f"labels {name}": Format(name, damage_text, _read_labels) for name in labels},
        "labels .npz": Format("labels.npz", partial(_damage_arrays, _npz), _read_labels),
        "prediction .npz": Format("labels.npz", partial(_damage_arrays, _npz), _score),
        "prediction .csv": Format("egoprocel.csv", damage_text, _score),
        "MATLAB": Format(
            "plain.mat", _damage_matlab, partial(_read_dataset, "procel", "perform_cpr/data.mat")
        ),
        "MATLAB packed": Format(
            "packed.mat", damage_bytes, partial(_read_dataset, "procel", "perform_cpr/data.mat")
        ),
        "TFRecord": Format(
            "labels.tfrecord", _damage_records, partial(_read_dataset, "penn", "bowl_val.tfrecord")
        ),
        "IKEA JSON": Format(
            "gt_segments.json",
            damage_json,
            partial(_read_dataset, "ikea", "annotations/action_annotations/gt_segments.json"),
        ),
        "mapping": Format("mapping.pkl", _damage_pickle, _convert),
        "model.json": Format("model/model.json", damage_json, partial(_read_model, good)),
        "model.safetensors": Format(
            "model/model.safetensors", damage_bytes, partial(_read_model, good)
        ),
        "storyboard.json": Format("storyboard.json", damage_json, _read_board),
        "index.html": Format("index.html", damage_text, _read_index),
        "settings": Format("settings.txt", damage_text, _read_settings),
        **{name: Format(*form) for name, *form in cache_kinds(good)},
    }
