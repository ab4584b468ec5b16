from __future__ import annotations

import numpy as np
import pytest
import torch

from stepreel.config import EncoderSettings, load_settings
from stepreel.features.standardise import MovingAverage
from stepreel.learn.embeddings import training_notes
from stepreel.learn.encoder import Encoder, encoder_inputs_, positional_encoding
from stepreel.learn.gradients import GradientPool, batch_loss, gradient_pool
from stepreel.learn.inference import embed_recording
from stepreel.learn.sampling import count_chunks, plan_sampling
from stepreel.learn.training import build_encoder, train_encoder
from stepreel.learn.training_data import (
    TrainingData,
    prepare_training_data,
    recording_tensors,
)
from stepreel.learn.windows import near_window
from stepreel.system.store import Store
from stepreel.types import FeatureTrack

QUICK = {
    "train.n_chunks": 24,
    "train.epochs": 12,
    "train.stop_when_settled": False,
    "train.checkpoint_seconds": 0,
}


def tracks(n=40, seed=0, widths=(9, 4)):
    rng = np.random.default_rng(seed)
    times = np.arange(n) / 4
    cues = ["appearance", "motion", "gaze"][: len(widths)]
    steps = np.arange(n) * 4 // n
    return {
        cue: FeatureTrack(
            "r",
            cue,
            times,
            (rng.normal(size=(4, d))[steps] + 0.3 * rng.normal(size=(n, d))).astype(np.float32),
            np.ones(n, bool),
        )
        for cue, d in zip(cues, widths, strict=True)
    }


def settings(**overrides):
    return load_settings(
        "quick", {**QUICK, **{k.replace("__", "."): v for k, v in overrides.items()}}
    )


def train(recordings, settings, **options):
    if not isinstance(recordings, TrainingData):
        lengths = [len(recording) for recording in recordings]
        recordings = TrainingData(list(recordings), count_chunks(lengths, settings.train))
    return train_encoder(recordings, settings, **options)


@pytest.mark.parametrize("widths", [(9,), (9, 4), (9, 4, 1)])
def test_the_loss_falls_with_any_number_of_cues(widths):
    recordings = [recording_tensors(tracks(widths=widths), settings())]
    losses = train(recordings, settings()).losses
    assert losses[-1] < 0.9 * losses[0]


def test_the_same_seed_gives_the_same_losses_and_another_seed_different_ones():
    recordings = [recording_tensors(tracks(), settings())]
    a, b, c = (train(recordings, settings(train__seed=s)) for s in (1, 1, 2))
    assert a.losses == b.losses
    assert a.losses != c.losses


def test_the_weights_do_not_depend_on_the_number_of_threads():
    before = torch.get_num_threads()
    chosen = settings(train__n_chunks=64, train__epochs=4)
    encoders = []
    try:
        for n_threads in (1, 2, 3):
            torch.set_num_threads(n_threads)
            recordings = prepare_training_data([tracks(200), tracks(90, seed=1)], chosen)
            encoders.append(train(recordings, chosen).encoder)
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    for other in encoders[1:]:
        for a, b in zip(encoders[0].parameters(), other.parameters(), strict=True):
            assert torch.equal(a, b)


def test_gradients_summed_over_rows_equal_those_of_the_whole_batch():
    chosen = settings()
    recordings = [recording_tensors(tracks(seed=n), chosen) for n in range(3)]
    recordings[1].valid["motion"][5:20] = False
    picks = [torch.arange(24)] * 3
    encoder = build_encoder({"appearance": 9, "motion": 4}, chosen)
    whole = GradientPool(None).fill_gradients(encoder, recordings, picks, chosen)
    expected = [weight.grad for weight in encoder.parameters()]
    with gradient_pool(torch.device("cpu"), 3) as pool:
        by_rows = pool.fill_gradients(encoder, recordings, picks, chosen)
    assert by_rows == pytest.approx(whole, rel=1e-5)
    for weight, gradient in zip(encoder.parameters(), expected, strict=True):
        assert (weight.grad - gradient).norm() <= 1e-4 * gradient.norm() + 1e-7


def test_a_cue_with_zero_weight_is_not_trained():
    chosen = settings(loss__cue_weights=[[1.0, 0.0], [0.0, 0.0]], train__epochs=2)
    trained = train([recording_tensors(tracks(), chosen)], chosen).encoder
    fresh = build_encoder({"appearance": 9, "motion": 4}, chosen)
    for a, b in zip(
        trained.of("motion").parameters(), fresh.of("motion").parameters(), strict=True
    ):
        assert torch.equal(a, b)


def test_training_does_not_change_the_global_random_state():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    train([recording_tensors(tracks(), settings())], settings(train__epochs=1))
    assert torch.equal(torch.rand(2), expected)


