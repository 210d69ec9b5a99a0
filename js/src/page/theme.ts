/** The theme of the host, light or dark, and the resolved colours for canvases. */

export type Theme = "light" | "dark";

/** Colours of canvases, resolved from the style sheet. */
export interface Colours {
  bg: string;
  fg: string;
  fg2: string;
  fg3: string;
  line: string;
  line2: string;
  shade: string;
  accent: string;
  queue: string;
  input: string;
  infer: string;
  output: string;
  error: string;
  running: string;
  font: string;
}

const TOKENS = [
  "bg",
  "fg",
  "fg2",
  "fg3",
  "line",
  "line2",
  "shade",
  "accent",
  "queue",
  "input",
  "infer",
  "output",
  "error",
  "running",
] as const;
const WATCHED = [
  "class",
  "theme",
  "style",
  "data-jp-theme-name",
  "data-jp-theme-light",
  "data-vscode-theme-kind",
];

/** Return the theme of the host; the most explicit setting wins. */
export function themeOf(element: Element): Theme {
  const { vscodeThemeKind, jpThemeLight } = document.body.dataset;
  if (vscodeThemeKind) return /light/.test(vscodeThemeKind) ? "light" : "dark";
  if (jpThemeLight) return jpThemeLight === "false" ? "dark" : "light";
  const colab = document.documentElement.getAttribute("theme");
  if (colab) return colab.includes("dark") ? "dark" : "light";
  return (
    backgroundTheme(element) ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")
  );
}

/** Call back when the host may have changed its theme; returns how to stop. */
export function watchTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  for (const element of [document.body, document.documentElement]) {
    observer.observe(element, { attributes: true, attributeFilter: WATCHED });
  }
  const preference = matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    preference.removeEventListener("change", changed);
  };
}

/** Return the colours of an element; all are empty if it is not in the page. */
export function coloursOf(root: Element): Colours {
  const style = getComputedStyle(root);
  const tokens = TOKENS.map((token) => [token, style.getPropertyValue(`--${token}`).trim()]);
  return { ...Object.fromEntries(tokens), font: style.fontFamily } as Colours;
}

/** Return the theme by the luminance of the nearest opaque background. */
function backgroundTheme(element: Element): Theme | null {
  for (let at: Element | null = element; at; at = parentOf(at)) {
    const [red, green, blue, alpha = 1] = (
      getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? [0, 0, 0, 0]
    ).map(Number);
    if (alpha > 0.5) return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110 ? "dark" : "light";
  }
  return null;
}

function parentOf(element: Element): Element | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}
