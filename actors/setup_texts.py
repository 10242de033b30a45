"""What people read while they set up a bot: one constant a sentence."""

BEGIN = (
    "A bot of your own: write /newbot to @BotFather in Telegram.\n"
    "Copy the token that you get, and paste it here."
)
PRESENT = '"{name}" is {bot} ({owner}). What you enter now replaces that; the rest stays.'
PRESENT_GIVEN = '"{name}" is {bot} ({owner}). Its token is replaced, its owner stays.'
PRESENT_NEW_OWNER = (
    '"{name}" is {bot} ({owner}). It gets a new owner; the present one is obeyed until then.'
)
PRESENT_CHECKED = '"{name}" is {bot} ({owner}). It is looked at, and nothing of that changes.'
NO_OWNER = "no owner yet"
OWNER = "owner {owner}"

ASK_TOKEN = "Token (not shown): "
ASK_TOKEN_AGAIN = "Token (not shown; empty keeps the present one): "
NO_TERMINAL = (
    "There is no terminal to ask for the token. Give it with --token-file FILE or in "
    "TELEGRAM_BOT_TOKEN."
)
REFUSED_HERE = "Telegram refused the token. Nothing was changed."
UNREACHABLE = "Telegram cannot be reached, so nothing was changed. {reason}"
IDENTIFIED = "This is {bot}."
ANOTHER = (
    '"{name}" was the bot {former}; it becomes {bot}. The threads of the former one stay with it, '
    "and the owner is asked for anew."
)
GIVE_A_NAME = "Nothing was changed. Give this bot a name of its own: switchboard setup --bot NAME"
LEFT = "\nNothing was changed."
LEFT_HALF_WAY = "\nThe token is kept. Go on at any time: {command}"
GO_ON = "Go on? [y/N] "
NEW_OWNER = "Change the owner? [y/N] "

WEBHOOK = (
    "A webhook is set on {bot}: its messages go to {place}. While it is there they cannot be read "
    "here; without it they cannot be read there."
)
DELETE_WEBHOOK = "Remove it? [y/N] "
WEBHOOK_STAYS = (
    "Nothing was changed. Remove it where it was set, or answer with y, then run this again."
)
THREADED_MODE_IS_ON = "Threaded Mode is on."

SAVED = 'Saved as "{name}" in {path}, which only you can read.'
CHAT_LATER = "Processes that run now use the new chat when they are started again."
DONE = "Now start a process in any terminal: {command}"
READY = "{bot} is ready ({owner}). Start a process in any terminal: {command}"
