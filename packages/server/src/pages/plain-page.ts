import { createHash } from 'node:crypto'

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { max-width: 26rem; margin: 3rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; text-wrap: balance; }
label { display: block; margin-bottom: 1rem; }
input, button { box-sizing: border-box; width: 100%; padding: 0.625rem; border: 1px solid GrayText; border-radius: 0.375rem; font: inherit; }
button { border-color: #1d4ed8; background: #1d4ed8; color: #fff; font-weight: 600; cursor: pointer; }
button.quiet { border-color: GrayText; background: transparent; color: inherit; font-weight: 400; }
button + button { margin-top: 0.625rem; }
:focus-visible { outline: 3px solid #60a5fa; outline-offset: 2px; }
[role=alert] { font-weight: 600; }
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
export function notice(title: string, text: string): string {
  return plainPage(title, `<p>${escapeHtml(text)}</p>`)
}

/** A page without a script. `body` is HTML. */
export function plainPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</body>
</html>
`
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
