/** How a view gets into the page: documents, live views, and one in the place of the other. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { FakeModel } from "./fakemodel.ts";
import { call, encode, model, type Call } from "./fixture.ts";
import { nextFrame, point, resize } from "./page.ts";
import type { Run, TensorEntry } from "../src/trace/header.ts";
import { Flag } from "../src/trace/wire.ts";

mock.timers.enable({ apis: ["setTimeout"] });
const view = await import("../src/view.ts");
const widget = view.default;
const MODELS = [model("pipeline"), model("reader")];
const CALLS = [call(-1, 0, 0, { compute_infer_us: 90 }), call(0, 1, 10)];

function encoded(id: string, state: Run["state"] = "done", calls: Call[] = CALLS, ids?: number[]) {
  const run = { id, title: "pipeline", request_id: "", state };
  return encode(calls, { models: MODELS, run }, { ids });
}

function newHost(run = ""): HTMLElement {
  const host = document.createElement("div");
  host.dataset.run = run;
  host.append("the picture");
  document.body.append(host);
  return host;
}

function title(host: HTMLElement): string {
  return host.querySelector(".blsnb-view")?.shadowRoot?.querySelector(".figures")?.textContent ?? "";
}

function snapshot(sent: ReturnType<typeof encoded>, seq = 1): [unknown, ArrayBuffer] {
  return [{ type: "snapshot", seq, header: sent.header }, sent.buffer];
}

const RUNNING = CALLS.map((each) => ({ ...each, flags: Flag.RUNNING }));

test("a document's view takes the place of its picture, and goes again", () => {
  const host = newHost();
  const { header, buffer } = encoded("run-a");
  const remove = view.mount(host, header, buffer);
  nextFrame();

  assert.equal(host.textContent, "");
  assert.equal(title(host), "90 µs wall2 calls2 models");
  remove();
  assert.equal(host.childElementCount, 0);
});

test("a document that holds nothing, or that cannot be drawn, leaves the picture", () => {
  const host = newHost();
  const { header, buffer } = encoded("run-b", "done", []);
  view.mount(host, header, buffer)();
  assert.equal(host.textContent, "the picture");
  const { header: good, buffer: data } = encoded("run-b");
  assert.throws(() => view.mount(host, { ...good, format: 99 }, data), /format 99/);
  assert.equal(host.textContent, "the picture");
});

test("a live view is drawn when rows come, grows, and sets the widget's traits", () => {
  const live = new FakeModel({ run_id: "run-c", selected: -1, filter: "", height: 1 });
  const stop = widget.initialize({ model: live });
  const host = newHost();
  const leave = widget.render({ model: live, el: host });
  assert.equal(host.textContent, "the picture");
  live.receive(...snapshot(encoded("run-c", "running", RUNNING)));
  nextFrame();
  assert.equal(title(host), "90 µs wall2 calls2 modelsrunning");
  resize(".view", 1100, 600);
  assert.equal(live.traits.height, 610);
  const more = encoded("run-c", "running", [call(0, 1, 40)], [2]);
  live.receive({ type: "rows", seq: 2, header: more.header }, more.buffer);
  nextFrame();
  assert.equal(title(host), "90 µs wall3 calls2 modelsrunning");
  const rows = host.querySelector(".blsnb-view")!.shadowRoot!.querySelectorAll("[role=treeitem]");
  point(rows[1], "click");
  assert.equal(live.traits.selected, 1);
  live.change("selected", 2);
  live.change("filter", "read");
  nextFrame();
  assert.equal(rows[2].getAttribute("aria-selected"), "true");
  const dim = Array.from(rows, (row) => row.classList.contains("dim"));
  assert.deepEqual(dim, [true, false, false]);
  live.receive({ type: "finished" });
  nextFrame();
  assert.equal(title(host), "90 µs wall3 calls2 models");
  leave();
  stop();
  assert.equal(live.listening, 0);
});

test("a run's document takes the place of its live view, and looks at the same call", () => {
  const live = new FakeModel({ run_id: "run-d", selected: -1 });
  const stop = widget.initialize({ model: live });
  const host = newHost();
  const leave = widget.render({ model: live, el: host });
  live.receive(...snapshot(encoded("run-d", "running", RUNNING)));
  nextFrame();
  live.change("selected", 1);
  live.receive({ type: "finished" });
  leave();
  const place = newHost("run-d");
  view.mount(place);
  nextFrame();
  const root = place.querySelector(".blsnb-view")!.shadowRoot!;
  assert.equal(root.querySelector("[aria-selected=true]")!.textContent, "reader");
  const { header, buffer } = encoded("run-d");
  const remove = view.mount(place, header, buffer);
  assert.equal(place.childElementCount, 1);
  remove();
  stop();
});

test("a live view goes on where its output is made anew, and ends as a document", () => {
  const live = new FakeModel({ run_id: "run-e", selected: -1 });
  const stop = widget.initialize({ model: live });
  live.receive(...snapshot(encoded("run-e", "running", RUNNING)));
  const first = newHost("run-e");
  view.mount(first);
  nextFrame();
  const shown = first.querySelector(".blsnb-view");
  const second = newHost("run-e");
  first.remove();
  const { header, buffer } = encoded("run-e", "running", RUNNING);
  view.mount(second, header, buffer);
  nextFrame();
  assert.ok(second.querySelector(".blsnb-view") === shown);
  live.receive({ type: "finished" });
  const done = encoded("run-e");
  view.mount(second, done.header, done.buffer);
  nextFrame();
  assert.ok(second.querySelector(".blsnb-view") === shown);
  assert.equal(title(second), "90 µs wall2 calls2 models");
  stop();
});

test("a live view rests while its cell is not in the page, as after it was moved", () => {
  const live = new FakeModel({ run_id: "run-n", selected: -1, filter: "" });
  const stop = widget.initialize({ model: live });
  live.receive(...snapshot(encoded("run-n", "running", RUNNING)));
  const cell = document.createElement("div");
  const host = newHost("run-n");
  cell.append(host);
  document.body.append(cell);
  const listeners = live.listening;
  view.mount(host);
  nextFrame();
  const { id } = live.sent[live.sent.length - 1];
  live.receive({ v: 1, type: "answer", id, tensors: [] });
  const grow = (id: number): void => {
    const more = encoded("run-n", "running", [call(0, 1, 40)], [id]);
    live.receive({ type: "rows", seq: id, header: more.header }, more.buffer);
    nextFrame();
  };
  cell.remove();
  resize(".blsnb-run", 0, 0);
  grow(2);
  assert.equal(live.listening, listeners);
  assert.equal(title(host), "90 µs wall2 calls2 modelsrunning");

  document.body.append(cell);
  resize(".blsnb-run", 1100, 600);
  nextFrame();
  assert.equal(title(host), "90 µs wall3 calls2 modelsrunning");
  grow(3);
  assert.equal(title(host), "90 µs wall4 calls2 modelsrunning");
  stop();
});

test("a document that was drawn before the page knew of its kernel is connected later", () => {
  const { header, buffer } = encoded("run-f");
  const host = newHost("run-f");
  view.mount(host, header, buffer);
  nextFrame();
  const live = new FakeModel({ run_id: "run-f", selected: -1 });
  const stop = widget.initialize({ model: live });
  live.receive(...snapshot(encoded("run-f")));
  const queries = live.sent.filter(({ type }) => type === "tensors");
  assert.equal(queries.length, 1);
  stop();
});

test("the inspector of a running call shows what came last, half a second later at most", () => {
  const live = new FakeModel({ run_id: "run-k", selected: -1 });
  const stop = widget.initialize({ model: live });
  const host = newHost();
  const leave = widget.render({ model: live, el: host });
  live.receive(...snapshot(encoded("run-k", "running", RUNNING)));
  nextFrame();
  live.change("selected", 1);
  nextFrame();
  const inspector = host.querySelector(".blsnb-view")!.shadowRoot!.querySelector(".inspector")!;
  const before = inspector.textContent;
  const more = encoded("run-k", "running", [call(0, 1, 10, { compute_infer_us: 7000 })], [1]);
  live.receive({ type: "rows", seq: 2, header: more.header }, more.buffer);
  nextFrame();
  assert.equal(inspector.textContent, before);
  mock.timers.tick(500);
  assert.match(inspector.textContent!, /7\.00? ?ms|7 ms/);
  leave();
  stop();
});

test("a run whose kernel is gone or silent says so", () => {
  const live = new FakeModel({ run_id: "run-g", selected: -1 });
  const stop = widget.initialize({ model: live });
  const host = newHost();
  const leave = widget.render({ model: live, el: host });
  live.receive(...snapshot(encoded("run-g", "running", RUNNING)));
  nextFrame();
  mock.timers.tick(4999);
  nextFrame();
  assert.ok(title(host).endsWith("running"));
  mock.timers.tick(2);
  nextFrame();
  assert.ok(title(host).includes("no news since"));
  live.lose();
  nextFrame();
  assert.ok(title(host).endsWith("the kernel is gone"));
  leave();
  stop();
});

test("a host of JupyterLab is made as wide as its output", () => {
  const parent = document.createElement("div");
  parent.className = "jp-RenderedHTMLCommon";
  document.body.append(parent);
  const host = newHost();
  parent.append(host);
  const { header, buffer } = encoded("run-h");
  view.mount(host, header, buffer);

  assert.equal(parent.style.paddingRight, "0px");
});

test("a document that was saved while its run executed gives way to the live view", () => {
  const host = newHost("run-i");
  const { header, buffer } = encoded("run-i", "running", RUNNING);
  view.mount(host, { ...header, run: { ...header.run, saved: true } }, buffer);
  nextFrame();
  assert.ok(title(host).endsWith("still running when saved"));
  const live = new FakeModel({ run_id: "run-i", selected: -1 });
  const stop = widget.initialize({ model: live });
  live.receive(...snapshot(encoded("run-i", "running", RUNNING)));
  view.mount(host);
  nextFrame();
  const shown = host.querySelector(".blsnb-view");
  assert.ok(title(host).endsWith("modelsrunning"));
  view.mount(host);
  nextFrame();
  assert.ok(host.querySelector(".blsnb-view") === shown);
  stop();
});

const TEXT = { kind: "text" as const, strings: ["a"], count: 1 };

function withTensors(id: string): ReturnType<typeof encoded> {
  const entry = (name: string): TensorEntry => ({
    ...{ name, role: "output", datatype: "BYTES", shape: [1], device: "cpu", byte_size: 5 },
    ...{ response: 0, evicted: false, stats: null, histogram: null, preview: TEXT },
  });
  const run = { id, title: "pipeline", request_id: "", state: "done" as const };
  return encode(CALLS, { models: MODELS, run, tensors: { 0: ["X", "Y", "Z"].map(entry) } });
}

function heads(host: HTMLElement): HTMLElement[] {
  return [...host.querySelector(".blsnb-view")!.shadowRoot!.querySelectorAll<HTMLElement>(".tensor .head")];
}

function open(host: HTMLElement): string[] {
  const shown = heads(host).filter((each) => each.getAttribute("aria-expanded") === "true");
  return shown.map((each) => each.querySelector(".name")!.textContent!);
}

test("tensors stay open where the cell of a document is moved, and only there", () => {
  const { header, buffer } = withTensors("run-l");
  const [first, beside] = [newHost("run-l"), newHost("run-l")];
  view.mount(first, header, buffer);
  nextFrame();
  point(heads(first)[2], "click");
  assert.deepEqual(open(first), ["X", "Z"]);
  view.mount(beside, header, buffer);
  assert.deepEqual(open(beside), ["X"]);
  first.remove();
  const moved = newHost("run-l");
  view.mount(moved, header, buffer);
  assert.deepEqual(open(moved), ["X", "Z"]);
  point(heads(moved)[0], "click");
  moved.remove();
  const again = newHost("run-l");
  view.mount(again, header, buffer);
  assert.deepEqual(open(again), ["Z"]);
});

test("a tensor stays open where the cell of a widget is moved", () => {
  const live = new FakeModel({ run_id: "run-m", selected: -1 });
  const stop = widget.initialize({ model: live });
  live.receive(...snapshot(withTensors("run-m")));
  const render = (): [HTMLElement, () => void] => {
    const host = newHost();
    const leave = widget.render({ model: live, el: host });
    nextFrame();
    return [host, leave];
  };
  const [first, leave] = render();
  point(heads(first)[1], "click");
  first.remove();
  leave();
  const [moved, end] = render();
  assert.deepEqual(open(moved), ["X", "Y"]);
  end();
  stop();
});
