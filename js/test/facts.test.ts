/** What the view shows of runs that are not plain: counted calls, batches, devices, streams, cycles. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { same, Story } from "./drawing.ts";
import { call, encode, model, Packer, traceOf, type Call } from "./fixture.ts";
import { nextFrame, penOf, point, press } from "./page.ts";
import { View } from "./shown.ts";
import { droppedCall } from "../src/facts/dropped.ts";
import { differences, missingCalls } from "../src/inspector/inspectbaseline.ts";
import { h } from "../src/page/dom.ts";
import { latency } from "../src/inspector/latency.ts";
import { responseTimes } from "../src/inspector/responses.ts";
import { Comparison } from "../src/trace/comparison.ts";
import type { Change, Header, Run } from "../src/trace/header.ts";
import { Trace } from "../src/trace/trace.ts";
import { Store } from "../src/trace/store.ts";
import { Flag } from "../src/trace/wire.ts";

function shown(calls: Call[], header: Partial<Header>, responses: [number, number][] = [], ids?: number[]): View {
  const { header: whole, buffer } = encode(calls, header, { responses, ids });
  return new View(Store.of(whole, buffer));
}

function run(rest: Partial<Run> = {}): Run {
  return { id: "r", title: "m0", request_id: "", state: "done", ...rest };
}

const MODELS = [model("pipeline"), model("reader", "onnxruntime", "gpu:0"), model("writer")];

/** Click on each of some rows and note what changes. */
function clicks(view: View, story: Story, names: readonly string[]): void {
  for (const name of names) {
    view.click(view.row(name));
    story.step(`click on the row of ${name}`);
  }
}

test("calls that are only counted are in rows, boxes, bars, sums and latencies", () => {
  const calls = [
    call(-1, 0, 0, { compute_infer_us: 20_000 }),
    ...[100, 4000, 9000, 15_000].map((at, k) =>
      call(0, 1, at, { compute_infer_us: 200 + 90 * k, flags: k === 2 ? Flag.ERROR : 0 }),
    ),
    call(0, 2, 19_000, { compute_infer_us: 500 }),
  ];
  const latencies: [number, number][] = [[140, 30], [150, 9], [190, 1]];
  const folded = [[0, 1, 40, 2, 9000, 200, 14_000, latencies]] as Run["folded"];
  const view = shown(calls, { models: MODELS, run: run({ folded, calls: 46, errors: 3 }) });
  const story = new Story(view.frame.element, { whole: true });
  clicks(view, story, ["reader", "writer", "pipeline"]);
  view.click(view.row("reader").querySelector<HTMLElement>(".triangle")!);
  story.step("unfold the reader");
  view.click(view.row("reader", 1));
  story.step("click on its first call");
  view.click(view.box("reader"));
  story.step("click on the box of the reader");
  press(view.find("[role=tree]"), "f");
  story.step("zoom to it");
  story.equals("counted");
});

test("a batch shows who was in it, why it left, and why not before", () => {
  const calls = [
    call(-1, 0, 0, { compute_infer_us: 900 }),
    ...[10, 20, 30, 40, 50].map((at, k) =>
      call(0, 1, at, { queue_us: 50, compute_infer_us: 200, execution: k < 4 ? 3 : 4, batch: k < 4 ? 6 : 1 }),
    ),
    ...Array.from({ length: 10 }, (_, k) => call(0, 2, 60 + k, { execution: 9, batch: 10 })),
  ];
  const view = shown(calls, {
    models: MODELS,
    run: run(),
    batching: {
      1: [[3, true, "full", "the batch was full", ["run-7", "run-8"], 1]],
      5: [
        [3, false, "shape", "its shape is another one", [], 2],
        [4, true, "delay", "max_queue_delay was over", [], 1],
      ],
    },
  });
  const story = new Story(view.frame.element);
  view.click(view.row("reader").querySelector<HTMLElement>(".triangle")!);
  story.step("unfold the reader");
  for (const number of [1, 2, 5]) {
    view.click(view.row("reader", number));
    story.step(`click on call ${number}`);
  }
  view.click(view.row("writer").querySelector<HTMLElement>(".triangle")!);
  view.click(view.row("writer", 1));
  story.step("click on the first of ten calls in a batch");
  view.click(view.row("reader", 5));
  view.click(view.button("see reader, call 1"));
  story.step("click on its link to another batch");
  story.equals("batch");
});

