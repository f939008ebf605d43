import type { Mail } from '../contract/outside/mail.ts'

/** The content of a mail to an owner, member or invited person, as plain texts. */
export interface Letter {
  subject: string
  /** The paragraphs before the button. */
  paragraphs: readonly string[]
  /** A button, and the same link in words for programs that show no button. */
  action?: { label: string; link: string } | undefined
  /** Paragraphs in small type after the button. */
  notes: readonly string[]
}

/** Colours for light screens. Mail programs that ignore the style element keep them. */
const LIGHT = {
  page: '#f4f5f7',
  card: '#ffffff',
  line: '#e1e4ea',
  text: '#16181d',
  quiet: '#5b6270',
  action: '#1d4ed8',
} as const

/** Mail programs without support for media queries show the light colours, which are complete. */
const STYLE = `:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
.page { background-color: #0f1115 !important; }
.card { background-color: #181b21 !important; border-color: #2b303a !important; }
.text { color: #eceef2 !important; }
.quiet, .quiet a { color: #a2a9b7 !important; }
.action { background-color: #2f66e8 !important; }
}
@media (max-width: 480px) {
.page { padding: 16px 8px !important; }
.card { padding: 24px 20px !important; }
}`

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

/**
 * The text part and the HTML part of a letter. Both parts say the same. The HTML part escapes every text, loads nothing from
 * another host, and uses a table with inline styles, because mail programs ignore newer layouts.
 */
export function compose(
  brand: string,
  { subject, paragraphs, action, notes }: Letter,
): Pick<Mail, 'subject' | 'text' | 'html'> {
  const parts = [...paragraphs, ...(action ? [action.link] : []), ...notes]
  const text = `${parts.join('\n\n')}\n\n-- \n${brand}\n`
  return { subject, text, html: htmlOf(brand, { subject, paragraphs, action, notes }) }
}

function htmlOf(brand: string, { subject, paragraphs, action, notes }: Letter): string {
  const rows = [
    `<h1 class="text" style="margin:0 0 16px;${FONT};font-size:21px;line-height:1.3;font-weight:650;color:${LIGHT.text}">${escaped(subject)}</h1>`,
    ...paragraphs.map(
      (text) =>
        `<p class="text" style="margin:0 0 16px;${FONT};font-size:16px;line-height:1.5;color:${LIGHT.text}">${escaped(text)}</p>`,
    ),
    ...(action ? [button(action)] : []),
    ...notes.map(
      (text) =>
        `<p class="quiet" style="margin:16px 0 0;${FONT};font-size:14px;line-height:1.5;color:${LIGHT.quiet}">${escaped(text)}</p>`,
    ),
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escaped(subject)}</title>
<style>${STYLE}</style>
</head>
<body class="page" style="margin:0;padding:0;background-color:${LIGHT.page}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<td class="page" align="center" style="padding:32px 16px;background-color:${LIGHT.page}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:560px"><tr>
<td class="quiet" style="padding:0 4px 12px;${FONT};font-size:15px;font-weight:600;color:${LIGHT.quiet}">${escaped(brand)}</td>
</tr><tr>
<td class="card" style="padding:32px;background-color:${LIGHT.card};border:1px solid ${LIGHT.line};border-radius:12px">
${rows.join('\n')}
</td>
</tr></table>
</td>
</tr></table>
</body>
</html>
`
}

function button({ label, link }: { label: string; link: string }): string {
  const href = escaped(link)
  return `<p style="margin:24px 0"><a href="${href}" class="action" style="display:inline-block;padding:12px 20px;border-radius:8px;background-color:${LIGHT.action};${FONT};font-size:16px;font-weight:600;line-height:1.25;color:#ffffff;text-decoration:none">${escaped(label)}</a></p>
<p class="quiet" style="margin:0;${FONT};font-size:14px;line-height:1.5;color:${LIGHT.quiet};word-break:break-all">Or open this address: <a href="${href}" style="color:${LIGHT.quiet}">${href}</a></p>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '"': '&quot;',
  "'": '&#39;',
  '<': '&lt;',
  '>': '&gt;',
}

function escaped(text: string): string {
  return text.replace(/[&"'<>]/g, (character) => ENTITIES[character] ?? '')
}
