/** What the inspector shows of tensors, embedded in the document or answered by a kernel. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Story } from "./drawing.ts";
import { FakeModel } from "./fakemodel.ts";
import { call, encode, model, Packer } from "./fixture.ts";
import { nextFrame, point, press } from "./page.ts";
import { View } from "./shown.ts";
import type { GridPreview, Header, ImagePreview, TensorEntry } from "../src/trace/header.ts";
import { Kernel } from "../src/kernel/kernel.ts";
import { Store } from "../src/trace/store.ts";
import { Flag } from "../src/trace/wire.ts";

mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });

const MODELS = [model("pipeline"), model("reader")];
const STATS = { count: 6, min: -2.5, max: 7, mean: 1.25, std: 2, nan: 1, inf: 0, zeros: 3 };

function grid(data: [number, number], rest: Partial<GridPreview> = {}): GridPreview {
  const size = { index: [0], rows: 2, columns: 3, of: [2, 3] as [number, number] };
  return { kind: "grid", ...size, data, low: -2.5, high: 7, reduced: "", ...rest };
}

function entry(name: string, rest: Partial<TensorEntry> = {}): TensorEntry {
  const known = { name, datatype: "FP32", shape: [4, 2, 3], device: "cpu", byte_size: 96 };
  const empty = { response: 0, evicted: false, stats: null, histogram: null, preview: null };
  return { ...known, role: "output", ...empty, ...rest };
}

/** A run of two calls with these tensors of the first embedded. */
function stored(tensors: TensorEntry[], packer: Packer, rest: Partial<Header> = {}): Store {
  const calls = [call(-1, 0, 0, { compute_infer_us: 90 }), call(0, 1, 10)];
  const run = { id: "r-1", title: "pipeline", request_id: "", state: "done" as const };
  const header = { models: MODELS, run, tensors: { 0: tensors }, ...rest };
  const { header: whole, buffer } = encode(calls, header, { packer });
  return Store.of(whole, buffer);
}

/** Let promises that are settled call back. */
async function settled(): Promise<void> {
  for (let k = 0; k < 20; k++) await Promise.resolve();
  nextFrame();
}

test("an axis of two has a slider, and its place is shown; one of one has neither", () => {
  const packer = new Packer();
  const small = packer.data(new Uint8Array([0, 60, 120, 180, 254, 255]));
  const sliders = [1, 2].map((size) => {
    const view = new View(stored([entry("IN", { shape: [size, 2, 3], preview: grid(small, { index: [0] }) })], packer));
    const labels = [...view.root.querySelectorAll(".slice input")].map((each) => each.getAttribute("aria-label"));
    const text = view.find(".slice").textContent ?? "";
    return [labels, text.includes("[0, …]"), text.includes("Other slices are in the kernel")];
  });

  assert.deepEqual(sliders, [
    [[], false, false],
    [["axis 0"], true, true],
  ]);
});