test("copies, use of a device, streams and states of calls are listed", () => {
  const calls = [
    call(-1, 0, 0, { compute_infer_us: 9000 }),
    call(0, 1, 100, { compute_infer_us: 3000, flags: Flag.DECOUPLED, responses: 5 }),
    call(0, 2, 3200, { compute_infer_us: 2000, flags: Flag.DECOUPLED | Flag.CANCELLED, responses: 2 }),
    call(0, 1, 5400, { compute_infer_us: 100, flags: Flag.CACHE_HIT }),
    call(0, 2, 5600, { compute_infer_us: 1500, flags: Flag.ASYNC | Flag.ERROR }),
  ];
  const copies = Array.from({ length: 14 }, (_, k): [number, number, string, number, string, string, boolean] =>
    [k, 4 + k, `T${k}`, 256 * (k + 1), "cpu", "gpu:0", k === 3]);
  const packer = new Packer();
  packer.add("copy_bytes", "f8", [0, 26_880, 0, 512, 0]);
  packer.add("copy_us", "f4", [0, 147, 0, 9, 0]);
  const header = {
    models: MODELS,
    run: run({ request_id: "abc", file: "saved.blsrun" }),
    instances: ["", "reader_0_1"],
    copies: { 1: copies },
    device_use: { 1: ["gpu:0", 1800, 3 << 20, 5 << 20] },
    errors: { 4: "unexpected shape" },
    codes: { 4: "INVALID_ARG" },
    notes: { 0: ["This note is about the run."], 2: ["Its caller left."] },
    requests: { 4: { request_id: "step-4" } },
    logs: { 4: [[5700, "WARNING", "slow \n"], [6900, "ERROR", "failed"]] },
  } as unknown as Partial<Header>;
  const responses: [number, number][] = [[1, 200], [1, 400], [1, 401], [1, 1600], [1, 2900], [2, 30], [2, 700]];
  const { header: whole, buffer } = encode(calls, header, { responses, packer });
  const view = new View(Store.of(whole, buffer));
  const story = new Story(view.frame.element, { whole: true });
  for (const [name, number] of [["reader", 0], ["writer", 0], ["reader", 1], ["writer", 1]] as const) {
    view.click(view.row(name, number));
    story.step(`click on row ${number + 1} of ${name}`);
  }
  for (const name of ["reader", "writer"]) {
    view.click(view.box(name));
    story.step(`click on the box of ${name}`);
  }
  story.equals("states");
});

test("the source of a call is listed around its line, numbered as in the cell", () => {
  const source = [
    "import blsnb",
    "",
    "def execute(requests):",
    "    for request in requests:",
    "        answer = ask(",
    "            request,",
    "            7,",
    "        )",
    "    return answer",
  ].join("\n");
  const calls = [call(-1, 0, 0, { compute_infer_us: 90 }), call(0, 1, 5, { line: 8 }), call(0, 2, 25, { line: 4 })];
  const models = [{ ...MODELS[0], origin: ["cell In[5]", 2] as [string, number] }, ...MODELS.slice(1)];
  const view = shown(calls, { models, run: run(), sources: { 0: source } });
  const story = new Story(view.find(".inspector"));
  clicks(view, story, ["reader", "writer"]);
  story.equals("source");
});

