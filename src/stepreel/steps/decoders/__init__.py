"""From tracks and embeddings of all takes to labels per moment; one idea per file."""
