/** The tab of log lines: newest first, filtered by model, level and text. */

import { h, setText } from "../dom.ts";
import { count } from "../format.ts";
import type { Row } from "./link.ts";

interface Line {
  number: string;
  model: string;
  level: string;
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
  #text = h("input", { type: "search", placeholder: "Filter lines", "aria-label": "Filter lines", oninput: () => this.#draw() });

  constructor() {
    const filters = h("div", { class: "filters" }, this.#models, this.#level);
    this.node = h("div", { class: "listing" }, this.#text, filters, this.#list, this.#note);
  }

  show(rows: Iterable<Row>): void {
    this.#lines = [...rows] as unknown as Line[];
    const names = [...new Set(this.#lines.map(({ model }) => model))].sort();
    const chosen = this.#models.value;
    if (this.#models.options.length !== names.length + 1) this.#models.replaceChildren(...options("all models", names));
    this.#models.value = names.includes(chosen) ? chosen : "";
    this.#draw();
  }

  #draw(): void {
    const wanted = this.#text.value.trim().toLowerCase();
    const [model, level] = [this.#models.value, this.#level.value];
    const found = this.#lines.filter(
      (line) =>
        (!model || line.model === model) &&
        (!level || line.level === level) &&
        line.text.toLowerCase().includes(wanted),
    );
    const drawn = found.slice(-MAX_LINES).reverse();
    this.#list.replaceChildren(...drawn.map(lineOf));
    const left = found.length - drawn.length;
    const none = this.#lines.length ? "No line matches." : "Nothing has been logged.";
    setText(this.#note, drawn.length ? (left ? `${count(left)} earlier lines` : "") : none);
  }
}

function lineOf({ model, level, text }: Line): HTMLElement {
  const kind = { ERROR: "failed", WARNING: "stale" }[level] ?? "";
  return h("li", {}, h("span", { class: `state ${kind}` }, level), " ", h("b", {}, model), " ", h("span", { class: "text" }, text.trimEnd()));
}

function options(all: string, values: string[]): HTMLElement[] {
  return [h("option", { value: "" }, all), ...values.map((value) => h("option", { value }, value))];
}
