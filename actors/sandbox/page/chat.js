// The chat page: shows the owner's view, writes and presses as the owner. It looks again whenever
// the event stream says so, and builds every node from text, never from markup.
"use strict";

const KEY = new URLSearchParams(location.search).get("key") || "";
const COLORS = [7322096, 16766590, 13338331, 9367192, 16749490, 16478047];
const $ = (id) => document.getElementById(id);

let view = null;
let chosen = threadInAddress();
let pending = null; // the look that is due
let typing = new Map(); // thread -> until
const drafts = new Map();
const drawn = new Map(); // message id -> {signature, node}

function threadInAddress() {
  const text = location.hash.slice(1);
  return /^\d+$/.test(text) ? Number(text) : null;
}

async function ask(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: { "X-Sandbox-Key": KEY, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || answer.description || "That did not work.");
  return answer;
}

async function act(path, body) {
  try {
    return await ask("POST", path, body);
  } catch (problem) {
    toast(problem.message);
    return null;
  }
}

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// -- what was read ------------------------------------------------------------------------------

function seenStore() {
  return view ? `seen ${view.bot.id}` : null;
}

function seen() {
  try {
    return JSON.parse(localStorage.getItem(seenStore()) || "{}");
  } catch {
    return {};
  }
}

function markSeen() {
  if (document.hidden || !view) return;
  const shown = view.threads.find((thread) => thread.thread_id === chosen);
  if (!shown || view.thread_id !== chosen) return;
  const all = seen();
  if ((all[chosen] || 0) >= shown.last_id) return;
  all[chosen] = shown.last_id;
  localStorage.setItem(seenStore(), JSON.stringify(all));
}

// -- looking ------------------------------------------------------------------------------------

function lookSoon() {
  if (pending === null) pending = setTimeout(look, 60);
}

async function look() {
  pending = null;
  const asked = chosen;
  let found;
  try {
    found = await ask("GET", `/sandbox/view?thread=${asked === null ? "" : asked}`);
  } catch {
    return;
  }
  if (asked !== chosen) return;
  view = found;
  if (!view.exists) {
    choose(null);
    return;
  }
  markSeen();
  drawThreads();
  drawRoom();
}

function choose(threadId) {
  drafts.set(chosen, $("text").value);
  chosen = threadId;
  history.replaceState(null, "", `${location.pathname}${location.search}#${threadId ?? ""}`);
  document.body.classList.add("in-room");
  $("text").value = drafts.get(chosen) || "";
  fit();
  drawn.clear();
  $("messages").replaceChildren();
  look();
  $("text").focus();
}

// -- drawing ------------------------------------------------------------------------------------

function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

function drawThreads() {
  const read = seen();
  let unread = 0;
  const items = view.threads.map((thread) => {
    const isNew = thread.last_from_bot && thread.last_id > (read[thread.thread_id] || 0);
    if (isNew) unread += 1;
    const button = make("button", isNew ? "unread" : "");
    button.type = "button";
    button.setAttribute("aria-current", String(thread.thread_id === chosen));
    const color = COLORS.indexOf(thread.icon_color);
    const letter = thread.thread_id === null ? "#" : [...thread.name][0].toUpperCase();
    button.append(make("span", `mark c${color < 0 ? "" : (thread.thread_id + color) % 6}`, letter));
    const about = make("span", "about");
    about.append(make("b", "", thread.name), make("span", "", thread.last_text || " "));
    button.append(about);
    if (thread.last_date) button.append(make("span", "when", clock(thread.last_date)));
    button.addEventListener("click", () => choose(thread.thread_id));
    const item = make("li");
    item.append(button);
    return item;
  });
  $("threads").replaceChildren(...items);
  document.title = unread ? `(${unread}) Practice chat` : "Practice chat";
}

