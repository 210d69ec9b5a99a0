/** The tab of models. */

import { h } from "../../page/dom.ts";
import type { About, Row } from "../link/link.ts";
import { asModel, factsOf, linesOf, markOf, MODEL_ACTIONS, type ModelRow } from "./modelrow.ts";
import { RowList } from "./rowlist.ts";

const SYMBOLS = { ready: "●", stale: "◐", failed: "✕", unloaded: "○", loading: "▸" };

export type Act = (action: string, about: About) => void;

export class Models {
  readonly node: HTMLElement;
  #list: RowList<ModelRow>;
  #act: Act;
  #known: () => ReadonlySet<string>;

  /** `known` returns the names of the actions that the kernel has. */
  constructor(act: Act, known: () => ReadonlySet<string>) {
    this.#act = act;
    this.#known = known;
    const empty = "There are no models yet; define one in a %%triton_model cell.";
    this.#list = new RowList("models", empty, (model, isOpen) => this.#draw(model, isOpen));
    this.node = this.#list.node;
  }

  show(rows: Iterable<Row>): void {
    const models = [...rows].map(asModel);
    models.sort((a, b) => (a.name < b.name ? -1 : 1));
    this.#list.show(
      models.map((item) => ({ key: item.name, item, look: JSON.stringify(Object.values(item)), words: wordsOf(item) })),
    );
  }

  #draw(model: ModelRow, isOpen: boolean): HTMLElement[] {
    const mark = markOf(model);
    const head = h(
      "button",
      { type: "button", class: "head toggle" },
      h("span", { class: `mark ${mark}`, "aria-hidden": "true" }, SYMBOLS[mark]),
      h("span", { class: "name" }, model.name),
      h("span", { class: "state" }, mark),
      factsOf(model).map((text) => h("span", { class: "fact" }, text)),
    );
    const lines = linesOf(model).map(({ text, isTrouble }) =>
      h("div", { class: isTrouble ? "trouble" : "line" }, text),
    );
    return isOpen ? [head, ...lines, this.#actions(model)] : [head, ...lines];
  }

  #actions(model: ModelRow): HTMLElement {
    const offered = MODEL_ACTIONS.filter(([name, , has]) => this.#known().has(name) && has(model));
    const buttons = offered.map(([name, label]) =>
      h("button", { type: "button", onclick: () => this.#act(name, { model: model.name }) }, label),
    );
    return h("div", { class: "actions", role: "group", "aria-label": `Actions on ${model.name}` }, buttons);
  }
}

function wordsOf(model: ModelRow): string {
  const lines = linesOf(model).map(({ text }) => text);
  return [model.name, markOf(model), ...factsOf(model), ...lines].join(" ");
}
