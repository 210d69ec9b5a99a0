/** The button of the inspector that executes a call again in the debugger. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { FakeModel } from "./fakemodel.ts";
import { call, encode, model } from "./fixture.ts";
import { nextFrame } from "./page.ts";
import { View } from "./shown.ts";
import { connect, connections, disconnect } from "../src/kernel/connections.ts";
import { Kernel } from "../src/kernel/kernel.ts";
import { Store } from "../src/trace/store.ts";
import { Flag } from "../src/trace/wire.ts";

mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });

/** A run of a model with code, whose calls have these flags, of an ensemble, and of a stand-in. */
function stored(flags = 0): Store {
  const calls = [
    call(-1, 0, 0, { flags, execution: 1 }),
    call(0, 1, 10, { flags, execution: 1 }),
    call(0, 2, 20),
    call(0, 3, 30, { execution: 1 }),
    call(0, 4, 40),
  ];
  const run = { id: "r-1", title: "pipeline", request_id: "", state: "done" as const };
  const code = [model("pipeline"), model("reader")];
  const models = [...code, model("both", "ensemble"), { ...model("zeros"), kind: "stand-in" }, model("refused")];
  const { header, buffer } = encode(calls, { models, run });
  return Store.of(header, buffer);
}

/** Let promises that are settled call back. */
async function settled(): Promise<void> {
  for (let k = 0; k < 20; k++) await Promise.resolve();
  nextFrame();
}

async function answer(kernel: FakeModel, rest: object = { tensors: [] }): Promise<void> {
  for (const { id } of kernel.sent.splice(0)) kernel.receive({ v: 1, type: "answer", id, ...rest });
  await settled();
}

/** The only connection of the page. */
function onlyKernel(): FakeModel {
  const kernel = new FakeModel();
  connections().clear();
  connect(kernel);
  return kernel;
}

/** A view whose run a connection has. */
async function connected(): Promise<{ kernel: FakeModel; view: View }> {
  const kernel = onlyKernel();
  const view = new View(stored(), { kernel: new Kernel(connections) });
  await answer(kernel);
  return { kernel, view };
}

const button = (view: View): HTMLElement | undefined => view.button("Debug this call");
const said = (view: View): string | null | undefined => view.root.querySelector(".debug [role=status]")?.textContent;

test("the button is there while a connection has the run", async () => {
  assert.equal(button(new View(stored())), undefined, "no kernel");
  const kernel = onlyKernel();
  const view = new View(stored(), { kernel: new Kernel(connections) });
  assert.equal(button(view), undefined, "no answer yet");
  await answer(kernel, { error: { code: "gone", text: "not here" } });
  assert.equal(button(view), undefined, "a kernel without the run");
  view.frame.connect(new Kernel(connections), undefined);
  await answer(kernel);
  assert.ok(button(view));
  disconnect(kernel);
  assert.equal(button(view), undefined, "the kernel is gone");
  connect(kernel);
  assert.ok(button(view), "it was only out of reach");
  view.frame.dispose();
});

test("a running call, a model without code, a stand-in and a call that no execution served have no button", async () => {
  const kernel = onlyKernel();
  const view = new View(stored(Flag.RUNNING), { kernel: new Kernel(connections) });
  await answer(kernel);
  assert.equal(button(view), undefined);
  for (const name of ["both", "zeros", "refused"]) {
    view.click(view.row(name));
    mock.timers.tick(40);
    await answer(kernel);
    assert.equal(button(view), undefined, name);
  }
});

test("the widget of a run does not debug, a connection takes its place", async () => {
  const own = new FakeModel();
  const models = [own];
  connections().clear();
  const view = new View(stored(), { kernel: new Kernel(() => models) });
  await answer(own);
  assert.equal(button(view), undefined);
  const kernel = onlyKernel();
  models.unshift(kernel);
  view.click(view.row("reader"));
  mock.timers.tick(40);
  await answer(own);
  await answer(kernel);
  assert.ok(button(view));
});

test("a connection that comes later is queried as well", async () => {
  const own = new FakeModel();
  connections().clear();
  const view = new View(stored(), { kernel: new Kernel(() => [...connections(), own]) });
  await answer(own);
  assert.equal(button(view), undefined);
  const other = onlyKernel();
  await answer(other, { error: { code: "gone", text: "not here" } });
  await answer(own);
  assert.equal(button(view), undefined);
  const kernel = new FakeModel();
  connect(kernel);
  mock.timers.tick(40);
  await answer(own);
  await answer(kernel);
  assert.ok(button(view));
});

test("a click sends the action once, and the answer is shown beside the button", async () => {
  const { kernel, view } = await connected();
  view.click(view.row("reader"));
  mock.timers.tick(40);
  await answer(kernel);
  assert.equal(said(view), "");
  const shown = button(view)!;
  view.click(shown);
  view.click(shown);
  const [sent, ...others] = kernel.sent;
  assert.deepEqual(others, []);
  const action = { v: 1, type: "action", name: "debug", run: "r-1", call: 1 };
  assert.deepEqual(sent, { ...action, id: sent.id, slot: sent.slot });
  assert.match(said(view)!, /continue there/);
  assert.equal(shown.getAttribute("aria-disabled"), "true");
  await answer(kernel, { done: "Call 1 has run again: its outputs are as recorded." });

  assert.equal(said(view), "Call 1 has run again: its outputs are as recorded.");
  assert.equal(shown.getAttribute("aria-disabled"), "false");
  assert.equal(button(view), shown, "the focus stays");
  view.click(view.row("pipeline"));
  assert.equal(said(view), "", "another call");
});

test("the first call of a run, whose id is zero, is debugged once, too", async () => {
  const { kernel, view } = await connected();
  const shown = button(view)!;
  view.click(shown);
  view.click(shown);
  const [sent, ...others] = kernel.sent;
  assert.deepEqual(others, []);
  const action = { v: 1, type: "action", name: "debug", run: "r-1", call: 0 };
  assert.deepEqual(sent, { ...action, id: sent.id, slot: sent.slot });
  assert.equal(shown.getAttribute("aria-disabled"), "true");
});

test("errors are sentences beside the button", async () => {
  const { kernel, view } = await connected();
  for (const code of ["busy", "refused", "dropped", "failed"]) {
    view.click(button(view)!);
    await answer(kernel, { error: { code, text: `why ${code}` } });
    assert.equal(said(view), `why ${code}`);
    assert.ok(button(view));
  }
});

test("a kernel that is lost while the call is stopped leaves a sentence and no button", async () => {
  const { kernel, view } = await connected();
  view.click(button(view)!);
  kernel.lose();
  disconnect(kernel);
  await settled();

  assert.equal(said(view), "the kernel that ran this is gone");
  assert.equal(button(view), undefined);
});
