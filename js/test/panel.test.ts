/** How the panel follows a kernel, and draws its models. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { press, resize } from "./page.ts";
import type { Comm, CommMessage, KernelConnection, KernelMessage } from "../src/panel/link/lab.ts";
import { Link, type About, type Row } from "../src/panel/link/link.ts";
import { factsOf, markOf, MODEL_ACTIONS, type ModelRow } from "../src/panel/sections/modelrow.ts";

mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
const { Sidebar } = await import("../src/panel/sidebar.ts");
const { definedIn, resolved } = await import("../src/panel/doing.ts");

class FakeSignal<Value> {
  slots = new Set<(sender: never, value: Value) => void>();
  #sender: object;
  constructor(sender: object) {
    this.#sender = sender;
  }
  connect(slot: (sender: never, value: Value) => void): boolean {
    this.slots.add(slot);
    return true;
  }
  disconnect(slot: (sender: never, value: Value) => void): boolean {
    return this.slots.delete(slot);
  }
  emit(value: Value): void {
    for (const slot of this.slots) slot(this.#sender as never, value);
  }
}

/** A kernel, with what its pages send. */
class FakeKernel {
  id = "kernel";
  status = "idle";
  isDisposed = false;
  info = Promise.resolve({});
  statusChanged = new FakeSignal<string>(this);
  disposed = new FakeSignal<void>(this);
  iopubMessage = new FakeSignal<KernelMessage>(this);
  isLoaded = false;
  asked = 0;
  sent: Row[] = [];
  comm: (Comm & { isDisposed: boolean }) | null = null;

  async requestCommInfo(): Promise<{ content: { comms: object } }> {
    this.asked++;
    return { content: { comms: this.isLoaded ? { a: {} } : {} } };
  }
  createComm(): Comm {
    const comm = {
      isDisposed: false,
      onMsg: (_: CommMessage) => undefined as void,
      onClose: (_: CommMessage) => undefined as void,
      open: (data: Row) => this.sent.push(data),
      send: (data: Row) => this.sent.push(data),
      close: () => (comm.isDisposed = true),
    };
    this.comm = comm;
    return comm;
  }
  say(data: Row, ...buffers: ArrayBuffer[]): void {
    this.comm?.onMsg({ content: { data }, buffers });
  }
  ran(): void {
    const header = { msg_type: "status" };
    this.iopubMessage.emit({ header, parent_header: { msg_type: "execute_request" }, content: { execution_state: "idle" } });
  }
  /** The notebook of this connection is closed. */
  dispose(): void {
    this.isDisposed = true;
    this.disposed.emit();
  }
  get connection(): KernelConnection {
    return this as unknown as KernelConnection;
  }
}