test("calls that were dropped, and a run that is not over, say so", () => {
  const dropped = {
    calls: { calls: 2, because: "keep_calls=3 limits the calls", notice: "2 calls dropped", last: 2 },
    values: { calls: 1, because: "trace_budget_bytes=9 limits the values", notice: "values of 1 call dropped", last: -1 },
  };
  const calls = [
    call(-1, 0, 0, { compute_infer_us: 5000, flags: Flag.RUNNING }),
    call(0, 1, 3000, { compute_infer_us: 900 }),
    call(0, 2, 4000, { compute_infer_us: 1000, flags: Flag.RUNNING, responses: 0 }),
  ];
  const about = run({ state: "running", saved: true, dropped, lacks: "values are no longer kept" });
  const view = shown(calls, { models: MODELS, run: about }, [], [0, 3, 4]);
  const story = new Story(view.frame.element, { whole: true });
  clicks(view, story, ["reader", "writer"]);
  view.frame.selectCall(1);
  nextFrame();
  story.step("select call 1 from outside");
  view.frame.selectCall(99);
  nextFrame();
  story.step("select call 99, which there never was");
  view.frame.noteDropped({});
  nextFrame();
  story.step("nothing is dropped after all");
  story.equals("dropped");
});

test("a call that is not shown was dropped by a limit, or is only counted", () => {
  const dropped = { calls: { calls: 2, because: "keep_calls=3 limits the calls", notice: "2 calls dropped", last: 2 } };
  const noted = (about: Partial<Run>): (string | null | undefined)[] => {
    const trace = traceOf([call(-1, 0, 0), call(0, 1, 1)], { run: run({ calls: 9, ...about }) }, [0, 4]);
    return [2, 3].map((id) => droppedCall(trace, id).at(-1)?.textContent);
  };
  const counted = (id: number): string => `Call ${id} is only counted: this view shows 2 of 9 calls one by one.`;

  assert.deepEqual(noted({ dropped }), ["Call 2 is no longer kept: keep_calls=3 limits the calls.", counted(3)]);
  assert.deepEqual(noted({}), [counted(2), counted(3)]);
});

test("cycles, recursion and spans are drawn as loops and edges upward", () => {
  const calls = [
    call(-1, 0, 0, { compute_infer_us: 900 }),
    call(0, 1, 10, { compute_infer_us: 700 }),
    call(1, 1, 20, { compute_infer_us: 300 }),
    call(2, 2, 30, { compute_infer_us: 200 }),
    call(3, 0, 40, { compute_infer_us: 100 }),
    call(0, 2, 750, { compute_infer_us: 50 }),
  ];
  const models = [MODELS[0], MODELS[1], { ...MODELS[2], kind: "span" }];
  const view = shown(calls, { models, run: run() });
  const story = new Story(view.frame.element, { whole: true });
  press(view.find("[role=tree]"), "End");
  story.step("select the last row");
  press(view.find("[role=tree]"), "c");
  story.step("show the critical path");
  view.click(view.row("reader").querySelector<HTMLElement>(".triangle")!);
  story.step("fold the reader");
  story.equals("cycle");
});

test("an ensemble computes nothing between its steps", () => {
  const models = [{ ...model("ensemble", "ensemble", ""), kind: "model" }, ...MODELS.slice(1)];
  const calls = [
    call(-1, 0, 0, { queue_us: 20, compute_infer_us: 900 }),
    call(0, 1, 50, { pre_us: 30, compute_input_us: 40, compute_infer_us: 200, compute_output_us: 60, post_us: 20 }),
    call(0, 2, 500, { compute_infer_us: NaN, compute_input_us: NaN, flags: Flag.ERROR, queue_us: NaN }),
  ];
  const view = shown(calls, { models, run: run() });
  const story = new Story(view.frame.element, { whole: true });
  clicks(view, story, ["writer", "reader"]);
  story.equals("ensemble");
});