test("each kind of tensor has its preview: numbers, heatmap, image, strings, nothing", () => {
  const packer = new Packer();
  const small = packer.data(new Uint8Array([0, 60, 120, 180, 254, 255]));
  const large = packer.data(Uint8Array.from({ length: 64 * 40 }, (_, k) => k % 255));
  const pixels = packer.data(Uint8Array.from({ length: 16 * 12 * 3 }, (_, k) => k % 256));
  const picture: ImagePreview = {
    ...{ kind: "image", index: [1], rows: 16, columns: 12, of: [64, 48], layout: "HWC" },
    data: pixels,
  };
  const heat = grid(pixels, { index: [1, 0], rows: 16, columns: 12, of: [64, 48], low: 0, high: 255 });
  const values = ["-2.5", "0.123456789", "1234567.5", "3", "7", "nan"];
  const tensors = [
    entry("IN", { role: "input", stats: STATS, shape: [1, 2, 3], preview: grid(small, { values }) }),
    entry("VECTOR", { stats: STATS, preview: grid(small, { rows: 1, columns: 6, of: [1, 6], values }) }),
    entry("HEAT", {
      stats: { ...STATS, inf: 2 },
      histogram: { low: -1, high: 3, counts: [0, 4, 9, 1] },
      preview: grid(large, { rows: 40, columns: 64, of: [400, 640], reduced: "stride", low: 1, high: 9 }),
    }),
    entry("IMAGE", { datatype: "UINT8", shape: [3, 64, 48, 3], preview: picture, grid: heat }),
    entry("TEXT", { datatype: "BYTES", preview: { kind: "text", strings: ["a", "b\u202e"], count: 9 } }),
    entry("NO TEXT", { datatype: "BYTES", preview: { kind: "text", strings: [], count: 0 } }),
    entry("NAN", { preview: grid(small, { low: null, high: null, rows: 3, columns: 2, of: [3, 2] }) }),
    entry("GONE", { evicted: true }),
    entry("EMPTY", { byte_size: 0, shape: [0] }),
    entry("LATER", { response: 2 }),
  ];
  const view = new View(stored(tensors, packer));
  const story = new Story(view.find(".tensors"), { whole: true });
  const heads = view.root.querySelectorAll(".tensor").length;
  for (let k = 0; k < heads; k++) {
    view.click(view.root.querySelectorAll<HTMLElement>(".tensor .head")[k]);
    story.step(`click on ${view.root.querySelectorAll(".tensor .name")[k].textContent}`);
  }
  view.click(view.button("heatmap"));
  story.step("the image as a heatmap");
  const [canvas] = view.button("heatmap").closest(".slice")!.querySelectorAll("canvas");
  point(canvas, "pointermove", 100, 60);
  story.step("over the heatmap");
  point(canvas, "pointermove", 300, 60);
  story.step("beside it");
  point(canvas, "pointerleave");
  story.step("out of it");
  story.equals("tensors");
});

test("more tensors than fit are listed on request", () => {
  const many = Array.from({ length: 130 }, (_, k) => entry(`T${k}`));
  const view = new View(stored(many, new Packer()));
  const listed = (): number => view.root.querySelectorAll(".tensor").length;

  assert.equal(listed(), 24);
  assert.equal(view.button("106 more").textContent, "106 more");
  view.click(view.button("106 more"));
  assert.equal(listed(), 120);
  view.click(view.button("10 more"));
  assert.equal(listed(), 130);
});

test("a list that may lack tensors says how many it has at most", () => {
  const hint = /lists the first 200 tensors of a call/;
  const listed = (size: number): string => {
    const many = Array.from({ length: size }, (_, k) => entry(`T${k}`));
    return new View(stored(many, new Packer())).root.textContent ?? "";
  };

  assert.doesNotMatch(listed(199), hint);
  assert.match(listed(200), hint);
});

