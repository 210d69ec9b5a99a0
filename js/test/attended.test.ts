/** Whether a reader is about to choose a row of a list, as the kernel learns it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import "./page.ts";
import { FakeModel } from "./fakemodel.ts";

const { default: attended } = await import("../src/attended.ts");

function listed(): { model: FakeModel; row: Element; reports: () => unknown[]; close: () => void } {
  document.body.innerHTML = `<div><p class="rows"><a>row</a></p><i></i></div><b>else</b>`;
  const model = new FakeModel({ list_class: "rows" });
  const changes: unknown[] = [];
  model.save_changes = () => void changes.push(model.get("attended"));
  const close = attended.render({ model, el: document.querySelector("i")! });
  return { model, row: document.querySelector("a")!, reports: () => changes.splice(0), close };
}

function send(target: Element, name: string, facts: object = {}): void {
  target.dispatchEvent(Object.assign(new Event(name, { bubbles: true }), facts));
}

test("a pointer that moves in the list attends to it until it leaves or chooses", () => {
  const { row, reports, close } = listed();
  send(row, "pointermove", { pointerType: "mouse" });
  send(row, "pointermove", { pointerType: "mouse" });
  assert.deepEqual(reports(), [true]);
  send(document.querySelector("b")!, "pointermove", { pointerType: "mouse" });
  assert.deepEqual(reports(), [false]);
  send(row, "pointermove", { pointerType: "mouse" });
  send(document.querySelector("b")!, "click");
  assert.deepEqual(reports(), [true]);
  send(row, "click");
  assert.deepEqual(reports(), [false]);
  send(row, "pointermove", { pointerType: "touch" });
  send(row, "pointerover");
  assert.deepEqual(reports(), []);
  close();
});

test("rows that leave a resting pointer, and a page that it leaves, end it", () => {
  const { row, reports, close } = listed();
  send(row, "pointermove");
  send(document.querySelector("b")!, "pointerover");
  assert.deepEqual(reports(), [true, false]);
  send(row, "pointermove");
  send(row, "pointerleave");
  assert.deepEqual(reports(), [true]);
  send(document.documentElement, "pointerleave");
  assert.deepEqual(reports(), [false]);
  close();
});

test("a key in the list attends to it until a row is chosen or loses the focus", () => {
  const { row, reports, close } = listed();
  for (const key of ["Enter", " "]) send(row, "keyup", { key });
  assert.deepEqual(reports(), []);
  send(row, "keyup", { key: "Tab" });
  send(document.querySelector("b")!, "pointermove");
  assert.deepEqual(reports(), [true]);
  send(row, "focusout");
  assert.deepEqual(reports(), [false]);
  close();
});

test("a closed view attends to nothing, and hears nothing more", () => {
  const { model, row, reports, close } = listed();
  send(row, "pointermove");
  close();
  send(row, "pointermove");
  assert.deepEqual([reports(), model.get("attended")], [[true, false], false]);
});

test("a list that is not shown is not attended to", () => {
  const { row, reports, close } = listed();
  row.parentElement!.className = "";
  send(row, "pointermove");
  assert.deepEqual(reports(), []);
  close();
});
