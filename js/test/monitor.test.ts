/** What the dashboard of a server shows, and how it stays alive in a page. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Story } from "./drawing.ts";
import { FakeModel } from "./fakemodel.ts";
import { nextFrame, point, press } from "./page.ts";
import type { ModelRow, Overview } from "../src/dashboard/overview.ts";

mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
const monitor = (await import("../src/monitor.ts")).default;

function row(name: string, rest: Partial<ModelRow> = {}): ModelRow {
  const rates = { per_second: null, p50_us: null, p95_us: null, p99_us: null, queued_us: null, batch: null };
  const counts = { busy: 0, instances: 1, waiting: 0, requests: 0, failed: 0, failed_lately: 0 };
  return { name, version: 1, state: "READY", reason: "", ...rates, ...counts, ...rest };
}

function overview(rows: ModelRow[], rest: Partial<Overview> = {}): Overview {
  const failed = rows.reduce((sum, each) => sum + each.failed, 0);
  const all = { in_flight: 0, per_second: null, waiting: 0, failed, history: [], ended: false };
  return { ...all, rows, ...rest };
}

const BUSY = [
  row("reader", { busy: 1, instances: 2, waiting: 3, per_second: 120.4, p50_us: 900, p95_us: 1500, p99_us: 9000, queued_us: 40, batch: 3.25, requests: 12_345 }),
  row("writer", { version: 3, per_second: 2.345, p50_us: 20, requests: 7, failed: 2, failed_lately: 1 }),
  row("broken", { state: "UNAVAILABLE", reason: "it did not load\nfor a reason", instances: 0, failed: 1 }),
  row("away", { state: "UNAVAILABLE", reason: "unloaded", instances: 0 }),
];

function text(element: Element, selector: string): string[] {
  return [...element.shadowRoot!.querySelectorAll(selector)].map((each) => each.textContent ?? "");
}

test("figures, a line of the throughput and a row for each model version are drawn", () => {
  const model = new FakeModel({ overview: overview([]), monitor_id: "a" });
  document.body.replaceChildren();
  const dispose = monitor.render({ model, el: document.body });
  const element = document.body.firstElementChild!;
  const story = new Story(element, { whole: true });
  model.change("overview", overview(BUSY, { in_flight: 4, per_second: 122.7, waiting: 3, history: [0, 50, 122.7] }));
  nextFrame();
  story.step("numbers come");
  for (const head of ["requests", "failed", "model", "model", "p50"]) {
    const buttons = [...element.shadowRoot!.querySelectorAll<HTMLElement>("th button")];
    point(buttons.find((each) => each.textContent === head)!, "click");
    story.step(`click on ${head}`);
  }
  model.change("overview", overview(BUSY.slice(1, 3), { history: [1, 2] }));
  nextFrame();
  story.step("models went");
  mock.timers.tick(7000);
  story.step("nothing came for seven seconds");
  model.change("overview", overview([], { ended: true }));
  nextFrame();
  story.step("nobody looks any more");
  dispose();
  assert.equal(document.body.childElementCount, 0);
  story.equals("monitor");
});

test("Python is told every half minute that somebody watches, until nobody does", () => {
  const model = new FakeModel({ overview: overview(BUSY), monitor_id: "a" });
  document.body.replaceChildren();
  const dispose = monitor.render({ model, el: document.body });
  assert.deepEqual(model.sent, [{ type: "watching" }]);
  mock.timers.tick(29_000);
  assert.equal(model.sent.length, 1);
  mock.timers.tick(1500);
  assert.equal(model.sent.length, 2);
  model.change("overview", overview(BUSY, { ended: true }));
  mock.timers.tick(60_000);
  assert.equal(model.sent.length, 2);
  dispose();
});

test("nobody watches a dashboard that is out of the page, or in a page that is hidden", () => {
  const model = new FakeModel({ overview: overview(BUSY), monitor_id: "a" });
  document.body.replaceChildren();
  const dispose = monitor.render({ model, el: document.body });
  const element = document.body.firstElementChild!;
  const show = (state: string): void => {
    Object.defineProperty(document, "visibilityState", { configurable: true, value: state });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  element.remove();
  mock.timers.tick(31_000);
  assert.equal(model.sent.length, 1);
  document.body.append(element);
  show("hidden");
  mock.timers.tick(31_000);
  assert.equal(model.sent.length, 1);
  show("visible");
  assert.equal(model.sent.length, 2);
  dispose();
});

test("late numbers are not called live", () => {
  const model = new FakeModel({ overview: overview(BUSY), monitor_id: "a" });
  document.body.replaceChildren();
  const dispose = monitor.render({ model, el: document.body });
  const element = document.body.firstElementChild!;
  mock.timers.tick(5000);
  assert.deepEqual(text(element, ".now"), ["live"]);
  mock.timers.tick(1000);
  assert.ok(text(element, ".now")[0].startsWith("no news since"));
  model.change("overview", overview(BUSY));
  nextFrame();
  assert.deepEqual(text(element, ".now"), ["live"]);
  dispose();
});

test("a document's table gives its place to the live view, and again where a newer one came", () => {
  const model = new FakeModel({ overview: overview(BUSY), monitor_id: "id-7" });
  const dispose = monitor.initialize({ model });
  const places = (globalThis as unknown as Record<symbol, Map<string, (host: HTMLElement) => void>>)[
    Symbol.for("blsnb-monitors")
  ];
  const [first, second] = [document.createElement("div"), document.createElement("div")];
  document.body.replaceChildren(first, second);
  places.get("id-7")!(first);
  const view = first.firstElementChild!;
  places.get("id-7")!(second);
  assert.ok(second.firstElementChild !== view);
  first.replaceChildren();
  places.get("id-7")!(first);
  assert.ok(first.firstElementChild === view);
  dispose();
  assert.equal(places.has("id-7"), false);
});

test("Enter that is held on the head of a column orders the rows once", () => {
  const model = new FakeModel({ overview: overview(BUSY), monitor_id: "a" });
  document.body.replaceChildren();
  const dispose = monitor.render({ model, el: document.body });
  const head = document.body.firstElementChild!.shadowRoot!.querySelector("th button")!;
  assert.deepEqual([press(head, "Enter"), press(head, "Enter", { repeat: true })], [true, false]);
  dispose();
});
