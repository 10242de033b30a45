"""The practice chat as a real client library meets it: python-telegram-bot 22.8 over loopback."""

import asyncio
import json
import threading
import time

import pytest
import telegram
from telegram import error

from tests.support.eventually import eventually
from tests.support.practice_server import running_practice_server

OWNER = 1001
OLDER_POLL = (
    "Conflict: terminated by other getUpdates request; "
    "make sure that only one bot instance is running"
)
KEYS = telegram.InlineKeyboardMarkup(
    [[telegram.InlineKeyboardButton("Stop", callback_data="stop")]]
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_practice_server(tmp_path_factory.mktemp("practice") / "home") as running:
        yield running


@pytest.fixture(autouse=True)
def clean(request):
    """No test finds the updates, faults or webhook of another."""
    yield
    if "server" not in request.fixturenames:
        return
    server = request.getfixturevalue("server")
    key = (server.home / "practice" / "key").read_text().strip()
    server.request("DELETE", "/sandbox/faults", headers={"X-Sandbox-Key": key})
    server.call("deleteWebhook", drop_pending_updates=True)


def with_bot(server, story):
    """Run a story with a fresh, initialised bot."""

    async def run():
        bot = telegram.Bot(server.practice.token, base_url=f"{server.practice.api_root}/bot")
        async with bot:
            return await story(bot)

    return asyncio.run(run())


def test_who_the_bot_is(server):
    async def story(bot):
        return await bot.get_me()

    me = with_bot(server, story)
    assert me.is_bot and me.has_topics_enabled and me.allows_users_to_create_topics
    assert str(me.id) == server.practice.token.split(":")[0]


def test_a_thread_from_its_first_message_to_its_end(server):
    async def story(bot):
        topic = await bot.create_forum_topic(OWNER, "api · claude")
        thread = topic.message_thread_id
        sent = await bot.send_message(
            OWNER, "<b>hi</b> &amp; more", parse_mode="HTML", message_thread_id=thread,
            reply_markup=KEYS,
        )
        assert (sent.message_thread_id, sent.is_topic_message, sent.text) == (
            thread, True, "hi & more",
        )
        assert sent.entities[0].type == "bold"
        assert abs(sent.date.timestamp() - time.time()) < 5
        edited = await bot.edit_message_text(
            "better", OWNER, sent.message_id, reply_markup=KEYS
        )
        assert edited.text == "better" and edited.edit_date is not None
        with pytest.raises(error.BadRequest, match="(?i)^message is not modified: specified new"):
            await bot.edit_message_text("better", OWNER, sent.message_id, reply_markup=KEYS)
        await bot.edit_message_reply_markup(OWNER, sent.message_id)
        assert await bot.send_chat_action(OWNER, "typing", message_thread_id=thread)
        assert await bot.set_message_reaction(OWNER, sent.message_id, "👍")
        assert await bot.edit_forum_topic(OWNER, thread, name="renamed")
        assert await bot.delete_message(OWNER, sent.message_id)
        with pytest.raises(error.BadRequest, match="(?i)^message to delete not found$"):
            await bot.delete_message(OWNER, sent.message_id)
        for refused in (bot.close_forum_topic, bot.reopen_forum_topic):
            with pytest.raises(error.BadRequest, match="(?i)the chat is not a supergroup forum"):
                await refused(OWNER, thread)
        assert await bot.delete_forum_topic(OWNER, thread)
        with pytest.raises(error.BadRequest, match="(?i)^message thread not found$"):
            await bot.send_message(OWNER, "x", message_thread_id=thread)
        with pytest.raises(error.BadRequest, match="(?i)^topic_id_invalid$"):
            await bot.edit_forum_topic(OWNER, thread, name="x")
        assert await bot.send_chat_action(OWNER, "typing", message_thread_id=thread)
        return thread

    thread = with_bot(server, story)
    (shown,) = [t for t in server.practice.state()["threads"] if t["thread_id"] == thread]
    assert shown["deleted"] and shown["name"] == "renamed"


def test_messages_reach_the_bot_with_their_thread_and_are_confirmed_by_the_offset(server):
    thread = server.practice.ask("/sandbox/threads", {"op": "create", "name": "t"})["thread_id"]

    async def story(bot):
        (opened,) = await bot.get_updates()
        assert opened.message.forum_topic_created.name == "t"
        written = [
            server.practice.write("/one", thread)["update_id"],
            server.practice.write("two")["update_id"],
            server.practice.write("three", from_id=4711)["update_id"],
        ]
        first, second, third = await bot.get_updates(offset=opened.update_id + 1)
        assert [first.update_id, second.update_id, third.update_id] == written
        assert first.message.message_thread_id == thread
        assert first.message.entities[0].type == "bot_command"
        assert second.message.message_thread_id is None
        assert (third.effective_user.id, third.effective_chat.id) == (4711, 4711)
        # Unconfirmed, they come again; one at a time to a hasty reader.
        (again,) = await bot.get_updates(offset=opened.update_id + 1)
        assert again == first
        (last,) = await bot.get_updates(offset=-1)
        assert last == third
        assert server.practice.state()["pending_updates"][0]["update_id"] == third.update_id
        assert await bot.get_updates(offset=third.update_id + 1) == ()
        state = server.practice.state()
        assert state["pending_updates"] == [] and state["offset"] == third.update_id + 1

    with_bot(server, story)


def test_a_long_poll_is_answered_when_something_happens(server):
    async def story(bot):
        poll = asyncio.create_task(bot.get_updates(timeout=20))
        await asyncio.to_thread(poll_is_open, server)
        began = time.monotonic()
        await asyncio.to_thread(server.practice.write, "now")
        (update,) = await poll
        assert update.message.text == "now" and time.monotonic() - began < 10

    with_bot(server, story)


def poll_is_open(server):
    eventually(lambda: any(c["outcome"] == "running" for c in server.practice.calls("getUpdates")))


def test_the_older_of_two_polls_is_sent_away_at_once(server):
    async def story(bot):
        older = asyncio.create_task(bot.get_updates(timeout=20))
        await asyncio.to_thread(poll_is_open, server)
        began = time.monotonic()
        # Another bot object: one alone polls over a single connection.
        async with telegram.Bot(bot.token, f"{server.practice.api_root}/bot") as other:
            newer = asyncio.create_task(other.get_updates(timeout=20))
            with pytest.raises(error.Conflict) as conflict:
                await older
            assert conflict.value.message == OLDER_POLL and time.monotonic() - began < 10
            await asyncio.to_thread(server.practice.write, "for the newer one")
            assert len(await newer) == 1

    with_bot(server, story)
    older, newer = server.practice.calls("getUpdates")[-2:]
    assert (older["error_code"], older["description"]) == (409, OLDER_POLL)
    assert newer["overlapped"] == [older["seq"]] and newer["ok"] is True
    assert older["peer_port"] != newer["peer_port"]
    assert older["ended_at_monotonic_ms"] >= newer["at_monotonic_ms"]


def test_a_poll_ends_with_its_reader(server):
    connection = server.connection()
    connection.request("GET", f"/bot{server.practice.token}/getUpdates?timeout=50")
    poll_is_open(server)
    connection.sock.close()
    eventually(lambda: server.practice.calls("getUpdates")[-1]["outcome"] == "gone")
    # Nothing waits any more, so nobody is sent away.
    assert server.call("getUpdates", offset=10**9)["ok"]
    assert server.practice.calls("getUpdates")[-1]["overlapped"] == []


def test_a_webhook_keeps_polls_away(server):
    async def story(bot):
        poll = asyncio.create_task(bot.get_updates(timeout=20))
        await asyncio.to_thread(poll_is_open, server)
        await bot.set_webhook("https://example.org/hook")
        with pytest.raises(error.Conflict, match="^Conflict: terminated by setWebhook request$"):
            await poll
        with pytest.raises(error.Conflict, match="can't use getUpdates method while webhook is"):
            await bot.get_updates()
        assert (await bot.get_webhook_info()).url == "https://example.org/hook"
        await bot.delete_webhook()
        with pytest.raises(error.BadRequest, match="(?i)an https url must be provided"):
            await bot.set_webhook("http://example.org")
        assert await bot.get_updates(offset=-1) == ()

    with_bot(server, story)


def test_buttons_reactions_and_edits_reach_the_bot(server):
    async def story(bot):
        sent = await bot.send_message(OWNER, "x", reply_markup=KEYS)
        server.practice.press(sent.message_id, "stop")
        (update,) = await bot.get_updates(allowed_updates=telegram.Update.ALL_TYPES)
        query = update.callback_query
        assert (query.data, query.message.message_id) == ("stop", sent.message_id)
        assert await query.answer("Stopping")
        with pytest.raises(error.BadRequest, match="(?i)^query is too old and response timeout"):
            await query.answer()
        server.practice.ask(
            "/sandbox/reactions", {"message_id": sent.message_id, "emoji": "👍"}
        )
        mine = server.practice.write("a")["message_id"]
        server.practice.ask("/sandbox/edits", {"message_id": mine, "text": "b"})
        updates = await bot.get_updates(offset=update.update_id + 1)
        assert updates[0].message_reaction.new_reaction[0].emoji == "👍"
        assert updates[2].edited_message.text == "b"

    with_bot(server, story)


@pytest.mark.parametrize(
    ("parameters", "description"),
    [
        ({"text": ""}, "Bad Request: message text is empty"),
        ({"text": "x" * 4097}, "Bad Request: message is too long"),
        ({"text": "x", "chat_id": 5}, "Bad Request: chat not found"),
        ({"text": "x", "message_thread_id": 1}, "Bad Request: message thread not found"),
        ({"text": "<b>", "parse_mode": "HTML"},
         'Bad Request: can\'t parse entities: Can\'t find end tag corresponding to start tag "b"'),
        ({"text": "x", "reply_markup": "{"},
         "Bad Request: can't parse reply keyboard markup JSON object"),
        ({"text": "x", "reply_markup": {"inline_keyboard": [[
            {"text": "a", "callback_data": "x" * 65}]]}}, "Bad Request: BUTTON_DATA_INVALID"),
        ({"text": "x", "reply_parameters": {"message_id": 3}},
         "Bad Request: message to be replied not found"),
    ],
)
def test_a_bad_message_is_refused_and_nothing_is_sent(server, parameters, description):
    before = server.practice.state()["counts"]["messages"]
    answer = server.call("sendMessage", **{"chat_id": OWNER, **parameters})
    assert answer == {"ok": False, "error_code": 400, "description": description}
    assert server.practice.state()["counts"]["messages"] == before


def test_methods_by_get_form_multipart_and_json_in_any_case(server):
    token = server.practice.token
    body = json.dumps({"chat_id": OWNER, "text": "json", "reply_markup": KEYS.to_dict()})
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in (("chat_id", OWNER), ("text", "multipart"))
    )
    for method, path, sent, kind in (
        ("GET", f"sendmessage?chat_id={OWNER}&text=query", None, None),
        ("POST", "SENDMESSAGE", f"chat_id={OWNER}&text=form", "application/x-www-form-urlencoded"),
        ("POST", "sendMessage", body, "application/json"),
        ("POST", "sendMessage", parts + "--x--\r\n", "multipart/form-data; boundary=x"),
    ):
        headers = {"Content-Type": kind} if kind else {}
        status, answer, _ = server.request(method, f"/bot{token}/{path}", sent, headers)
        assert status == 200 and answer["result"]["text"] in (path + str(sent) + str(kind))


