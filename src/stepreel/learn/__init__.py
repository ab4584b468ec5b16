"""Feature tracks → embedding: sampling, windows, loss, encoder, training, and the saved model."""
