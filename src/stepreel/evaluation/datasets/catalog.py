"""The kinds of datasets by name: one file and one line here each, or a plug-in."""

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
from stepreel.system.registry import Registry, must_be

DATASETS: Registry[DatasetFormat] = Registry(
    "stepreel.datasets",
    {
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
    },
    check=must_be(DatasetFormat),
)
