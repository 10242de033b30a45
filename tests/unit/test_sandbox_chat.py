"""The practice chat on its real file: what both sides do, and what the bot hears of it."""

import pytest

from actors.sandbox import bot_methods
from actors.sandbox.chat import PracticeChat
from actors.sandbox.chat_state import chat_state, chat_view
from actors.sandbox.errors import BotApiError
from actors.sandbox.parameters import Parameters
from actors.sandbox.person_side import Impossible, PersonSide
from stores.practice_chat import PracticeChatStore
from tests.support.manual_clock import ManualClock

BOT, OWNER, STRANGER = 4_000_000_000, 1001, 4711


class World:
    def __init__(self, path):
        self.clock = ManualClock(wall=1_800_000_000_000)
        self.path = path
        self.open()

    def open(self):
        self.store = PracticeChatStore(self.path)
        self.chat = PracticeChat(self.store, BOT, lambda: self.clock.wall)
        self.people = PersonSide(self.chat)

    def call(self, method, **parameters):
        return bot_methods.METHODS[method](self.chat, Parameters.of(parameters))

    def refusal(self, method, **parameters):
        with pytest.raises(BotApiError) as refusal:
            self.call(method, **parameters)
        return refusal.value.description.removeprefix("Bad Request: ")

    def waiting(self):
        return self.store.updates(self.clock.wall)


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path / "chat.db")
    yield world
    world.store.close()


def test_a_new_thread_is_announced_to_the_bot_itself(world):
    topic = world.call("createForumTopic", chat_id=OWNER, name=" api ")
    assert topic["name"] == "api"
    (update,) = world.waiting()
    assert update.kind == "message"
    assert update.body["forum_topic_created"]["name"] == "api"
    assert update.body["message_id"] == topic["message_thread_id"]
    assert update.body["is_topic_message"] is True


def test_the_bots_own_messages_are_no_updates(world):
    sent = world.call("sendMessage", chat_id=OWNER, text="hi")
    assert world.waiting() == []
    assert sent["from"]["id"] == BOT
    assert "message_thread_id" not in sent


def test_renaming_is_announced_and_must_change_something(world):
    thread = world.call("createForumTopic", chat_id=OWNER, name="a")["message_thread_id"]
    assert world.call("editForumTopic", chat_id=OWNER, message_thread_id=thread) is True
    assert world.refusal(
        "editForumTopic", chat_id=OWNER, message_thread_id=thread, name="a"
    ) == "TOPIC_NOT_MODIFIED"
    assert world.call("editForumTopic", chat_id=OWNER, message_thread_id=thread, name="b")
    assert world.waiting()[-1].body["forum_topic_edited"] == {"name": "b"}
    assert world.refusal(
        "editForumTopic", chat_id=OWNER, message_thread_id=thread, name="  "
    ) == "name must be non-empty"


def test_a_deleted_thread_takes_its_messages_along_and_tells_nobody(world):
    thread = world.call("createForumTopic", chat_id=OWNER, name="a")["message_thread_id"]
    sent = world.call("sendMessage", chat_id=OWNER, text="hi", message_thread_id=thread)
    before = len(world.waiting())
    assert world.call("deleteForumTopic", chat_id=OWNER, message_thread_id=thread) is True
    assert len(world.waiting()) == before
    assert world.refusal(
        "editMessageText", chat_id=OWNER, message_id=sent["message_id"], text="b"
    ) == "message to edit not found"
    assert world.refusal(
        "sendMessage", chat_id=OWNER, text="hi", message_thread_id=thread
    ) == "message thread not found"
    with pytest.raises(Impossible):
        world.people.write("hi", thread, OWNER)
    (shown,) = chat_state(world.chat)["threads"]
    assert shown["deleted"] and all(each["deleted"] for each in shown["messages"])


def test_with_threaded_mode_off_there_are_no_threads(world):
    thread = world.people.open_thread("a")["thread_id"]
    world.chat.set_threaded_mode(False)
    assert world.call("getMe")["has_topics_enabled"] is False
    assert world.refusal("createForumTopic", chat_id=OWNER, name="b") == "the chat is not a forum"
    sent = world.call("sendMessage", chat_id=OWNER, text="hi", message_thread_id=thread)
    assert "message_thread_id" not in sent


