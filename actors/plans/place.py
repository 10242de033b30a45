"""Where a process works, as people say it: `~/api on workstation`. Pure texts.

The wire and the stores keep the real directory; only what is shown is shortened.
"""

from actors.plans.shown_text import one_line

_LONGEST_PLACE = 200


def shown_directory(directory: str, user_home: str) -> str:
    """The directory with the user's home as `~`, on one line."""
    home = user_home.rstrip("/")
    if home and directory == home:
        directory = "~"
    elif home and directory.startswith(f"{home}/"):
        directory = f"~{directory[len(home):]}"
    shown = one_line(directory)
    # The end of a path tells more than its beginning.
    return shown if len(shown) <= _LONGEST_PLACE else f"…{shown[1 - _LONGEST_PLACE:]}"


def place(directory: str, user_home: str, host: str) -> str:
    """The directory and the machine; whatever is unknown is left out."""
    shown = shown_directory(directory, user_home)
    machine = one_line(host.partition(".")[0], "").strip()
    return f"{shown} on {machine}" if shown and machine else shown