test("more models than boxes share one, whose list opens each of them", () => {
  const models = Array.from({ length: 70 }, (_, k) => model(`m${k}`));
  const calls = [call(-1, 0, 0, { compute_infer_us: 9000 })];
  for (let k = 1; k < 70; k++) calls.push(call(0, k, 100 * k, { compute_infer_us: 20 + ((k * 37) % 90) }));
  calls.push(call(0, 69, 8000));
  const view = shown(calls, { models, run: run() });
  const story = new Story(view.frame.element);
  view.click(view.box("+30 models"));
  story.step("click on the box of 30 models");
  const links = [...view.root.querySelectorAll<HTMLElement>(".inspector button.link")];
  view.click(links[0]);
  story.step("click on the largest of them");
  story.equals("many");
});

test("sixty models have boxes of their own; the list of a shared one says how often each was called", () => {
  const manyModels = (count: number): View => {
    const models = Array.from({ length: count }, (_, k) => model(`m${k}`));
    const calls = [call(-1, 0, 0, { compute_infer_us: 9000 })];
    for (let k = 1; k < count; k++) calls.push(call(0, k, 100 * k, { compute_infer_us: 100 - k }));
    calls.push(call(0, count - 1, 8000, { compute_infer_us: 1 }));
    return shown(calls, { models, run: run() });
  };
  assert.ok(manyModels(60).box("m59"));
  const view = manyModels(61);
  view.click(view.box("+21 models"));

  const links = [...view.root.querySelectorAll<HTMLElement>(".inspector button.link")];
  assert.deepEqual(
    [links[0], links[20]].map((each) => [...each.children].map((part) => part.textContent)),
    [["m40", "60 µs"], ["m60 ×2", "41 µs"]],
  );
});

test("calls that only the baseline has are named with their number", () => {
  const baseline = traceOf([call(-1, 0, 0), call(0, 1, 1), call(0, 1, 2)], { models: MODELS });
  const [one, two] = [[1], [1, 2]].map((calls) =>
    missingCalls(baseline, calls).find((each) => each.tagName === "H3")?.textContent,
  );

  assert.deepEqual([one, two], ["reader", "reader ×2"]);
});

test("streams have quantiles of their first responses, and of the pauses if there are any", () => {
  const facts = (...responses: [number, number][]): string => {
    const streams = [0, 1, 2, 3].map((k) => call(k ? 0 : -1, 0, 0, { flags: k ? Flag.DECOUPLED : 0, responses: 1 }));
    const { header, buffer } = encode(streams, { models: MODELS }, { responses });
    return responseTimes(new Trace(Store.of(header, buffer)), [1, 2, 3]).map(({ textContent }) => textContent).join(" ");
  };

  assert.equal(facts([1, 10], [2, 30], [3, 20]), "Responses3 responses first p5020 µsp9030 µsmax30 µs");
  assert.equal(
    facts([1, 10], [1, 15], [2, 30], [2, 37]),
    "Responses2 responses first p5030 µsp9030 µsmax30 µs between them p507 µsp907 µsmax7 µs",
  );
  assert.equal(facts([1, 10], [1, 15], [1, 17]), "Responses1 response first10 µsgap5 µsmax gap5 µs");
  assert.equal(facts(), "");
});

test("a histogram of latencies counts outliers beside it, and few or like ones have none", () => {
  const picture = (durations: number[]): [label: string | null | undefined, drawn: number[]] => {
    const shown = h("div", {}, latency(durations, null)).querySelector("[role=img]");
    const tall = [...(shown?.children ?? [])].map((bar, k) => (Number(bar.getAttribute("height")) > 0 ? k : -1));
    return [shown?.getAttribute("aria-label"), tall.filter((bar) => bar >= 0)];
  };
  const usual = Array.from({ length: 19 }, (_, k) => 11 + k);
  const [label, bars] = picture([...usual, 100]);

  assert.equal(label, "Histogram of latencies from 11 µs to 43.5 µs, 1 more up to 100 µs");
  assert.deepEqual([bars.length, bars[0], bars.at(-1)], [19, 0, 19]);
  assert.deepEqual(picture([1, 2, 3, 4]), ["Histogram of latencies from 1 µs to 4 µs", [0, 12, 24, 35]]);
  assert.deepEqual(picture([...usual.map(() => 0), 100]), ["Histogram of latencies from 0 µs to 1 µs, 1 more up to 100 µs", [0]]);
  assert.deepEqual(picture([...usual.map(() => 0), 0.5]), ["Histogram of latencies from 0 µs to 500 ns", [0, 35]]);
  for (const none of [[1, 2, 3], [5, 5, 5, 5]]) assert.deepEqual(picture(none), [undefined, []]);
});

