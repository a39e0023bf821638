from __future__ import annotations

import sys
from pathlib import Path

# `call` is a module of its own.
sys.path.insert(0, str(Path(__file__).parent))
