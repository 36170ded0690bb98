"""The hash of settings, which names a run's folder."""

import hashlib
import json
from collections.abc import Mapping


def hash_of(settings: Mapping[str, object]) -> str:
    """Hash settings to eight hex digits; equal settings have equal hashes."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
