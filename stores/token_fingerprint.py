"""What may be stored of a token, to tell one from another."""

import hashlib


def token_fingerprint(token: str) -> str:
    """What may be stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()
