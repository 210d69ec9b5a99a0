/** What requests say: filtered, linked along their sequence, listed in the inspector. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { call, encode, model } from "./fixture.ts";
import { View } from "./shown.ts";
import { filterOf } from "../src/trace/filter.ts";
import type { Header, TensorEntry } from "../src/trace/header.ts";
import { sequenceOf } from "../src/trace/sequences.ts";
import { Store } from "../src/trace/store.ts";
import { requestFacts } from "../src/inspector/requests.ts";
import { hasFewValues } from "../src/tensors/tensors.ts";
import { Trace } from "../src/trace/trace.ts";

const HEADER = {
  models: [model("pipeline"), model("leaf")],
  run: { id: "r", title: "pipeline", request_id: "", state: "done" },
  requests: {
    0: { request_id: "Abc-1", version: "2", priority: "1", timeout_us: "500" },
    1: { correlation_id: "7", sequence_start: "True", parameters: [["mode", "'fast one'"], ["n", "3"]] },
    2: { correlation_id: "70" },
    3: { correlation_id: "7", sequence_end: "True" },
    4: { correlation_id: "7", sequence_start: "True" },
  },
  response_parameters: { 1: [[0, [["tone", "'calm'"]]], [2, [["last", "True"]]]] },
} as unknown as Partial<Header>;

function store(): Store {
  const calls = [call(-1, 0, 0, { compute_infer_us: 900 })];
  for (let k = 1; k < 5; k++) calls.push(call(0, 1, 100 * k, { compute_infer_us: 50 }));
  const { header, buffer } = encode(calls, HEADER);
  return Store.of(header, buffer);
}

function matching(text: string): number[] {
  const trace = new Trace(store());
  const matches = filterOf(text, trace)!;
  return Array.from({ length: trace.n }, (_, k) => k).filter(matches);
}

test("a filter finds correlation ids, request ids and parameters", () => {
  assert.deepEqual(matching("corr:7"), [1, 3, 4]);
  assert.deepEqual(matching("id:abc"), [0]);
  assert.deepEqual(matching("param:mode"), [1]);
  assert.deepEqual(matching("param:mode=fast one"), [1]);
  assert.deepEqual(matching("param:n=3"), [1]);
  assert.deepEqual(matching("param:last=true"), [1]);
  assert.deepEqual(matching("param:n=30"), []);
});

test("a start begins another sequence, also with an id that was used before", () => {
  const trace = new Trace(store());
  assert.deepEqual(sequenceOf(trace, 3), { id: "7", calls: [1, 3], position: 1 });
  assert.deepEqual(sequenceOf(trace, 4), { id: "7", calls: [4], position: 0 });
  assert.equal(sequenceOf(trace, 0), null);
});

test("the inspector lists fields and parameters, and leads along the sequence", () => {
  const view = new View(store());
  view.click(view.row("leaf").querySelector<HTMLElement>(".triangle")!);
  view.click(view.row("leaf", 1));
  const shown = (): string => view.find(".inspector").textContent!;
  for (const text of ["sequence_startTrue", "mode'fast one'", "tone'calm'", "#3 lastTrue"])
    assert.ok(shown().includes(text), `${text} in ${shown()}`);
  assert.ok(shown().includes("request 1 of 2 in this run"));
  view.click(view.find(".inspector [data-focus=next]"));
  assert.ok(shown().includes("call 3") && shown().includes("sequence_endTrue"), shown());
  view.click(view.find(".inspector [data-focus=previous]"));
  assert.ok(shown().includes("call 1"));
});

test("beside a baseline the inspector lists the fields that differ, with what they were", () => {
  const entries = (entry: object): Partial<Header> => ({ ...HEADER, requests: { 0: entry }, response_parameters: {} }) as Partial<Header>;
  const stored = (entry: object): Store => {
    const { header, buffer } = encode([call(-1, 0, 0), call(-1, 0, 9)], entries(entry));
    return Store.of(header, buffer);
  };
  const listed = (now: object, before: object): string[] => {
    const store = stored(now);
    [store.baseline, store.compared] = [stored(before), { of: Int32Array.of(0, -1), missing: [] }];
    return requestFacts(new Trace(store), 0).flatMap((each) => [...each.querySelectorAll("tr")].map((row) => row.textContent!));
  };
  assert.deepEqual(listed({ priority: "1", version: "2" }, { priority: "1", version: "3" }), ["version2before: 3", "priority1"]);
  assert.deepEqual(listed({ priority: "1" }, {}), ["priority1before: none"]);
  assert.deepEqual(listed({}, { priority: "1" }), ["prioritynonebefore: 1"]);
  assert.deepEqual(listed({ request_id: "a" }, { request_id: "a" }), []);
  assert.deepEqual(listed({ request_id: "a" }, { request_id: "b" }), ["request_idabefore: b"]);
  assert.deepEqual(requestFacts(new Trace(stored({ request_id: "a" })), 0), [], "a chip has it");
});

test("tensors of up to 32 elements are small, others are not", () => {
  const entry = (...axes: number[]): TensorEntry => ({ shape: axes }) as unknown as TensorEntry;
  assert.equal(hasFewValues([entry(2), entry(4, 8)]), true);
  assert.equal(hasFewValues([entry(2), entry(33)]), false);
  assert.equal(hasFewValues([]), false);
});