/** Let what waits for promises continue. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

async function linked(changed: (list: string) => void = () => undefined): Promise<[Link, FakeKernel]> {
  const kernel = new FakeKernel();
  kernel.isLoaded = true;
  const link = new Link(changed);
  link.attach(kernel.connection);
  await settled();
  kernel.say({ v: 1, type: "welcome", actions: ["load", "unload", "open", "edit"] });
  return [link, kernel];
}

function model(name: string, rest: Row = {}): Row {
  return {
    ...{ name, state: "READY", reason: "", versions: [1], origin: "cell In[2]", trouble: [], differs: false },
    ...{ standin: "", running: [], busy: 0, instances: 1, waiting: 0, ...rest },
  };
}

test("a row of a model says what is busy, what waits, and how many versions are served", () => {
  const facts = [
    {},
    { versions: [1, 2] },
    { busy: 1, instances: 2, waiting: 1, versions: [] },
  ].map((rest) => factsOf(model("a", rest) as unknown as ModelRow));

  assert.deepEqual(facts, [[], ["2 versions"], ["busy 1/2", "queue 1"]]);
});

test("a model that is not ready is loading, was unloaded, or has failed for its reason", () => {
  const marks = [
    {},
    { trouble: ["its configuration is older"] },
    { state: "not loaded", reason: "" },
    { state: "UNAVAILABLE", reason: "unloaded" },
    { state: "LOADING", reason: "" },
    { state: "UNAVAILABLE", reason: "no such file" },
  ].map((rest) => markOf(model("a", rest) as unknown as ModelRow));

  assert.deepEqual(marks, ["ready", "stale", "unloaded", "unloaded", "loading", "failed"]);
});

test("a kernel without blsnb is asked again after each execution, and no comm is opened", async () => {
  const kernel = new FakeKernel();
  const link = new Link(() => undefined);
  link.attach(kernel.connection);
  await settled();
  assert.equal(link.state, "absent");
  kernel.ran();
  await settled();
  assert.deepEqual([kernel.asked, kernel.sent], [2, []]);
  kernel.isLoaded = true;
  kernel.ran();
  await settled();
  assert.deepEqual(kernel.sent, [{ v: 1, type: "hello" }]);
});

test("what is shown is watched, renewed each minute, and no more after a restart", async () => {
  const [link, kernel] = await linked();
  link.watch(["models"]);
  mock.timers.tick(60_000);
  const watches = kernel.sent.filter(({ type }) => type === "watch");
  assert.deepEqual(watches.map(({ what, again }) => [what, again]), [
    [[], false],
    [["models"], false],
    [["models"], true],
  ]);
  kernel.statusChanged.emit("restarting");
  assert.equal(link.state, "asking");
  mock.timers.tick(60_000);
  assert.equal(kernel.sent.filter(({ type }) => type === "watch").length, 3);
});

test("a kernel that dies is asked again, one that is busy stays linked, and one that unloads blsnb is left", async () => {
  for (const [status, expected] of [["dead", "asking"], ["terminating", "asking"], ["busy", "linked"], ["unknown", "linked"]]) {
    const [link, kernel] = await linked();
    kernel.statusChanged.emit(status);
    assert.equal(link.state, expected, status);
  }
  const [link, kernel] = await linked();
  kernel.comm!.onClose({ content: { data: {} } });
  assert.equal(link.state, "absent");
});

test("requests without an answer are rejected when the kernel is restarted", async () => {
  const [link, kernel] = await linked();
  const answer = link.act("load", { model: "double" });
  kernel.statusChanged.emit("autorestarting");
  await assert.rejects(answer, /The kernel ended before it answered/);
});

test("an answer reaches its request, an error with its text", async () => {
  const [link, kernel] = await linked();
  const [first, second] = [link.act("load", { model: "a" }), link.act("load", { model: "b" })];
  const [one, two] = kernel.sent.slice(-2).map(({ id }) => id);
  kernel.say({ type: "answer", id: two, error: { code: "refused", text: "no" } });
  kernel.say({ type: "answer", id: one, done: "yes" });
  assert.equal((await first).done, "yes");
  await assert.rejects(second, /no/);
});

/** Return a link that has left a kernel for another one, the first kernel, and what was shown of the first one's action. */
async function left(): Promise<[Link, FakeKernel, string[]]> {
  const [link, kernel] = await linked();
  link.watch(["models"]);
  const shown: string[] = [];
  link.act("load", { model: "a" }).then(({ done }) => shown.push(done!), (error: Error) => shown.push(error.message));
  await another(link);
  assert.deepEqual([shown, kernel.sent.at(-1)!.what], [[], []], "no list is watched");
  return [link, kernel, shown];
}

/** Return the id of the only action. */
function idOf({ sent }: FakeKernel): unknown {
  return sent.find(({ type }) => type === "action")!.id;
}

/** Bring another kernel to the front. */
async function another(link: Link): Promise<void> {
  const other = new FakeKernel();
  link.attach(other.connection);
  await settled();
}

/** Bring a kernel to the front that has loaded blsnb. */
async function back(link: Link, kernel: FakeKernel): Promise<void> {
  link.attach(kernel.connection);
  await settled();
  kernel.say({ v: 1, type: "welcome", actions: ["load"] });
  await settled();
}

test("an action is answered when its kernel is in front again", async () => {
  for (const [rest, expected] of [[{ done: "yes" }, "yes"], [{ error: { code: "refused", text: "no" } }, "no"]] as const) {
    const [link, kernel, shown] = await left();
    const comm = kernel.comm!;
    assert.equal(comm.isDisposed, false);
    kernel.say({ type: "answer", id: idOf(kernel), ...rest });
    await settled();
    assert.deepEqual(shown, []);
    assert.equal(comm.isDisposed, true, "nothing more is awaited from it");
    await back(link, kernel);
    assert.deepEqual(shown, [expected]);
  }
});

