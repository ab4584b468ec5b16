"""The version, in a file that loads nothing else; `import stepreel` loads it first."""

import time

__version__ = "0.1.0"
LOADED_AT = time.time()  # seconds since 1970; see system/running_code.py