def test_resumed_training_gives_exactly_the_same_weights(tmp_path):
    recordings = [recording_tensors(tracks(), settings())]
    whole = train(recordings, settings())
    entry = Store(tmp_path).model_entry({"test": 1})

    def stop_after_five(label, done, total):
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(recordings, settings(), entry=entry, progress=stop_after_five)
    seen = []
    resumed = train(
        recordings, settings(), entry=entry, progress=lambda label, done, total: seen.append(done)
    )
    assert seen[0] == 5  # the first report says where training goes on
    assert resumed.losses == whole.losses
    for a, b in zip(whole.encoder.parameters(), resumed.encoder.parameters(), strict=True):
        assert torch.equal(a, b)
    reused = train(recordings, settings(), entry=entry)
    assert reused.losses == whole.losses


def test_training_stops_early_once_the_loss_has_settled():
    flat = {
        "appearance": FeatureTrack(
            "r", "appearance", np.arange(3.0), np.zeros((3, 2), np.float32), np.ones(3, bool)
        )
    }
    chosen = settings(train__stop_when_settled=True, train__epochs=200)
    assert len(train([recording_tensors(flat, chosen)], chosen).losses) < 200


def test_training_on_a_single_moment_settles_soon():
    chosen = settings(train__stop_when_settled=True, train__epochs=200)
    assert len(train([recording_tensors(tracks(1), chosen)], chosen).losses) < 100


@pytest.mark.parametrize("n", [1, 2, 3])
def test_recordings_of_very_few_moments_train_and_embed(n):
    recording = recording_tensors(tracks(n), settings())
    encoder = train([recording], settings(train__epochs=2)).encoder
    track = embed_recording(encoder, recording, ["appearance", "motion"], name="r")
    assert track.features.shape == (n, 256)
    assert np.isfinite(track.features).all()


def test_recordings_of_mixed_lengths_train_together():
    recordings = [recording_tensors(tracks(n, seed=n), settings()) for n in (5, 40, 17)]
    assert np.isfinite(train(recordings, settings(train__epochs=3)).losses).all()


@pytest.mark.parametrize("kind", ["transformer", "lstm", "tcn"])
def test_an_embedding_is_unit_length_and_describes_its_own_moment(kind):
    plain = tracks()
    marked = tracks()
    marked["appearance"].features[20] += 0.2
    chosen = settings(train__standardise="none", train__average_seconds=0, encoder__kind=kind)
    recording, other = recording_tensors(plain, chosen), recording_tensors(marked, chosen)
    encoder = train([recording], chosen).encoder
    a, b = (embed_recording(encoder, x, ["appearance"], name="r") for x in (recording, other))
    np.testing.assert_allclose(np.linalg.norm(a.features, axis=1), 1, rtol=1e-5)
    moved = np.linalg.norm(a.features - b.features, axis=1)
    assert moved.argmax() == 20


def test_invalid_moments_do_not_change_the_loss():
    clean, dirty = tracks(), tracks()
    for cues in (clean, dirty):
        cues["motion"].valid[5:9] = False
    dirty["motion"].features[5:9] = np.nan
    values = []
    for cues in (clean, dirty):
        recording = recording_tensors(cues, settings())
        values.append(train([recording], settings(train__epochs=3)).losses)
    assert values[0] == values[1]


def test_the_moving_average_is_over_valid_moments_in_a_centred_window():
    track = tracks(5, widths=(1,))["appearance"]
    track.valid[3] = False
    # Moments are 0.25 s apart: 0.5 s reaches one neighbour on each side.
    averaged = MovingAverage(track, 0.5)(np.array([0, 4, 8, 0, 100], np.float32))
    assert averaged.tolist() == [2.0, 4.0, 6.0, 54.0, 100.0]


def test_positions_count_twelve_per_second_and_odd_widths_work():
    encoding = positional_encoding(torch.tensor([0.0, 1.0], dtype=torch.float64), 3)
    assert encoding[0].tolist() == [0.0, 1.0, 0.0]
    expected = [np.sin(12), np.cos(12), np.sin(12 * 10000 ** (-2 / 3))]
    assert encoding[1].tolist() == pytest.approx(expected, abs=1e-6)
    inputs = encoder_inputs_(torch.ones(2, 3), torch.zeros(2), EncoderSettings(width=4))
    assert inputs[0].tolist() == [2.0, 3.0, 2.0]


def test_an_encoder_of_the_papers_size_has_the_expected_parameters():
    encoder = Encoder({"a": 2048, "b": 128}, EncoderSettings(), seed=0)
    layer = 3 * (128 * 128 + 128) + 3 * (128 * 128 + 128) + 4 * 128
    cue = [(d + 1) * 128 + 2 * layer + 2 * (128 * 128 + 128) for d in (2048, 128)]
    assert sum(p.numel() for p in encoder.parameters()) == sum(cue)


def test_the_batch_loss_is_in_its_range():
    from stepreel.learn.training_data import gather

    recording = recording_tensors(tracks(), settings())
    encoder = train([recording], settings(train__epochs=1)).encoder
    batch = gather([recording], [torch.arange(24)])
    assert 0 < batch_loss(encoder, batch, settings()).item() < 8


