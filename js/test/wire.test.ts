import assert from "node:assert/strict";
import { test } from "node:test";

import { Trace } from "../src/trace/trace.ts";
import { Store } from "../src/trace/store.ts";
import { Flag, column, ownBuffer, rowOf } from "../src/trace/wire.ts";
import { call, encode, model } from "./fixture.ts";
import { invoice } from "./samples.ts";

const MODELS = [model("a"), model("b")];

test("a document's columns come back as the numbers that went in", () => {
  const { header, buffer } = invoice();
  const { calls, n } = Store.of(header, buffer);

  assert.equal(n, 27);
  assert.deepEqual([...calls.parent.slice(0, 3)], [-1, 0, 0]);
  assert.equal(calls.compute_infer_us[2], 9800);
  assert.ok(calls.flags[3] & Flag.ASYNC);
});

test("a phase that was not recorded stays NaN and never becomes zero", () => {
  const { header, buffer } = invoice();

  assert.ok(Number.isNaN(Store.of(header, buffer).calls.compute_infer_us[13]));
});

test("a view at an odd offset of a larger buffer can be read", () => {
  const { header, buffer } = encode([call(-1, 0, 7)], { models: MODELS });
  const shifted = new Uint8Array(buffer.byteLength + 3);
  shifted.set(new Uint8Array(buffer), 3);

  assert.equal(Store.of(header, ownBuffer(shifted.subarray(3))).calls.start_us[0], 7);
});

test("rows are upserted: a replayed message changes nothing", () => {
  const store = new Store();
  const first = encode(
    [call(-1, 0, 0, { flags: Flag.RUNNING })],
    { models: MODELS },
    { ids: [0] },
  );
  const second = encode(
    [call(-1, 0, 0), call(0, 1, 5)],
    { models: MODELS, errors: { "1": "broke" } },
    {
      ids: [0, 1],
      responses: [
        [1, 2],
        [1, 4],
      ],
    },
  );
  store.upsert(first.header, first.buffer, 1);
  store.upsert(second.header, second.buffer, 2);
  const before = [store.n, [...store.calls.flags], [...store.responses(1)]];

  assert.ok(store.upsert(first.header, first.buffer, 1));
  assert.ok(store.upsert(second.header, second.buffer, 2));
  assert.deepEqual([store.n, [...store.calls.flags], [...store.responses(1)]], before);
  assert.deepEqual(before, [2, [0, 0], [2, 4]]);
});

test("a gap in the sequence is refused until a snapshot comes", () => {
  const store = new Store();
  const part = encode([call(-1, 0, 0)], { models: MODELS }, { ids: [0] });
  const whole = encode([call(-1, 0, 0), call(0, 1, 1)], { models: MODELS });

  assert.equal(store.upsert(part.header, part.buffer, 3), false);
  assert.equal(store.n, 0);
  store.replace(whole.header, whole.buffer, 5);
  assert.ok(store.upsert(part.header, part.buffer, 6));
  assert.equal(store.n, 2);
});

test("what updates say about single rows is kept beside what was said before", () => {
  const store = new Store();
  const first = encode(
    [call(-1, 0, 0)],
    { models: MODELS, notes: { "0": ["slow"] } },
    { ids: [0] },
  );
  const second = encode(
    [call(0, 1, 1)],
    { models: MODELS, notes: { "1": ["late"] } },
    { ids: [1] },
  );
  store.upsert(first.header, first.buffer, 1);
  store.upsert(second.header, second.buffer, 2);

  assert.deepEqual(store.header.notes, { "0": ["slow"], "1": ["late"] });
});

test("columns that the view does not know are ignored, an unknown format is refused", () => {
  const { header, buffer } = encode([call(-1, 0, 0)], { models: MODELS });
  const richer = {
    ...header,
    columns: { ...header.columns, of_tomorrow: ["f8", 0, 1] as [string, number, number] },
  };

  assert.equal(Store.of(richer, buffer).n, 1);
  assert.throws(() => Store.of({ ...header, format: 3 }, buffer), /format 3/);
  assert.throws(() => column(buffer, ["x9", 0, 1]), /x9/);
});

test("calls are upserted by id, and a caller is found whatever was dropped before it", () => {
  const store = new Store();
  const whole = encode(
    [call(-1, 0, 0), call(0, 1, 40), call(40, 1, 90)],
    { models: MODELS },
    { ids: [0, 40, 90], responses: [[90, 3]] },
  );
  const later = encode(
    [call(40, 1, 41, { flags: Flag.ERROR }), call(41, 0, 95), call(0, 1, 40, { line: 7 })],
    { models: MODELS, errors: { "41": "broke" } },
    { ids: [41, 95, 40] },
  );
  store.replace(whole.header, whole.buffer, 1);
  const before = new Trace(store);
  store.upsert(later.header, later.buffer, 2);
  const trace = new Trace(store);

  assert.deepEqual([...trace.calls.id], [0, 40, 41, 90, 95]);
  assert.deepEqual([...trace.calls.parent], [-1, 0, 1, 1, 2]);
  assert.deepEqual([...trace.calls.start_us], [0, 40, 41, 90, 95]);
  assert.deepEqual([trace.at(41), trace.at(42), trace.id(4), trace.calls.line[1]], [2, -1, 95, 7]);
  assert.deepEqual([...trace.responses(3)], [3]);
  assert.deepEqual([...before.calls.id], [0, 40, 90]);
  assert.equal(before.start(2), 90);
});

test("what is drawn keeps its numbers when a snapshot takes their place", () => {
  const { header, buffer } = encode([call(-1, 0, 0), call(0, 1, 5)], { models: MODELS });
  const store = Store.of(header, buffer);
  const before = new Trace(store);
  const less = encode([call(-1, 0, 0), call(0, 1, 99)], { models: MODELS }, { ids: [0, 7] });
  store.replace(less.header, less.buffer, 2);

  assert.deepEqual([before.start(1), before.id(1)], [5, 1]);
  assert.deepEqual([new Trace(store).start(1), new Trace(store).at(1)], [99, -1]);
});

test("the row of each id is found, whatever ids are missing", () => {
  for (const ids of [[], [0], [3], [0, 1, 2], [2, 5], [1, 3, 5, 7, 9], [0, 1, 4, 8, 9, 11]]) {
    const column = Int32Array.from(ids);
    for (let id = -1; id < 13; id++) assert.equal(rowOf(column, id), ids.indexOf(id), `${id} in ${ids}`);
  }
});
