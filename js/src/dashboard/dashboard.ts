/** The dashboard: figures of a server, a chart of its throughput, a row for each model version. */

import { h, setText, svg } from "../page/dom.ts";
import { count, time, visible } from "../page/format.ts";
import { Moving } from "../live/moving.ts";
import {
  clicked,
  line,
  ordered,
  rate,
  type Key,
  type ModelRow,
  type Order,
  type Overview,
} from "./overview.ts";
import { holdOnce } from "../page/press.ts";
import style from "../page/style.css";
import own from "./dashboard.css";
import { themeOf, watchTheme } from "../page/theme.ts";

const [WIDTH, HEIGHT] = [240, 40];
/** Number of readings in the chart: those of a minute. */
const READINGS = 120;
const COLUMNS: readonly [Key, string, string][] = [
  ["name", "model", "name and version"],
  ["state", "state", "as in the repository index"],
  ["busy", "busy", "instances that execute, of all"],
  ["waiting", "queue", "requests that wait to be executed"],
  ["queued_us", "wait", "mean time in the queue, in the last 5 seconds"],
  ["batch", "batch", "mean size of a batch, in the last 5 seconds: inferences by executions"],
  ["per_second", "requests/s", "that ended, in the last 5 seconds"],
  ["p50_us", "p50", "median of the latest requests: 512 at most, of the last minute"],
  ["p95_us", "p95", "95 of 100 of the latest requests took no longer"],
  ["p99_us", "p99", "99 of 100 of the latest requests took no longer"],
  ["requests", "requests", "since the model was loaded"],
  ["failed", "failed", "since the model was loaded"],
];
const NOTE =
  "Rates, wait, batch: the last 5 s, BLS calls included. p50 to p99: the latest requests of each " +
  "model that succeeded, 512 at most, of the last minute.";

export class Dashboard {
  /** The shadow host. */
  readonly element = h("div", { class: "blsnb-monitor", "data-lm-suppress-shortcuts": "true" });
  #root: HTMLElement;
  #figures = new Map<string, HTMLElement>();
  #state = h("span", { class: "now" });
  #path = svg("path", { class: "line" });
  #area = svg("path", { class: "area" });
  #peak = h("span", { class: "peak" });
  #heads = new Map<Key, HTMLElement>();
  #body = h("tbody");
  #empty = h("p", { class: "empty" }, "There are no models yet.");
  #rows = new Map<string, Row>();
  #order: Order = { key: "name", down: false };
  #shown: Overview | null = null;
  #moving: Moving;
  #stop: () => void;

