"""How good a result is: protocols by name, and the null baselines that belong beside them."""
