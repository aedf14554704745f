// Looks at the pages of `cli-team-bridge web` in a real browser, and ends with 1 at the first thing that is not as it should be.
// Its environment names the program, the project and the packages; its only argument is the part to play. Prints what it measured.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const { BRIDGE, PROJECT, PLAYWRIGHT, CHROMIUM, AXE, PICTURES } = process.env;
const run = promisify(execFile);
const { chromium: driver } = createRequire(`${PLAYWRIGHT}/x.js`)("playwright-core");
const build = pathToFileURL(`${CHROMIUM}/@sparticuz/chromium/build/index.js`);
const { default: packaged } = await import(build);
const axe = readFileSync(`${AXE}/axe-core/axe.min.js`, "utf8");

const LONG = 30_000;
const say = (what, value) => console.log(`${what}: ${value}`);

// Starts the server, and returns it with the URL of its first line.
async function serve(port) {
  const given = port ? ["--port", String(port)] : [];
  const child = spawn(BRIDGE, ["web", "--no-open", "--write", "--answer", "--project", PROJECT, ...given], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = await once(createInterface(child.stdout), "line");
  return { child, url, port: Number(new URL(url).port) };
}

async function end(server, signal) {
  const ended = once(server.child, "exit");
  server.child.kill(signal);
  await ended;
}

async function bridge(...words) {
  const { stdout } = await run(BRIDGE, [...words, "--project", PROJECT], { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

// Opens a page that fails the look if it asks for anything, or complains about its policy.
async function open(context, url) {
  const page = await context.newPage();
  page.setDefaultTimeout(LONG);
  page.on("dialog", (dialog) => {
    throw new Error(`a dialog: ${dialog.message()}`);
  });
  page.on("console", (said) => {
    if (/Content Security Policy|Refused to/.test(said.text())) throw new Error(said.text());
  });
  const answer = await page.goto(url);
  return { page, status: answer.status() };
}

const isLive = (page) => page.waitForFunction(() => document.querySelector("#connection").textContent.startsWith("Live"));

async function picture(page, name) {
  if (!PICTURES) return;
  const path = `${PICTURES}/web-${name}.png`;
  await page.screenshot({ path });
  assert.ok(statSync(path).size < 200 * 1024, `${name} is ${statSync(path).size} bytes`);
}

async function views() {
  const [task, workflow] = await Promise.all([bridge("tasks", "--json"), bridge("workflows", "--json")]);
  const messages = JSON.parse(await bridge("messages", "--json"));
  return {
    team: "", member: "member-eve", conversation: "conversation", thread: `thread-${messages[0].thread_id}`,
    sequence: "sequence", timeline: "timeline", tasks: "tasks", task: `task-${JSON.parse(task)[0].task_id}`,
    workflows: "workflows", workflow: `workflow-${JSON.parse(workflow)[0].workflow_id}`, usage: "usage?by=agent",
    search: "search?q=map", nothing: "member-nobody",
  };
}

async function violations(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => {
    // Not a part of the default rules: what is to be seen of a link or a button is in its name, so that it can be said.
    const rules = { "label-content-name-mismatch": { enabled: true } };
    return globalThis.axe.run(document, { resultTypes: ["violations"], rules });
  });
  return violations.map(({ id, nodes }) => `${what}: ${id}: ${nodes[0].target} ${nodes[0].failureSummary}`);
}

// Says whether a drawing shows its newest end, and beside it who is who, with nothing at the left of that.
function newestInSight() {
  const frame = document.querySelector("[data-newest]");
  const edges = [frame, frame.querySelector(".names")].map((part) => Math.round(part.getBoundingClientRect().left));
  return frame.scrollLeft + frame.clientWidth >= frame.scrollWidth - 2 && edges[1] - edges[0] < 2;
}

// Returns the labels of a timeline that stand in another label or in the bar of another.
function crossedLabels() {
  const [drawing] = [...document.querySelectorAll(".drawing svg")].slice(-1);
  const box = (part) => part.getBoundingClientRect();
  const meet = (one, other) =>
    one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 3 && other.top < one.bottom - 3;
  const labels = [...drawing.querySelectorAll("text")];
  const bars = [...drawing.querySelectorAll("rect")];
  const isOwn = (label, bar) => label.parentNode === bar.parentNode && bar.nextElementSibling === label;
  const crossed = (label, index) =>
    labels.slice(index + 1).some((other) => meet(box(label), box(other))) ||
    bars.some((bar) => !isOwn(label, bar) && meet(box(label), box(bar)));
  return labels.filter(crossed).map((label) => label.textContent);
}

async function everyView(browser, signedIn, server) {
  const wrong = [];
  const looks = [["light", 1280, 860], ["dark", 1280, 860], ["light", 360, 740], ["dark", 360, 740]];
  for (const [scheme, width, height] of looks) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height }, storageState: signedIn });
    for (const [name, path] of Object.entries(await views())) {
      const { page, status } = await open(context, server.base + path);
      const what = `${name}, ${scheme}, ${width} px`;
      assert.equal(status, 200, what);
      if (name !== "search") await isLive(page);
      wrong.push(...(await violations(page, what)));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wide > 0) wrong.push(`${what}: ${wide} px too wide`);
      if (name === "timeline" && !(await page.evaluate(newestInSight))) wrong.push(`${what}: the newest is out of sight`);
      if (name === "timeline") wrong.push(...(await page.evaluate(crossedLabels)).map((label) => `${what}: crossed: ${label}`));
      if (scheme === "light" && width > 1000 && ["team", "workflow", "timeline"].includes(name)) await picture(page, name);
      if (scheme === "dark" && width > 1000 && name === "member") await picture(page, name);
      if (scheme === "dark" && width < 1000 && name === "team") await picture(page, "phone");
      await page.close();
    }
    await context.close();
  }
  assert.deepEqual(wrong, []);
  say("views without a violation", looks.length * Object.keys(await views()).length);
}

