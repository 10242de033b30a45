"""What becomes of a text on its way through Telegram: cleaned, parsed, trimmed and measured.

Offsets and lengths of entities count UTF-16 code units; errors count bytes of UTF-8, as there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from actors.sandbox.errors import bad_request

LONGEST_TEXT = 4096

Entity = dict[str, Any]

_TAGS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "code": "code",
    "pre": "pre",
    "a": "text_link",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|([a-z]{2,4}));?")
_TAG_NAME = re.compile(r"[^\s>]*")
_ATTRIBUTE = re.compile(
    r"""\s*([^\s=>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9.\-]+)))?\s*"""
)
_COMMAND = re.compile(r"(?<![\w/@<>])/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?(?![\w/<>])")
_CONTROL = {code: " " for code in range(32) if code not in (9, 10, 13)} | {13: None}


def utf16_length(text: str) -> int:
    """How long Telegram says a text is."""
    return len(text.encode("utf-16-le")) // 2


@dataclass
class _OpenTag:
    name: str
    start: int
    attributes: dict[str, str]
    begins_at_text: int


@dataclass
class _Html:
    source: str
    at: int = 0
    plain: list[str] = field(default_factory=list)
    length: int = 0
    open: list[_OpenTag] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)

    def parse(self) -> tuple[str, list[Entity]]:
        while self.at < len(self.source):
            if self.source[self.at] == "<":
                self._tag()
            elif self.source[self.at] == "&":
                self._reference()
            else:
                until = _next_of("<&", self.source, self.at)
                self._add(self.source[self.at : until])
                self.at = until
        if self.open:
            raise _cannot_parse(
                f'Can\'t find end tag corresponding to start tag "{self.open[-1].name}"'
            )
        return "".join(self.plain), _in_order(self.entities)

    def _add(self, text: str) -> None:
        self.plain.append(text)
        self.length += utf16_length(text)

    def _reference(self) -> None:
        found = _REFERENCE.match(self.source, self.at)
        meant = _character(found) if found else None
        if found is None or meant is None:
            self._add("&")
            self.at += 1
            return
        self._add(meant)
        self.at = found.end()

    def _tag(self) -> None:
        begin = self.at
        self.at += 1
        if self.source.startswith("/", self.at):
            self._end_tag(begin)
        else:
            self._start_tag(begin)

    def _start_tag(self, begin: int) -> None:
        where = self._byte(begin)
        found = _TAG_NAME.match(self.source, self.at)
        assert found is not None
        name = found[0].lower()
        self.at = found.end()
        if self.at >= len(self.source):
            raise _cannot_parse(f"Unclosed start tag at byte offset {where}")
        if name not in _TAGS:
            raise _cannot_parse(f'Unsupported start tag "{name}" at byte offset {where}')
        attributes: dict[str, str] = {}
        while not self.source.startswith(">", self.at):
            attribute = _ATTRIBUTE.match(self.source, self.at)
            if attribute is None or not attribute[0].strip():
                rest = self.source[self.at :].lstrip()
                if rest.startswith(">"):
                    self.at = len(self.source) - len(rest)
                    break
                raise _cannot_parse(f'Unclosed start tag "{name}" at byte offset {where}')
            value = attribute[2] or attribute[3] or attribute[4] or ""
            attributes[attribute[1].lower()] = _REFERENCE.sub(
                lambda match: _character(match) or match[0], value
            )
            self.at = attribute.end()
        self.at += 1
        if name == "span" and attributes.get("class") != "tg-spoiler":
            raise _cannot_parse(f'Tag "span" must have class "tg-spoiler" at byte offset {where}')
        self.open.append(_OpenTag(name, self.length, attributes, len(self.plain)))

    def _end_tag(self, begin: int) -> None:
        where = self._byte(begin)
        if not self.open:
            raise _cannot_parse(f"Unexpected end tag at byte offset {where}")
        end = self.source.find(">", self.at)
        name = self.source[self.at + 1 : None if end < 0 else end].strip().lower()
        if end < 0 or re.search(r"\s", name):
            raise _cannot_parse(f"Unclosed end tag at byte offset {where}")
        tag = self.open[-1]
        if name and name != tag.name:
            raise _cannot_parse(
                f"Unmatched end tag at byte offset {where}, "
                f'expected "</{tag.name}>", found "</{name}>"'
            )
        self.open.pop()
        self.at = end + 1
        if self.length > tag.start:
            self._close(tag)

    def _close(self, tag: _OpenTag) -> None:
        kind = _TAGS[tag.name]
        entity: Entity = {"type": kind, "offset": tag.start, "length": self.length - tag.start}
        if kind == "text_link":
            inner = "".join(self.plain[tag.begins_at_text :])
            url = tag.attributes.get("href") or inner
            if not re.match(r"(?i)(https?|tg|mailto|tel):", url):
                return  # Telegram drops links it does not understand and keeps the words
            entity["url"] = url
        elif kind == "blockquote" and "expandable" in tag.attributes:
            entity["type"] = "expandable_blockquote"
        elif kind == "custom_emoji":
            if not tag.attributes.get("emoji-id", "").isdigit():
                raise _cannot_parse("Invalid custom emoji identifier specified")
            entity["custom_emoji_id"] = tag.attributes["emoji-id"]
        elif kind == "code" and self.open and self.open[-1].name == "pre":
            language = tag.attributes.get("class", "")
            if language.startswith("language-"):
                self.open[-1].attributes["language"] = language.removeprefix("language-")
            return
        elif kind == "pre" and tag.attributes.get("language"):
            entity["language"] = tag.attributes["language"]
        self.entities.append(entity)

    def _byte(self, index: int) -> int:
        return len(self.source[:index].encode())


def _cannot_parse(reason: str) -> Exception:
    return bad_request(f"can't parse entities: {reason}")


def _next_of(characters: str, source: str, start: int) -> int:
    found = [at for at in (source.find(c, start) for c in characters) if at >= 0]
    return min(found, default=len(source))


def _character(match: re.Match[str]) -> str | None:
    decimal, hexadecimal, name = match.groups()
    if name is not None:
        return _NAMED.get(name)
    code = int(decimal) if decimal is not None else int(hexadecimal, 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else None


def _in_order(entities: list[Entity]) -> list[Entity]:
    return sorted(entities, key=lambda entity: (entity["offset"], -entity["length"]))


def parsed(
    raw: str, parse_mode: str = "", given: Any = None
) -> tuple[str, list[Entity]]:
    """The text and entities a message gets out of what was sent; raises the refusal.

    Of the parse modes only HTML is known here; `given` is the decoded `entities` parameter.
    """
    if not raw:
        raise bad_request("message text is empty")
    raw = raw.translate(_CONTROL)
    mode = parse_mode.lower()
    if mode == "html":
        text, entities = _Html(raw).parse()
    elif mode:
        raise bad_request("unsupported parse_mode")
    else:
        text, entities = raw, given_entities(given)
    text, entities = trimmed(text, entities)
    if not text:
        raise bad_request("text must be non-empty")
    return text, entities


def given_entities(given: Any) -> list[Entity]:
    """The `entities` parameter: an array of objects with a type, an offset and a length."""
    if given is None:
        return []
    if not isinstance(given, list):
        raise _cannot_parse("expected an Array of MessageEntity")
    for entity in given:
        if not isinstance(entity, dict) or not isinstance(entity.get("type"), str):
            raise _cannot_parse("expected an Object with a type")
        for name in ("offset", "length"):
            if not isinstance(entity.get(name), int) or isinstance(entity[name], bool):
                raise _cannot_parse(f'Can\'t find field "{name}"')
    return _in_order(given)


def trimmed(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    """Without the blanks at the end, and at the beginning as far as no entity holds them."""
    text = text.rstrip()
    first_entity = entities[0]["offset"] if entities else len(text)
    blanks = 0
    while blanks < min(first_entity, len(text)) and text[blanks] in " \n":
        blanks += 1
    text = text[blanks:]
    end = utf16_length(text)
    kept = []
    for entity in entities:
        start = max(0, entity["offset"] - blanks)
        length = min(end, entity["offset"] - blanks + entity["length"]) - start
        if length > 0:
            kept.append({**entity, "offset": start, "length": length})
    return text, kept


def too_long(text: str) -> bool:
    return utf16_length(text) > LONGEST_TEXT


def command_entities(text: str) -> list[Entity]:
    """The /commands in what a person wrote."""
    return [
        {
            "type": "bot_command",
            "offset": utf16_length(text[: found.start()]),
            "length": utf16_length(found[0]),
        }
        for found in _COMMAND.finditer(text)
    ]
