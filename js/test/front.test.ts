/** Which notebook or console the panel follows. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { KernelConnection, Tracker } from "../src/panel/link/lab.ts";
import { Front, type Document } from "../src/panel/link/front.ts";

class Signal {
  slots: (() => void)[] = [];
  connect(slot: () => void): void {
    this.slots.push(slot);
  }
  disconnect(slot: () => void): void {
    this.slots = this.slots.filter((each) => each !== slot);
  }
}

/** A document with a kernel of this name. */
function opened(name: string): Document {
  const context = { session: { kernel: { name } }, kernelChanged: new Signal() };
  return { sessionContext: context } as unknown as Document;
}

/** Documents of one kind, of which one may be in front. */
class Documents {
  currentWidget: Document | null = null;
  currentChanged = new Signal();
  select(document: Document | null): void {
    this.currentWidget = document;
    for (const slot of this.currentChanged.slots) slot();
  }
}

test("the panel follows the last document, and another kind's when that one is closed", () => {
  const [notebooks, consoles] = [new Documents(), new Documents()];
  const [notebook, console] = [opened("notebook"), opened("console")];
  const seen: (string | undefined)[] = [];
  const trackers = [notebooks, consoles] as unknown as Tracker<Document>[];
  const front = new Front([...trackers, null], (kernel: KernelConnection | null) =>
    seen.push((kernel as { name?: string } | null)?.name),
  );

  notebooks.select(notebook);
  consoles.select(console);
  consoles.select(null);
  assert.equal(front.document, notebook);
  notebooks.select(null);
  assert.equal(front.document, null);
  assert.deepEqual(seen, ["notebook", "console", "notebook", undefined]);
});
