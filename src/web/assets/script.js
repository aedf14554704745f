// Keeps a page live, and sends its forms without leaving it. Every page also works without this.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const connection = byId("connection");
  let seq = Number(document.body.dataset.seq) || 0;
  let source = null;

  // Says how the page is connected. A screen reader hears only changes of the words.
  const say = (words, isLost, offer) => {
    if (!connection) return;
    connection.classList.toggle("is-lost", isLost);
    if (connection.firstElementChild?.textContent !== words) {
      const text = document.createElement("span");
      text.textContent = words;
      connection.replaceChildren(text);
      if (offer) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = offer;
        button.addEventListener("click", connect);
        connection.append(button);
      }
    }
  };

  // Makes an element like another one and keeps what its reader does: focus, typed text, open details, scrolled places.
  const morph = (old, next) => {
    for (const { name } of [...old.attributes]) {
      if (!next.hasAttribute(name) && !(name === "open" && old.localName === "details")) old.removeAttribute(name);
    }
    for (const { name, value } of next.attributes) {
      const isKept = (name === "open" && old.localName === "details") || (name === "value" && old === document.activeElement);
      if (!isKept && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    if (old.localName === "textarea") return;
    let at = old.firstChild;
    for (const wanted of [...next.childNodes]) {
      const known = wanted.id ? [...old.children].find((child) => child.id === wanted.id) : null;
      const fits = known ?? (at && at.nodeName === wanted.nodeName && !at.id === !wanted.id && !(at.id && at.id !== wanted.id) ? at : null);
      if (!fits) {
        old.insertBefore(wanted, at);
        continue;
      }
      if (fits !== at) old.insertBefore(fits, at);
      else at = at.nextSibling;
      if (fits.nodeType === Node.ELEMENT_NODE) morph(fits, wanted);
      else if (fits.data !== wanted.data) fits.data = wanted.data;
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };

  // The parser neither runs scripts nor fetches anything, and the page's policy forbids both.
  const parsed = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    localTimes(template.content);
    return template.content.firstElementChild;
  };

  // When the questions last changed their places, so that a click that was meant for one does not answer another.
  let moved = -Infinity;
  const SETTLED = 800;
  const questions = () => [...document.querySelectorAll(".need")].map((card) => card.id).join(" ");

  const replace = (id, html) => {
    const old = byId(id);
    const next = parsed(html);
    if (!old || !next) return;
    const before = questions();
    const isAtEnd = old.dataset.follow !== undefined && old.scrollTop + old.clientHeight >= old.scrollHeight - 24;
    morph(old, next);
    if (questions() !== before) moved = performance.now();
    if (isAtEnd) old.scrollTop = old.scrollHeight;
  };

  const numberOf = (row) => Number(row.id.slice(row.id.lastIndexOf("-") + 1));

  // Puts rows into a list, newest first, at the places of their numbers.
  const putRows = (list, rows, isNews) => {
    for (const { id, html } of rows) {
      const row = parsed(html);
      if (!row) continue;
      const old = byId(id);
      if (old) {
        morph(old, row);
        continue;
      }
      const number = numberOf(row);
      let before = list.firstElementChild;
      if (before && numberOf(before) >= number) {
        // Older rows usually go to the end.
        const last = list.lastElementChild;
        before = numberOf(last) > number ? null : [...list.children].find((child) => numberOf(child) < number);
      }
      if (isNews) row.classList.add("is-new");
      list.insertBefore(row, before ?? null);
    }
    byId("no-letters")?.remove();
  };

  const connect = () => {
    source?.close();
    const view = encodeURIComponent(location.pathname.split("/").pop() + location.search);
    source = new EventSource(`live?view=${view}&after=${seq}`);
    const on = (name, take) =>
      source.addEventListener(name, (event) => {
        if (event.lastEventId) seq = Math.max(seq, Number(event.lastEventId) || 0);
        take(JSON.parse(event.data));
      });
    on("hello", () => say("Live: news appear here by themselves.", false));
    on("fragment", ({ id, html }) => replace(id, html));
    on("rows", ({ list, rows }) => byId(list) && putRows(byId(list), rows, true));
    on("gone", () => location.reload());
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) {
        say("The connection is lost. The page tries to connect again; what it shows may be old.", true);
        return;
      }
      say("Not connected: `web` has ended, or was started anew and does not know this browser. Open the address that it printed, then", true, "connect again");
    });
  };

  // Older messages come as their link comes near, and stay links for whoever prefers to click.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) loadOlder(entry.target);
  }, { rootMargin: "1200px" });
  const loadOlder = async (link) => {
    near.unobserve(link);
    try {
      const answer = await fetch(link.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      localTimes(page);
      // Each page stays a list of its own, which the browser passes over as a whole while it is out of sight.
      const older = page.getElementById(link.dataset.list);
      if (older) {
        for (const row of [...older.children]) if (byId(row.id)) row.remove();
        older.id = `${older.id}-before-${new URL(link.href).searchParams.get("before")}`;
        older.setAttribute("aria-label", "Older messages, newest first");
        older.classList.add("is-older");
        older.style.containIntrinsicBlockSize = `auto ${older.children.length * 4.4}rem`;
        link.parentElement.before(document.adoptNode(older));
      }
      const next = page.querySelector("a[data-older]");
      if (!next) return link.parentElement.remove();
      link.href = next.href;
      near.observe(link);
    } catch {
      // The link is still there to be clicked.
    }
  };

  // Times come in UTC; a reader wants those of the own clock.
  const clock = new Intl.DateTimeFormat([], { timeStyle: "medium", hour12: false });
  const dayAndMonth = new Intl.DateTimeFormat([], { month: "short", day: "numeric" });
  const wholeTime = new Intl.DateTimeFormat([], { dateStyle: "short", timeStyle: "medium" });
  function localTimes(root) {
    const today = new Date().toDateString();
    for (const time of root.querySelectorAll("time[data-clock]")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      const day = moment.toDateString() === today ? "" : dayAndMonth.format(moment) + " ";
      time.textContent = day + clock.format(moment);
      time.title = wholeTime.format(moment);
    }
  }

  const tell = (words, isWrong) => {
    const outcome = byId("outcome");
    outcome.classList.toggle("is-wrong", isWrong);
    outcome.textContent = words;
  };

  // What refuses a request before it is an act answers with a page.
  const saidIn = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      const page = new DOMParser().parseFromString(text, "text/html");
      const words = (name) => page.querySelector(`main ${name}`)?.textContent;
      return { title: words("h1"), detail: words("p") };
    }
  };

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    event.preventDefault();
    if (form.closest(".need") && performance.now() - moved < SETTLED) {
      return tell("The questions have just changed their places, so nothing was answered. Look again, then answer.", true);
    }
    const body = Object.fromEntries(new FormData(form, event.submitter));
    const buttons = form.querySelectorAll("button");
    buttons.forEach((button) => (button.disabled = true));
    try {
      const answer = await fetch(form.action, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json" },
        body: JSON.stringify(body),
      });
      const said = saidIn(await answer.text());
      const problem = [said.title, said.detail, said.hint].filter(Boolean).join(": ");
      tell(said.words ?? (problem || `Nothing was done: the server answered ${answer.status}. Load the page again.`), !answer.ok);
      if (answer.ok) form.querySelectorAll("textarea, input[type=text]").forEach((field) => (field.value = ""));
    } catch {
      tell("Nothing was sent: `web` does not answer.", true);
    } finally {
      buttons.forEach((button) => (button.disabled = false));
    }
  });

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = byId("keys");
    if (event.key === "/") {
      event.preventDefault();
      byId("q")?.focus();
    } else if (event.key === "?" && keys) {
      keys.open ? keys.close() : keys.showModal();
    } else if (/^[1-9]$/.test(event.key) && !keys?.open) {
      document.querySelectorAll(".views a")[Number(event.key) - 1]?.click();
    } else if ((event.key === "j" || event.key === "k") && !keys?.open) {
      const rows = [...document.querySelectorAll("main [data-row], main .who a")];
      const at = rows.indexOf(document.activeElement);
      rows[Math.min(Math.max(at + (event.key === "j" ? 1 : -1), 0), rows.length - 1)]?.focus();
    }
  });

  // On a phone the views have one row that scrolls; the chosen one comes to its middle.
  const chosen = document.querySelector(".views a[aria-current]");
  const views = chosen?.closest(".views");
  if (views) {
    const [inner, outer] = [chosen.getBoundingClientRect(), views.getBoundingClientRect()];
    views.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  }

  localTimes(document);
  document.querySelectorAll("[data-newest]").forEach((drawing) => (drawing.scrollLeft = drawing.scrollWidth));
  document.querySelectorAll("[data-follow]").forEach((list) => (list.scrollTop = list.scrollHeight));
  document.querySelectorAll("a[data-older]").forEach((link) => near.observe(link));
  if (document.body.dataset.live !== undefined) connect();
})();