test("what differs from the baseline is listed, with both values", () => {
  const change: Change = {
    tensors: [["output", "Y", 0, "new: BOOL[1]"], ["input", "X", 0, "a"], ["output", "Y", 2, "b"]],
    more: 2,
    error: ["", "it failed"],
    responses: [1200, 3],
    request: [["priority", "1", ""]],
  };
  const listed = (changes: Record<string, Change>): (string | null)[] => {
    const comparison = new Comparison(traceOf([call(-1, 0, 0)]), { of: Int32Array.of(0), missing: [], changed: [0], changes });
    return differences({ comparison } as Trace, 0).flatMap((each) => (each.children.length ? [...each.children] : [each])).map(({ textContent }) => textContent);
  };

  assert.deepEqual(listed({}), ["It differs; how is not in this document."]);
  assert.deepEqual(listed({ 0: change }), [
    "8",
    ...["error", "none now", "before: it failed"],
    ...["responses", "1,200, before 3"],
    ...["priority", "now: 1", "none before"],
    ...["← Y", "new: BOOL[1]", "→ X", "a", "← Y #3", "b"],
    "… 2 more",
  ]);
});

test("a run that took no time is drawn with bars of a width that can be seen", () => {
  const view = shown([call(-1, 0, 0, { compute_infer_us: 0 })], { models: MODELS, run: run() });
  new Story(view.frame.element, { whole: true }).equals("instant");
});

test("rows out of view have no elements, and scrolling brings them", () => {
  const calls = [call(-1, 0, 0, { compute_infer_us: 90_000 })];
  const models = [MODELS[0], ...Array.from({ length: 40 }, (_, k) => model(`step${k}`))];
  for (let k = 1; k <= 40; k++) calls.push(call(0, k, 1000 * k, { compute_infer_us: 500 }));
  const view = shown(calls, { models, run: run() });
  const story = new Story(view.find(".tree"));
  const tree = view.find(".tree");
  press(tree, "ArrowRight");
  press(tree, "ArrowRight");
  story.step("unfold the pipeline");
  for (const key of ["End", "PageUp", "Home", "PageDown"]) {
    press(tree, key);
    tree.dispatchEvent(new Event("scroll"));
    nextFrame();
    story.step(`press ${key}: scrolled to ${tree.scrollTop}`);
  }
  press(tree, "Home");
  for (let row = 1; row <= 15; row++) press(tree, "ArrowDown");
  story.step(`15 times down: scrolled to ${tree.scrollTop}`);
  view.frame.selectCall(38);
  nextFrame();
  story.step(`Python selects call 38: scrolled to ${tree.scrollTop}`);
  tree.scrollTop = 330;
  point(tree, "scroll");
  story.step("scroll to 330");
  story.equals("scroll");
});

test("the time axis has round times of the unit that fits, however far it is zoomed", () => {
  const times: string[] = [];
  for (const us of [50, 4000, 3e6]) {
    const calls = [call(-1, 0, 0, { compute_infer_us: us }), call(0, 1, us / 3, { compute_infer_us: us / 2 })];
    const view = shown(calls, { models: MODELS, run: run() });
    const tree = view.find(".tree");
    const axis = penOf(view.find("canvas.axis") as HTMLCanvasElement);
    for (let step = 0; step <= 40; step++) {
      if (step % 5 === 0) times.push(axis.painted.filter((line) => line.startsWith("text")).join("; "));
      press(tree, "+");
    }
  }
  same(times, "axis");
});

