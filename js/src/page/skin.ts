/** The shadow root of a view, its style sheet, and the theme of its host. */

import { h } from "./dom.ts";
import style from "./style.css";
import { coloursOf, themeOf, watchTheme, type Colours } from "./theme.ts";

/** Maximum width on paper. */
const MAX_PRINT_WIDTH = "700px";

export class Skin {
  /** The shadow host. */
  readonly element = h("div", { class: "blsnb-view", "data-lm-suppress-shortcuts": "true" });
  colours!: Colours;
  #root: HTMLElement;
  #changed = (): void => undefined;
  #resized = (): void => undefined;
  #onPaper = false;

  constructor(root: HTMLElement) {
    this.#root = root;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    const shadow = this.element.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(root);
    // Shortcuts of the notebook would act on the cell: "d d" deletes it.
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  /** Apply the theme of the host; the element must be in the page. */
  apply(): void {
    const theme = themeOf(this.element.parentElement ?? this.element);
    this.#root.dataset.theme = this.#onPaper ? "light" : theme;
    this.colours = coloursOf(this.#root);
  }

  /**
   * Call back when the theme may have changed, and when the width has; returns how to stop.
   *
   * A document is not notified when its output is removed, so the page must not keep its view alive.
   */
  watch(changed: () => void, resized: () => void): () => void {
    const waiting = new WeakRef(this);
    this.#changed = changed;
    this.#resized = resized;
    const notify = (callback: (skin: Skin) => void): void => {
      const alive = waiting.deref();
      if (alive) callback(alive);
      else stop();
    };
    const stops = [
      watchTheme(() => notify((skin) => skin.#changed())),
      watchPrinting((printing) => notify((skin) => skin.#print(printing))),
    ];
    const stop = (): void => stops.forEach((each) => each());
    return stop;
  }

  /** Apply the width of paper: a page that is printed sends no resize event. */
  #print(printing: boolean): void {
    this.#onPaper = printing;
    this.element.style.maxWidth = printing ? MAX_PRINT_WIDTH : "";
    this.#changed();
    this.#resized();
  }
}

/** Call back before the page is printed, and after; returns how to stop. */
function watchPrinting(changed: (printing: boolean) => void): () => void {
  const begin = (): void => changed(true);
  const end = (): void => changed(false);
  globalThis.addEventListener("beforeprint", begin);
  globalThis.addEventListener("afterprint", end);
  return () => {
    globalThis.removeEventListener("beforeprint", begin);
    globalThis.removeEventListener("afterprint", end);
  };
}