test("a slider ends with the axis, and asks the kernel for the slice that it names", async () => {
  const packer = new Packer();
  const data = packer.data(new Uint8Array(6));
  const model = new FakeModel();
  const store = stored([entry("Y", { preview: grid(data, { index: [0, 0, 0] }), shape: [4, 1, 3, 2, 3] })], packer);
  const view = new View(store, { kernel: new Kernel(() => [model]) });
  const story = new Story(view.find(".tensors"));
  const [query] = model.sent.splice(0);
  assert.deepEqual(query, { v: 1, type: "tensors", run: "r-1", call: 0, id: query.id, slot: query.slot });
  const preview = grid([0, 6], { index: [0, 0, 0] });
  const answered = { tensors: [entry("Y", { preview, shape: [4, 1, 3, 2, 3] })] };
  model.receive({ type: "answer", id: query.id, ...answered }, new Uint8Array(6).buffer);
  await settled();
  story.step("the kernel answers");
  const sliders = [...view.root.querySelectorAll<HTMLInputElement>("[type=range]")];
  const bounds = sliders.map(({ min, max, step, value }) => [min, max, step, value]);
  assert.deepEqual(bounds, [["0", "3", "1", "0"], ["0", "2", "1", "0"]]);
  sliders[1].value = "2";
  sliders[1].dispatchEvent(new Event("input", { bubbles: true }));
  story.step("move the second slider");
  const [slice] = model.sent.splice(0);
  const asked = { run: "r-1", call: 0, tensor: 0, mode: "grid", index: [0, 0, 2] };
  assert.deepEqual(slice, { v: 1, type: "slice", ...asked, id: slice.id, slot: slice.slot });
  mock.timers.tick(301);
  story.step("no answer for 300 ms");
  const next = grid([0, 6], { index: [0, 0, 2], high: 9 });
  model.receive({ type: "answer", id: slice.id, preview: next }, new Uint8Array([9, 8, 7, 6, 5, 4]).buffer);
  await settled();
  story.step("the kernel answers with the slice");
  sliders[0].value = "3";
  sliders[0].dispatchEvent(new Event("input", { bubbles: true }));
  const [failing] = model.sent.splice(0);
  model.receive({ type: "answer", id: failing.id, error: { code: "failed", text: "it broke" } });
  await settled();
  story.step("the next answer is an error");
  sliders[0].value = "0";
  sliders[1].value = "0";
  for (const slider of sliders) slider.dispatchEvent(new Event("input", { bubbles: true }));
  story.step("back to the slice that came first");
  story.equals("slices");
});

test("a slider keeps its place when a kernel is connected, and the slice is asked of it", async () => {
  const packer = new Packer();
  const data = packer.data(new Uint8Array(6));
  const view = new View(stored([entry("Y", { preview: grid(data) })], packer));
  const slider = (): HTMLInputElement => view.root.querySelector<HTMLInputElement>("[type=range]")!;
  slider().value = "1";
  slider().dispatchEvent(new Event("input", { bubbles: true }));
  const model = new FakeModel();
  view.frame.connect(new Kernel(() => [model]), undefined);
  assert.equal(slider().value, "1");
  assert.deepEqual(
    model.sent.map((each) => [each.type, "index" in each && each.index]),
    [["slice", [1]], ["tensors", false]],
  );
});

