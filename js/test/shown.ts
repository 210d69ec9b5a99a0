/** A view in a page without a browser, and ways to find what is in it. */

import { nextFrame, point } from "./page.ts";
import type { FrameOptions } from "../src/frame/frameoptions.ts";
import type { Store } from "../src/trace/store.ts";

const { Frame } = await import("../src/frame/frame.ts");

export class View {
  readonly frame: InstanceType<typeof Frame>;
  readonly root: ShadowRoot;

  constructor(store: Store, options: Partial<FrameOptions> = {}) {
    document.body.replaceChildren();
    this.frame = new Frame({ store, kernel: null, ...options });
    document.body.append(this.frame.element);
    this.frame.start();
    nextFrame();
    this.root = this.frame.element.shadowRoot!;
  }

  find(selector: string): HTMLElement {
    return this.root.querySelector<HTMLElement>(selector)!;
  }

  /** The first row whose name begins with a text. */
  row(name: string, skip = 0): HTMLElement {
    const rows = [...this.root.querySelectorAll<HTMLElement>("[role=treeitem]")];
    return rows.filter((row) => row.textContent!.startsWith(name))[skip];
  }

  box(name: string): HTMLElement {
    const boxes = [...this.root.querySelectorAll<HTMLElement>(".callgraph [role=button]")];
    return boxes.find((box) => box.textContent!.startsWith(name))!;
  }

  button(text: string): HTMLElement {
    const buttons = [...this.root.querySelectorAll<HTMLElement>("button")];
    return buttons.find((button) => button.textContent!.startsWith(text))!;
  }

  click(element: HTMLElement): void {
    point(element, "click");
  }
}