test("an action that still runs when its kernel is in front again is answered then", async () => {
  const [link, kernel, shown] = await left();
  const [comm, id] = [kernel.comm!, idOf(kernel)];
  await back(link, kernel);
  assert.deepEqual(shown, []);
  comm.onMsg({ content: { data: { type: "answer", id, done: "yes" } } });
  await settled();
  assert.deepEqual(shown, ["yes"]);
  assert.deepEqual([comm.isDisposed, kernel.comm!.isDisposed, link.state], [true, false, "linked"]);
});

test("a kernel that ends behind another one rejects its action when it is in front again", async () => {
  const ends = [
    (kernel: FakeKernel) => kernel.statusChanged.emit("restarting"),
    (kernel: FakeKernel) => kernel.comm!.onClose({ content: { data: {} } }),
  ];
  for (const end of ends) {
    const [link, kernel, shown] = await left();
    end(kernel);
    await settled();
    assert.deepEqual([shown, link.state], [[], "absent"]);
    kernel.isLoaded = false;
    link.attach(kernel.connection);
    await settled();
    assert.deepEqual(shown, ["The kernel ended before it answered."]);
  }
});

test("an action whose notebook is closed is rejected at once, in front and behind another one", async () => {
  const closed = "A notebook was closed or left its kernel before an answer was shown.";
  const [, behind, shown] = await left();
  behind.dispose();
  await settled();
  assert.deepEqual(shown, [closed]);

  const [link, kernel] = await linked();
  const answer = assert.rejects(link.act("load", { model: "a" }), new RegExp(closed));
  kernel.dispose();
  link.attach(null);
  await answer;
});

test("an action without a link is refused at once", async () => {
  const link = new Link(() => undefined);
  link.attach(new FakeKernel().connection);
  await assert.rejects(link.act("load", { model: "a" }), /has not loaded blsnb/);
});

test("what is drawn of a kernel is not awaited behind another one", async () => {
  const [link, kernel] = await linked();
  const answer = assert.rejects(link.query("graph", { width: 100 }), /Another kernel is in front/);
  await another(link);
  await answer;
  assert.equal(kernel.comm!.isDisposed, true);
});

let current: FakeKernel;
let acted: [string, About][] = [];

async function shown(): Promise<InstanceType<typeof Sidebar>> {
  let update: (list: string) => void = () => undefined;
  const [link, kernel] = await linked((list) => update(list));
  [current, acted] = [kernel, []];
  const sidebar = new Sidebar(link, (...each) => void acted.push(each), () => undefined);
  update = (list) => sidebar.update(list);
  update("");
  document.body.replaceChildren(sidebar.node);
  sidebar.setVisible(true);
  return sidebar;
}

test("names are text: what looks like HTML stays what it is", async () => {
  const sidebar = await shown();
  const bad = "<img src=x onerror=alert(1)>";
  current.say({ v: 1, type: "models", seq: 1, whole: true, rows: [model(bad, { origin: bad })], removed: [] });
  assert.equal(sidebar.node.querySelectorAll("img").length, 0);
  assert.equal(sidebar.node.querySelector(".name")!.textContent, bad);
});

test("the tabs are hidden while the kernel has not loaded blsnb; the chosen one comes back", async () => {
  const sidebar = await shown();
  const body = (): HTMLElement => sidebar.node.querySelector<HTMLElement>(".body")!;
  sidebar.choose("graph");
  assert.equal(body().hidden, false);
  current.isLoaded = false;
  current.statusChanged.emit("restarting");
  assert.equal(body().hidden, true);
  sidebar.node.querySelector<HTMLElement>("#blsnb-tab-of-notes")!.click();
  current.isLoaded = true;
  current.ran();
  await settled();
  current.say({ v: 1, type: "welcome", actions: [] });
  assert.equal(body().hidden, false);
  assert.equal(sidebar.node.querySelector('[aria-selected="true"]')!.textContent, "Notes");
});

test("arrow keys choose the next tab and wrap, Home and End the first and the last", async () => {
  const sidebar = await shown();
  const chosen = (): string | null => {
    const tab = sidebar.node.querySelector('[role="tab"][tabindex="0"]');
    assert.equal(document.activeElement, tab);
    return tab!.textContent;
  };
  sidebar.node.querySelector<HTMLElement>('[role="tab"]')!.focus();
  const keys = ["ArrowLeft", "ArrowRight", "ArrowRight", "End", "ArrowDown", "Home"];
  const after = keys.map((key) => [press(document.activeElement!, key), chosen()]);
  assert.deepEqual(after, [
    [false, "Notes"],
    [false, "Models"],
    [false, "Runs"],
    [false, "Notes"],
    [true, "Notes"],
    [false, "Models"],
  ]);
});

