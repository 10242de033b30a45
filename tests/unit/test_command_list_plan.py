"""The menu of commands."""

from actors.plans.command_list import menus, set_menus
from actors.plans.delivery import COMMANDS
from messages.texts import MENU


def test_the_owner_sees_what_works_and_everybody_else_how_to_connect():
    strangers, owner = menus(1001, 1001)
    assert strangers["scope"] == {"type": "default"}
    assert [one["command"] for one in strangers["commands"]] == ["start"]
    assert owner["scope"] == {"type": "chat", "chat_id": 1001}
    assert [one["command"] for one in owner["commands"]] == [
        "start", "help", "status", "stop", "new", "close"
    ]


def test_in_a_group_the_menu_is_the_owners_alone():
    _, owner = menus(-100, 1001)
    assert owner["scope"] == {"type": "chat_member", "chat_id": -100, "user_id": 1001}


def test_every_command_of_the_menu_is_one():
    assert {f"/{name}" for name, _ in MENU} <= set(COMMANDS)
    assert all(1 <= len(words) <= 256 for _, words in MENU)


def test_they_are_set_by_calls_that_are_not_repeated():
    calls = set_menus(1001, 1001)
    assert [(call.body.method, call.message_id, call.resend) for call in calls] == [
        ("setMyCommands", "menu/0", False), ("setMyCommands", "menu/1", False)
    ]
