/** The live region that announces selections to assistive technology. */

import { h, setText } from "../page/dom.ts";
import { counted, time } from "../page/format.ts";
import type { Selection } from "../session/session.ts";
import type { Trace } from "../trace/trace.ts";

export class Announcer {
  readonly element = h("div", { class: "hidden", "aria-live": "polite" });

  selected(selection: Selection | null, trace: Trace): void {
    this.say(words(selection, trace));
  }

  say(text: string): void {
    setText(this.element, text);
  }
}

function words(selection: Selection | null, trace: Trace): string {
  if (!selection) return "nothing selected";
  if (selection.kind === "call")
    return `${trace.name(selection.call)}, ${time(trace.duration[selection.call])}`;
  if (selection.kind === "dropped") return `call ${selection.id}, no longer kept`;
  if (selection.kind === "missing")
    return `${trace.comparison?.baseline.name(selection.missing[0]) ?? ""}, missing`;
  if (selection.kind === "models") return counted(selection.models.length, "model");
  return trace.names[selection.model];
}