test("five hundred models are drawn, and a change redraws one row", async () => {
  const sidebar = await shown();
  const rows = Array.from({ length: 500 }, (_, n) => model(`m${String(n).padStart(3, "0")}`));
  current.say({ v: 1, type: "models", seq: 1, whole: true, rows, removed: [] });
  const items = [...sidebar.node.querySelectorAll("li")];
  assert.equal(items.length, 500);
  const heads = items.map((each) => each.firstElementChild);
  current.say({ v: 1, type: "models", seq: 2, whole: false, rows: [model("m007", { state: "UNAVAILABLE", reason: "unloaded" })], removed: ["m003"] });
  const after = [...sidebar.node.querySelectorAll("li")];
  assert.equal(after.length, 499);
  const same = after.filter((each) => heads.includes(each.firstElementChild)).length;
  assert.equal(same, 498);
  assert.equal(after[6].querySelector(".state")!.textContent, "unloaded");
});

test("one row is in the tab order; arrow keys move, Enter opens the actions that a model has", async () => {
  const sidebar = await shown();
  const rows = ["a", "b", "c"].map((name) => model(name));
  current.say({ v: 1, type: "models", seq: 1, whole: true, rows, removed: [] });
  const heads = (): HTMLElement[] => [...sidebar.node.querySelectorAll<HTMLElement>(".head")];
  assert.deepEqual(heads().map(({ tabIndex }) => tabIndex), [0, -1, -1]);
  heads()[0].focus();
  press(heads()[0], "ArrowDown");
  assert.equal(document.activeElement, heads()[1]);
  heads()[1].click();
  assert.equal(heads()[1].getAttribute("aria-expanded"), "true");
  const buttons = [...sidebar.node.querySelectorAll<HTMLElement>(".actions button")];
  assert.deepEqual(buttons.map(({ textContent }) => textContent), ["Load", "Unload", "Open", "Edit"]);
  buttons[1].click();
  assert.deepEqual(acted, [["unload", { model: "b" }]]);
  const actions = MODEL_ACTIONS.map(([name]) => name);
  const offered = (rest: Row): (string | null)[] => {
    current.say({ v: 1, type: "welcome", actions });
    current.say({ v: 1, type: "models", seq: 2, whole: true, rows: [model("b", rest)], removed: [] });
    return [...sidebar.node.querySelectorAll(".actions button")].map(({ textContent }) => textContent);
  };
  assert.deepEqual(offered({ state: "UNAVAILABLE" }), ["Load", "Open", "Edit", "Export"]);
  assert.deepEqual(offered({}), ["Load", "Unload", "Open", "Edit", "Try", "Stats", "Export"]);
  assert.deepEqual(offered({ differs: true }).slice(-3), ["Diff", "Write to folder", "Export"]);
});

test("a cell's model is found by its name, and a file's path from the served folder", () => {
  assert.equal(definedIn('%%triton_model "a b" --version 2\n'), "a b");
  assert.equal(definedIn("%%triton_model double"), "double");
  assert.equal(definedIn("print()"), null);
  assert.equal(resolved(["work"], "../models/a/1/model.py"), "models/a/1/model.py");
  assert.equal(resolved(["work"], "./models//a/model.py"), "work/models/a/model.py");
  assert.equal(resolved([], "../outside.py"), null);
  assert.equal(resolved([], "/etc/passwd"), null);
});

function choose(sidebar: InstanceType<typeof Sidebar>, label: string): void {
  const tabs = [...sidebar.node.querySelectorAll<HTMLElement>("[role=tab]")];
  tabs.find(({ textContent }) => textContent === label)?.click();
}

