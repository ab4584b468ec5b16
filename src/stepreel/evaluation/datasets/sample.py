"""Draw the demo recording: a person builds a small box on a work bench, seen from the head."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

from stepreel.errors import StepreelError
from stepreel.system.files import write_text

Array = np.ndarray[Any, Any]
WIDTH, HEIGHT, FPS, GAZE_HZ = 640, 360, 30, 60
PIECE, REACH = 750 + 600j, 0.6  # the work's place on the bench; seconds a hand takes to get there

# red, green, blue, opacity, gloss, grain
MATERIALS = """skin: 226 174 142 1 .12 .02; sleeve: 100 100 100 1 0 .1; handle: 158 104 58 1 .35 .1;
steel: 165 168 170 1 .8 .04; iron: 74 80 80 1 .5 .05; pine: 206 174 126 1 .1 .08;
rail: 182 142 94 1 .12 .1; cloth: 168 152 128 1 0 .06; ink: 44 34 28 .9 0 0;
amber: 186 112 40 1 .9 0; glue: 226 216 186 .7 .3 0; dust: 240 220 180 .4 0 .1; oil: 92 46 9 .3 0 0;
enamel: 190 194 190 1 .7 0; green: 70 98 84 1 .4 0"""

# Parts from the lowest up: material, bevel, then points: `x,y` round an area, `x,y,radius` along a
# limb. Tools and hands are drawn round the point of the grip and point upwards.
DRAWINGS = """board: pine 5 -350,-180 50,-180 50,60 -350,60
brush: handle 9 0,70,6 0,-66,9 / ink 9 0,-96,20 0,-124,15 / steel 9 -17,-60 17,-60 22,-92 -22,-92
hammer: handle 10 0,90,12 0,-150,9 / steel 9 -68,-174 30,-168 62,-190 72,-178 40,-144 -68,-136
screwdriver: steel 5 0,-40,6 0,-168,5 0,-176,3 / amber 16 0,70,20 0,10,17 0,-58,21 0,-86,12
saw: steel 4 -34,-30 34,-40 14,-360 -8,-362 / ink 1 -34,-34,2 -9,-360,2 / handle 12 0,50,34 0,-60,30
block: iron 4 -90,-138 80,-138 80,6 -90,6 / handle 12 -84,-134 74,-134 74,0 -84,0
cloth: cloth 22 -120,-60 -84,-138 -20,-118 30,-150 104,-116 92,-40 124,20 60,56 -20,40 -92,62
arm: skin 40 0,220,40 0,124,44 -4,76,55 1,44,51 / sleeve 60 0,760,92 0,400,78 0,210,60 /
fist: skin 16 42,52,18 50,-6,15 / skin 17 20,38,19 26,-32,15 / skin 18 -8,34,19 -2,-45,15 /
  skin 17 -36,42,18 -28,-44,14 / skin 18 -48,104,24 -66,48,19 -36,-22,14
flat: skin 20 -34,120,26 -72,70,20 -108,4,13 / skin 15 40,50,17 70,-34,12 /
  skin 16 17,36,18 32,-84,13 / skin 17 -9,32,18 -10,-100,13 / skin 16 -35,40,18 -50,-80,13"""
PROPS = """-330,-130: enamel 8 52,20,8 86,34,8 84,58,8 44,44,8 / enamel 14 0,0,58 / ink 2 0,0,44
360,-130: green 9 -120,-84 120,-84 120,84 -120,84 / ink 3 -106,-70 106,-70 106,70 -106,70
-380,170: enamel 30 -60,0,34 40,-16,34 / green 9 -66,-28 20,-42 30,12 -58,28 / amber 9 66,-21,16
-370,20: rail 5 -150,-26 60,-52 66,-14 -144,14 / pine 5 -120,22 80,30 78,64 -122,56"""

# held | hand | seconds | stops of the tool | its tilt and reach, its swing in x and y, lag of y,
# beats a second, turn | added amid the stops | left at each stop, if not the thing held
STEPS = """lay the base board: board|flat|4 5|150,60|0 0 26 12 1.6 .8 .05||
brush on glue: brush|fist|7 9|-120,-76 0,-70 110,-76|-.42 130 60 14 .4 1.3 .2||glue 4 -60,0,6 60,0,6
hammer nails: hammer|fist|6 10|-135,-108 -40,-108 50,-108 140,-108|-.52 160 3 -44 0 2.2 .2|
  rail 6 -204,-14 196,-14 196,14 -204,14|steel 4 0,0,7
