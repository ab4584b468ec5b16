"""Extract the tracks of all cues from a video: decoded once, on all cores, resumable.

One thread decodes and downscales frames; a pool turns batches of moments into features. Only a few
batches are in flight, so memory use does not grow with the recording. A shard is written for about
every ten minutes of recording, and an interrupted extraction resumes at the first missing shard.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from stepreel.errors import RecordingError, StepreelError, StoreError
from stepreel.features.stored_extraction import BATCH_MOMENTS, Extracted, StoredExtraction
from stepreel.features.video_recording import VideoRecording
from stepreel.system.checked_arrays import DTYPES
from stepreel.system.failpoints import failpoint
from stepreel.system.machine import usable_cores
from stepreel.system.store import Store, read_facts, write_facts
from stepreel.types import Progress, VideoFile, no_progress
from stepreel.video.decode import Decoding
from stepreel.video.moments import Moment, walk_moments
from stepreel.video.notes import reading_notes
from stepreel.video.previews import PreviewMaker

if TYPE_CHECKING:  # not at run time: a change of one cue must not make those of another stale
    from stepreel.cues import Cue

SHARD_SECONDS = 600.0
ATTEMPTS = 3  # at a recording whose files are damaged as soon as they are written

Arrays = Mapping[str, NDArray[Any]]


def extract_tracks(
    video: VideoFile,
    cues: Sequence[Cue],
    store: Store,
    *,
    rate: float,
    shard_seconds: float = SHARD_SECONDS,
    progress: Progress = no_progress,
) -> VideoRecording:
    """Return the tracks of all `cues` at `rate` moments per second, from the store if possible."""
    extraction = StoredExtraction(
        video, [*cues, PreviewMaker()], store, rate, shard_seconds, code_of=__name__
    )
    extracted = extraction.load()
    if extracted is None:
        with store.lock_recording(video.fingerprint, f"{video.name}: is being extracted", progress):
            extracted = extraction.load() or _extract_and_load(extraction, progress)
    extraction.unchanged.check()
    return VideoRecording(
        video=video,
        tracks=extracted.tracks,
        previews=extracted.previews,
        duration_seconds=extracted.facts["duration_seconds"],
        moment_seconds=1.0 / rate,
        notes=tuple(extracted.facts["notes"]),
        track_settings={cue.name: {**cue.settings(), **extraction.sampling} for cue in cues},
        stored={cue.name: extraction.entries[cue.name].path for cue in cues},
    )


def _extract_and_load(extraction: StoredExtraction, progress: Progress) -> Extracted:
    """Extract what is missing, and again what turns out to be damaged."""
    for _ in range(ATTEMPTS):
        facts = read_facts(extraction.facts_entry)
        n_shards = 0 if facts is None else extraction.count_shards(facts)
        if facts is None or extraction.first_shard_missing(n_shards) is not None:
            facts = _extract_missing(extraction, facts, progress)
        extraction.join_shards(extraction.count_shards(facts))
        if (extracted := extraction.load()) is not None:
            return extracted
    raise StoreError(
        f"{extraction.facts_entry.folder}: what is written there cannot be read back; "
        "choose another cache folder with --cache or STEPREEL_CACHE"
    )


def _extract_missing(
    extraction: StoredExtraction, facts: Mapping[str, Any] | None, progress: Progress
) -> dict[str, Any]:
    """Decode from the first missing shard to the end, write the shards, then the facts."""
    first = extraction.full_shards() if facts is None else None
    if facts is not None:
        first = extraction.first_shard_missing(extraction.count_shards(facts))
    assert first is not None
    decoding = extraction.recall_damage()
    if decoding is None:  # without the gaps found before, only the start has a known time
        first, decoding = 0, Decoding()
    first_moment = first * extraction.shard_moments
    progress("extracting", first_moment / extraction.rate, extraction.video.declared_seconds)
    for extractor in extraction.extractors.values():
        extractor.prepare(extraction.backbones)
    extraction.unchanged.check()  # before any other complaint about what is there now
    moments = walk_moments(
        extraction.video, rate=extraction.rate, first_index=first_moment, decoding=decoding
    )
    n_moments = first_moment + _write_shards(extraction, moments, decoding, progress)
    extraction.unchanged.check()
    if n_moments == 0:
        raise RecordingError(f"{extraction.video.name}: no frame can be decoded")
    facts = {
        "n_moments": n_moments,
        "duration_seconds": max(decoding.end_seconds, (n_moments - 1) / extraction.rate),
        "notes": reading_notes(extraction.video, decoding),
    }
    write_facts(extraction.facts_entry, facts)
    progress("extracting", facts["duration_seconds"], facts["duration_seconds"])
    return dict(facts)


def _write_shards(
    extraction: StoredExtraction, moments: Iterator[Moment], decoding: Decoding, progress: Progress
) -> int:
    """Extract and write the missing parts of every shard; return the number of moments."""
    total = extraction.video.declared_seconds
    n_moments = 0
    with _worker_pool() as pool:
        for shard, batches in groupby(
            _batches(moments), lambda b: b[0].index // extraction.shard_moments
        ):
            missing = extraction.missing_in(shard)
            extractors = [extraction.extractors[name] for name in missing]
            collected: dict[str, list[Arrays]] = defaultdict(list)
            for (seconds, count), result in _in_order(pool, extraction.video, extractors, batches):
                for name, arrays in result.items():
                    collected[name].append(arrays)
                n_moments += count
                # A recording that lasts longer than it states: how much longer is unknown.
                progress("extracting", seconds, total if seconds < total else 0)
                if shard > 0:
                    failpoint("mid-extraction")
            extraction.unchanged.check()  # before anything is kept under its fingerprint
            extraction.remember_damage(decoding)
            for name in missing:
                extraction.entries[name].write_shard(shard, _concatenate(collected.pop(name)))
                failpoint("between-cues")
    return n_moments


def _batches(moments: Iterator[Moment]) -> Iterator[list[Moment]]:
    """Group moments into batches of 16 with fixed boundaries, wherever the walk started."""
    for _, batch in groupby(moments, lambda moment: moment.index // BATCH_MOMENTS):
        yield list(batch)


def _in_order(
    pool: ThreadPoolExecutor,
    video: VideoFile,
    extractors: Sequence[Cue],
    batches: Iterator[list[Moment]],
) -> Iterator[tuple[tuple[float, int], dict[str, Arrays]]]:
    """Run a few batches at a time on the pool; yield (last time, count) and results in order."""
    max_running = 2 * usable_cores() + 1
    running: deque[tuple[tuple[float, int], Future[dict[str, Arrays]]]] = deque()
    for batch in batches:
        position = batch[-1].time, len(batch)
        running.append((position, pool.submit(_run, video, extractors, batch)))
        if len(running) > max_running:
            position, future = running.popleft()
            yield position, future.result()
    for position, future in running:
        yield position, future.result()


def _run(video: VideoFile, extractors: Sequence[Cue], batch: Sequence[Moment]) -> dict[str, Arrays]:
    times = np.array([moment.time for moment in batch])
    return {e.name: {**_extract(video, e, batch), "times": times} for e in extractors}


def _extract(video: VideoFile, extractor: Cue, batch: Sequence[Moment]) -> Arrays:
    """Turn any error of a cue into a RecordingError, so that other recordings are not affected."""
    try:
        arrays = extractor.extract(batch)
        if "sizes" not in arrays:  # previews have no features
            _check_features(arrays, len(batch))
        return arrays
    except (StepreelError, KeyboardInterrupt, MemoryError):
        raise
    except Exception as problem:
        raise RecordingError(
            f"{video.name}: the cue {extractor.name} failed at {batch[0].time:.1f} s "
            f"({type(problem).__name__}: {problem}); choose other cues with --set extract.cues=…"
        ) from problem


def _check_features(arrays: Arrays, n_moments: int) -> None:
    """Raise ValueError unless a cue returned `features` (n, D) and `valid` (n,)."""
    if not {"features", "valid"} <= set(arrays):
        raise ValueError(f"it returned {', '.join(arrays)}; expected features and valid")
    features, valid = np.asarray(arrays["features"]), np.asarray(arrays["valid"])
    if features.ndim != 2 or len(features) != n_moments or valid.shape != (n_moments,):
        raise ValueError(
            f"it returned features {features.shape} and valid {valid.shape} for {n_moments} "
            "moments; expected (n, D) and (n,)"
        )
    if features.dtype.name not in DTYPES or valid.dtype != bool:
        raise ValueError(
            f"it returned features of type {features.dtype} and valid of type {valid.dtype}; "
            "expected float32 and bool"
        )


def _concatenate(pieces: Sequence[Arrays]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


@contextmanager
def _worker_pool() -> Iterator[ThreadPoolExecutor]:
    """Start one worker per core, and keep OpenCV from starting threads of its own."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    pool = ThreadPoolExecutor(usable_cores(), thread_name_prefix="stepreel")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        cv2.setNumThreads(threads)
