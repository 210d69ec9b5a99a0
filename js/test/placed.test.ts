/** A widget of the kernel in the place of a static text, and cells that it inserts. */

import assert from "node:assert/strict";
import { test } from "node:test";

import "./page.ts";
import { FakeModel } from "./fakemodel.ts";

const { default: placed } = await import("../src/placed.ts");
type Placing = Parameters<typeof placed.initialize>[0];

class Widget {
  static attach(widget: Widget, host: HTMLElement): void {
    host.append(`widget ${widget.name}`);
  }
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Let what waits for promises continue. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

/** The kernel's connection, which tells when it is shut down. */
class Connection {
  listeners = new Set<() => void>();
  disposed = {
    connect: (listener: () => void): void => void this.listeners.add(listener),
    disconnect: (listener: () => void): void => void this.listeners.delete(listener),
  };
}

function opened(kernel?: Connection): { model: FakeModel; close: () => void } {
  const model = new FakeModel({ placed_id: "p1", content: "IPY_MODEL_c7" });
  const widget_manager = {
    kernel,
    get_model: async (id: string) => id,
    create_view: async (id: string) => ({ luminoWidget: new Widget(id) }),
  };
  const given = { model: Object.assign(model, { widget_manager }) } as unknown as Placing;
  return { model, close: placed.initialize(given) };
}

/** Return what the page has registered under an id. */
function mounted(id: string, kind = "placed"): ((host: HTMLElement) => void) | undefined {
  const all = (globalThis as unknown as Record<symbol, Map<string, (host: HTMLElement) => void>>)[Symbol.for(`blsnb-${kind}`)];
  return all?.get(id);
}

/** Return a host of the page in which the widget is shown. */
async function shown(): Promise<HTMLElement> {
  const host = document.createElement("div");
  mounted("p1")!(host);
  await settled();
  return host;
}

test("a widget replaces the text of its place until its model is closed", async () => {
  const { model, close } = opened();
  const host = document.createElement("div");
  host.innerHTML = "a <b>static</b> text";
  mounted("p1")!(host);
  await settled();
  assert.equal(host.textContent, "widget c7");
  close();
  assert.equal(host.innerHTML, "a <b>static</b> text");
  assert.equal(mounted("p1"), undefined);
  assert.equal(model.listening, 0);
});

const LOST = "The kernel is gone: what is below is no longer live.";

test("a widget whose kernel is gone says so until the kernel replies", async () => {
  const { model, close } = opened();
  const host = await shown();
  model.lose();
  assert.equal(host.textContent, `${LOST}widget c7`);
  assert.deepEqual(model.sent, [{ v: 1, type: "hello" }]);
  model.receive({ type: "welcome" });
  assert.equal(host.textContent, "widget c7");
  model.lose();
  const later = await shown();
  assert.equal(later.textContent, `${LOST}widget c7`);
  close();
});

test("a widget whose kernel was shut down says so, though nothing can be sent", async () => {
  const kernel = new Connection();
  const { model, close } = opened(kernel);
  const host = await shown();
  model.send = () => {
    throw new Error("Cannot send");
  };
  for (const listener of kernel.listeners) listener();
  assert.equal(host.textContent, `${LOST}widget c7`);
  close();
  assert.equal(kernel.listeners.size, 0);
});

test("the text that a notebook keeps of a widget is hidden beside it", async () => {
  const { close } = opened();
  const [first, later] = [document.createElement("div"), document.createElement("div")];
  document.body.replaceChildren(first, later);
  const hide = mounted("p1", "kept")!;
  hide(first);
  first.remove();
  hide(later);
  assert.deepEqual([first.hidden, later.hidden], [true, true]);
  close();
  assert.equal(later.hidden, false);
  assert.equal(mounted("p1", "kept"), undefined);
});

test("a page that inserts cells is asked first, else the code is copied", async () => {
  const { model, close } = opened();
  const copied: string[] = [];
  const clipboard = { writeText: async (text: string) => void copied.push(text) };
  Object.defineProperty(globalThis, "navigator", { value: { clipboard }, configurable: true });
  const inserted: string[] = [];
  const insert = (event: Event): void => {
    inserted.push((event as CustomEvent<{ code: string }>).detail.code);
    event.preventDefault();
  };
  globalThis.addEventListener("blsnb-insert-cell", insert);
  model.receive({ type: "insert", code: "a = 1" });
  await settled();
  globalThis.removeEventListener("blsnb-insert-cell", insert);
  model.receive({ type: "insert", code: "b = 2" });
  await settled();
  clipboard.writeText = () => Promise.reject(new Error("refused"));
  model.receive({ type: "insert", code: "c = 3" });
  await settled();
  const results = ["inserted", "copied", "failed"].map((result) => ({ type: "insert", result }));
  assert.deepEqual([inserted, copied, model.sent], [["a = 1"], ["b = 2"], results]);
  close();
});

test("other messages of a kernel insert nothing", async () => {
  const { model, close } = opened();
  for (const message of [undefined, { type: "other", code: "a" }, { type: "insert", code: 1 }]) model.receive(message);
  await settled();
  assert.deepEqual(model.sent, []);
  close();
});
