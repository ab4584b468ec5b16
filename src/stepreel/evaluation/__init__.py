"""How good a result is, next to null baselines. Only evaluation ever sees labels.

truth/       what really happened: annotations, label files
datasets/    labelled recordings, one reader per layout
metrics/     labels and embeddings → scores; protocols by name
methods/     recordings → predicted labels; no method sees a label
prepare, plan, compare, storyboard_scores, sweeps, task_metrics, extras
             tasks × methods × seeds → scores
results      results.json, the published contract; `build_results` and `build_storyboard` gather it
report/      results → verdict, text tables, page
run, score_predictions, write_results
             the functions `evaluate` and `score`, and the files they write
"""
