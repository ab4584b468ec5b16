"""Feature tracks → embedding: sampling, windows, loss, encoder, training, and the saved model."""

METHOD_VERSION = 6  # increase it when the same tracks and settings would give different embeddings
