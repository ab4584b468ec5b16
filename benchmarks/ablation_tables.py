"""The paper's ablation tables as data: what each row changes, and the paper's own figures.

Figures are F1/IoU on Meccano (protocol `egoprocel`, ResNet-50 and RAFT, 1024 chunks, 300 epochs,
RGB alone at inference) as published. They are printed next to a run only to compare orderings.
Where the paper prints a row twice with different figures, both are quoted.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One line of a table.

    set           settings it changes
    n_cues        number of cues to train on, the first ones; None: all
    n_recordings  number of recordings to train on; all are scored
    clusters      K, if the row has its own
    paper         F1/IoU as published
    """

    name: str
    set: dict[str, object] = field(default_factory=dict)
    n_cues: int | None = None
    n_recordings: int | None = None
    clusters: int | None = None
    paper: str = ""


MC2 = {"loss.bootstrap": "none"}
MC2_ONE_CUE, MC2_TWO_CUES = "32.1/14.9 or 29.9/14.1", "34.2/16.6 or 32.0/15.3"
BMC2_ONE_CUE, BMC2_TWO_CUES = "33.1/15.8", "36.4/18.0"

TABLES: dict[str, list[Row]] = {
    "losses": [
        Row("one cue, no bootstrap", MC2, n_cues=1, paper=MC2_ONE_CUE),
        Row("one cue, bootstrap", n_cues=1, paper=BMC2_ONE_CUE),
        Row("all cues, no bootstrap (MC2)", MC2, paper=MC2_TWO_CUES),
        Row("all cues, bootstrap (BMC2)", paper=BMC2_TWO_CUES),
    ],
    "windows": [
        # The paper's table of windows prints its one-cue figure, 32.1/14.9, in this row.
        Row("no bootstrap", MC2, paper=MC2_TWO_CUES),
        Row("only sampled window", {"loss.bootstrap": "sampled"}, paper="34.4/16.3"),
        Row("union for negatives", {"loss.bootstrap": "negatives"}, paper="34.6/16.3"),
        Row("union for both", {"loss.bootstrap": "union"}, paper=BMC2_TWO_CUES),
    ],
    "encoders": [
        Row("TCN", {"encoder.kind": "tcn"}, paper="32.5/14.8"),
        Row("LSTM", {"encoder.kind": "lstm"}, paper="33.6/16.4"),
        Row("transformer", {"encoder.kind": "transformer"}, paper=BMC2_TWO_CUES),
    ],
    "positions": [
        Row("MC2, none", {**MC2, "encoder.positions": "none"}, paper="27.7/12.7"),
        Row("MC2, after an MLP", {**MC2, "encoder.positions": "after-mlp"}, paper="28.8/12.9"),
        Row("MC2, on raw features", {**MC2, "encoder.positions": "raw"}, paper=MC2_TWO_CUES),
        Row("BMC2, none", {"encoder.positions": "none"}, paper="32.2/14.7"),
        Row("BMC2, after an MLP", {"encoder.positions": "after-mlp"}, paper="32.8/15.3"),
        Row("BMC2, on raw features", {"encoder.positions": "raw"}, paper=BMC2_TWO_CUES),
    ],
    "chunks": [
        Row(f"{n} chunks", {"train.n_chunks": n}, paper=paper)
        for n, paper in (
            (64, ""),
            (128, "33.0/15.6"),
            (256, "36.1/17.8"),
            (512, "34.9/17.0"),
            (1024, "36.4/18.0"),
        )
    ],
    "extent": [
        Row(f"extent {extent:g}", {"train.temporal_extent": extent}, paper=paper)
        for extent, paper in (
            (0.2, "24.7/10.7"),
            (0.4, "26.7/11.2"),
            (0.6, "30.6/13.9"),
            (0.8, "35.1/17.0"),
            (1.0, "36.4/18.0"),
        )
    ],
    "recordings": [
        *(Row(f"trained on {n}", n_recordings=n) for n in (1, 2, 5, 10, 20)),
        Row("trained on all"),
    ],
    "clusters": [
        Row(f"K = {k}", clusters=k, paper=paper)
        for k, paper in ((7, "36.4/18.0"), (10, "31.2"), (12, "27.5"), (15, "25.6"))
    ],
    "cues": [
        Row("first cue alone, trained alone", n_cues=1, paper=BMC2_ONE_CUE),
        Row("first cue alone, trained with all", {"embed.cues": "main"}, paper=BMC2_TWO_CUES),
        Row("all cues", {"embed.cues": "all"}, paper="37.6/18.1"),
    ],
    "alignment": [
        Row("without", {"loss.alignment_weight": 0.0}),
        Row("soft-DTW between recordings", {"loss.alignment_weight": 0.1}),
    ],
}