def test_what_is_no_method_of_ours(server):
    token = server.practice.token
    wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
    for path, status, description in (
        (f"/bot{token}/sendNothing", 404, "Not Found: method not found"),
        (f"/bot{wrong}/getMe", 401, "Unauthorized"),
        ("/botnonsense/getMe", 404, "Not Found"),
        (f"/bot{token}", 404, "Not Found"),
        (f"/file/bot{token}/x", 404, "Not Found"),
    ):
        expected = {"ok": False, "error_code": status, "description": description}
        assert server.request("GET", path)[:2] == (status, expected)
    listed = json.dumps(server.practice.calls())
    assert token not in listed and wrong not in listed


def test_too_large_a_body_is_refused(server):
    answer = server.call("sendMessage", chat_id=OWNER, text="x" * (1 << 20))
    assert answer["error_code"] == 413


# The library warns that it will tell this time in another type one day.
@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
def test_ordered_faults_come_in_turn_and_end(server):
    async def story(bot):
        server.practice.fault("sendMessage", retry_after=7)
        server.practice.fault("*", error_code=502)
        server.practice.fault("SENDMESSAGE", error_code=400, description="Bad Request: strange")
        with pytest.raises(error.RetryAfter) as flood:
            await bot.send_message(OWNER, "x")
        assert flood.value.retry_after == 7
        with pytest.raises(error.NetworkError, match="Bad Gateway"):
            await bot.get_me()
        with pytest.raises(error.BadRequest, match="(?i)^strange$"):
            await bot.send_message(OWNER, "x")
        assert await bot.send_message(OWNER, "x")

    with_bot(server, story)


