import assert from "node:assert/strict";
import { test } from "node:test";

import { timesOf } from "../src/inspector/responses.ts";
import { Trace } from "../src/trace/trace.ts";
import { Store } from "../src/trace/store.ts";
import { Flag } from "../src/trace/wire.ts";
import { call, encode, model } from "./fixture.ts";

const STREAM = { flags: Flag.DECOUPLED, responses: 3, compute_infer_us: 100 };

function trace(responses: [row: number, us: number, number?: number][]): Trace {
  const calls = [call(-1, 0, 0, STREAM), call(0, 1, 5, STREAM), call(0, 2, 9)];
  const models = ["a", "b", "c"].map((name) => model(name));
  const { header, buffer } = encode(calls, { models }, { responses });
  return new Trace(Store.of(header, buffer));
}

test("times to the first response and between responses are in order of size", () => {
  const answered = trace([[0, 30], [0, 34], [0, 54], [1, 12], [1, 15]]);

  assert.deepEqual(timesOf(answered, [0, 1, 2]), {
    streams: 2,
    responses: 6,
    first: [12, 30],
    gaps: [3, 4, 20],
  });
});

test("of a stream that has not answered yet, and of other calls, nothing is known", () => {
  const times = timesOf(trace([[2, 4]]), [0, 1, 2]);

  assert.deepEqual(times, { streams: 0, responses: 0, first: [], gaps: [] });
});

test("between responses of which others are only counted no time is taken", () => {
  const counted = trace([[0, 30, 0], [0, 34, 1], [0, 9000, 98], [0, 9005, 99], [1, 7, 3]]);

  assert.deepEqual(timesOf(counted, [0, 1]).gaps, [4, 5]);
});

test("responses at the same time are all known, and those that are sent again are known once", () => {
  const { header, buffer } = encode(
    [call(-1, 0, 0, STREAM)],
    { models: [model("a")] },
    { responses: [[0, 30], [0, 30], [0, 31]] },
  );
  const store = Store.of(header, buffer);
  store.upsert(header, buffer, 1);

  assert.deepEqual(store.responses(0), [30, 30, 31]);
});
