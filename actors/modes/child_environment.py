"""The environment of a child: everything of ours but the secrets."""

from collections.abc import Iterable, Mapping

SECRET_NAMES = frozenset({"TELEGRAM_BOT_TOKEN"})


def child_environment(environment: Mapping[str, str], secrets: Iterable[str]) -> dict[str, str]:
    """`environment` without the token, and without any variable that holds one of `secrets`."""
    hidden = [secret for secret in secrets if secret]
    return {
        name: value
        for name, value in environment.items()
        if name not in SECRET_NAMES and not any(secret in value for secret in hidden)
    }
