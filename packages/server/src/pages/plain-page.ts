import { createHash } from 'node:crypto'

/** The parts of a page that are the same on all pages of a service. */
export interface Frame {
  /** The name of the service. */
  brand: string
  /** The path of the console below the service's address, such as `console`; null if it is not served. */
  console: string | null
}

/** A link to the next page. `href` is relative, because a proxy may serve the pages under a path. */
export interface Way {
  text: string
  href: string
  /** `main`: looks like a button. */
  kind?: 'main'
}

/** The content of a page. */
interface PageContent {
  title: string
  /** HTML. */
  body: string
  /** A word in capitals above the title, for pages that are not the real thing. */
  badge?: string | undefined
  ways?: readonly Way[] | undefined
}

const STYLE = `
:root { color-scheme: light dark; --page: #f4f5f7; --card: #fff; --line: #d8dce4; --text: #16181d; --quiet: #5b6270; --action: #1d4ed8; --action-text: #fff; --link: #1d4ed8; --alert: #b42318; --alert-back: #fef3f2; --badge: #7a4a00; --badge-back: #fff1d6; font: 1rem/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --page: #0f1115; --card: #181b21; --line: #343a46; --text: #eceef2; --quiet: #a2a9b7; --action: #2f66e8; --link: #8fb0ff; --alert: #ff9d94; --alert-back: #2c1715; --badge: #ffcf7d; --badge-back: #33260c; } }
* { box-sizing: border-box; }
body { min-height: 100vh; margin: 0; padding: 3rem 1rem; background: var(--page); color: var(--text); }
.frame { max-width: 27rem; margin: 0 auto; }
.brand { display: flex; align-items: center; gap: 0.5rem; margin: 0 0 0.75rem 0.25rem; color: var(--quiet); font-weight: 600; overflow-wrap: anywhere; }
.brand::before { content: ""; flex: none; width: 0.75rem; height: 0.75rem; border-radius: 0.25rem; background: var(--action); }
main { padding: 2rem; border: 1px solid var(--line); border-radius: 0.75rem; background: var(--card); overflow-wrap: anywhere; }
h1 { margin: 0 0 1rem; font-size: 1.375rem; line-height: 1.3; text-wrap: balance; }
p { margin: 0 0 1rem; }
.quiet { color: var(--quiet); font-size: 0.875rem; }
.badge { display: inline-block; margin: 0 0 0.75rem; padding: 0.125rem 0.5rem; border-radius: 0.375rem; background: var(--badge-back); color: var(--badge); font-size: 0.75rem; font-weight: 700; letter-spacing: 0.06em; }
dl { margin: 0 0 1.25rem; border-top: 1px solid var(--line); }
dl div { display: flex; justify-content: space-between; gap: 1rem; padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
dt { color: var(--quiet); }
dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; }
.total dd, .total dt { color: var(--text); font-weight: 600; }
label { display: block; margin-bottom: 1rem; }
input:not([type=checkbox], [hidden]) { display: block; width: 100%; margin-top: 0.375rem; padding: 0.625rem 0.75rem; border: 1px solid var(--quiet); border-radius: 0.5rem; background: var(--card); color: inherit; font: inherit; }
.check { display: flex; gap: 0.625rem; align-items: flex-start; font-size: 0.9375rem; }
.check input { flex: none; width: 1.125rem; height: 1.125rem; margin: 0.1875rem 0 0; accent-color: var(--action); }
button, .main { display: block; width: 100%; padding: 0.6875rem 1rem; border: 1px solid var(--action); border-radius: 0.5rem; background: var(--action); color: var(--action-text); font: inherit; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; }
button:hover, .main:hover { filter: brightness(1.08); }
button.quiet { border-color: var(--line); background: transparent; color: var(--text); font-size: 1rem; font-weight: 400; }
button + button { margin-top: 0.625rem; }
form { margin: 0 0 1rem; }
.ways { margin: 1.5rem 0 0; padding: 0; list-style: none; }
.ways li + li { margin-top: 0.75rem; }
main > :last-child { margin-bottom: 0; }
a { color: var(--link); }
a.main { color: var(--action-text); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
[role=alert] { padding: 0.625rem 0.75rem; border-radius: 0.5rem; background: var(--alert-back); color: var(--alert); font-weight: 600; }
@media (max-width: 30rem) { body { padding: 1.25rem 0.75rem; } main { padding: 1.5rem 1.25rem; } }
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/**
 * The policy of a plain page: its own style, and forms to its own origin, which may redirect to `origins` too.
 */
export function plainPageCsp(...origins: string[]): string {
  const targets = ["'self'", ...origins].join(' ')
  return `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${targets}; base-uri 'none'; frame-ancestors 'none'`
}

/** A page with one text. */
export function notice(
  frame: Frame,
  title: string,
  text: string,
  ways: readonly Way[] = [],
): string {
  return plainPage(frame, { title, body: `<p>${escapeHtml(text)}</p>`, ways })
}

/** A page without a script, for light and dark screens from 320 pixels. */
export function plainPage(
  { brand }: Frame,
  { title, body, badge, ways = [] }: PageContent,
): string {
  const badgeHtml = badge === undefined ? '' : `<p class="badge">${escapeHtml(badge)}</p>\n`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · ${escapeHtml(brand)}</title>
<style>${STYLE}</style>
</head>
<body>
<div class="frame">
<header class="brand">${escapeHtml(brand)}</header>
<main>
${badgeHtml}<h1>${escapeHtml(title)}</h1>
${body}${waysHtml(ways)}
</main>
</div>
</body>
</html>
`
}

function waysHtml(ways: readonly Way[]): string {
  if (ways.length === 0) return ''
  const items = ways.map(({ text, href, kind }) => {
    const look = kind === 'main' ? ' class="main"' : ''
    return `<li><a${look} href="${escapeHtml(href)}">${escapeHtml(text)}</a></li>`
  })
  return `\n<ul class="ways">\n${items.join('\n')}\n</ul>`
}

/** The link to the console, where it is served. `up`: the way from the page to the root of the service, such as `../`. */
export function consoleWay({ console }: Frame, text: string, up = ''): Way[] {
  return console === null ? [] : [{ text, href: `${up}${console}`, kind: 'main' }]
}

/** The text with its special characters escaped, for any place in HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