@pytest.mark.parametrize(("drop", "sent"), [("before", 0), ("after", 1)])
def test_a_dropped_connection_with_and_without_the_deed(server, drop, sent):
    async def story(bot):
        before = server.practice.state()["counts"]["messages"]
        server.practice.fault("sendMessage", drop=drop)
        with pytest.raises(error.NetworkError):
            await bot.send_message(OWNER, "x")
        assert server.practice.state()["counts"]["messages"] == before + sent

    with_bot(server, story)
    assert server.practice.calls("sendMessage")[-1]["outcome"] == "dropped"


def test_what_was_asked_is_done_though_the_caller_has_gone(server):
    before = server.practice.state()["counts"]["messages"]
    server.practice.fault("sendMessage", delay_ms=300)
    connection = server.connection()
    connection.request("GET", f"/bot{server.practice.token}/sendMessage?chat_id={OWNER}&text=x")
    eventually(lambda: server.practice.calls("sendMessage")[-1]["outcome"] == "running")
    connection.sock.close()
    eventually(lambda: server.practice.state()["counts"]["messages"] == before + 1)


def test_calls_can_be_read_from_a_place_on(server):
    last = server.practice.ask("/sandbox/calls")["last_seq"]
    server.call("getMe")
    server.call("sendMessage", chat_id=OWNER, text="x")
    since = server.practice.ask(f"/sandbox/calls?since={last}")["calls"]
    assert [call["method"] for call in since] == ["getMe", "sendMessage"]
    assert since[1]["params"] == {"chat_id": str(OWNER), "text": "x"}
    assert [call["seq"] for call in since] == [last + 1, last + 2]


def test_many_at_once_are_all_served(server):
    answers = []

    def send(number):
        answers.append(server.call("sendMessage", chat_id=OWNER, text=str(number)))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [answer["result"]["message_id"] for answer in answers]
    assert len(set(ids)) == 20