function drawRoom() {
  const shown = view.threads.find((thread) => thread.thread_id === chosen);
  $("title").textContent = shown.name;
  drawStatus();
  $("rename").hidden = $("delete").hidden = chosen === null;
  $("new").hidden = !view.threaded_mode;
  drawCommands();

  const list = $("messages");
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
  const nodes = [];
  let day = "";
  for (const message of view.messages) {
    const date = new Date(message.date * 1000).toLocaleDateString([], {
      weekday: "long", day: "numeric", month: "long",
    });
    if (date !== day) nodes.push(make("li", "day", (day = date)));
    const signature = JSON.stringify(message);
    let known = drawn.get(message.message_id);
    if (!known || known.signature !== signature) {
      known = { signature, node: messageNode(message) };
      drawn.set(message.message_id, known);
    }
    nodes.push(known.node);
  }
  if (!nodes.length) nodes.push(emptyNode());
  list.replaceChildren(...nodes);
  if (atEnd) list.scrollTop = list.scrollHeight;
}

function emptyNode() {
  if (chosen !== null) return make("li", "empty", "Nothing here yet. Write the first message.");
  return make("li", "empty", view.threads.length > 1
    ? "Choose a thread on the left. What you write here is in no thread."
    : "Every process gets its own thread here. Start one in a terminal: switchboard");
}

function drawStatus() {
  const busy = (typing.get(chosen) || 0) > Date.now();
  $("status").textContent = busy ? "typing…" : `${view.bot.first_name} · @${view.bot.username}`;
}

function drawCommands() {
  const wanted = view.commands.map((each) => each.command).join(" ");
  if ($("commands").dataset.drawn === wanted) return;
  $("commands").dataset.drawn = wanted;
  $("commands").replaceChildren(...view.commands.map((each) => {
    const button = make("button", "", `/${each.command}`);
    button.type = "button";
    button.title = each.description;
    button.addEventListener("click", () => send(`/${each.command}`));
    return button;
  }));
}

function messageNode(message) {
  if (message.service) return make("li", "service", serviceText(message));
  const node = make("li", `message ${message.from_bot ? "bot" : "you"}`);
  const bubble = make("div", "bubble");
  if (message.reply_to_message_id) {
    const target = view.messages.find((each) => each.message_id === message.reply_to_message_id);
    bubble.append(make("div", "quote", target ? target.text || "…" : "an earlier message"));
  }
  const words = make("div", "words");
  words.append(...formatted(message.text || "", message.entities));
  bubble.append(words);
  const given = Object.values(message.reactions).flat().join(" ");
  if (given) bubble.append(make("div", "reactions", given));
  const edited = message.edited_at_ms ? "edited " : "";
  bubble.append(make("span", "meta", edited + clock(message.date)));
  node.append(bubble);
  if (message.reply_markup) node.append(keysNode(message));
  return node;
}

function serviceText(message) {
  const { forum_topic_created: made, forum_topic_edited: changed } = message.service;
  if (made) return `${message.from_bot ? "The bot" : "You"} opened “${made.name}”`;
  if (changed && changed.name) return `The thread is now called “${changed.name}”`;
  return "The thread has a new icon";
}

function keysNode(message) {
  const keys = make("div", "keys");
  for (const row of message.reply_markup.inline_keyboard) {
    const line = make("div");
    for (const each of row) {
      const button = make("button", "", each.url ? `${each.text} ↗` : each.text);
      button.type = "button";
      button.addEventListener("click", async () => {
        if (each.url) {
          window.open(each.url, "_blank", "noopener,noreferrer");
          return;
        }
        if (each.callback_data === undefined) return;
        button.disabled = true;
        await act("/sandbox/callbacks", {
          message_id: message.message_id, data: each.callback_data,
        });
        button.disabled = false;
      });
      line.append(button);
    }
    keys.append(line);
  }
  return keys;
}

// Entities count UTF-16 units, as JavaScript strings do. They nest and never cross.
function formatted(text, entities) {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  return formattedPart(text, 0, text.length, sorted);
}

