"""How long tests wait for something before they call it a hang.

A busy machine is many times slower than an idle one, so a wait that only guards against a hang is
long. Nothing waits that long unless it fails.
"""

HANG_SECONDS = 1200.0
