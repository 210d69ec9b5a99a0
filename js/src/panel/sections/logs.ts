/** The tab of log lines: newest first, filtered by model, level, call and text. */

import { h, setText } from "../../page/dom.ts";
import { count } from "../../page/format.ts";
import type { Row } from "../link/link.ts";

interface Line {
  number: string;
  model: string;
  level: string;
  /** Run and call; empty for a line of no call. */
  call: string;
  text: string;
}

const LEVELS = ["ERROR", "WARNING", "INFO", "VERBOSE"];
/** Maximum number of lines that are drawn. */
const MAX_LINES = 300;

export class Logs {
  readonly node: HTMLElement;
  #lines: Line[] = [];
  #list = h("ul", { class: "rows lines", "aria-label": "log lines", tabindex: 0 });
  #note = h("p", { class: "note" });
  #models = h("select", { "aria-label": "Model", onchange: () => this.#draw() });
  #level = h("select", { "aria-label": "Level", onchange: () => this.#draw() }, options("all levels", LEVELS));
  #call = h("select", { "aria-label": "Call", onchange: () => this.#draw() });
  #text = h("input", { type: "search", placeholder: "Filter lines", "aria-label": "Filter lines", oninput: () => this.#draw() });

  constructor() {
    const filters = h("div", { class: "filters" }, this.#models, this.#level, this.#call);
    this.node = h("div", { class: "listing" }, this.#text, filters, this.#list, this.#note);
  }

  show(rows: Iterable<Row>): void {
    this.#lines = [...rows] as unknown as Line[];
    offer(this.#models, "all models", [...new Set(this.#lines.map(({ model }) => model))].sort());
    const calls = new Set(this.#lines.map(({ call }) => call).filter(Boolean));
    offer(this.#call, "all calls", [...calls].reverse());
    this.#draw();
  }

  #draw(): void {
    const wanted = this.#text.value.trim().toLowerCase();
    const [model, level, call] = [this.#models, this.#level, this.#call].map(({ value }) => value);
    const found = this.#lines.filter(
      (line) =>
        (!model || line.model === model) &&
        (!level || line.level === level) &&
        (!call || line.call === call) &&
        line.text.toLowerCase().includes(wanted),
    );
    const drawn = found.slice(-MAX_LINES).reverse();
    this.#list.replaceChildren(...drawn.map(lineOf));
    const left = found.length - drawn.length;
    const none = this.#lines.length ? "No line matches." : "Nothing has been logged.";
    setText(this.#note, drawn.length ? (left ? `${count(left)} earlier lines` : "") : none);
  }
}

function lineOf({ model, level, call, text }: Line): HTMLElement {
  const kind = { ERROR: "failed", WARNING: "stale" }[level] ?? "";
  return h("li", call ? { title: call } : {}, h("span", { class: `state ${kind}` }, level), " ", h("b", {}, model), " ", h("span", { class: "text" }, text.trimEnd()));
}

/** Offer other values; the chosen one stays if it is among them. */
function offer(select: HTMLSelectElement, all: string, values: string[]): void {
  const chosen = select.value;
  const offered = [...select.options].slice(1).map(({ value }) => value);
  if (offered.join("\n") !== values.join("\n")) select.replaceChildren(...options(all, values));
  select.value = values.includes(chosen) ? chosen : "";
}

function options(all: string, values: string[]): HTMLElement[] {
  return [h("option", { value: "" }, all), ...values.map((value) => h("option", { value }, value))];
}
