/** The keyboard help, above the panes. */

import { h } from "../page/dom.ts";
import { HELP } from "../page/keys.ts";

export class Help {
  #root: HTMLElement;
  #closed: () => void;
  #sheet: HTMLElement | null = null;

  /** Cover `root`; `closed` moves the focus when the help is closed. */
  constructor(root: HTMLElement, closed: () => void) {
    this.#root = root;
    this.#closed = closed;
  }

  toggle(): void {
    if (this.#sheet) return this.#close();
    this.#sheet = this.#newSheet();
    this.#root.append(this.#sheet);
    this.#sheet.focus();
  }

  #close(): void {
    this.#sheet?.remove();
    this.#sheet = null;
    this.#closed();
  }

  #newSheet(): HTMLElement {
    const onkeydown = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" && event.key !== "?") return;
      event.preventDefault();
      this.#close();
    };
    const entries = HELP.flatMap(([keys, meaning]) => [
      h("dt", { class: "code" }, keys),
      h("dd", {}, meaning),
    ]);
    const role = { role: "dialog", "aria-label": "Keyboard help", tabindex: -1 };
    return h(
      "div",
      { class: "help", ...role, onkeydown },
      h("h3", {}, "Keyboard"),
      h("dl", {}, entries),
      h("button", { type: "button", onclick: () => this.#close() }, "close"),
    );
  }
}