test("an answer that came too late is not shown in place of a newer one", async () => {
  const packer = new Packer();
  const data = packer.data(new Uint8Array(6));
  const model = new FakeModel();
  const store = stored([], packer, { tensors: {} });
  const view = new View(store, { kernel: new Kernel(() => [model]) });
  const [query] = model.sent.splice(0);
  const whole = entry("Y", { preview: grid(data) });
  model.receive({ type: "answer", id: query.id, tensors: [whole] }, new Uint8Array(99).buffer);
  await settled();
  const [slider] = view.root.querySelectorAll<HTMLInputElement>("[type=range]");
  for (const at of ["1", "2"]) {
    slider.value = at;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const shown: string[] = [];
  for (const index of [1, 2]) {
    const [sent, ...others] = model.sent.splice(0);
    assert.deepEqual(others, []);
    const preview = grid([0, 6], { index: [index] });
    model.receive({ type: "answer", id: sent.id, preview }, new Uint8Array(6).buffer);
    await settled();
    shown.push(view.find(".slice .caption").textContent!.slice(0, 6));
  }

  assert.deepEqual(shown, ["[0, …]", "[2, …]"]);
});

test("a busy kernel, an error and dropped values are said where tensors would be", async () => {
  const model = new FakeModel();
  const store = stored([], new Packer(), { tensors: {} });
  const view = new View(store, { kernel: new Kernel(() => [model]) });
  const story = new Story(view.frame.element);
  mock.timers.tick(299);
  story.step("299 ms later");
  mock.timers.tick(2);
  story.step("301 ms later");
  const [query] = model.sent.splice(0);
  model.receive({ type: "answer", id: query.id, error: { code: "failed", text: "no such thing" } });
  await settled();
  story.step("the answer is an error");
  view.click(view.row("reader"));
  mock.timers.tick(40);
  story.step("select the reader");
  const [second] = model.sent.splice(0);
  const drop = { calls: 3, because: "keep_calls=9 limits the calls", notice: "3 calls dropped", last: 4 };
  const error = { code: "dropped", text: "call 1 is no longer kept", dropped: { calls: drop } };
  model.receive({ type: "answer", id: second.id, error });
  await settled();
  story.step("the call was dropped");
  view.click(view.row("pipeline"));
  mock.timers.tick(40);
  const [third] = model.sent.splice(0);
  const lacks = "values are no longer kept";
  model.receive({ type: "answer", id: third.id, tensors: [entry("Y", { evicted: true })], lacks });
  await settled();
  story.step("its values were dropped");
  view.frame.connect(new Kernel(() => [model]), undefined);
  model.lose();
  await settled();
  story.step("the kernel is gone");
  story.equals("answers");
});

/** Answer a query for a running call after some time; return which later times query it again. */
async function queriedAgain(tookMs: number, waitsMs: number[]): Promise<boolean[]> {
  const model = new FakeModel();
  const calls = [call(-1, 0, 0, { compute_infer_us: 90, flags: Flag.RUNNING })];
  const run = { id: "r-1", title: "pipeline", request_id: "", state: "running" as const };
  const { header, buffer } = encode(calls, { models: MODELS, run });
  const clock = mock.method(performance, "now");
  clock.mock.mockImplementation(() => 1000);
  const view = new View(Store.of(header, buffer), { kernel: new Kernel(() => [model]) });
  const [query] = model.sent.splice(0);
  clock.mock.mockImplementation(() => 1000 + tookMs);
  model.receive({ type: "answer", id: query.id, tensors: [entry("X")] });
  await settled();
  const again = waitsMs.map((waitMs) => {
    clock.mock.mockImplementation(() => 1000 + tookMs + waitMs);
    view.frame.select(null);
    view.frame.select({ kind: "call", call: 0 });
    mock.timers.tick(40);
    return model.sent.splice(0).length > 0;
  });
  clock.mock.restore();
  return again;
}

test("tensors of a running call are queried again two seconds after the answer", async () => {
  assert.deepEqual(await queriedAgain(0, [0, 1999, 2001]), [false, false, true]);
});

test("a slow kernel is queried again after ten times as long as it took", async () => {
  assert.deepEqual(await queriedAgain(500, [2001, 4999, 5001]), [false, false, true]);
});

test("a call that is selected is told to Python, and one that Python selects is shown", () => {
  const told: number[] = [];
  const filters: string[] = [];
  const view = new View(stored([], new Packer()), {
    onSelect: (id) => told.push(id),
    onFilter: (text) => filters.push(text),
  });
  view.click(view.row("reader"));
  view.frame.selectCall(1);
  view.frame.selectCall(0);
  press(view.find("[role=tree]"), "Escape");
  const filter = view.find(".filter") as HTMLInputElement;
  filter.value = "read";
  filter.dispatchEvent(new Event("input"));
  view.frame.filterBy("read");
  view.frame.filterBy("pipe");

  assert.deepEqual(told, [1, 0, -1]);
  assert.deepEqual(filters, ["", "read"]);
  assert.equal(filter.value, "pipe");
});

test("what was looked at goes from one view of a run to the next", () => {
  const first = new View(stored([], new Packer()));
  first.click(first.row("reader"));
  press(first.find("[role=tree]"), "f");
  press(first.find("[role=tree]"), "c");
  first.frame.filterBy("read");
  const { state } = first.frame;
  const second = new View(stored([], new Packer()), { state });

  assert.deepEqual(second.frame.state, state);
  assert.equal(second.find("[aria-pressed=true]").textContent, "critical path");
  assert.equal((second.find(".filter") as HTMLInputElement).value, "read");
  assert.equal(second.row("reader").getAttribute("aria-selected"), "true");
  first.frame.dispose();
});
