"""The kinds of datasets by name; one more is one file, and one line here."""

from __future__ import annotations

from stepreel.evaluation.datasets import (
    crosstask,
    egoprocel,
    frame_labels,
    ikea,
    jigsaws,
    npz,
    penn,
    procel,
    steps_release,
    videos,
)
from stepreel.evaluation.datasets.base import DatasetFormat

DATASETS: dict[str, DatasetFormat] = {
    "npz": npz.FORMAT,
    "videos": videos.FORMAT,
    "egoprocel": egoprocel.FORMAT,
    "steps-release": steps_release.FORMAT,
    "crosstask": crosstask.FORMAT,
    "procel": procel.FORMAT,
    "ikea": ikea.FORMAT,
    "penn": penn.FORMAT,
    "breakfast": frame_labels.BREAKFAST,
    "50salads": frame_labels.SALADS,
    "gtea": frame_labels.GTEA,
    "jigsaws": jigsaws.FORMAT,
}
