"""The paper's tables as data: what was published, and the command that would give each row.

`ROOT` is the dataset's folder: `stepreel evaluate DATASET nowhere` prints where to get it and its
expected layout. Published figures use ResNet-50 and RAFT features, which must be in ROOT/features,
or come from the authors' release (`steps-release`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One row: its figures as printed, and how to get ours.

    measured  group of EgoProceL and method of our figure; None: the data is not available
    """

    row: str
    figures: str
    command: str
    measured: tuple[str, str] | None = None


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper; `note` says which figures of results.json belong to it."""

    title: str
    note: str
    rows: tuple[Published, ...]


NULLS = {  # the paper's null rows; they need annotations only
    "CMU-MMAC": ("cmu-mmac", "15.7/5.9", "18.4/6.1"),
    "EGTEA": ("egtea", "15.3/4.6", "20.1/6.6"),
    "Meccano": ("meccano", "13.4/5.3", "16.2/6.7"),
    "EPIC-Tents": ("epic-tents", "14.1/6.5", "16.2/7.9"),
}
MECCANO = "evaluate steps-release ROOT --preset meccano"
EGO = {
    "CMU-MMAC": "evaluate egoprocel ROOT --task cmu-mmac --preset cmu-mmac",
    "EGTEA": "evaluate egoprocel ROOT --task egtea --preset egtea",
    "Meccano": MECCANO,
    "EPIC-Tents": "evaluate egoprocel ROOT --task epic-tents --preset epic-tents",
}
SENSORS = "evaluate egoprocel ROOT --task meccano --preset meccano"
IKEA = "evaluate ikea ROOT --task Kallax_Shelf_Drawer --preset ikea --rate 8 --task-metric phases"
PENN = "evaluate penn ROOT --preset penn --seeds 1 --task-metric phases --task-metric kendall"
LONG = "--set train.epochs=700 --set train.drop_after_epochs=600"

TABLES = (
    PaperTable(
        "Table 1: key-step localization, egocentric (F1/IoU)",
        "`protocols.egoprocel`: Random is `random`, Uniform `concatenated-split`, STEPs `paper`. "
        "EGTEA's 30.8/12.4 is the supplement's row without bootstrap; its full method has "
        "29.0/11.6. EPIC-Tents' 42.2 is 36.7 in the table of clusters.",
        (
            *(
                Published(
                    f"{row}, {title}",
                    figures[place],
                    f"evaluate egoprocel ROOT --task {group} --baselines-only",
                    (group, method),
                )
                for place, (row, method) in enumerate(
                    [("Random", "random"), ("Uniform", "concatenated-split")]
                )
                for title, (group, *figures) in NULLS.items()
            ),
            Published("STEPs, CMU-MMAC", "28.3/11.4", EGO["CMU-MMAC"]),
            Published("STEPs, EGTEA", "30.8/12.4", EGO["EGTEA"]),
            Published("STEPs, Meccano", "36.4/18.0", EGO["Meccano"]),
            Published("STEPs, EPIC-Tents", "42.2/21.4", EGO["EPIC-Tents"]),
        ),
    ),
    PaperTable(
        "Table 2: key-step localization, third person (P/R/F1)",
        "`protocols.egoprocel-pooled`.",
        (
            Published(
                "STEPs, ProceL",
                "23.5/26.7/24.9",
                "evaluate procel ROOT --preset procel --seeds 1",
            ),
            Published(
                "STEPs, CrossTask",
                "26.2/25.8/25.9",
                "evaluate crosstask ROOT --cues appearance,motion --preset crosstask --seeds 1",
            ),
        ),
    ),
    PaperTable(
        "Table 3: phase classification and Kendall's τ",
        "`task_metrics.phases` and `task_metrics.kendall` (`tau_b`); shares 0.1 / 0.5 / 1.0.",
        (
            Published("STEPs, Ikea without background", "28.59 / 36.25 / 37.02", IKEA),
            Published("STEPs, Ikea with background", "26.5 / 31.92 / 31.52", IKEA),
            Published("STEPs, PennActions, phases", "83.34 / 85.06 / 85.5", PENN),
            Published("STEPs, PennActions, Kendall's τ", "0.91", PENN),
        ),
    ),
    PaperTable(
        "Table 4: sensors and cues at inference, Meccano (F1/IoU)",
        "`protocols.egoprocel`; rows of one command are points of `sweeps.cues`.",
        (
            Published(
                "RGB alone, no bootstrap",
                "32.1/14.9",
                f"{MECCANO} --cues appearance --set loss.bootstrap=none",
            ),
            Published("RGB+OF, RGB at inference", "36.4/18.0", f"{MECCANO} --sweep-cues"),
            Published("RGB+OF, OF at inference", "30.6/15.6", f"{MECCANO} --sweep-cues"),
            Published("RGB+OF, both at inference", "37.6/18.1", f"{MECCANO} --sweep-cues"),
            Published("RGB+Gaze", "35.4/17.0", f"{SENSORS} --cues appearance,gaze"),
            Published("RGB+Depth", "36.6/18.1", f"{SENSORS} --cues appearance,depth"),
        ),
    ),
    PaperTable(
        "Losses, Meccano (F1/IoU)",
        "The supplement prints 29.9/14.1 and 32.0/15.3 for the first and third row.",
        (
            Published(
                "one cue, no bootstrap",
                "32.1/14.9",
                f"{MECCANO} --cues appearance --set loss.bootstrap=none",
            ),
            Published("one cue, BMC2", "33.1/15.8", f"{MECCANO} --cues appearance"),
            Published(
                "two cues, no bootstrap", "34.2/16.6", f"{MECCANO} --set loss.bootstrap=none"
            ),
            Published("two cues, BMC2", "36.4/18.0", MECCANO),
        ),
    ),
    PaperTable(
        "Chunks, Meccano (F1/IoU)",
        "",
        tuple(
            Published(str(n), figures, f"{MECCANO} --set train.n_chunks={n}")
            for n, figures in (
                (128, "33.0/15.6"),
                (256, "36.1/17.8"),
                (512, "34.9/17.0"),
                (1024, "36.4/18.0"),
                (2048, "34.9/16.4"),
            )
        ),
    ),
    PaperTable(
        "Clusters 7 / 10 / 12 / 15 (F1)",
        "Points of `sweeps.clusters`.",
        (
            Published(
                "Meccano", "36.4 / 31.2 / 27.5 / 25.6", f"{MECCANO} --sweep-clusters 7,10,12,15"
            ),
            Published(
                "EPIC-Tents",
                "36.7 / 32.8 / 29.4 / 29.7",
                f"{EGO['EPIC-Tents']} --sweep-clusters 7,10,12,15",
            ),
        ),
    ),
    PaperTable(
        "Temporal encoders, Meccano (F1/IoU)",
        "",
        tuple(
            Published(kind, figures, f"{MECCANO} --set encoder.kind={kind}")
            for kind, figures in (
                ("tcn", "32.5/14.8"),
                ("lstm", "33.6/16.4"),
                ("transformer", "36.4/18.0"),
            )
        ),
    ),
    PaperTable(
        "Amount of training data, Meccano",
        "A figure in the paper, without numbers. Points of `sweeps.recordings`.",
        (Published("1, 2, 5, 10, all", "–", f"{MECCANO} --sweep-recordings 1,2,5,10"),),
    ),
    PaperTable(
        "Windows, Meccano (F1/IoU)",
        "The paper's first row is its figure for one cue; so is the command here.",
        (
            Published(
                "no bootstrap",
                "32.1/14.9",
                f"{MECCANO} --cues appearance --set loss.bootstrap=none",
            ),
            Published("only sampled", "34.4/16.3", f"{MECCANO} --set loss.bootstrap=sampled"),
            Published("union, negatives", "34.6/16.3", f"{MECCANO} --set loss.bootstrap=negatives"),
            Published("union, both", "36.4/18.0", MECCANO),
        ),
    ),
    PaperTable(
        "Positional encoding, Meccano (F1/IoU)",
        "Raw features: the method `raw-kmeans`.",
        (
            Published("raw features", "20.1/8.6", f"{MECCANO} --cues appearance"),
            Published(
                "MC2, none",
                "27.7/12.7",
                f"{MECCANO} --set loss.bootstrap=none --set encoder.positions=none",
            ),
            Published(
                "MC2, after an MLP",
                "28.8/12.9",
                f"{MECCANO} --set loss.bootstrap=none --set encoder.positions=after-mlp",
            ),
            Published("BMC2, none", "32.2/14.7", f"{MECCANO} --set encoder.positions=none"),
            Published(
                "BMC2, after an MLP", "32.8/15.3", f"{MECCANO} --set encoder.positions=after-mlp"
            ),
        ),
    ),
    PaperTable(
        "Temporal extent, Meccano (F1/IoU)",
        "",
        tuple(
            Published(f"β = {beta}", figures, f"{MECCANO} --set train.temporal_extent={beta}")
            for beta, figures in (
                (0.2, "24.7/10.7"),
                (0.4, "26.7/11.2"),
                (0.6, "30.6/13.9"),
                (0.8, "35.1/17.0"),
                (1.0, "36.4/18.0"),
            )
        ),
    ),
    PaperTable(
        "More than two cues, Meccano (F1/IoU)",
        "",
        tuple(
            Published(name, figures, f"{SENSORS} --cues {cues} {LONG}")
            for name, figures, cues in (
                ("RGB+OF+Gaze", "37.8/18.7", "appearance,motion,gaze"),
                ("RGB+OF+Depth", "38.7/19.0", "appearance,motion,depth"),
                ("RGB+Gaze+Depth", "37.8/18.7", "appearance,gaze,depth"),
                ("RGB+OF+Gaze+Depth", "40.2/19.8", "appearance,motion,gaze,depth"),
            )
        ),
    ),
    PaperTable(
        "Other",
        "",
        (
            Published(
                "500 epochs, drop at 400, Meccano",
                "37.8/18.25",
                f"{MECCANO} --set train.epochs=500 --set train.drop_after_epochs=400",
            ),
            Published(
                "with soft-DTW alignment, Meccano",
                "F1 +0, IoU +0.7",
                f"{MECCANO} --set loss.alignment_weight=0.1",
            ),
            Published(
                "key steps: representation, diversity, Meccano",
                "53.1, 6.52 (kernel not stated)",
                f"{MECCANO} --task-metric key-steps",
            ),
            *(
                Published(
                    f"Ikea, Res50+Pose: phases with {name}",
                    figure,
                    f"{IKEA} --cues appearance,pose --set embed.cues={cues}",
                )
                for name, figure, cues in (
                    ("Res50", "30.6", "appearance"),
                    ("Pose", "30.3", "pose"),
                    ("both", "31.9", "all"),
                )
            ),
        ),
    ),
)