@pytest.mark.parametrize("kind", ["transformer", "lstm", "tcn"])
@pytest.mark.parametrize("positions", ["raw", "none", "after-mlp"])
def test_every_encoder_trains_and_embeds(kind, positions):
    chosen = settings(encoder__kind=kind, encoder__positions=positions, encoder__width=16)
    recording = recording_tensors(tracks(), chosen)
    trained = train([recording], chosen)
    assert trained.losses[-1] < trained.losses[0]
    track = embed_recording(trained.encoder, recording, ["motion"], name="r")
    assert track.features.shape == (40, 16)
    assert np.isfinite(track.features).all()


@pytest.mark.parametrize("kind", ["transformer", "lstm", "tcn"])
def test_encoder_outputs_depend_on_where_positions_are_added(kind):
    outputs = []
    for positions in ("raw", "none", "after-mlp"):
        shape = EncoderSettings(kind=kind, positions=positions, width=16)
        times = torch.arange(6.0)
        inputs = encoder_inputs_(torch.ones(6, 3), times, shape)
        outputs.append(Encoder({"a": 3}, shape, seed=0).adapt("a", inputs[None], times[None]))
    assert not torch.allclose(outputs[0], outputs[1])
    # With equal features and no positions, a transformer cannot distinguish moments.
    if kind == "transformer":
        torch.testing.assert_close(outputs[1][0, 0], outputs[1][0, 5])
        assert not torch.allclose(outputs[2][0, 0], outputs[2][0, 5])


@pytest.mark.parametrize("bootstrap", ["none", "sampled", "negatives", "union"])
def test_every_window_variant_trains(bootstrap):
    chosen = settings(loss__bootstrap=bootstrap)
    losses = train([recording_tensors(tracks(), chosen)], chosen).losses
    assert losses[-1] < losses[0]


def test_recordings_can_be_aligned_while_training():
    chosen = settings(loss__alignment_weight=0.5, train__epochs=4)
    recordings = prepare_training_data([tracks(seed=1), tracks(seed=1)], chosen)
    plain = train(recordings, settings(train__epochs=4)).losses
    aligned = train(recordings, chosen).losses
    assert np.isfinite(aligned).all()
    assert aligned != plain


def test_the_window_can_be_set_in_frames():
    chosen = settings(loss__window_frames=4, train__chunks_of_mean_length=0.5)
    short, long = prepare_training_data([tracks(20), tracks(60)], chosen).recordings
    assert short.window_seconds == pytest.approx(1.0, abs=1.1e-3)  # 4 frames at 4 a second
    assert long.window_seconds == pytest.approx(1.0, abs=1.1e-3)


def test_a_window_in_frames_contains_the_same_number_of_moments_at_any_rate():
    chosen = settings(loss__window_frames=4, train__n_chunks=1024)
    times = np.arange(1000) / 1000
    track = FeatureTrack("r", "imu", times, np.zeros((1000, 2), np.float32), np.ones(1000, bool))
    recording = recording_tensors({"imu": track}, chosen)
    near = near_window(recording.times[None].float(), recording.window_seconds)[0]
    assert (near.sum(-1)[4:-4] == 9).all()


def test_a_recording_shorter_than_the_number_of_chunks_still_has_neighbours():
    sparse, dense = tracks(30), tracks(1000)
    for cue, track in sparse.items():
        sparse[cue] = FeatureTrack("r", cue, track.times * 80, track.features, track.valid)
    chosen = settings(train__n_chunks=1024)  # sparse: moments are 20 s apart; σ is 3 s
    first, second = prepare_training_data([sparse, dense], chosen).recordings
    assert first.window_seconds == pytest.approx(40.0, abs=1.1e-3)
    assert second.window_seconds == pytest.approx(3.0, abs=1.1e-3)
    plan = plan_sampling([sparse["motion"].times, dense["motion"].times], chosen)
    notes = training_notes(plan)
    assert notes[0] == [
        "Short steps may be missed, because this recording is long for the number of moments "
        "learned from: those up to 40.0 s apart were treated as similar, instead of 3 s. More "
        "moments, if it has more, give finer steps and take longer (train.n_chunks)."
    ]
    assert notes[1] == []


def test_inputs_do_not_depend_on_the_frame_rate():
    chosen = settings(train__average_seconds=0)
    slow = tracks(40)
    fast = {
        cue: FeatureTrack(
            "r",
            cue,
            np.arange(80) / 8,
            np.repeat(track.features, 2, axis=0),
            np.ones(80, bool),
        )
        for cue, track in slow.items()
    }
    a, b = recording_tensors(slow, chosen), recording_tensors(fast, chosen)
    torch.testing.assert_close(a.inputs["motion"], b.inputs["motion"][::2])
    assert a.window_seconds == b.window_seconds


def test_the_learning_rate_drops_after_the_configured_epochs():
    chosen = settings(train__drop_after_epochs=(6,))
    recording = recording_tensors(tracks(), chosen)
    dropped, plain = train([recording], chosen), train([recording], settings())
    assert dropped.losses[:7] == plain.losses[:7]
    assert dropped.losses[7:] != plain.losses[7:]
