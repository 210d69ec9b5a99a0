/** What the inspector says of calls that have no rows. */

import { h } from "./dom.ts";
import type { Counted } from "./folded.ts";
import { count, counted, time } from "./format.ts";

/** What is left of calls that have no rows, and what the numbers below are about. */
export function onlyCounted(kept: number, { calls, us }: Counted): HTMLElement {
  const mean = `${time(us)} in all, ${time(us / calls)} on average`;
  const text = `${counted(calls, "call")} are only counted: ${mean}. Phases and links below: of the ${count(kept)} kept.`;
  return h("p", { class: "note" }, text);
}

/** Where child calls have no rows, their time looks like the caller's own. */
export function uncounted(gone: Counted | null): HTMLElement[] {
  if (!gone) return [];
  const took = `${counted(gone.calls, "call")} that calls of this model made, ${time(gone.us)}`;
  return [h("p", { class: "hint" }, `${took}, are only counted, not in child calls above.`)];
}
