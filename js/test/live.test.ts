import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Kernel, QueryError } from "../src/kernel/kernel.ts";
import { Live } from "../src/live/live.ts";
import { FakeModel } from "./fakemodel.ts";
import { call, encode, model } from "./fixture.ts";

mock.timers.enable({ apis: ["setTimeout"] });

const MODELS = [model("a"), model("b")];
const RUNNING = { id: "r", title: "a", request_id: "", state: "running" as const };

function part(row: number) {
  return encode([call(row - 1, 0, row)], { models: MODELS, run: { ...RUNNING } }, { ids: [row] });
}

test("a view says what it has, takes rows, and tells each change", () => {
  const widget = new FakeModel();
  const live = new Live(widget);
  let changes = 0;
  live.onChange(() => changes++);
  for (const row of [0, 1, 2])
    widget.receive({ type: "rows", seq: row + 1, header: part(row).header }, part(row).buffer);

  assert.deepEqual(widget.sent, [{ v: 1, type: "hello", have: 0 }]);
  assert.deepEqual([live.store.n, live.store.seq, changes], [3, 3, 3]);
});

test("a lost message is noticed, everything asked for once, and taken", () => {
  const widget = new FakeModel();
  const live = new Live(widget);
  widget.receive({ type: "rows", seq: 1, header: part(0).header }, part(0).buffer);
  widget.receive({ type: "rows", seq: 3, header: part(2).header }, part(2).buffer);
  widget.receive({ type: "rows", seq: 4, header: part(3).header }, part(3).buffer);

  assert.deepEqual(widget.sent.slice(1), [{ v: 1, type: "resync" }]);
  assert.equal(live.store.n, 1);

  const calls = [0, 1, 2, 3].map((row) => call(row - 1, 0, row));
  const whole = encode(calls, { models: MODELS, run: RUNNING });
  widget.receive({ type: "snapshot", seq: 4, header: whole.header }, whole.buffer);
  widget.receive({ type: "rows", seq: 5, header: part(4).header }, part(4).buffer);

  assert.deepEqual([live.store.n, live.store.seq], [5, 5]);
});

test("a run that is said to be finished no longer runs", () => {
  const widget = new FakeModel();
  const live = new Live(widget);
  widget.receive({ type: "rows", seq: 1, header: part(0).header }, part(0).buffer);
  widget.receive({ type: "finished" });

  assert.equal(live.store.header.run.state, "done");
});

test("after its end a view hears nothing", () => {
  const widget = new FakeModel();
  new Live(widget).dispose();

  assert.equal(widget.listening, 0);
});

test("each answer reaches the question with its number, whatever their order", async () => {
  const widget = new FakeModel();
  const kernel = new Kernel(() => [widget]);
  const [first, second] = [
    kernel.tensors("r", 1),
    kernel.slice({ run: "r", call: 1, tensor: 0, index: [2], mode: "grid" }),
  ];
  const [one, two] = widget.sent;
  widget.receive(
    { type: "answer", id: two.id, preview: { kind: "text", strings: ["x"], count: 1 } },
    Uint8Array.of(7).buffer,
  );
  widget.receive({ type: "answer", id: one.id, tensors: [] });

  assert.deepEqual((await first).tensors, []);
  assert.deepEqual(
    [(await second).preview?.kind, new Uint8Array((await second).buffer)[0]],
    ["text", 7],
  );
});

test("an error in the answer is the question's error", async () => {
  const widget = new FakeModel();
  const question = new Kernel(() => [widget]).tensors("r", 99);
  const dropped = { calls: { calls: 9, because: "keep_calls", notice: "9 calls", last: 99 } };
  const error = { code: "dropped", text: "call 99 is no longer kept", dropped };
  assert.deepEqual(widget.sent[0], { v: 1, type: "tensors", run: "r", call: 99, id: widget.sent[0].id, slot: widget.sent[0].slot });
  widget.receive({ v: 1, type: "answer", id: widget.sent[0].id, error });

  const rejected = await question.catch((each: unknown) => each);
  assert.ok(rejected instanceof QueryError);
  assert.deepEqual([rejected.code, rejected.message], ["dropped", error.text]);
  assert.deepEqual(rejected.dropped, dropped);
});

test("questions that a closed view had under way end with it", async () => {
  const kernel = new Kernel(() => [new FakeModel()]);
  const question = kernel.tensors("r", 0);
  kernel.dispose();

  await assert.rejects(question, /closed/);
});

test("a question to a kernel that has ended says so", async () => {
  const widget = new FakeModel();
  widget.send = () => {
    throw new Error("Cannot send");
  };

  await assert.rejects(new Kernel(() => [widget]).tensors("r", 0), /the kernel that ran this is gone/);
});

test("where the kernel is gone nothing is waited for, and a running run says so", async () => {
  const widget = new FakeModel();
  const live = new Live(widget);
  const kernel = new Kernel(() => [widget]);
  let changes = 0;
  widget.receive({ type: "rows", seq: 1, header: part(0).header }, part(0).buffer);
  live.onChange(() => changes++);
  const asked = kernel.tensors("r", 0);
  widget.lose();

  assert.deepEqual([live.isRunning, live.store.header.run.lost, changes], [false, true, 1]);
  await assert.rejects(asked, /the kernel that ran this is gone/);
  mock.timers.tick(40);
  await assert.rejects(kernel.tensors("r", 0), /the kernel that ran this is gone/);
});

test("rows sent before the kernel was restarted do not revive it", async () => {
  const widget = new FakeModel();
  const live = new Live(widget);
  const kernel = new Kernel(() => [widget]);
  const { header, buffer } = part(0);
  widget.lose();
  widget.receive({ type: "rows", seq: 1, header }, buffer);

  assert.deepEqual(widget.sent.map(({ type }) => type), ["hello", "hello"]);
  await assert.rejects(kernel.tensors("r", 0), /the kernel that ran this is gone/);
  live.dispose();
});

test("a kernel that is heard of again was not gone", async () => {
  const widget = new FakeModel();
  const live = new Live(widget);
  const kernel = new Kernel(() => [widget]);
  widget.lose();
  const { header, buffer } = part(0);
  widget.receive({ type: "snapshot", seq: 1, header }, buffer);
  const asked = kernel.tensors("r", 0);
  const { id } = widget.sent[widget.sent.length - 1];
  widget.receive({ type: "answer", id, tensors: [] });

  assert.deepEqual((await asked).tensors, []);
  assert.equal(live.isRunning, true);
});

test("a running run that nothing is heard of says since when, until something is", () => {
  const widget = new FakeModel();
  const live = new Live(widget);
  let changes = 0;
  live.onChange(() => changes++);
  widget.receive({ type: "rows", seq: 1, header: part(0).header }, part(0).buffer);
  mock.timers.tick(4_999);
  assert.equal(live.store.header.run.silent, undefined);
  mock.timers.tick(1);
  assert.ok(live.store.header.run.silent);
  assert.equal(changes, 2);

  widget.receive({ type: "rows", seq: 2, header: part(1).header }, part(1).buffer);
  assert.equal(live.store.header.run.silent, undefined);
  widget.receive({ type: "finished" });
  mock.timers.tick(60_000);
  assert.equal(live.store.header.run.silent, undefined);
});
