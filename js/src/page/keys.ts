/** The keyboard map: commands by key, and the entries of the help. */

export type Command =
  | "down"
  | "up"
  | "first"
  | "last"
  | "pageDown"
  | "pageUp"
  | "unfold"
  | "fold"
  | "inspect"
  | "zoomIn"
  | "zoomOut"
  | "zoomAll"
  | "zoomSelected"
  | "panLeft"
  | "panRight"
  | "nextError"
  | "criticalPath"
  | "filter"
  | "clear"
  | "help";

const COMMANDS: Record<string, Command> = {
  ArrowDown: "down",
  ArrowUp: "up",
  Home: "first",
  End: "last",
  PageDown: "pageDown",
  PageUp: "pageUp",
  ArrowRight: "unfold",
  ArrowLeft: "fold",
  "Shift+ArrowRight": "panRight",
  "Shift+ArrowLeft": "panLeft",
  Enter: "inspect",
  "+": "zoomIn",
  "=": "zoomIn",
  "-": "zoomOut",
  "0": "zoomAll",
  f: "zoomSelected",
  n: "nextError",
  c: "criticalPath",
  "/": "filter",
  "?": "help",
  Escape: "clear",
};

/** Commands that are the same in every pane. */
export const EVERYWHERE: ReadonlySet<Command> = new Set<Command>([
  "nextError",
  "criticalPath",
  "filter",
  "clear",
  "help",
]);

/** Entries of the help. */
export const HELP: readonly [keys: string, meaning: string][] = [
  ["↑ ↓ Home End PgUp PgDn", "move between rows"],
  ["← →", "fold, unfold, to the caller"],
  ["Enter", "to the inspector, Esc back"],
  ["+ − 0 f", "zoom in, out, whole run, selected call"],
  ["Shift ← →", "pan"],
  ["n", "next error, unfolding its path"],
  ["c", "critical path"],
  ["/", "filter: part of a name or device, error, stream, async, running, cancelled, cached, batched, >5ms, <200us, corr:7, id:abc, param:key=value; compared: changed, new"],
  ["arrows, Enter in the graph", "to the nearest box, select"],
  ["Ctrl or ⌘ + wheel", "zoom; with Shift pan; alone it scrolls"],
  ["Esc", "clear filter and selection"],
];

/** Return the command of a key; undefined for keys of the browser or the host. */
export function commandOf(event: KeyboardEvent): Command | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const shifted =
    event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
  return COMMANDS[shifted];
}

/** Return the command of a key of every pane; null if a field or a pane handles the key. */
export function commandEverywhere(event: KeyboardEvent): Command | null {
  const command = commandOf(event);
  if (!command || !EVERYWHERE.has(command) || event.defaultPrevented) return null;
  return (event.target as Element).closest(".filter, .help") ? null : command;
}
