/** The flame graph of a call and of a model: boxes, lines of cells, child calls apart, keys. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Story } from "./drawing.ts";
import { call, encode, model, Packer, type Call, type Encoded } from "./fixture.ts";
import { point, press } from "./page.ts";
import { View } from "./shown.ts";
import type { ModelEntry, TimedFile } from "../src/trace/header.ts";
import type { ProfileEntry, ProfileFrame } from "../src/trace/profile.ts";
import { Store } from "../src/trace/store.ts";

const SOURCE = "import json\nclass TritonPythonModel:\n    def execute(self, requests):\n        self.prepare()\n        return ask()\n    def prepare(self):\n        json.dumps({})\n";
const FRAMES: ProfileFrame[] = [
  ["", "", 0, 0],
  ["TritonPythonModel.execute", "model.py", 4, 1],
  ["TritonPythonModel.prepare", "model.py", 7, 1],
  ["dumps", "__init__.py", 231, 0],
  ["TritonPythonModel.execute", "model.py", 5, 1],
  ["shared", "helper.py", 3, 1],
];
const MODELS: ModelEntry[] = [{ ...model("pipeline"), origin: ["In[3]", 2] }, model("reader"), model("engine", "onnxruntime")];
const CALLS: Call[] = [
  call(-1, 0, 0, { compute_infer_us: 20_000, line: 0 }),
  call(0, 1, 10_000, { compute_infer_us: 4000 }),
  call(0, 2, 15_000, { compute_infer_us: 2000 }),
  call(-1, 0, 30_000, { compute_infer_us: 2000 }),
];

interface Node {
  parent: number;
  frame: number;
  model: number;
  samples: number;
}

function entry(packer: Packer, nodes: readonly Node[], rows: readonly [number, number, number][], rest: Partial<ProfileEntry> = {}): ProfileEntry {
  const columns: ProfileEntry["columns"] = {};
  const add = (name: string, values: number[]): void => {
    const bytes = new Uint8Array(Int32Array.from(values).buffer);
    columns[name] = ["i4", packer.data(bytes)[0], values.length];
  };
  for (const name of ["parent", "frame", "model", "samples"] as const) add(name, nodes.map((each) => each[name]));
  (["call", "node", "count"] as const).forEach((name, k) => add(name, rows.map((row) => row[k])));
  return { interval_us: 1000, wanted_us: 1000, frames: FRAMES, columns, left_out: 0, merged: 0, ...rest };
}

const NODES: Node[] = [
  { parent: -1, frame: 0, model: 0, samples: 0 },
  { parent: 0, frame: 1, model: 0, samples: 0 },
  { parent: 1, frame: 2, model: 0, samples: 3 },
  { parent: 2, frame: 3, model: 0, samples: 5 },
  { parent: 0, frame: 4, model: 0, samples: 2 },
  { parent: -1, frame: 0, model: 1, samples: 0 },
  { parent: 5, frame: 5, model: 1, samples: 4 },
];
const ROWS: [number, number, number][] = [
  [0, 2, 2],
  [0, 3, 5],
  [0, 4, 1],
  [1, 6, 4],
  [3, 2, 1],
  [3, 4, 1],
];

function encoded(nodes = NODES, rows = ROWS, rest: Partial<ProfileEntry> = {}, calls = CALLS): Encoded {
  const packer = new Packer();
  const profile = entry(packer, nodes, rows, rest);
  return encode(calls, { models: MODELS, sources: { "0": SOURCE }, profile }, { packer });
}

function shown(rest: Partial<ProfileEntry> = {}, rows = ROWS): View {
  const { header, buffer } = encoded(NODES, rows, rest);
  return new View(Store.of(header, buffer));
}

function boxes(view: View): string[] {
  return [...view.root.querySelectorAll(".flamebox")].map((box) => `${box.getAttribute("aria-level")} ${box.textContent}`);
}

function text(view: View, selector: string): string {
  return view.find(selector).textContent ?? "";
}

function box(view: View, words: string): HTMLElement {
  const found = [...view.root.querySelectorAll<HTMLElement>(".flamebox")].find((each) => each.textContent?.includes(words));
  assert.ok(found, words);
  return found;
}

const focused = (view: View): string => view.root.activeElement?.textContent ?? "";

test("a call shows its own code by line of its cell, and child calls apart", () => {
  const view = shown();

  assert.deepEqual(boxes(view), [
    "1 whole time",
    "2 execute In[3] line 6",
    "2 execute In[3] line 7",
    "2 → reader",
    "2 → engine",
    "3 prepare In[3] line 9",
    "4 dumps __init__.py:231",
  ]);
  assert.equal(text(view, ".split"), " own code 8 ms in child calls 6 ms");
  assert.match(text(view, ".inspector"), /Inside the call8 samples, one every 1 ms/);
  assert.equal(box(view, "prepare").getAttribute("aria-description"), "7 ms, 50.0 %, 7 samples");
  assert.equal(box(view, "reader").getAttribute("aria-description"), "4 ms, 28.6 %");
  const places = [...view.root.querySelectorAll<HTMLElement>(".flamebox")].map(({ style }) =>
    [style.left, style.width].map((each) => Math.round(parseFloat(each))).join("+"),
  );
  assert.deepEqual(places, ["0+100", "0+50", "50+7", "57+29", "86+14", "0+50", "0+36"]);
});

test("child calls of one model share a box with their number", () => {
  const twice = CALLS.map((each, k) => (k === 2 ? call(0, 1, 15_000, { compute_infer_us: 2000 }) : each));
  const { header, buffer } = encoded(NODES, ROWS, {}, twice);
  const view = new View(Store.of(header, buffer));

  assert.deepEqual(
    boxes(view).filter((each) => each.includes("→")),
    ["2 → reader ×2"],
  );
  assert.equal(box(view, "reader").getAttribute("aria-description"), "6 ms, 42.9 %");
});

test("the time in libraries belongs to the line of the model that called them", () => {
  const view = shown();
  const rows = [...view.root.querySelectorAll(".hotlines tr")].map((row) => row.textContent);

  assert.deepEqual(rows, ["87.5 %In[3] line 9json.dumps({})", "12.5 %In[3] line 7return ask()"]);
});

test("a model shows all its calls merged, and a call only its own", () => {
  const view = shown();
  view.click(view.box("pipeline"));
  assert.match(text(view, ".inspector"), /Inside the calls10 samples/);
  assert.equal(box(view, "whole time").getAttribute("aria-description"), "16 ms, 100.0 %, 10 samples");

  view.click(view.row("pipeline", 1));
  assert.match(text(view, ".inspector"), /Inside the call2 samples/);
});

test("a model without Python code has no flame graph, one without samples says so", () => {
  const view = shown({}, ROWS.filter(([id]) => id !== 1));
  view.click(view.row("engine"));
  assert.equal(view.root.querySelector(".flame"), null);
  assert.doesNotMatch(text(view, ".inspector"), /Inside the call/);

  view.click(view.row("reader"));
  assert.match(text(view, ".inspector"), /No code of the model was sampled/);
});

test("a call whose stacks are not in the page refers to its model", () => {
  const view = shown({ left_out: 1 }, ROWS.filter(([id]) => id !== 1));
  view.click(view.row("reader"));

  assert.match(text(view, ".inspector"), /not in this page.*select the model/);
});

test("an interval that was not reached is shown", () => {
  assert.match(text(shown({ interval_us: 2700 }), ".inspector"), /one every 2.70 ms \(1 ms was not reached\)/);
  assert.match(text(shown({ interval_us: 1251 }), ".inspector"), /was not reached/);
  assert.doesNotMatch(text(shown({ interval_us: 1250 }), ".inspector"), /was not reached/);
});

test("keys move between the boxes, zoom, and leave", () => {
  const view = shown();
  const flame = view.find(".flame");
  box(view, "whole time").focus();
  press(flame, "ArrowDown");
  assert.equal(focused(view), "execute In[3] line 6");
  press(flame, "ArrowRight");
  assert.equal(focused(view), "execute In[3] line 7");
  press(flame, "ArrowRight");
  press(flame, "ArrowRight");
  press(flame, "ArrowRight");
  assert.equal(focused(view), "→ engine");
  press(flame, "ArrowLeft");
  assert.equal(focused(view), "→ reader");
  press(flame, "Home");
  press(flame, "ArrowDown");
  press(flame, "ArrowDown");
  press(flame, "Enter");
  assert.equal(focused(view), "prepare In[3] line 9");
  assert.deepEqual(boxes(view).length, 4);
  assert.equal(box(view, "prepare").style.width, "100%");
  press(flame, "Escape");
  assert.equal(focused(view), "prepare In[3] line 9");
  assert.equal(boxes(view).length, 7);
  assert.equal(view.frame.selection?.kind, "call");
  press(flame, "ArrowUp");
  press(flame, "ArrowUp");
  press(flame, "ArrowUp");
  assert.equal(focused(view), "whole time");
});

test("keys of the browser leave the boxes as they are", () => {
  const view = shown();
  const flame = view.find(".flame");
  box(view, "whole time").focus();
  for (const modifier of ["ctrlKey", "metaKey", "altKey"]) {
    assert.ok(press(flame, "ArrowDown", { [modifier]: true }), modifier);
    assert.equal(focused(view), "whole time", modifier);
  }
});

test("each box is in the row of its depth, and one of them is in the tab order", () => {
  const view = shown();
  const flame = view.find(".flame");
  const story = new Story(flame, { whole: true });
  box(view, "whole time").focus();
  press(flame, "ArrowDown");
  story.step("one box down");
  box(view, "reader").focus();
  story.step("focus on the child calls");
  view.click(box(view, "prepare"));
  story.step("zoom to a box: its callers fill the width above it");
  view.click(box(view, "prepare"));
  story.step("click on it again");
  story.equals("flame");
});

test("of a profile without an interval no boxes are drawn below the whole time", () => {
  const view = shown({ interval_us: 0 });
  view.click(view.row("reader"));

  assert.deepEqual(boxes(view), ["1 whole time"]);
});

test("child calls lead to their calls", () => {
  const view = shown();
  view.click(box(view, "reader"));

  assert.deepEqual(view.frame.selection, { kind: "call", call: 1 });
});

test("the pointer shows time, samples and the source line", () => {
  const view = shown();
  point(box(view, "prepare"), "pointermove", 20, 20);

  assert.equal(text(view, ".tip"), "prepare In[3] line 97 ms, 50.0 % · 7 samples · 2 ms in this line itself\njson.dumps({})");
  point(box(view, "dumps"), "pointermove", 20, 20);
  assert.equal(text(view, ".tip"), "dumps __init__.py:2315 ms, 35.7 % · 5 samples");
  point(box(view, "line 6"), "pointermove", 20, 20);
  assert.equal(text(view, ".tip"), "execute In[3] line 67 ms, 50.0 % · 7 samples\nself.prepare()");
});

test("samples that arrive while the run executes are added, and the zoom stays", () => {
  const { header, buffer } = encoded();
  const store = new Store();
  store.upsert(header, buffer, 1);
  const view = new View(store);
  view.click(box(view, "prepare"));
  const more = encoded(NODES.map((each) => ({ ...each, samples: 2 * each.samples })), ROWS.map(([id, node, count]) => [id, node, 2 * count]));
  store.upsert({ format: 2, columns: {}, profile: more.header.profile }, more.buffer, 2);
  view.frame.draw();

  assert.equal(box(view, "prepare").style.width, "100%");
  assert.match(text(view, ".inspector"), /16 samples/);
  store.upsert({ format: 2, columns: {} }, new ArrayBuffer(0), 3);
  assert.equal(store.profile?.total, 28);
});

test("timed lines stand beside their source", () => {
  const packer = new Packer();
  const lines: TimedFile[] = [["model.py", [null, ["In[3] line 6", 2, 1500, 0, "    fib(12)"], ["In[3] line 7", 1, 20, 30_000, "    ask()"], ["In[3] line 8", 0, 0, 0, ""]]]];
  const { header, buffer } = encode(CALLS, { models: MODELS, lines: { "0": lines } }, { packer });
  const view = new View(Store.of(header, buffer));
  const rows = [...view.root.querySelectorAll(".timed tbody tr")];

  assert.deepEqual(rows.map((row) => [...row.children].map((cell) => cell.textContent).join("|")), [
    "…",
    "6|2|1.50 ms||    fib(12)",
    "7|1|20 µs|30 ms|    ask()",
    "8|||| ",
  ]);
  assert.equal(rows[1].getAttribute("title"), "In[3] line 6");
});

test("very many lines are drawn as the widest of them", () => {
  const many = 1900;
  const nodes: Node[] = [{ parent: -1, frame: 0, model: 0, samples: 0 }];
  for (let k = 0; k < many; k++) nodes.push({ parent: 0, frame: 1, model: 0, samples: 1 + (k % 50) });
  const { header, buffer } = encoded(nodes, nodes.map((each, k): [number, number, number] => [0, k, each.samples]));
  const view = new View(Store.of(header, buffer));

  assert.ok(boxes(view).length < 300, String(boxes(view).length));
});

test("at most 1,000 boxes are drawn, however deep they are", () => {
  const nodes: Node[] = [{ parent: -1, frame: 0, model: 0, samples: 0 }];
  for (let k = 0; k < 1200; k++) nodes.push({ parent: k, frame: 1, model: 0, samples: 1 });
  const { header, buffer } = encoded(nodes, [[0, 1200, 1]]);

  assert.equal(boxes(new View(Store.of(header, buffer))).length, 1000);
});
