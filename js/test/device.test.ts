/** What the inspector says of copies, and of a device. */

import "./page.ts";

import assert from "node:assert/strict";
import { test } from "node:test";

import { copied, deviceWork } from "../src/facts/device.ts";
import { Store } from "../src/trace/store.ts";
import { Trace } from "../src/trace/trace.ts";
import { call, encode, model, Packer } from "./fixture.ts";

const MODELS = [model("a"), model("b")];

function moved(bytes: number[], us: number[], rows?: number[]) {
  const packer = new Packer();
  packer.add("copy_bytes", "f8", bytes);
  packer.add("copy_us", "f4", us);
  const calls = bytes.map((_, k) => call(k ? 0 : -1, k ? 1 : 0, k));
  return encode(calls, { models: MODELS }, { packer, ids: rows });
}

test("copies are summed over calls", () => {
  const { header, buffer } = moved([64, 1024, 0], [2, 3, 0]);
  const trace = new Trace(Store.of(header, buffer));

  assert.deepEqual(copied(trace, [0, 1, 2]), { bytes: 1088, us: 5 });
  assert.deepEqual(copied(trace, [2]), { bytes: 0, us: 0 });
});

test("a run on the host has no such columns: nothing was copied", () => {
  const { header, buffer } = encode([call(-1, 0, 0)], { models: MODELS });
  const trace = new Trace(Store.of(header, buffer));

  assert.deepEqual(copied(trace, [0]), { bytes: 0, us: 0 });
  assert.deepEqual(trace.header.copies, {});
  assert.deepEqual(trace.header.device_use, {});
});

test("updates bring the columns when there is something to say", () => {
  const store = new Store();
  const host = encode([call(-1, 0, 0)], { models: MODELS }, { ids: [0] });
  const device = moved([256], [4], [0]);
  device.header.copies = { "0": [[1, 4, "X", 256, "cpu", "gpu:0", false]] };
  store.upsert(host.header, host.buffer, 1);
  store.upsert(device.header, device.buffer, 2);

  assert.deepEqual(copied(new Trace(store), [0]), { bytes: 256, us: 4 });
  assert.equal(store.header.copies["0"][0][2], "X");
});

function shown(copies: number, hostile = false): string[] {
  const { header, buffer } = moved([copies * 64], [copies * 2], [0]);
  header.copies = {
    "0": Array.from({ length: copies }, () => [1, 2, "X", 64, "cpu", "gpu:0", hostile]),
  };
  header.device_use = { "0": ["gpu:0", 5, 1024, 2048] };
  const trace = new Trace(Store.of(header, buffer));
  return deviceWork(trace, [0]).map((each) => each.textContent ?? "");
}

test("a call lists its device and at most twelve copies, and counts the others", () => {
  const [head, facts, ...rows] = shown(12);
  const row = "X: cpu → gpu:0, 64 B in 2 µs";

  assert.equal(head, "Devicegpu:0");
  assert.equal(facts, "compute5 µsin use1.0 KiBpeak2.0 KiBcopied768 Bin24 µs");
  assert.deepEqual(rows, Array.from({ length: 12 }, () => row));
  assert.deepEqual(shown(13).slice(2), [...rows, "… 1 more"]);
  assert.deepEqual(shown(14).slice(-1), ["… 2 more"]);
  assert.deepEqual(shown(1, true).slice(2), [`${row}, by hostile placement`]);
});

test("several calls have the sums of their copies only, and calls on the host nothing", () => {
  const { header, buffer } = moved([64, 64, 0], [2, 3, 0]);
  const trace = new Trace(Store.of(header, buffer));
  const texts = (calls: number[]): (string | null)[] =>
    deviceWork(trace, calls).map((each) => each.textContent);

  assert.deepEqual(texts([0, 1]), ["Devicecopies", "copied128 Bin5 µs"]);
  assert.deepEqual(texts([2]), []);
});