  constructor() {
    const caption = h("caption", { class: "hidden" }, "Models");
    const table = h("table", {}, caption, this.#head(), this.#body);
    const scroll = { class: "models", tabindex: 0, role: "region", "aria-label": "Models" };
    this.#root = h(
      "section",
      { class: "view dashboard", "aria-label": "Triton server" },
      this.#top(),
      h("div", scroll, table, this.#empty),
      h("p", { class: "note-line" }, NOTE),
    );
    const shadow = this.element.attachShadow({ mode: "open" });
    shadow.append(h("style", {}, style), h("style", {}, own), this.#root);
    holdOnce(this.#root);
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
    this.#moving = new Moving(this.element, shadow);
    this.#stop = watchTheme(() => this.theme());
  }

  /** Move into an element of the page; focus and scrolling stay. */
  moveTo(host: HTMLElement): void {
    this.#moving.into(host);
  }

  dispose(): void {
    this.#stop();
    this.element.remove();
  }

  /** Apply the theme of the host; the element must be in the page. */
  theme(): void {
    this.#root.dataset.theme = themeOf(this.element.parentElement ?? this.element);
  }

  /** Show whether the numbers are current. */
  showState(state: "live" | "closed" | string): void {
    this.#state.className = `now ${state === "live" || state === "closed" ? state : "late"}`;
    setText(this.#state, state);
  }

  draw(overview: Overview): void {
    this.#shown = overview;
    this.#figure("in flight", count(overview.in_flight));
    this.#figure("requests/s", rate(overview.per_second));
    this.#figure("waiting", count(overview.waiting));
    const fails = overview.rows.some((row) => row.failed_lately > 0);
    this.#figure("failed", count(overview.failed), fails);
    this.#drawLine(overview.history);
    this.#drawRows(overview.rows);
  }

  #top(): HTMLElement {
    const names = ["in flight", "requests/s", "waiting", "failed"];
    const figures = names.map((name) => {
      const number = h("b", {}, "–");
      this.#figures.set(name, number);
      return h("div", { class: "figure" }, number, h("span", {}, name));
    });
    const picture = svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT + 2}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      this.#area,
      this.#path,
    );
    const chart = h("div", { class: "chart" }, picture, this.#peak);
    const title = h("div", { class: "title" }, h("h3", {}, "Triton server"), this.#state);
    return h("header", {}, title, figures, chart);
  }

  #head(): HTMLElement {
    const cells = COLUMNS.map(([key, name, title]) => {
      const sort = (): void => this.#sort(key);
      const button = h("button", { type: "button", class: "quiet", title, onclick: sort }, name);
      const head = h("th", { scope: "col", class: `of-${key}` }, button);
      this.#heads.set(key, head);
      return head;
    });
    return h("thead", {}, h("tr", {}, cells));
  }

  #sort(key: Key): void {
    this.#order = clicked(this.#order, key);
    if (this.#shown) this.#drawRows(this.#shown.rows);
  }

  #figure(name: string, number: string, bad = false): void {
    const element = this.#figures.get(name);
    if (!element) return;
    setText(element, number);
    element.parentElement?.classList.toggle("failing", bad);
  }

  #drawLine(history: readonly number[]): void {
    const drawn = line(history, READINGS, WIDTH, HEIGHT);
    this.#path.setAttribute("d", drawn);
    const from = ((READINGS - history.length) / (READINGS - 1)) * WIDTH;
    const below = `L${WIDTH} ${HEIGHT}L${from.toFixed(1)} ${HEIGHT}Z`;
    this.#area.setAttribute("d", drawn && drawn + below);
    const peak = history.length > 1 ? `, peak ${rate(Math.max(...history))}/s` : "";
    setText(this.#peak, `last minute${peak}`);
  }

  #drawRows(rows: readonly ModelRow[]): void {
    for (const [key, head] of this.#heads) {
      const direction = this.#order.down ? "descending" : "ascending";
      if (key === this.#order.key) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    }
    const most = Math.max(...rows.map((row) => row.per_second ?? 0), 1e-9);
    const before = this.#rows;
    this.#rows = new Map();
    const elements = ordered(rows, this.#order).map((row) => {
      const key = JSON.stringify([row.name, row.version]);
      const shown = before.get(key) ?? new Row();
      this.#rows.set(key, shown);
      shown.draw(row, most);
      return shown.element;
    });
    // Rows that are not moved keep their selected text.
    const there = this.#body.children;
    if (elements.length !== there.length || elements.some((each, at) => there[at] !== each))
      this.#body.replaceChildren(...elements);
    this.#empty.hidden = rows.length > 0;
  }
}

/** The row of a model version; its elements stay while their texts change. */
class Row {
  readonly element: HTMLElement;
  #name = h("span", { class: "name" });
  #version = h("span", { class: "version" });
  #state = h("span", { class: "word" });
  #reason = h("span", { class: "reason" });
  #share = h("i", { class: "share", "aria-hidden": "true" });
  #rate = h("span");
  #numbers = new Map<Key, HTMLElement>();

  constructor() {
    const cells = COLUMNS.slice(2).map(([key]) => {
      const cell = h("td", { class: `number of-${key}` });
      this.#numbers.set(key, cell);
      return cell;
    });
    this.#numbers.get("per_second")?.append(this.#share, this.#rate);
    const name = h("th", { scope: "row", class: "of-name" }, this.#name, this.#version);
    const state = h("td", { class: "of-state" }, this.#state, this.#reason);
    this.element = h("tr", {}, name, state, cells);
  }

  draw(row: ModelRow, most: number): void {
    setText(this.#name, row.name);
    setText(this.#version, `version ${row.version}`);
    setText(this.#state, row.state);
    const reason = row.reason.trim();
    setText(this.#reason, reason.split("\n")[0] ?? "");
    this.#reason.title = visible(reason);
    this.#set("busy", row.instances ? `${row.busy} of ${row.instances}` : "–");
    this.#set("waiting", count(row.waiting));
    setText(this.#rate, rate(row.per_second));
    this.#share.style.width = `${(100 * (row.per_second ?? 0)) / most}%`;
    this.#set("p50_us", time(row.p50_us ?? NaN));
    this.#set("p95_us", time(row.p95_us ?? NaN));
    this.#set("p99_us", time(row.p99_us ?? NaN));
    this.#set("queued_us", time(row.queued_us ?? NaN));
    this.#set("batch", rate(row.batch));
    this.#set("requests", count(row.requests));
    this.#set("failed", row.failed_lately ? `▲ ${count(row.failed)}` : count(row.failed));
    this.#numbers.get("failed")?.classList.toggle("failing", row.failed > 0);
    this.#numbers.get("waiting")?.classList.toggle("waits", row.waiting > 0);
    this.#numbers.get("busy")?.classList.toggle("runs", row.busy > 0);
    const serves = row.state === "READY";
    this.element.classList.toggle("serves", serves);
    this.element.classList.toggle("broken", !serves && reason !== "unloaded");
  }

  #set(key: Key, text: string): void {
    const cell = this.#numbers.get(key);
    if (cell) setText(cell, text);
  }
}