def test_a_group_has_topics_of_its_own(world):
    """Whatever the bot's own switch says; what is written in a topic answers the message that opened it."""
    world.chat.set_threaded_mode(False)
    group = world.chat.open_group("Work")
    assert world.call("getChat", chat_id=group)["is_forum"] is True
    thread = world.call("createForumTopic", chat_id=group, name="a")["message_thread_id"]
    world.people.write("hi", thread, STRANGER, group_id=group)
    body = world.waiting()[-1].body
    assert (body["chat"]["type"], body["chat"]["id"], body["from"]["id"]) == ("supergroup", group, STRANGER)
    assert body["reply_to_message"]["message_id"] == body["message_thread_id"] == thread
    world.people.write("to everybody", None, OWNER, group_id=group)
    assert "message_thread_id" not in world.waiting()[-1].body
    there = {"chat_id": group, "message_thread_id": thread}
    assert world.call("closeForumTopic", **there) is True
    assert world.call("sendMessage", text="still", **there)["message_thread_id"] == thread
    assert world.call("deleteForumTopic", **there) is True
    assert world.refusal("sendMessage", text="gone", **there) == "message thread not found"
    assert world.refusal("sendMessage", chat_id=group - 1, text="hi") == "chat not found"
    with pytest.raises(Impossible):
        world.people.write("hi", None, OWNER, group_id=group - 1)
    assert chat_view(world.chat, None)["messages"] == [], "it is not on the owner's page"


def test_a_chat_that_never_wrote_is_unknown(world):
    assert world.refusal("sendMessage", chat_id=STRANGER, text="hi") == "chat not found"
    world.people.write("hello", None, STRANGER)
    assert world.call("sendMessage", chat_id=STRANGER, text="hi")["chat"]["id"] == STRANGER
    # What strangers write is not on the owner's page.
    assert chat_view(world.chat, None)["messages"] == []


def test_ids_rise_also_when_the_file_is_lost(world, tmp_path):
    first = world.people.write("a", None, OWNER)
    second = world.people.write("b", None, OWNER)
    assert second["message_id"] > first["message_id"]
    assert second["update_id"] > first["update_id"]
    other = World(tmp_path / "another.db")
    other.clock.move(60_000)
    later = other.people.write("c", None, OWNER)
    assert later["update_id"] > second["update_id"]
    assert later["message_id"] > second["message_id"]
    other.store.close()


def test_a_restart_keeps_everything(world):
    thread = world.people.open_thread("a")["thread_id"]
    world.people.write("b", thread, OWNER)
    world.chat.confirm_updates(world.waiting()[0].update_id + 1)
    before = chat_state(world.chat)
    world.store.close()
    world.open()
    assert chat_state(world.chat) == before
    assert len(before["pending_updates"]) == 1


def test_updates_are_kept_for_a_day_and_pressed_buttons_for_150_seconds(world):
    sent = world.call("sendMessage", chat_id=OWNER, text="hi")
    world.people.write("a", None, OWNER)
    world.people.press(sent["message_id"], "d", OWNER)
    assert [each.kind for each in world.waiting()] == ["message", "callback_query"]
    world.clock.move(151_000)
    assert [each.kind for each in world.waiting()] == ["message"]
    world.clock.move(24 * 3600 * 1000)
    assert world.waiting() == []


def test_reactions_are_updates_only_for_bots_that_ask(world):
    sent = world.people.write("a", None, OWNER)
    assert world.people.react(sent["message_id"], ["👍"], OWNER)["update_id"] is None
    world.chat.allow_updates(["message", "message_reaction"])
    world.people.react(sent["message_id"], ["🔥"], OWNER)
    body = world.waiting()[-1].body
    assert [each["emoji"] for each in body["old_reaction"]] == ["👍"]
    assert [each["emoji"] for each in body["new_reaction"]] == ["🔥"]
    assert "message_thread_id" not in body