test("log lines are filtered by call", async () => {
  const sidebar = await shown();
  choose(sidebar, "Logs");
  const line = (number: string, call: string): Row => ({ number, model: "m", level: "INFO", call, text: number });
  const rows = [line("0", "run a call 0"), line("1", "run a call 1"), line("2", "")];
  current.say({ v: 1, type: "logs", seq: 1, whole: true, rows, removed: [] });
  const select = sidebar.node.querySelector<HTMLSelectElement>("select[aria-label=Call]")!;
  const offered = (): string[] => {
    select.dispatchEvent(new Event("focus"));
    return [...select.options].map(({ text }) => text);
  };
  assert.deepEqual(offered(), ["all calls", "run a call 1", "run a call 0"]);
  select.value = "run a call 0";
  select.dispatchEvent(new Event("change"));
  const texts = (): (string | null)[] => [...sidebar.node.querySelectorAll("li .text")].map(({ textContent }) => textContent);
  assert.deepEqual(texts(), ["0"]);
  current.say({ v: 1, type: "logs", seq: 2, whole: false, rows: [line("3", "run a call 3")], removed: ["0"] });
  assert.deepEqual([select.options.length, texts()], [3, []], "the list of a filter that may be open stays");
  assert.deepEqual([offered(), select.value], [["all calls", "run a call 0", "run a call 3", "run a call 1"], "run a call 0"]);
});

test("log lines are filtered by model, level and text, newest first", async () => {
  const sidebar = await shown();
  choose(sidebar, "Logs");
  const lines = [["a", "INFO", "one"], ["b", "INFO", "two"], ["a", "ERROR", "three"], ["b", "ERROR", "Four"]];
  const rows = lines.map(([model, level, text], number) => ({ number: String(number), model, level, call: "", text }));
  current.say({ v: 1, type: "logs", seq: 1, whole: true, rows, removed: [] });
  const found = (model: string, level: string, text: string): (string | null)[] => {
    for (const [label, value, event] of [["Model", model, "change"], ["Level", level, "change"], ["Filter lines", text, "input"]]) {
      const field = sidebar.node.querySelector<HTMLInputElement>(`[aria-label="${label}"]`)!;
      field.dispatchEvent(new Event("focus"));
      field.value = value;
      field.dispatchEvent(new Event(event));
    }
    return [...sidebar.node.querySelectorAll("li .text")].map(({ textContent }) => textContent);
  };

  assert.deepEqual(found("", "", ""), ["Four", "three", "two", "one"]);
  assert.deepEqual(found("a", "", ""), ["three", "one"]);
  assert.deepEqual(found("", "ERROR", ""), ["Four", "three"]);
  assert.deepEqual(found("b", "ERROR", ""), ["Four"]);
  assert.deepEqual(found("", "", " fOUR "), ["Four"]);
  assert.deepEqual(found("a", "INFO", "x"), []);
});

test("log lines stay while they are read or selected, and say how many are new", async () => {
  const sidebar = await shown();
  choose(sidebar, "Logs");
  const line = (number: number): Row => ({ number: String(number), model: "m", level: "INFO", call: "", text: `line ${number}` });
  const log = (...numbers: number[]): void =>
    current.say({ v: 1, type: "logs", seq: 1, whole: numbers[0] === 0, rows: numbers.map(line), removed: [] });
  const texts = (): (string | null)[] => [...sidebar.node.querySelectorAll("li .text")].map(({ textContent }) => textContent);
  const waits = (): string | null => sidebar.node.querySelector(".listing .waits")!.textContent;
  const moved = (target: Node): unknown => target.dispatchEvent(new Event("pointermove", { bubbles: true }));
  log(0);
  moved(sidebar.node.querySelector("li")!);
  log(1, 2);
  assert.deepEqual([texts(), waits()], [["line 0"], "2 new lines when the pointer, the focus and the selection leave the list."]);
  document.getSelection()!.selectAllChildren(sidebar.node.querySelector("li .text")!);
  moved(document.body);
  assert.deepEqual(texts(), ["line 0"]);
  document.getSelection()!.removeAllRanges();
  document.dispatchEvent(new Event("selectionchange"));
  assert.deepEqual([texts(), waits()], [["line 2", "line 1", "line 0"], ""]);
  moved(sidebar.node.querySelector("li")!);
  log(0);
  assert.deepEqual(texts(), ["line 0"], "another kernel's lines");
  moved(document.body);
});