// The time from the moment that a message has on the bus to its row in the page.
async function livesUp(page) {
  const times = [];
  for (let number = 0; number < 5; number++) {
    const words = `live message ${number}`;
    const seen = page.evaluate((words) => new Promise((found) => {
      const look = () => document.querySelector("#letters").textContent.includes(words) && found(Date.now());
      new MutationObserver(look).observe(document.querySelector("#letters"), { childList: true, subtree: true });
    }), words);
    await bridge("send", "eve", words);
    const at = await seen;
    const sent = JSON.parse(await bridge("messages", "--json")).find((letter) => letter.text === words);
    times.push(at - Date.parse(sent.at));
    assert.ok(times.at(-1) < 5_000, `a message takes ${times.at(-1)} ms`);
    await new Promise((later) => setTimeout(later, 400));
  }
  say("milliseconds from a message on the bus to its row", times.join(", "));
}

// A page of another server on this machine gets no cookie, loads nothing, and locks nobody out.
async function keepsOthersOut(context, server) {
  const cookies = [];
  const images = `<img src="${new URL("/sign-in?token=x", server.url)}">`.repeat(20) + `<iframe src="${server.base}"></iframe>`;
  const other = createServer((request, answer) => {
    cookies.push(request.headers.cookie);
    answer.setHeader("content-type", "text/html");
    answer.end(images);
  });
  await once(other.listen(0, "127.0.0.1"), "listening");
  const page = await context.newPage();
  const answers = [];
  page.on("response", (answer) => answers.push(answer.status()));
  await page.goto(`http://127.0.0.1:${other.address().port}/`, { waitUntil: "networkidle" });
  await page.close();
  other.close();
  assert.deepEqual(cookies.filter(Boolean), []);
  assert.deepEqual(answers.filter((status) => status === 200).length, cookies.length, "only the other server's own page");
  assert.equal((await fetch(server.url)).status, 403, "the URL was used, and nobody is locked out");
}

// The browser takes the pages for an app of its own window: it reads the manifest, whose start and icon answer.
async function canBeInstalled(context, page, server) {
  const session = await context.newCDPSession(page);
  const { errors, manifest } = await session.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  assert.equal(manifest.display, "kStandalone");
  assert.equal(manifest.startUrl, server.base);
  assert.equal((await page.request.get(manifest.startUrl)).status(), 200);
  const icon = await page.request.get(manifest.icons[0].url);
  assert.match(icon.headers()["content-type"], /^image\/svg/);
}

async function keysWork(page) {
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "q");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  assert.ok(await page.locator("#keys").evaluate((dialog) => dialog.open));
  await page.keyboard.press("Escape");
  await page.keyboard.press("2");
  await page.waitForURL("**/conversation");
}

async function looks(browser) {
  const server = await serve();
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  const { page, status } = await open(context, server.url);
  assert.equal(status, 200);
  server.base = page.url();
  assert.match(server.base, /\/[0-9a-f]{32}\/$/, "the token is not in the address any more");
  await isLive(page);
  assert.match(await page.title(), /^\(2\) Team · project$/);
  const stranger = await browser.newContext();
  assert.equal((await open(stranger, server.url)).status, 403, "the URL signs in once");
  assert.equal((await open(stranger, server.base)).status, 401, "nobody looks without signing in");
  await stranger.close();
  const signedIn = await context.storageState();

  await keepsOthersOut(context, server);
  await canBeInstalled(context, page, server);
  await everyView(browser, signedIn, server);
  await keysWork(page);
  await isLive(page);
  await livesUp(page);

  // A question is answered, and the page says what came of it.
  await page.goto(server.base);
  await page.getByRole("button", { name: "Allow once" }).click();
  await page.waitForFunction(() => document.querySelector("#outcome").textContent !== "");
  assert.match(await page.locator("#outcome").textContent(), /may do this once/);
  await page.waitForFunction(() => document.title.startsWith("(1) "));
  assert.equal(await page.getByRole("button", { name: "Allow once" }).count(), 0);
  // A click at once might be meant for the question that stood there before, and answers nothing.
  await page.getByRole("button", { name: "Approve" }).click();
  await page.waitForFunction(() => document.querySelector("#outcome").textContent.includes("nothing was answered"));
  await page.waitForTimeout(1_000);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.waitForFunction(() => document.title.startsWith("Team"));

  // The same without the script: a message is sent, and the page after it says so.
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState: signedIn });
  const { page: still } = await open(plain, `${server.base}member-eve`);
  await still.locator("textarea").fill("sent without a script");
  await still.getByRole("button", { name: "Send" }).click();
  await still.waitForURL("**/member-eve");
  assert.match(await still.locator("#outcome").textContent(), /eve/);
  assert.match(await bridge("messages"), /sent without a script/);
  await plain.close();

  await comesBack(page, context, server);
  await browser.close();
}