test("a long chain of models is drawn from left to right", () => {
  const calls = [call(-1, 0, 0, { compute_infer_us: 9000 })];
  for (let k = 1; k < 9; k++) calls.push(call(k - 1, k, 10 * k, { compute_infer_us: 8000 - 100 * k }));
  calls.push(call(7, 9, 8500), call(9, 9, 8501));
  const models = Array.from({ length: 10 }, (_, k) => model(`m${k}`));
  const view = shown(calls, { models, run: run() });
  new Story(view.find(".callgraph"), { whole: true }).equals("right");
});

test("an error names the chain of models, of more than eight the outermost and the innermost", () => {
  for (const [count, expected] of [
    [8, "m0 › m1 › m2 › m3 › m4 › m5 › m6 › m7"],
    [9, "m0 › m1 › m2 › … › m5 › m6 › m7 › m8"],
  ] as const) {
    const models = Array.from({ length: count }, (_, k) => model(`m${k}`));
    const calls = models.map((_, k) => call(k - 1, k, k, { flags: k === count - 1 ? Flag.ERROR : 0 }));
    const view = shown(calls, { models, run: run() });
    view.click(view.row(`m${count - 1}`));
    assert.equal(view.find(".inspector .error .chain").textContent, expected);
  }
});

test("the callers of a call are listed, of more than six the outermost and the innermost", () => {
  for (const [callers, expected] of [
    [6, "m0 › m1 › m2 › m3 › m4 › m5 › "],
    [7, "m0 › m1 › … › m4 › m5 › m6 › "],
  ] as const) {
    const models = Array.from({ length: callers + 1 }, (_, k) => model(`m${k}`));
    const view = shown(models.map((_, k) => call(k - 1, k, k)), { models, run: run() });
    view.click(view.row(`m${callers}`));
    assert.equal(view.find(".inspector .breadcrumb").textContent, expected);
  }
});

test("a call that shared its execution says with how many", () => {
  const chips = [1, 2].map((batch) => {
    const view = shown([call(-1, 0, 0, { batch })], { models: MODELS, run: run() });
    return view.find(".inspector").textContent!.includes(`batch of ${batch}`);
  });

  assert.deepEqual(chips, [false, true]);
});

test("few values are above the phases, unless a call failed or its lines were timed", () => {
  const entry = { name: "X", datatype: "FP32", shape: [2], device: "cpu", byte_size: 8, role: "output", response: 0, evicted: false, stats: null, histogram: null, preview: null };
  const isAbove = (header: object, flags = 0, ...shape: number[]): boolean => {
    const tensors = { 0: [{ ...entry, shape }] };
    const view = shown([call(-1, 0, 0, { flags })], { models: MODELS, run: run(), tensors, ...header } as unknown as Partial<Header>);
    const parts = [...view.root.querySelectorAll(".inspector h4, .inspector table.phases")];
    return parts.findIndex(({ textContent }) => textContent === "Outputs1") < parts.findIndex(({ tagName }) => tagName === "TABLE");
  };

  assert.equal(isAbove({}, 0, 2, 3), true);
  assert.equal(isAbove({}, 0, 90, 90), false);
  assert.equal(isAbove({ errors: { 0: "no" } }, Flag.ERROR, 2, 3), false);
  assert.equal(isAbove({ lines: { 0: [] } }, 0, 2, 3), false);
});

test("a box and an edge are marked if more than one of twenty calls failed", () => {
  for (const [calls, failing] of [[19, true], [20, false], [21, false]] as const) {
    const all = [call(-1, 0, 0, { compute_infer_us: 9000 })];
    for (let k = 0; k < calls; k++)
      all.push(call(0, 1, 10 * k, { flags: k === 3 ? Flag.ERROR : 0 }));
    const view = shown(all, { models: MODELS, run: run() });
    assert.equal(view.box("reader").classList.contains("failing"), failing, `${calls} calls`);
    assert.equal(view.find(".edge").classList.contains("failing"), failing, `${calls} calls`);
  }
});
