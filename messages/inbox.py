"""What the Inbox is asked and answers: admitting updates before their offset is confirmed."""

from marshmallow import fields, validate

from messages.kind import message, said

ADMISSION_REFUSALS = ("capacity", "disorder", "conflict", "identity", "store")


@message("FetchCursor")
class FetchCursor:
    """Where does polling go on?"""


@message("CursorFetched")
class CursorFetched:
    """There."""

    cursor: int | None = said(
        fields.Integer(strict=True), "highest admitted update id; None before the first", None
    )


@message("AdmitUpdates")
class AdmitUpdates:
    """Journal this batch and its cursor in one transaction."""

    updates: list = said(
        fields.List(fields.Dict(keys=fields.String())), "as Telegram sent them, ids rising"
    )


@message("UpdatesAdmitted")
class UpdatesAdmitted:
    """The batch survives power loss; its offset may be confirmed."""

    cursor: int = said(fields.Integer(strict=True), "highest admitted update id")


@message("AdmissionRefused")
class AdmissionRefused:
    """Nothing was written; the offset must not move."""

    reason: str = said(fields.String(validate=validate.OneOf(ADMISSION_REFUSALS)), "why")
    text: str = said(fields.String(), "a sentence")


@message("SettleByHand")
class SettleByHand:
    """An operator decides about an update that was given up."""

    update_id: int = said(fields.Integer(strict=True), "which")
    choice: str = said(fields.String(validate=validate.OneOf(("retry", "drop"))), "what")


@message("SettledByHand")
class SettledByHand:
    """It is as the operator wanted, or there was no such update."""

    found: bool = said(fields.Boolean(), "whether it waited for a decision")