def test_an_edit_of_a_person_is_a_whole_message(world):
    sent = world.people.write("a", None, OWNER)
    world.people.edit(sent["message_id"], "/stop", OWNER)
    update = world.waiting()[-1]
    assert update.kind == "edited_message"
    assert update.body["text"] == "/stop" and "edit_date" in update.body
    with pytest.raises(Impossible):
        world.people.edit(sent["message_id"], "other", STRANGER)


def test_a_button_under_a_deleted_message_names_no_thread(world):
    thread = world.people.open_thread("a")["thread_id"]
    keys = {"inline_keyboard": [[{"text": "a", "callback_data": "d"}]]}
    sent = world.call(
        "sendMessage", chat_id=OWNER, text="x", message_thread_id=thread, reply_markup=keys
    )
    world.people.press(sent["message_id"], "d", OWNER)
    shown = world.waiting()[-1].body["message"]
    assert shown["message_thread_id"] == thread and shown["reply_markup"] == keys
    world.call("deleteMessage", chat_id=OWNER, message_id=sent["message_id"])
    world.people.press(sent["message_id"], "d", OWNER)
    shown = world.waiting()[-1].body["message"]
    assert shown["date"] == 0 and "message_thread_id" not in shown


def test_a_button_is_answered_once(world):
    sent = world.call("sendMessage", chat_id=OWNER, text="x")
    pressed = world.people.press(sent["message_id"], "d", STRANGER)["callback_id"]
    assert world.call("answerCallbackQuery", callback_query_id=pressed, text="ok") is True
    assert "query is too old" in world.refusal("answerCallbackQuery", callback_query_id=pressed)
    (shown,) = chat_state(world.chat)["callbacks"]
    assert (shown["answered"], shown["text"], shown["from_id"]) == (True, "ok", STRANGER)


def test_replies_need_their_target_unless_they_may_go_without(world):
    missing = {"message_id": 5}
    assert world.refusal(
        "sendMessage", chat_id=OWNER, text="x", reply_parameters=missing
    ) == "message to be replied not found"
    lenient = {**missing, "allow_sending_without_reply": True}
    sent = world.call("sendMessage", chat_id=OWNER, text="x", reply_parameters=lenient)
    assert "reply_to_message" not in sent
    reply = {"message_id": sent["message_id"]}
    answered = world.call("sendMessage", chat_id=OWNER, text="y", reply_parameters=reply)
    assert answered["reply_to_message"]["text"] == "x"


def test_an_edit_without_a_keyboard_removes_it(world):
    keys = {"inline_keyboard": [[{"callback_data": "d", "text": "a"}]]}
    sent = world.call("sendMessage", chat_id=OWNER, text="x", reply_markup=keys)
    where = {"chat_id": OWNER, "message_id": sent["message_id"]}
    assert "not modified" in world.refusal("editMessageText", **where, text="x", reply_markup=keys)
    assert "reply_markup" not in world.call("editMessageText", **where, text="x")
    assert "not modified" in world.refusal("editMessageReplyMarkup", **where)


def test_commands_are_kept_by_scope_and_language(world):
    menu = [{"command": "stop", "description": "Stop"}]
    chat = {"type": "chat", "chat_id": OWNER}
    world.call("setMyCommands", commands=menu, scope=chat)
    assert world.call("getMyCommands") == []
    assert world.call("getMyCommands", scope=chat) == menu
    world.call("deleteMyCommands", scope=chat)
    assert world.call("getMyCommands", scope=chat) == []
    assert "Unsupported type" in world.refusal("getMyCommands", scope={"type": "nobody"})


def test_a_failed_change_is_told_to_nobody(world):
    heard = []
    world.chat.on_event = heard.append
    world.chat.on_update = lambda: heard.append("update")
    with pytest.raises(RuntimeError):
        with world.chat.change():
            message = world.chat.new_message(OWNER, OWNER, None, text="x")
            world.chat.queue_message(message)
            raise RuntimeError
    assert heard == [] and world.store.messages() == [] and world.waiting() == []
    world.people.write("x", None, OWNER)
    assert heard[-1] == "update" and len(heard) == 2