// The server is killed and started anew: the page says so, and after signing in again it has what was said meanwhile.
async function comesBack(page, context, server) {
  await page.goto(`${server.base}conversation`);
  await isLive(page);
  await end(server, "SIGKILL");
  await page.waitForFunction(() => document.querySelector("#connection").textContent.includes("connection is lost"));
  await bridge("send", "eve", "said while nobody served");
  const next = await serve(server.port);
  const again = page.getByRole("button", { name: "connect again" });
  await again.waitFor();
  const { page: signing } = await open(context, next.url);
  await signing.close();
  await again.click();
  await isLive(page);
  await page.waitForFunction(() => document.querySelector("#letters").textContent.includes("said while nobody served"));
  const ids = await page.locator("#letters > li").evaluateAll((rows) => rows.map((row) => row.id));
  assert.equal(new Set(ids).size, ids.length, "no row is there twice");
  const numbers = ids.map((id) => Number(id.slice(7)));
  assert.deepEqual(numbers, numbers.toSorted((one, other) => other - one), "newest first");
  await end(next, "SIGTERM");
}

// Ten thousand messages scroll, and a hostile text is a text.
async function scrolls(browser) {
  const server = await serve();
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  const began = performance.now();
  const { page } = await open(context, server.url);
  server.base = page.url();
  say("milliseconds to the first view", Math.round(performance.now() - began));
  await page.goto(`${server.base}conversation`);
  await isLive(page);
  const hostile = page.locator("#letters > li", { hasText: "alert(1)" }).first();
  assert.match(await hostile.textContent(), /<script>alert\(1\)<\/script>.*\[31m?red/);
  const odd = await hostile.evaluate((row) => /[\u0000-\u0008\u001b\u202a-\u202e\u200b]/.test(row.textContent));
  assert.ok(!odd, "nothing hides in it");
  assert.equal(await page.locator("script").count(), 1);
  assert.equal(await page.locator("main img").count(), 0);

  const messages = "#letters > li, .letters.is-older > li";
  const rows = page.locator(messages);
  const scrolling = performance.now();
  let count = 0;
  while (count < 10_000) {
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    const isLonger = ([rows, before]) => document.querySelectorAll(rows).length > before;
    await page.waitForFunction(isLonger, [messages, count]);
    count = await rows.count();
  }
  say(`milliseconds to scroll down ${count} messages`, Math.round(performance.now() - scrolling));
  const frames = await page.evaluate(async () => {
    const times = [];
    for (let step = 0; step < 60; step++) {
      const before = performance.now();
      window.scrollBy(0, -1500);
      await new Promise(requestAnimationFrame);
      times.push(performance.now() - before);
    }
    return times.sort((one, other) => one - other);
  });
  say("milliseconds of a frame while scrolling, median and longest", `${Math.round(frames[30])}, ${Math.round(frames[59])}`);
  const ids = await rows.evaluateAll((all) => all.map((row) => row.id));
  assert.equal(new Set(ids).size, ids.length, "no message is there twice");
  await end(server, "SIGTERM");
  await browser.close();
}

// The package's own arguments take the walls between origins down, which are a part of what is looked at.
const unwanted = /single-process|web-security|insecure-content|site-isolation|IsolateOrigins/;
const arguments_ = packaged.args.filter((argument) => !unwanted.test(argument));
process.on("unhandledRejection", (error) => {
  console.error(error);
  process.exit(1);
});

// The browser is not ours, and has crashed before it had a page.
async function launched() {
  const how = { executablePath: await packaged.executablePath(), args: arguments_, headless: true };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await driver.launch(how);
    } catch (error) {
      if (attempt === 3) throw error;
      console.error(`the browser did not start: ${error.message.split("\n")[0]}`);
    }
  }
}

const browser = await launched();
await { looks, scrolls }[process.argv[2]](browser);
