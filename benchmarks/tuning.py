"""Time `stepreel tune` on recordings of an hour and of ten hours, pages written included.

    python benchmarks/tuning.py [--hours 1 10] [--work build/tuning]

The recordings are made up: the features of two cues (1280 and 192 columns, four moments a second)
change from step to step, and there is a picture of every moment. What is timed is the command as a
user runs it, from its start to its end; pictures, pages and exports are written to a new folder.
Seconds depend on the machine. So the time of reading and writing the kept features once, as plain
files, stands beside them.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from stepreel.config import load_settings
from stepreel.features.video_recording import VideoRecording
from stepreel.pipeline import find_task_steps, learn_task, with_other_numbers
from stepreel.system.store import Store
from stepreel.task import Task
from stepreel.types import FeatureTrack, VideoFile
from stepreel.video.previews import PREVIEWS, QUALITY, Previews, encode_jpeg

RATE = 4.0
WIDTHS = {"appearance": 1280, "motion": 192}
N_KINDS = 12
SIZE = (270, 480, 3)
CHANGES = (
    ("--top", "10"),
    ("--gap", "5"),
    ("--clusters", "5"),
    ("--shortest", "3"),
    ("--steps", "20..30"),
    ("--decoder", "hmm"),
    ("--decoder", "finch"),
)


def made_up(hours: float, store: Store) -> VideoRecording:
    """Make a recording whose features change from step to step."""
    rng = np.random.default_rng(0)
    times = np.arange(round(hours * 3600 * RATE)) / RATE
    n_steps = round(3.3 * (hours * 3600) ** 0.36)
    cuts = np.sort(rng.choice(len(times), n_steps - 1, replace=False))
    kind = rng.integers(0, N_KINDS, n_steps)[np.searchsorted(cuts, np.arange(len(times)))]
    tracks = {}
    for cue, width in WIDTHS.items():
        centres = rng.normal(size=(N_KINDS, width)).astype(np.float32)
        features = centres[kind] + rng.normal(size=(len(times), width)).astype(np.float32)
        known = np.ones(len(times), np.bool_)
        tracks[cue] = FeatureTrack("made up", cue, times, features, known)
        store.recording_entry("made-up", cue, {"hours": hours}).write_track(tracks[cue])
    return VideoRecording(
        video=VideoFile(Path("made-up.mp4"), "made-up", 480, 270, 30.0, hours * 3600, 0.0, 0.0),
        tracks=tracks,
        previews=_previews(len(times), hours, store),
        duration_seconds=hours * 3600,
        moment_seconds=1 / RATE,
        notes=(),
        track_settings={},
        stored={
            cue: store.recording_entry("made-up", cue, {"hours": hours}).path for cue in WIDTHS
        },
    )


def _previews(count: int, hours: float, store: Store) -> Previews:
    """Repeat a few pictures of the usual size."""
    rng = np.random.default_rng(1)
    smooth = rng.integers(0, 255, (N_KINDS, 27, 48, 3), np.uint8).repeat(10, 1).repeat(10, 2)
    pictures = [encode_jpeg(picture.reshape(SIZE), QUALITY) for picture in smooth]
    jpegs = [pictures[number % N_KINDS] for number in range(count)]
    entry = store.recording_entry("made-up", PREVIEWS, {"hours": hours})
    entry.write(
        {
            "jpeg": np.frombuffer(b"".join(jpegs), np.uint8),
            "sizes": np.array([len(jpeg) for jpeg in jpegs], np.int64),
            "times": np.arange(count) / RATE,
        }
    )
    opened = Previews.open(entry)
    assert opened is not None
    return opened


def write_output(recording: VideoRecording, store: Store, folder: Path) -> None:
    """Write what a run on the recording writes."""
    task = Task(load_settings(), {0: recording}, {})
    learned = learn_task(task, store)
    results = with_other_numbers(task, learned, find_task_steps(task, learned))
    results[0].write(folder)


def seconds_of_tuning(folder: Path, change: tuple[str, ...]) -> float:
    """Return how long the command takes."""
    output = folder.parent / "tuned"
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-m", "stepreel", "tune", folder, *change, "-o", output, "-q"]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def seconds_of_copying(folder: Path) -> float:
    """Return how long it takes to read and write the kept features once."""
    start = time.perf_counter()
    for path in (folder / "tuning").glob("track-*"):
        copy = folder.parent / "copy"
        copy.write_bytes(path.read_bytes())
        copy.unlink()
    return time.perf_counter() - start


def main() -> None:
    """Print a line per length and change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--work", type=Path, default=Path("build/tuning"))
    arguments = parser.parse_args()
    for hours in arguments.hours:
        work = arguments.work / f"{hours:g}h"
        shutil.rmtree(work, ignore_errors=True)
        store = Store(work / "cache")
        start = time.perf_counter()
        write_output(made_up(hours, store), store, work / "out" / "made-up")
        print(f"{hours:g} h: made and written in {time.perf_counter() - start:.1f} s", flush=True)
        copying = seconds_of_copying(work / "out" / "made-up")
        print(f"  read and write the kept features once: {copying:.2f} s", flush=True)
        for change in CHANGES:
            seconds = seconds_of_tuning(work / "out", change)
            print(f"  tune {' '.join(change):<16} {seconds:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
