/** The tab of runs: newest first; a click opens the linked view. */

import { h, svg } from "../../page/dom.ts";
import { count, counted, time } from "../../page/format.ts";
import type { Row } from "../link/link.ts";
import type { Act } from "./models.ts";
import { RowList } from "./rowlist.ts";

export interface RunRow {
  /** Its id in a page, which may show runs of several kernels. */
  run: string;
  id: string;
  model: string;
  at_ms: number;
  /** Null while it runs. */
  duration_us: number | null;
  calls: number;
  errors: number;
  error: string;
  cell: string;
  pinned: boolean;
  /** The longest calls; empty while it runs. */
  bars: [start: number, length: number, level: number, failed: number][];
}

export class Runs {
  readonly node: HTMLElement;
  #list: RowList<RunRow>;
  #act: Act;
  #known: () => ReadonlySet<string>;
  #runs: RunRow[] = [];

  /** `known` returns the names of the actions that the kernel has. */
  constructor(act: Act, known: () => ReadonlySet<string>) {
    this.#act = act;
    this.#known = known;
    this.#list = new RowList("runs", "No run has been recorded.", (run, isOpen) => this.#draw(run, isOpen));
    this.node = this.#list.node;
  }

  show(rows: Iterable<Row>): void {
    this.#runs = ([...rows] as unknown as RunRow[]).sort((a, b) => b.at_ms - a.at_ms || (a.run < b.run ? 1 : -1));
    this.#list.show(this.#runs.map((item) => ({ key: item.run, item, look: this.#look(item), words: wordsOf(item) })));
  }

  /** An open row offers a comparison if there are others. */
  #look(run: RunRow): string {
    return JSON.stringify([...Object.values(run), this.#runs.length > 1]);
  }

  #draw(run: RunRow, isOpen: boolean): HTMLElement[] {
    const view = (): void => this.#act("view", { run: run.run });
    const mark = run.duration_us === null ? "running" : run.errors ? "failed" : "ready";
    const head = h(
      "button",
      { type: "button", class: "head", onclick: view, title: `Open the view of run ${run.id} of ${run.model}` },
      h("span", { class: `mark ${mark}`, "aria-hidden": "true" }, { running: "▸", failed: "✕", ready: "●" }[mark]),
      h("span", { class: "name" }, run.model),
      thumbnail(run),
      h("span", { class: "state" }, stateOf(run)),
    );
    const toggle = h("button", { type: "button", class: "toggle", "aria-label": `Actions on run ${run.id}` }, "⋯");
    const line = h("div", { class: "line" }, factsOf(run));
    // Its other lines are those of the traceback.
    const error = isOpen ? run.error : run.error.split("\n", 1)[0];
    const errors = run.errors ? h("div", { class: "trouble" }, failuresOf(run, error)) : null;
    const parts = [h("div", { class: "headline" }, head, toggle), line, errors].filter((each) => each !== null);
    return isOpen ? [...parts, this.#actions(run)] : parts;
  }

  #actions(run: RunRow): HTMLElement {
    const button = (name: string, label: string): HTMLElement =>
      h("button", { type: "button", onclick: () => this.#act(name, { run: run.run }) }, label);
    return h(
      "div",
      { class: "actions", role: "group", "aria-label": `Actions on run ${run.id}` },
      button("view", "View"),
      run.pinned ? button("unpin", "Unpin") : button("pin", "Pin"),
      button("replay", "Replay"),
      this.#known().has("debug") && run.duration_us !== null ? button("debug", "Debug") : null,
      button("save", "Save"),
      button("delete", "Delete"),
      this.#comparison(run),
    );
  }

  /** Return a menu of the other runs, which lists them when it is about to open, and a button. */
  #comparison(run: RunRow): HTMLElement | null {
    if (this.#runs.length < 2) return null;
    const offered = (): void => {
      const { value } = select;
      select.replaceChildren(...this.#others(run));
      select.value = value;
    };
    const events = { onfocus: offered, onpointerdown: offered };
    const select = h("select", { "aria-label": `Compare run ${run.id} with`, ...events }, this.#others(run));
    // Keys choose one run after the other.
    const compare = (): void => void (select.value && this.#act("compare", { run: run.run, baseline: select.value }));
    return h("div", { class: "comparison" }, select, h("button", { type: "button", onclick: compare }, "Compare"));
  }

  #others(run: RunRow): HTMLElement[] {
    const others = this.#runs.filter((each) => each.run !== run.run);
    const options = others.map((each) => h("option", { value: each.run }, `${each.id} ${each.model}`));
    return [h("option", { value: "" }, "Compare with…"), ...options];
  }
}

function stateOf({ duration_us }: RunRow): string {
  return duration_us === null ? "running" : time(duration_us);
}

function factsOf({ at_ms, id, cell, calls, pinned }: RunRow): string {
  const facts = [new Date(at_ms).toLocaleTimeString(), `run ${id}`, cell, counted(calls, "call"), pinned ? "pinned" : ""];
  return facts.filter(Boolean).join(" · ");
}

function failuresOf({ errors }: RunRow, error: string): string {
  return `${count(errors)} failed${error ? `: ${error}` : ""}`;
}

function wordsOf(run: RunRow): string {
  return [run.model, stateOf(run), factsOf(run), run.errors ? failuresOf(run, run.error) : ""].join(" ");
}

/** Return a small timeline of a run's longest calls. */
function thumbnail({ bars }: RunRow): SVGElement {
  const shown = bars.map(([start, length, level, failed]) =>
    svg("rect", {
      class: failed ? "bar failed" : "bar",
      x: 64 * start,
      y: 4 * level,
      width: Math.max(1, 64 * length),
      height: 3,
    }),
  );
  const scale = { viewBox: "0 0 64 16", preserveAspectRatio: "none" };
  return svg("svg", { class: "thumbnail", height: 16, "aria-hidden": "true", ...scale }, shown);
}