test("an ended run is debugged by a kernel that has the action", async () => {
  const run = { run: "a-1", id: "a", model: "m", at_ms: 0, duration_us: 5, calls: 1, errors: 0, error: "", cell: "", pinned: false, bars: [] };
  const labels = async (actions: string[], rest: Row = {}): Promise<(string | null)[]> => {
    const sidebar = await shown();
    choose(sidebar, "Runs");
    current.say({ v: 1, type: "welcome", actions });
    current.say({ v: 1, type: "runs", seq: 1, whole: true, rows: [{ ...run, ...rest }], removed: [] });
    sidebar.node.querySelector<HTMLElement>(".toggle")!.click();
    const buttons = [...sidebar.node.querySelectorAll<HTMLElement>(".actions button")];
    buttons.find(({ textContent }) => textContent === "Debug")?.click();
    return buttons.map(({ textContent }) => textContent);
  };
  assert.ok((await labels(["debug"])).includes("Debug"));
  assert.deepEqual(acted, [["debug", { run: "a-1" }]]);
  assert.ok(!(await labels([])).includes("Debug"));
  assert.ok(!(await labels(["debug"], { duration_us: null })).includes("Debug"));
});

test("runs are listed newest first, those of one moment by their names", async () => {
  const sidebar = await shown();
  choose(sidebar, "Runs");
  const run = (name: string, at_ms: number): Row => ({ run: name, id: name, model: name, at_ms, duration_us: 5, calls: 1, errors: 0, error: "", cell: "", pinned: false, bars: [] });
  const runs = [run("a", 1), run("c", 2), run("b", 2), run("d", 0)];
  for (const rows of [runs, runs.toReversed()]) {
    current.say({ v: 1, type: "runs", seq: 1, whole: true, rows, removed: [] });
    assert.deepEqual([...sidebar.node.querySelectorAll(".name")].map(({ textContent }) => textContent), ["c", "b", "a", "d"]);
  }
});

test("a run is compared with the chosen one when the button is pressed, not while keys choose it", async () => {
  const sidebar = await shown();
  choose(sidebar, "Runs");
  const run = (id: string): Row => ({ run: `${id}-1`, id, model: "m", at_ms: Number(id), duration_us: 5, calls: 1, errors: 0, error: "", cell: "", pinned: false, bars: [] });
  const say = (seq: number, ...ids: string[]): void => current.say({ v: 1, type: "runs", seq, whole: seq === 1, rows: ids.map(run), removed: [] });
  say(1, "1");
  sidebar.node.querySelector<HTMLElement>(".toggle")!.click();
  assert.equal(sidebar.node.querySelector("select"), null, "there is no other run");
  say(2, "2", "3");
  const select = sidebar.node.querySelector<HTMLSelectElement>("select")!;
  const offered = (): (string | null)[] => [...select.options].map(({ text }) => text);
  assert.deepEqual(offered(), ["Compare with…", "3 m", "2 m"]);
  const compare = [...sidebar.node.querySelectorAll<HTMLElement>(".actions button")].at(-1)!;
  compare.click();
  select.focus();
  for (const key of ["ArrowDown", "Home", "End"]) assert.equal(press(select, key), true, "left to the browser");
  assert.equal(document.activeElement, select);
  select.value = "2-1";
  select.dispatchEvent(new Event("change", { bubbles: true }));
  say(3, "4");
  assert.equal(sidebar.node.querySelector("select"), select, "another run leaves the menu open");
  select.dispatchEvent(new Event("pointerdown", { bubbles: true }));
  assert.deepEqual([offered(), select.value], [["Compare with…", "4 m", "3 m", "2 m"], "2-1"]);
  assert.deepEqual(acted, []);
  compare.click();
  assert.deepEqual(acted, [["compare", { run: "1-1", baseline: "2-1" }]]);
  document.dispatchEvent(new Event("pointerup"));
  mock.timers.tick(1);
});

test("a list that has not arrived is no empty list", async () => {
  const sidebar = await shown();
  choose(sidebar, "Runs");
  const text = (): string => sidebar.node.querySelector("[role=tabpanel]")!.textContent!;
  assert.equal(text(), "Waiting for the kernel.");
  current.say({ v: 1, type: "runs", seq: 1, whole: true, rows: [], removed: [] });
  assert.equal(text(), "No run has been recorded.");
  choose(sidebar, "Models");
  choose(sidebar, "Runs");
  assert.equal(text(), "Waiting for the kernel.", "it was not watched meanwhile");
  choose(sidebar, "Models");
  current.say({ v: 1, type: "models", seq: 2, whole: true, rows: [model("a")], removed: [] });
  choose(sidebar, "Graph");
  choose(sidebar, "Models");
  // The graph is of the same list.
  assert.match(text(), /^.areadycell/);
});