function formattedPart(text, start, end, entities) {
  const nodes = [];
  let at = start;
  let index = 0;
  while (index < entities.length) {
    const entity = entities[index];
    const stop = Math.min(end, entity.offset + entity.length);
    index += 1;
    const inner = [];
    while (index < entities.length && entities[index].offset < stop) inner.push(entities[index++]);
    if (entity.offset < at) continue;
    if (entity.offset > at) nodes.push(document.createTextNode(text.slice(at, entity.offset)));
    nodes.push(entityNode(entity, text.slice(entity.offset, stop),
      formattedPart(text, entity.offset, stop, inner)));
    at = stop;
  }
  if (at < end) nodes.push(document.createTextNode(text.slice(at, end)));
  return nodes;
}

function entityNode(entity, plain, children) {
  const tags = {
    bold: "b", italic: "i", underline: "u", strikethrough: "s", code: "code", pre: "pre",
    blockquote: "blockquote", expandable_blockquote: "blockquote",
  };
  const node = make(tags[entity.type] || "span");
  if (entity.type === "text_link" && /^https?:/i.test(entity.url)) {
    const link = make("a");
    link.href = entity.url;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    link.append(...children);
    return link;
  }
  if (entity.type === "bot_command") {
    node.className = "command";
    node.addEventListener("click", () => send(plain));
  }
  node.append(...children);
  return node;
}

let toastEnds = null;
function toast(text) {
  if (!text) return;
  $("toast").textContent = text;
  $("toast").hidden = false;
  clearTimeout(toastEnds);
  toastEnds = setTimeout(() => { $("toast").hidden = true; }, 4000);
}

// -- doing --------------------------------------------------------------------------------------

async function send(text) {
  if (!text.trim()) return false;
  const list = $("messages");
  list.scrollTop = list.scrollHeight;
  const body = chosen === null ? { text } : { text, thread_id: chosen };
  return (await act("/sandbox/messages", body)) !== null;
}

function fit() {
  const box = $("text");
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + 2}px`;
  $("send").disabled = !box.value.trim();
}

$("write").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = $("text").value;
  const thread = chosen;
  $("text").value = "";
  fit();
  if (!(await send(text)) && text.trim() && thread === chosen && !$("text").value) {
    $("text").value = text;
    fit();
  }
});

$("text").addEventListener("input", fit);
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("write").requestSubmit();
  }
});

$("new").addEventListener("click", () => {
  $("new-form").hidden = !$("new-form").hidden;
  if (!$("new-form").hidden) $("new-name").focus();
});
$("new-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const name = $("new-name").value.trim();
  if (!name) return;
  const made = await act("/sandbox/threads", { op: "create", name });
  if (!made) return;
  $("new-name").value = "";
  $("new-form").hidden = true;
  choose(made.thread_id);
});
$("rename").addEventListener("click", async () => {
  const name = window.prompt("New name of this thread", $("title").textContent);
  if (name && name.trim()) {
    await act("/sandbox/threads", { op: "rename", thread_id: chosen, name });
  }
});
$("delete").addEventListener("click", async () => {
  if (window.confirm(`Delete “${$("title").textContent}” with all its messages?`)) {
    await act("/sandbox/threads", { op: "delete", thread_id: chosen });
  }
});
$("back").addEventListener("click", () => document.body.classList.remove("in-room"));

document.addEventListener("visibilitychange", lookSoon);
window.addEventListener("hashchange", () => {
  if (threadInAddress() !== chosen) choose(threadInAddress());
});

// -- hearing ------------------------------------------------------------------------------------

function listen() {
  const stream = new EventSource(`/sandbox/events?key=${encodeURIComponent(KEY)}`);
  stream.onopen = () => {
    $("notice").hidden = true;
    lookSoon();
  };
  stream.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (event.kind === "changed") {
      if (event.thread_id !== undefined) typing.delete(event.thread_id);
      lookSoon();
    } else if (event.kind === "typing") {
      typing.set(event.thread_id, Date.now() + 5000);
      if (view) drawStatus();
      setTimeout(() => view && drawStatus(), 5100);
    } else if (event.kind === "answer") {
      if (event.show_alert) window.alert(event.text);
      else toast(event.text);
    }
  };
  stream.onerror = () => {
    $("notice").textContent =
      "The practice chat has ended. It comes back here when a process starts: switchboard";
    $("notice").hidden = false;
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  };
}

fit();
listen();
look();
