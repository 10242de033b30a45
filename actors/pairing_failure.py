"""Why no owner can be found for a bot: a sentence for people and an exit status."""


class PairingFailed(Exception):
    """The bot cannot be read from here."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
