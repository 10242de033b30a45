"""What Telegram makes of a text: parsed, trimmed, measured, or refused in its own words."""

import pytest

from actors.sandbox.errors import BotApiError
from actors.sandbox.text import command_entities, parsed, too_long, trimmed, utf16_length

PARSE = "Bad Request: can't parse entities: "


def entity(kind, offset, length, **more):
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.mark.parametrize(
    ("html", "text", "entities"),
    [
        ("plain", "plain", []),
        ("<b>a</b>b", "ab", [entity("bold", 0, 1)]),
        ("<STRONG>a</STRONG>", "a", [entity("bold", 0, 1)]),
        ("1 &lt; 2 &amp;&quot; &#65;&#x42; &nope; &", '1 < 2 &" AB &nope; &', []),
        ("<b>a<i>b</i></b>", "ab", [entity("bold", 0, 2), entity("italic", 1, 1)]),
        ("😀<code>x</code>", "😀x", [entity("code", 2, 1)]),
        ("<b></b>x", "x", []),
        ("<b>x</>", "x", [entity("bold", 0, 1)]),
        (
            '<pre><code class="language-python">p</code></pre>',
            "p",
            [entity("pre", 0, 1, language="python")],
        ),
        (
            '<a href="https://e.org/?a=1&amp;b=2">x</a>',
            "x",
            [entity("text_link", 0, 1, url="https://e.org/?a=1&b=2")],
        ),
        ('<a href="nonsense">x</a>', "x", []),
        ('<span class="tg-spoiler">x</span>', "x", [entity("spoiler", 0, 1)]),
        (
            "<blockquote expandable>x</blockquote>",
            "x",
            [entity("expandable_blockquote", 0, 1)],
        ),
        ("  x <b>y </b> ", "x y", [entity("bold", 2, 1)]),
    ],
)
def test_html_is_parsed(html, text, entities):
    assert parsed(html, "HTML") == (text, entities)


@pytest.mark.parametrize(
    ("raw", "mode", "description"),
    [
        ("", "", "Bad Request: message text is empty"),
        (" \n ", "", "Bad Request: text must be non-empty"),
        ("<b> </b>", "HTML", "Bad Request: text must be non-empty"),
        ("<b>x", "HTML", PARSE + 'Can\'t find end tag corresponding to start tag "b"'),
        ("a <b", "HTML", PARSE + "Unclosed start tag at byte offset 2"),
        ("é<x>", "HTML", PARSE + 'Unsupported start tag "x" at byte offset 2'),
        ("1 < 2", "HTML", PARSE + 'Unsupported start tag "" at byte offset 2'),
        ("x</b>", "HTML", PARSE + "Unexpected end tag at byte offset 1"),
        ("<b>x</b", "HTML", PARSE + "Unclosed end tag at byte offset 4"),
        (
            "<b>x</i>",
            "HTML",
            PARSE + 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"',
        ),
        (
            "<span>x</span>",
            "HTML",
            PARSE + 'Tag "span" must have class "tg-spoiler" at byte offset 0',
        ),
        ("x", "Elvish", "Bad Request: unsupported parse_mode"),
    ],
)
def test_a_bad_text_is_refused_in_telegrams_words(raw, mode, description):
    with pytest.raises(BotApiError) as refusal:
        parsed(raw, mode)
    assert (refusal.value.code, refusal.value.description) == (400, description)


def test_without_a_mode_markup_is_text_and_given_entities_are_kept():
    given = [entity("bold", 0, 3)]
    assert parsed("<b>", "", given) == ("<b>", given)


@pytest.mark.parametrize("given", [{}, [1], [{"type": "bold"}], [entity("bold", "0", 1)]])
def test_malformed_entities_are_refused(given):
    with pytest.raises(BotApiError, match="can't parse entities"):
        parsed("x", "", given)


def test_control_characters_become_blanks():
    assert parsed("a\x00b\rc\td")[0] == "a bc\td"


def test_blanks_inside_an_entity_stay_at_the_beginning():
    assert trimmed("  x", [entity("code", 0, 3)]) == ("  x", [entity("code", 0, 3)])


def test_length_counts_utf16_units():
    assert utf16_length("a😀") == 3
    assert not too_long("😀" * 2048)
    assert too_long("😀" * 2048 + "a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/stop", [(0, 5)]),
        ("😀 /stop@some_bot now", [(3, 14)]),
        ("a/b and/or http://x", []),
        ("/a /b", [(0, 2), (3, 2)]),
        ("/usr/bin", []),
    ],
)
def test_commands_of_people_are_marked(text, expected):
    found = command_entities(text)
    assert [(each["offset"], each["length"]) for each in found] == expected
    assert all(each["type"] == "bot_command" for each in found)
