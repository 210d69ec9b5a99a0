/** The connection of a page to kernels: which one answers a document, and how often it is queried. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import "./page.ts";
import { FakeModel } from "./fakemodel.ts";
import connection from "../src/connection.ts";
import { connections } from "../src/kernel/connections.ts";
import { Kernel, QueryError } from "../src/kernel/kernel.ts";

mock.timers.enable({ apis: ["setTimeout"] });

/** Let promises that are settled call back. */
async function settled(): Promise<void> {
  for (let k = 0; k < 12; k++) await Promise.resolve();
}

function answer(model: FakeModel, rest: object = { tensors: [] }): void {
  for (const { id } of model.sent.splice(0)) model.receive({ v: 1, type: "answer", id, ...rest });
}

const code = (error: unknown): string => (error as QueryError).code;

test("a held key queries the first call and the last one", async () => {
  const model = new FakeModel();
  const kernel = new Kernel(() => [model]);
  const asked = [];
  for (let call = 0; call < 90; call++) {
    asked.push(kernel.tensors("r", call).catch(code));
    answer(model);
    await settled();
    mock.timers.tick(33);
  }
  assert.equal(model.sent.length, 0);
  mock.timers.tick(40);
  assert.deepEqual(model.sent.map((each) => (each as { call?: number }).call), [89]);
  answer(model);

  const ends = await Promise.all(asked);
  const kept = ends.flatMap((each, call) => (each === "superseded" ? [] : [call]));
  assert.deepEqual(kept, [0, 89]);
});

test("one query of a slot is in flight, and the newest of the others follows it", async () => {
  const model = new FakeModel();
  const kernel = new Kernel(() => [model]);
  const index = (at: number) => ({ run: "r", call: 1, tensor: 0, index: [at], mode: "grid" as const });
  const asked = [0, 1, 2].map((at) => kernel.slice(index(at)).catch(code));
  assert.equal(model.sent.length, 1);
  answer(model, { preview: null });
  await settled();
  assert.deepEqual(model.sent.map((each) => (each as { index?: number[] }).index), [[2]]);
  answer(model, { preview: null });

  const [first, second, third] = await Promise.all(asked);
  assert.deepEqual([first, second, typeof third], ["superseded", "superseded", "object"]);
});

test("of several kernels the one that has the run answers, also with an error", async () => {
  const [other, own] = [new FakeModel(), new FakeModel()];
  const kernel = new Kernel(() => [other, own]);
  const first = kernel.tensors("r", 0).catch(code);
  answer(other, { error: { code: "gone", text: "not here" } });
  answer(own, { error: { code: "dropped", text: "no longer kept" } });
  assert.equal(await first, "dropped");

  mock.timers.tick(40);
  void kernel.tensors("r", 1);
  assert.deepEqual([other.sent.length, own.sent.length], [0, 1]);
});

test("a kernel is found as long as it answers", () => {
  const model = new FakeModel();
  const stop = connection.initialize({ model });
  assert.ok(!connections().has(model), "it may have been opened by a kernel that was restarted since");
  model.receive({ v: 1, type: "welcome" });
  assert.ok(connections().has(model));
  model.lose();
  assert.ok(!connections().has(model));
  assert.deepEqual(model.sent, Array(2).fill({ v: 1, type: "hello", runs: {} }));
  model.receive({ v: 1, type: "answer", id: "sent before the restart" });
  assert.ok(!connections().has(model));
  model.receive({ v: 1, type: "welcome" });
  assert.ok(connections().has(model));
  stop();
  assert.deepEqual([connections().size, model.listening], [0, 0]);
});