test("a folded run has the first line of its error, an open one all", async () => {
  const sidebar = await shown();
  choose(sidebar, "Runs");
  const row = { run: "a-1", id: "a", model: "m", at_ms: 0, duration_us: 5, calls: 1, errors: 1, error: "bad\nAt:\n  line", cell: "", pinned: false, bars: [] };
  current.say({ v: 1, type: "runs", seq: 1, whole: true, rows: [row], removed: [] });
  const error = (): string => sidebar.node.querySelector(".trouble")!.textContent!;
  assert.equal(error(), "1 failed: bad");
  sidebar.node.querySelector<HTMLElement>(".toggle")!.click();
  assert.equal(error(), "1 failed: bad\nAt:\n  line");
});

test("a filter searches what rows show, and nothing else of them", async () => {
  const found = async (tab: string, type: string, rows: Row[], texts: string[]): Promise<string[]> => {
    const sidebar = await shown();
    choose(sidebar, tab);
    current.say({ v: 1, type, seq: 1, whole: true, rows, removed: [] });
    const filter = sidebar.node.querySelector<HTMLInputElement>("input")!;
    return texts.filter((text) => {
      filter.value = text;
      filter.dispatchEvent(new Event("input"));
      return sidebar.node.querySelector("li") !== null;
    });
  };
  const stale = model("m", { trouble: ["older"], busy: 1 });
  assert.deepEqual(await found("Models", "models", [stale], ["Stale", "busy 1/1", "older", "In[2]", "READY", "[", "false"]), [
    ...["Stale", "busy 1/1", "older", "In[2]", "["],
  ]);
  const run = { run: "a-1", id: "a", model: "m", at_ms: 7, duration_us: 5, calls: 1, errors: 1, error: "bad\nAt:\n  line", cell: "In[3]", pinned: true, bars: [[0.125, 1, 0, 0]] };
  assert.deepEqual(await found("Runs", "runs", [run], ["run a", "in[3]", "1 call", "pinned", "1 failed", "line", "0.125", "a-1", "true"]), [
    ...["run a", "in[3]", "1 call", "pinned", "1 failed", "line"],
  ]);
  const note = { key: "a#0", run: "a-1", id: "a", model: "m", call: 2, times: 3, text: "slow" };
  assert.deepEqual(await found("Notes", "notes", [note], ["m", "call 2 and 2 more", "SLOW", "a#0", "a-1"]), ["m", "call 2 and 2 more", "SLOW"]);
});

test("a double click, or a key that is held, acts once", async () => {
  const sidebar = await shown();
  current.say({ v: 1, type: "models", seq: 1, whole: true, rows: [model("a")], removed: [] });
  sidebar.node.querySelector<HTMLElement>(".head")!.click();
  const button = sidebar.node.querySelector<HTMLElement>(".actions button")!;
  for (const detail of [1, 2, 3]) button.dispatchEvent(Object.assign(new Event("click", { bubbles: true }), { detail }));
  assert.deepEqual(acted, [["load", { model: "a" }]]);

  const prevents = (key: string, repeat: boolean): boolean => {
    const event = Object.assign(new Event("keydown", { bubbles: true, cancelable: true }), { key, repeat });
    return !button.dispatchEvent(event);
  };
  assert.deepEqual([prevents("Enter", false), prevents("Enter", true), prevents("Tab", true)], [false, true, false]);
});

test("a note opens the view of its run", async () => {
  const sidebar = await shown();
  choose(sidebar, "Notes");
  const rows = [{ key: "a#0", run: "a-1", id: "a", model: "m", call: 2, times: 3, text: "<b>slow</b>" }];
  current.say({ v: 1, type: "notes", seq: 1, whole: true, rows, removed: [] });
  const head = sidebar.node.querySelector<HTMLElement>(".head")!;
  assert.equal(head.textContent, "mrun a call 2 and 2 more");
  assert.equal(sidebar.node.querySelector("li .line")!.textContent, "<b>slow</b>");
  head.click();
  assert.deepEqual(acted, [["view", { run: "a-1" }]]);
});

