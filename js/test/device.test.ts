/** What the inspector says of copies, and of a device. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { copied } from "../src/device.ts";
import { Store } from "../src/store.ts";
import { Trace } from "../src/trace.ts";
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