drive screws: screwdriver|fist|6 9|-188,-60 -188,5 -188,70|-.45 176 3 3 1.5 1.7 .3|
  rail 6 -14,-105 14,-105 14,115 -14,115|amber 4 0,0,9 / ink 1 -5,-4,1 5,4,1
saw the slat: saw|fist|11 15|118,104 112,112|-.38 225 -26 -66 0 1.5 .03|
  rail 6 -365,-18 135,-18 135,14 -365,14|ink 1 4,-12,3 0,4,3 / dust 16 -12,26,20 30,30,24
sand the board: block|flat|8 12|-80,30 60,40 20,-30|-.2 60 44 34 1.6 2 .1||dust 24 -60,0,30 50,9,40
wipe on oil: cloth|flat|7 11|-100,10 -10,-10 90,10|-.2 40 84 46 .9 .7 .25||oil 60 0,-9,70 0,9,80"""
ORDERS = "12435647 14235467 14523647 15426347 13425647 14562347 15643247 14352647"


@dataclass(frozen=True)
class Sample:
    """The files of one generated recording."""

    video: Path
    gaze: Path
    truth: Path


@dataclass(frozen=True)
class SampleStep:
    """One stretch of work, in seconds; a step done twice has two of them with the same number."""

    start: float
    end: float
    step: int
    name: str


def make_sample(
    folder: Path,
    *,
    seed: int = 0,
    name: str = "work-bench",
    plan: tuple[list[SampleStep], float] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Sample:
    """Film the person that `seed` stands for; `progress` gets the seconds done and the total.

    name  of the files, without their suffixes
    plan  the steps and the length of the recording; None: as the seed plans them
    """
    sample = Sample(*(folder / f"{name}.{end}" for end in ("mp4", "gaze.csv", "steps.csv")))
    steps, seconds = plan or plan_steps(seed)
    scene = _Scene(steps, seconds, np.random.default_rng([seed, 2]))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as hidden:
        part = Path(hidden) / sample.video.name
        with av.open(str(part), "w") as file:
            options = {"crf": "23", "preset": "veryfast", "g": "60", "threads": "2"}
            stream = file.add_stream("libx264", FPS, options, width=WIDTH, height=HEIGHT)
            for count, frame in enumerate(scene.frames(), 1):
                planes: Array = cv2.cvtColor(frame, cv2.COLOR_RGB2YUV_I420)
                file.mux(stream.encode(av.VideoFrame.from_ndarray(planes, format="yuv420p")))
                if progress:
                    progress(count / FPS, seconds)
            file.mux(stream.encode())
        rows = (f"{s.start:.3f},{s.end:.3f},{s.step} {s.name}\n" for s in steps)
        write_text(sample.truth, "".join(rows))
        write_text(sample.gaze, scene.gaze_table())
        part.replace(sample.video)
    if progress:
        progress(seconds, seconds)  # the last frame may lie a little before or after the end
    return sample


def sample_frames(seed: int) -> Iterator[Array]:
    """Draw the pictures (HEIGHT, WIDTH, 3) of the recording that `seed` stands for."""
    steps, seconds = plan_steps(seed)
    return _Scene(steps, seconds, np.random.default_rng([seed, 2])).frames()


def read_sample_steps(path: Path) -> list[SampleStep]:
    """Read the true steps that `make_sample` wrote."""
    text = path.read_text(encoding="utf-8")
    rows = re.findall(r"^([\d.]+),([\d.]+),(\d+) (.+)$", text, re.MULTILINE)
    if len(rows) != len(text.splitlines()):
        raise StepreelError(f"{path.name}: every line must read `start_s,end_s,N step name`")
    return [
        SampleStep(float(start), float(end), int(step), name) for start, end, step, name in rows
    ]


def plan_steps(seed: int) -> tuple[list[SampleStep], float]:
    """Choose order and length of the steps; also return the length of the whole recording."""
    rng, table = np.random.default_rng([seed, 1]), list(_entries(STEPS).items())
    order = [int(digit) for digit in ORDERS.split()[seed % 8]]
    limits = np.transpose([_numbers(table[n - 1][1].split("|")[2])[:, 0] for n in order])
    lengths, idle = rng.uniform(*limits), rng.uniform(1.6, 3.6, len(order) + 1)
    idle[rng.integers(2, len(order) - 1)] = 0.2  # one step follows hard upon another
    lengths = np.clip(lengths * (rng.uniform(88, 92) - idle.sum()) / lengths.sum(), 4, 16)
    edges = np.cumsum(np.append(np.column_stack((idle[:-1], lengths)), idle[-1]))
    *bounds, seconds = (np.round(edges * FPS) / FPS).tolist()
    spans = zip(bounds[::2], bounds[1::2], order, strict=True)
    return [SampleStep(start, end, n, table[n - 1][0]) for start, end, n in spans], seconds


def sample_step_names() -> list[str]:
    """Return the names of the steps; step n is the nth of them, from 1."""
    return list(_entries(STEPS))


def _entries(text: str) -> dict[str, str]:
    entries = (entry.split(":") for entry in re.split(r";?\n(?=\S)|; ", text))
    return {name: " ".join(value.split()) for name, value in entries}


def _numbers(text: str) -> Array:
    return np.array([item.split(",") for item in text.split()], float)


def _pose(at: complex, turn: float = 0, scale: float = 1, mirror: int = 1) -> Array:
    """Make the matrix that scales and turns (clockwise) about 0, then moves by `at`."""
    c, s = scale * np.cos(turn), scale * np.sin(turn)
    return np.array([[c * mirror, -s, at.real], [s * mirror, c, at.imag], [0, 0, 1]])


def _put(frame: Array, sprite: Array, matrix: Array) -> None:
    """Lay an RGBA `sprite`, its colours times opacity, where `matrix` sends its pixels."""
    size = np.diag([*sprite.shape[1::-1], 1])
    x, y, depth = matrix @ size @ [[0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]]
    low, high = np.clip([np.min((x, y) / depth, 1), np.max((x, y) / depth, 1)], 0, (WIDTH, HEIGHT))
    region = frame[int(low[1]) : int(high[1]), int(low[0]) : int(high[0])]
    if region.size:
        shift = _pose(-complex(*low.astype(int)))
        patch = cv2.warpPerspective(sprite, shift @ matrix, region.shape[1::-1])
        kept = cv2.multiply(region, cv2.merge([255 - patch[..., 3]] * 3), scale=1 / 255)
        region[:] = cv2.add(kept, cv2.cvtColor(patch, cv2.COLOR_RGBA2RGB))


class _Scene:
    """Where hands and head are at each frame; places are complex, seen from the work piece."""

    def __init__(self, steps: list[SampleStep], seconds: float, rng: np.random.Generator) -> None:
        self.rng, self.times = rng, np.arange(round(seconds * FPS)) / FPS
        self.materials = {name: _numbers(row)[:, 0] for name, row in _entries(MATERIALS).items()}
        self.materials["skin"][:3] *= rng.uniform(0.45, 1) ** np.array((0.7, 1, 1.2))
        self.materials["sleeve"][:3] *= rng.uniform(0.6, 1.1, 3)
        bent, fine = (cv2.resize(rng.normal(size=s), (1500, 1500)) for s in ((14, 6), (900, 30)))
        self.grain = np.sin(np.arange(1500)[:, None] / 3 + 9 * bent) + 1.2 * fine
        zero = 0j * self.times
        self.left, self.right, self.turn = zero - 260 + 680j, zero + 150 + 680j, zero.real
        self.look = rng.uniform(-400, 400, (99, 2)).repeat(40, axis=0)[: len(zero)] @ (1, 0.5j)
        self.held, self.hand = np.full((2, len(zero)), [[""], ["flat"]], "U20")
        self.marks: list[tuple[float, str, complex]] = []
        for step in steps:
            self._act(step)
        head = np.convolve(self.look, np.hanning(50) / 24.5)[: len(zero)]  # it follows the eyes
        at = 0.35 * head + self._wander(60, 4) + 1j * self._wander(45, 3)
        lens = _pose(WIDTH / 2 + 0.5j * HEIGHT) @ [[1, 0, 0], [0, 1, 0], [0, -0.0006, 1]]
        poses = zip(at, self._wander(0.08, 3), 0.8 + self._wander(0.07, 5), strict=True)
        self.views = np.array([lens @ _pose(0, turn, zoom) @ _pose(-z) for z, turn, zoom in poses])

    def _wander(self, size: float, period: float) -> Array:
        """Drift about 0, mostly within ±`size`, with nothing faster than `period` seconds."""
        rates, phases = self.rng.uniform(2, 6, 4) / period, self.rng.uniform(0, 6.3, 4)
        return np.asarray(size * 0.5 * np.sin(self.times[:, None] * rates + phases).sum(axis=1))

    def _act(self, step: SampleStep) -> None:
        """Let the hands do one step; done again, it is on the other side of the work piece."""
        held, hand, _, stops, motion, added, left = _entries(STEPS)[step.name].split("|")
        tilt, reach, swing_x, swing_y, lag, beats, turn = _numbers(motion)[:, 0]
        stop = _numbers(stops) @ (-1 if left in [mark[1] for mark in self.marks] else 1, 1j)
        begin, length = step.start + REACH, step.end - step.start - 2 * REACH
        inside = np.flatnonzero((self.times >= step.start) & (self.times < step.end))
        t = self.times[inside] - begin
        knots = np.ravel([(i + 0.1, i + 0.9) for i in range(len(stop))])
        path = np.interp(t / length * len(stop), knots, stop.repeat(2))
        near = np.clip(1 + np.minimum(t, length - t) / REACH, 0, 1)
        effort = np.clip(np.minimum(t, length - t) / 0.4, 0, 1)
        phase = 2 * np.pi * beats * self.rng.uniform(0.8, 1.2) * t
        swing = swing_x * np.sin(phase) + 1j * swing_y * np.sin(phase - lag)
        grip = path + 1j * reach * np.exp(1j * tilt) + effort * swing
        self.right[inside] += near * (grip - self.right[inside])
        aside = -195 - 145 * (path.real < -150) + 80j  # the other hand, out of the tool's way
        self.left[inside] += near * (aside - self.left[inside])
        self.turn[inside] = tilt + effort * turn * np.sin(phase)
        self.look[inside], self.hand[inside] = path, hand
        self.held[inside[t < length + (held != "board")]] = held  # the board stays where it is laid
        self.marks.append((begin, added, PIECE + stop.mean()))
        for when, z in zip(begin + length * (knots[1::2] + 0.1) / len(stop), stop, strict=True):
            self.marks.append((when, left or _entries(DRAWINGS)[held], PIECE + z))

    def _draw(self, image: Array, drawing: str, at: complex) -> Array:
        """Draw rounded parts, lit from the upper left, on an RGB picture or a sprite for `_put`."""
        for part in filter(None, drawing.split("/")):
            material, roundness, points = part.split(maxsplit=2)
            *colour, opacity, gloss, roughness = self.materials[material]
            bevel, shape = float(roundness), _numbers(points)
            shape[:, :2] += at.real, at.imag
            low, high = shape[:, :2].min(0).astype(int) - 120, shape[:, :2].max(0).astype(int) + 120
            shape[:, :2] -= low
            region = image[low[1] : high[1], low[0] : high[0]]
            mask: Array = np.zeros(region.shape[:2], np.uint8)
            if shape.shape[1] == 2:
                cv2.fillPoly(mask, [(shape * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
            for a, b in zip(shape, [*shape[1:], shape[-1]], strict=True):
                for x, y, *radius in (np.linspace(a, b, 50) * 16).astype(int).tolist():
                    cv2.circle(mask, (x, y), sum(radius), 255, -1, cv2.LINE_AA, 4)
            if gloss == 0 and opacity < 1:  # a stain lies flat and has soft edges
                mask, bevel = cv2.GaussianBlur(mask, (0, 0), bevel / 3), 0.1
            depth = cv2.distanceTransform(cv2.inRange(mask, 128, 255), cv2.DIST_L2, 5)
            height = bevel * np.sqrt(1 - (1 - np.clip(depth / bevel, 0, 1)) ** 2)
            dy, dx = np.gradient(cv2.GaussianBlur(height, (0, 0), 1.5))
            slope = np.sqrt(1 + dx**2 + dy**2)
            light = 0.4 + np.maximum(0.41 * dx + 0.55 * dy + 0.6, 0) / slope
            light *= 1 + roughness * self.grain[: mask.shape[0], : mask.shape[1]]
            shine = 255 * gloss * np.maximum((0.25 * dx + 0.33 * dy + 0.91) / slope, 0) ** 30
            body = np.clip(light[..., None] * colour + shine[..., None], 0, 255)
            cast = cv2.GaussianBlur(np.roll(mask, (6, 4), (0, 1)), (0, 0), 2 + bevel / 4)
            dark, cover = cast[..., None] * opacity**4 / 510, mask[..., None] * opacity / 255
            region[..., 3:] = 255 - (255 - region[..., 3:]) * (1 - dark) * (1 - cover)
            region[..., :3] = region[..., :3] * (1 - dark) * (1 - cover) + body * cover
        return image

    def _bench(self) -> Array:
        planks = self.rng.uniform(120, 156, (9, 1, 1)).repeat(125, axis=0)[:1050] * (1, 0.73, 0.48)
        planks[::125] /= 2
        image: Array = (planks * (1 + 0.08 * self.grain[:1050, :, None])).astype(np.uint8)
        for place, prop in _entries(PROPS).items():
            self._draw(image, prop, PIECE + complex(*self.rng.normal(_numbers(place)[0], 18)))
        for x, y, turn in self.rng.uniform((290, -180, 0), (430, -80, 6.3), (60, 3)):
            screw = f"steel 3 0,0,3 {22 * np.cos(turn)},{22 * np.sin(turn)},1 / steel 4 0,0,6"
            self._draw(image, screw, PIECE + complex(x, y))
        return image

    def _sprites(self) -> dict[str, tuple[Array, Array]]:
        """Draw tools and hands with their shadows; a matrix brings the grip to 0."""
        sprites, drawings = {}, _entries(DRAWINGS) | {"": ""}
        for name, drawing in drawings.items():
            arm = drawings["arm"] * (name in ("flat", "fist"))
            image = self._draw(np.zeros((1500, 1000, 4), np.uint8), arm + drawing, 500 + 500j)
            shadow = cv2.GaussianBlur(np.roll(image[..., 3], 22, axis=0), (0, 0), 12) // 2
            image[..., 3] = np.maximum(image[..., 3], shadow)
            x, y, w, h = cv2.boundingRect(image[..., 3])
            sprites[name] = image[y : y + h, x : x + w].copy(), _pose(complex(x - 500, y - 500))
        return sprites

    def frames(self) -> Iterator[Array]:
        """Draw the pictures, one after another."""
        bench, sprites = self._bench(), self._sprites()
        noise = self.rng.normal(128, 4, (12, HEIGHT, WIDTH, 3)).astype(np.uint8)
        z = np.linspace(-1, 1, 80) + 1j * np.linspace(-0.6, 0.6, 45)[:, None]
        gain, warm = np.clip(1 + self._wander(0.28, 10), 0.65, 1.3), self._wander(0.09, 9)
        edge, angle = self._wander(2.2, 4.5), np.exp(1j * self._wander(3, 30))
        bend = np.angle((330 + 760j - self.right) * np.exp(0.4j * self.turn)) - np.pi / 2
        for i, view in enumerate(self.views):
            while self.marks and self.marks[0][0] <= self.times[i]:
                self._draw(bench, *self.marks.pop(0)[1:])
            frame = cv2.warpPerspective(bench, view @ _pose(-PIECE), (WIDTH, HEIGHT))
            at = (self.left[i], 0.2, 1, -1), (self.right[i], self.turn[i]), (self.right[i], bend[i])
            for name, place in zip(("flat", self.held[i], self.hand[i]), at, strict=True):
                _put(frame, sprites[name][0], view @ _pose(*place) @ sprites[name][1])
            shadow = np.clip((z * angle[i]).real - edge[i], 0, 0.35)
            light = (gain[i] - abs(z) ** 2 / 6) * (1 - shadow)
            lamp = (128 * light[..., None] * (1 + warm[i], 1, 1 - warm[i])).astype(np.uint8)
            frame = cv2.multiply(frame, cv2.resize(lamp, (WIDTH, HEIGHT)), scale=1 / 128)
            yield cv2.addWeighted(frame, 1, noise[self.rng.integers(12)], 1, -128)

    def gaze_table(self) -> str:
        """Let the eyes rest near the work, leap, tremble and blink."""
        frame = np.arange(len(self.times) * GAZE_HZ // FPS) * FPS // GAZE_HZ
        look, leaps = self.look[frame], self.rng.normal(0, 20, (2, len(frame)))
        spots = np.stack((look.real, look.imag, np.ones(len(frame))))
        x, y, depth = np.einsum("nij,jn->in", self.views[frame], spots)
        seen = (x, y) / depth + leaps[:, ::20].repeat(20, axis=1)[:, : len(frame)] + leaps / 9
        u, v = np.clip(seen / [[WIDTH], [HEIGHT]], 0, 1)
        rows = [f"{i / GAZE_HZ:.4f},{u[i]:.4f},{v[i]:.4f},0.95\n" for i in range(len(frame))]
        for i in np.flatnonzero(leaps[0, ::10] > 38) * 10:
            rows[i : i + 10] = [row.split(",")[0] + ",,,0\n" for row in rows[i : i + 10]]
        return "time_s,x,y,confidence\n" + "".join(rows)
