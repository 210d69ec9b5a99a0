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

function opened(): { model: FakeModel; close: () => void } {
  const model = new FakeModel({ placed_id: "p1", content: "IPY_MODEL_c7" });
  const widget_manager = {
    get_model: async (id: string) => id,
    create_view: async (id: string) => ({ luminoWidget: new Widget(id) }),
  };
  const given = { model: Object.assign(model, { widget_manager }) } as unknown as Placing;
  return { model, close: placed.initialize(given) };
}

/** Return what the page has registered under an id. */
function mounted(id: string): ((host: HTMLElement) => void) | undefined {
  const all = (globalThis as unknown as Record<symbol, Map<string, (host: HTMLElement) => void>>)[Symbol.for("blsnb-placed")];
  return all?.get(id);
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
