import { escapeHtml } from './template.ts'

/** The place of an e-mail's HTML in a layout. */
const CONTENT = /\{\{\s*content\s*\}\}/g

/** How often a layout has the place for the HTML of other templates. */
export function placesIn(layout: string): number {
  return layout.match(CONTENT)?.length ?? 0
}

/** The HTML in its layout. A placeholder `{{content}}` of the HTML itself stays. */
export function inLayout(layout: string, html: string): string {
  return layout.replace(CONTENT, () => html)
}

/** Whether the HTML has elements of a whole document, which no layout can have inside. */
export function isDocument(html: string): boolean {
  return /<(?:!doctype|html|head|body)[\s>]/i.test(html)
}

/**
 * Fills the line beside the subject, so that no words of the mail follow the preview text there. Gmail and Apple Mail leave
 * out most other invisible characters. Source: goodemailcode.com, Preheader text
 */
const PADDING = '&#8199;&#65279;&#847; '.repeat(100)

/** The HTML with a hidden text at its beginning, which mail programs show beside the subject. */
export function withPreviewText(html: string, text: string): string {
  const hidden = `<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${escapeHtml(text)} ${PADDING}</div>`
  const at = startOfBody(html)
  return html.slice(0, at) + hidden + html.slice(at)
}

/** A document may leave out the tag of its body. */
function startOfBody(html: string): number {
  const body = html.search(/<body[\s>]/i)
  if (body >= 0) return html.indexOf('>', body) + 1
  const head = /<\/head\s*>/i.exec(html)
  return head ? head.index + head[0].length : 0
}

const RIGHT_TO_LEFT = new Set(['Adlm', 'Arab', 'Hebr', 'Nkoo', 'Rohg', 'Syrc', 'Thaa'])

/**
 * The built-in layout: one column of at most 600 pixels with the fonts of the system, light or dark as the reader's device.
 * Outlook on Windows knows no `max-width`, so it gets a table of 600 pixels. The colours of dark mode stay in `<style>`;
 * programs that know no media query keep the light ones.
 */
export function defaultLayout(locale: string): string {
  const { script = '' } = new Intl.Locale(locale).maximize()
  const [dir, side] = RIGHT_TO_LEFT.has(script) ? ['rtl', 'right'] : ['ltr', 'left']
  return `<!doctype html>
<html lang="${locale}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title></title>
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
body { margin: 0; padding: 0; text-align: center; -webkit-text-size-adjust: 100%; }
body, .svc-page { background-color: #f3f4f6; color: #4b5563; font-family: ${FONTS}; font-size: 16px; line-height: 24px; }
.svc-margin { padding: 24px 12px; }
.svc-card { max-width: 600px; background-color: #ffffff; border-radius: 8px; }
.svc-content { padding: 32px 28px; text-align: ${side}; color: #1f2937; font-family: ${FONTS}; font-size: 16px; line-height: 24px; }
h1 { margin: 0 0 16px; font-size: 24px; line-height: 32px; color: #111827; }
h2 { margin: 24px 0 12px; font-size: 19px; line-height: 28px; color: #111827; }
p, ul, ol { margin: 0 0 16px; }
a { color: #1d4ed8; }
img { max-width: 100%; border: 0; }
hr { margin: 24px 0; border: 0; border-top: 1px solid #d1d5db; }
.button { display: inline-block; padding: 12px 20px; border-radius: 6px; background-color: #1d4ed8; color: #ffffff; font-weight: 600; text-decoration: none; }
.muted { color: #4b5563; font-size: 14px; line-height: 20px; }
@media (prefers-color-scheme: dark) {
  body, .svc-page { background-color: #111827 !important; color: #d1d5db !important; }
  .svc-card { background-color: #1f2937 !important; }
  .svc-content { color: #e5e7eb !important; }
  h1, h2 { color: #f9fafb !important; }
  a { color: #93c5fd !important; }
  hr { border-top-color: #4b5563 !important; }
  .button { background-color: #2563eb !important; color: #ffffff !important; }
  .muted { color: #d1d5db !important; }
}
</style>
</head>
<body>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="svc-page"><tr><td align="center" class="svc-margin">
<!--[if mso]><table role="presentation" width="600" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="svc-card"><tr><td align="${side}" class="svc-content">
{{content}}
</td></tr></table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
</body>
</html>
`
}

const FONTS =
  "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', sans-serif"
