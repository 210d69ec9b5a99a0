/** The entry that uploads a file: its pieces, their end, and files that are too large. */

import "./page.ts";

import assert from "node:assert/strict";
import { test } from "node:test";

import { FakeModel } from "./fakemodel.ts";
import entry from "../src/upload.ts";

const MIB = 1 << 20;

/** The kernel's side, with a line for each message. */
class Uploads extends FakeModel {
  readonly lines: string[] = [];
  override send(content: unknown, _callbacks?: unknown, buffers: ArrayBuffer[] = []): void {
    const { type, ...rest } = content as Record<string, unknown>;
    const sizes = buffers.map((each) => `${each.byteLength} bytes`);
    this.lines.push([type, ...Object.values(rest), ...sizes].join(" "));
  }
}

/** A file whose pieces are read without a disk. */
function fileOf(size: number): File {
  const slice = (from: number, to: number) => ({
    arrayBuffer: () => Promise.resolve(new ArrayBuffer(Math.min(to, size) - from)),
  });
  return { name: "a.png", size, slice } as unknown as File;
}

function newEntry(): { model: Uploads; input: HTMLInputElement; choose(file: File): void } {
  const model = new Uploads({ accept: ".png", label: "File for I", max_bytes: 4 * MIB });
  const el = document.createElement("div");
  entry.render({ model, el });
  const input = el.querySelector("input")!;
  const choose = (file: File): void => {
    Object.defineProperty(input, "files", { configurable: true, value: [file] });
    input.dispatchEvent(new Event("change"));
  };
  return { model, input, choose };
}

/** Let promises that are settled call back. */
async function settled(): Promise<void> {
  for (let k = 0; k < 40; k++) await Promise.resolve();
}

test("a file is announced, and sent in pieces of one mebibyte", async () => {
  const { model, input, choose } = newEntry();
  choose(fileOf(2 * MIB + 5));
  await settled();

  assert.deepEqual([input.accept, input.getAttribute("aria-label")], [".png", "File for I"]);
  assert.deepEqual(model.lines, [
    `begin 1 a.png ${2 * MIB + 5}`,
    `piece 1 ${MIB} bytes`,
    `piece 1 ${MIB} bytes`,
    "piece 1 5 bytes",
  ]);
});

test("a later choice ends an upload", async () => {
  const { model, choose } = newEntry();
  choose(fileOf(3 * MIB));
  choose(fileOf(MIB));
  await settled();

  assert.deepEqual(model.lines, [
    `begin 1 a.png ${3 * MIB}`,
    `begin 2 a.png ${MIB}`,
    `piece 1 ${MIB} bytes`,
    `piece 2 ${MIB} bytes`,
  ]);
});

test("an empty file and one that is too large have no pieces", async () => {
  const { model, choose } = newEntry();
  choose(fileOf(0));
  choose(fileOf(4 * MIB + 1));
  choose(fileOf(4 * MIB));
  await settled();

  assert.deepEqual(model.lines.slice(0, 3), [
    "begin 1 a.png 0",
    `begin 2 a.png ${4 * MIB + 1}`,
    `begin 3 a.png ${4 * MIB}`,
  ]);
  assert.deepEqual(model.lines.slice(3), Array.from({ length: 4 }, () => `piece 3 ${MIB} bytes`));
});