test("the graph is drawn for the width of the panel, unless that is very narrow or wide", async () => {
  const widths: number[] = [];
  for (const panel of [90, 400, 500, 5000, 6000]) {
    resize(".listing.graph", panel, 0);
    const sidebar = await shown();
    choose(sidebar, "Graph");
    current.say({ v: 1, type: "models", seq: 1, whole: true, rows: [], removed: [] });
    widths.push(current.sent.at(-1)!.width as number);
  }
  resize(".listing.graph", 0, 0);
  const [narrow, fitting, wider, wide, widest] = widths;

  assert.deepEqual([narrow > 90, fitting < 400, fitting > 350, wider - fitting, wide, wide < 2000], [true, true, true, 100, widest, true]);
});

test("the graph of models that are loaded one after the other takes a quarter of the time", async () => {
  const sidebar = await shown();
  choose(sidebar, "Graph");
  const asked = (): Row[] => current.sent.filter(({ type, name }) => type === "action" && name === "graph");
  const rows = (load_s: number): void => current.say({ v: 1, type: "models", seq: 1, whole: true, rows: [model("m", { load_s })], removed: [] });
  const clock = mock.method(performance, "now").mock;
  clock.mockImplementation(() => 0);
  rows(0);
  rows(1);
  clock.mockImplementation(() => 500);
  const graph = { svg: [0, 0], size: [1, 1], box: [1, 1], places: [], findings: [], others: 0, unlisted: 0 };
  current.say({ v: 1, type: "answer", id: asked().at(-1)!.id, graph }, new ArrayBuffer(0));
  await settled();
  rows(2);
  mock.timers.tick(1499);
  assert.equal(asked().length, 1);
  mock.timers.tick(1);
  clock.restore();
  assert.equal(asked().length, 2);
});

test("the graph is drawn as an image with a button over each model, in the theme of the page, and drawn again after changes", async () => {
  const sidebar = await shown();
  choose(sidebar, "Graph");
  const asked = (): Row[] => current.sent.filter(({ type, name }) => type === "action" && name === "graph");
  for (const rows of [[], [model("m")]]) current.say({ v: 1, type: "models", seq: 1, whole: true, rows, removed: [] });
  const svg = new TextEncoder().encode('<svg x="1"/>');
  const graph = { svg: [0, svg.length], size: [300, 100], box: [120, 40], places: [["m", 30, 10], ["m", 160, 10]], findings: [["m", "model.py:3", "no <model>", true]], others: 1, unlisted: 1 };
  for (const count of [1, 2]) {
    assert.equal(asked().length, count);
    const { id, width } = asked().at(-1)!;
    assert.equal(width, 240);
    const waits = (): boolean => !sidebar.node.querySelector<HTMLElement>(".graph .waiting")!.hidden;
    assert.equal(waits(), true);
    current.say({ v: 1, type: "answer", id, graph }, svg.buffer);
    await settled();
    mock.timers.tick(1000);
    assert.equal(waits(), asked().length > count, "it is drawn again for newer rows");
  }
  const rows = (...given: Row[]): void => current.say({ v: 1, type: "models", seq: 2, whole: false, rows: given, removed: [] });
  rows(model("m", { busy: 1 }));
  assert.equal(asked().length, 2, "what is busy is not drawn");
  rows(model("m", { load_s: 0.25 }));
  current.say({ v: 1, type: "answer", id: asked().at(-1)!.id, graph }, svg.buffer);
  await settled();
  assert.equal(asked().length, 3, "another text of the same origin is");
  const image = sidebar.node.querySelector("img")!;
  assert.equal(image.alt, "Graph of 1 model", "each of its pipelines has a box of it");
  assert.equal(sidebar.node.querySelectorAll(".spot").length, 2);
  const shownIn = (theme: string): string => `data:image/svg+xml,${encodeURIComponent(`<svg data-theme="${theme}" x="1"/>`)}`;
  assert.equal(image.src, shownIn("light"));
  document.body.dataset.jpThemeLight = "false";
  await settled();
  assert.equal(image.src, shownIn("dark"));
  delete document.body.dataset.jpThemeLight;
  const spot = sidebar.node.querySelector<HTMLElement>(".spot")!;
  assert.deepEqual([spot.style.left, spot.style.height], ["10%", "40%"]);
  spot.click();
  assert.deepEqual(acted, [["open", { model: "m" }]]);
  assert.equal(sidebar.node.querySelector(".findings li")!.textContent, "m (model.py:3): no <model>");
  assert.match(sidebar.node.textContent!, /1 more model is not drawn. 1 finding is not listed./);
});
