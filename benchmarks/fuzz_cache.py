"""The cache's own files: whichever is damaged, the result is the same, with one line of warning."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_changes import Random, damage_bytes, damage_json

SMALL = {
    "key_steps__decoder": "kmeans",
    "train__epochs": 1,
    "encoder__width": 8,
    "extract__cues": "motion",
}
CACHE, LABELLED, EXPECTED = "kept", "labelled", "expected.json"


@dataclass(frozen=True)
class CacheFile:
    """A kind of file in the cache.

    name    what it is called; a pattern, of which the first match is taken
    damage  makes a bad file from a good one
    use     what is done with the cache
    absent  files that are removed before, so that this one is needed
    """

    name: str
    damage: Callable[[bytes, Random], bytes]
    use: str = "find"
    absent: str = ""


KINDS = {
    "cache features": CacheFile("recordings/*/motion-*.safetensors", damage_bytes),
    "cache previews": CacheFile("recordings/*/previews-*.safetensors", damage_bytes),
    "cache embedding": CacheFile("recordings/*/embedding-*.safetensors", damage_bytes),
    "cache model": CacheFile("models/model-*.safetensors", damage_bytes),
    "cache facts": CacheFile("recordings/*/facts-*.json", damage_json),
    "cache shard": CacheFile(
        "recordings/*/motion-*/0000.safetensors", damage_bytes, absent="*/*/motion-*.safetensors"
    ),
    "cache predictions": CacheFile("predictions/raw-kmeans-*", damage_bytes, "evaluate"),
    "cache measures": CacheFile("measures/kendall-*.json", damage_json, "evaluate"),
    "cache cache.json": CacheFile("cache.json", damage_json),
    "cache session": CacheFile("sessions/*.lock", damage_json),
    "cache lock": CacheFile("recordings/*/extraction.lock", damage_json, absent="*/*/facts-*"),
}


def _find(good: Path, cache: Path) -> object:
    """Find the steps of a video; return them, and a hash of all its pictures."""
    from stepreel import find_key_steps

    result = find_key_steps(good / "a.mp4", clusters=2, cache=cache, **SMALL)
    previews = result.recording.previews
    pictures = b"".join(previews.jpeg(moment) for moment in range(len(previews)))
    board = result.storyboard.model_dump(mode="json")
    return {"board": board, "pictures": blake2b(pictures).hexdigest()}


def _evaluate(good: Path, cache: Path) -> object:
    from stepreel import evaluate

    options = {"methods": "raw-kmeans,stepreel", "clusters": 3, "seeds": 1}
    results = evaluate(
        "npz", good / LABELLED, task_metrics="kendall", cache=cache, **options, **SMALL
    )
    return results.model_dump(mode="json")


USES = {"find": _find, "evaluate": _evaluate}


def make_good_cache(good: Path) -> None:
    """Fill a cache, with one file of each kind, and keep the results."""
    import torch

    from stepreel.system.locks import Holder

    cache = good / CACHE
    (good / LABELLED).mkdir()
    for number in range(2):
        labels = np.repeat([0, 1, 2], 12)
        noise = np.random.default_rng(number).normal(size=(36, 3))
        arrays = {"times": np.arange(36) / 4, "hands": np.eye(3)[labels] + 0.1 * noise}
        np.savez(good / LABELLED / f"take{number}.npz", labels=labels, **arrays)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as when it is read: results are compared to the last digit
    found = {name: use(good, cache) for name, use in USES.items()}
    torch.set_num_threads(threads)
    (good / EXPECTED).write_text(json.dumps(found))
    (cache / "cache.json").write_text('{"limit": "5GB"}\n')
    holder = json.dumps(asdict(Holder.this_process()))
    (cache / "sessions").mkdir(exist_ok=True)
    (cache / "sessions" / "1-abcd.lock").write_text(holder)
    (features,) = cache.glob(KINDS["cache features"].name)
    (features.parent / "extraction.lock").write_text(holder)
    _make_shard(features)


def _make_shard(features: Path) -> None:
    """Write a finished file as the only shard of an unfinished one."""
    from stepreel.features.extraction import SHARD_SECONDS
    from stepreel.system.checked_arrays import CheckedArrays, write_arrays

    file = CheckedArrays.open(features)
    shard = features.with_suffix(f".parts-{4 * SHARD_SECONDS:.0f}") / "0000.safetensors"
    write_arrays(shard, file.read_all(), file.metadata)


def read_cache(good: Path, kind: str, place: str, path: Path) -> None:
    """Put a damaged file into a copy of the cache and use it; AssertionError if that is noticed."""
    from stepreel.errors import SettingsError, StepreelError

    form = KINDS[kind]
    cache = path.parent / CACHE
    shutil.copytree(good / CACHE, cache)
    for absent in cache.glob(form.absent) if form.absent else ():
        absent.unlink()
    if kind != "cache shard":  # else what is damaged would be made from the shard
        for shards in cache.glob("*/*/*.parts-*"):
            shutil.rmtree(shards)
    damaged = path.read_bytes()
    is_damaged = damaged != (cache / place).read_bytes()
    path.replace(cache / place)
    with _warnings() as lines:
        try:
            found = USES[form.use](good, cache)
        except (StepreelError, SettingsError) as problem:
            raise AssertionError(f"a damaged cache is no reason to give up: {problem}") from problem
    expected = json.loads((good / EXPECTED).read_text())[form.use]
    assert json.loads(json.dumps(found)) == expected, "the result differs"
    assert len(lines) <= is_damaged, f"one line was expected: {lines}"
    assert not any("\n" in line for line in lines), lines
    if kind not in ("cache session", "cache lock", "cache cache.json", "cache shard"):
        is_made_again = (cache / place).read_bytes() != damaged
        assert len(lines) == is_made_again, f"made again: {is_made_again}, and said: {lines}"


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect what stepreel warns of, also while logging is off."""
    lines: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handler, off = Collect(logging.WARNING), logging.root.manager.disable
    logger = logging.getLogger("stepreel")
    logging.disable(logging.NOTSET)
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logging.disable(off)


def cache_kinds(good: Path) -> Iterator[tuple[str, str, Callable[[bytes, Random], bytes], Any]]:
    """Yield name, path below `good`, damage and reader of every kind of file in the cache."""
    for kind, form in KINDS.items():
        place = sorted((good / CACHE).glob(form.name))[0].relative_to(good / CACHE).as_posix()
        yield kind, f"{CACHE}/{place}", form.damage, partial(read_cache, good, kind, place)
