import { describe, expect, it } from 'vitest'
import { units } from '../contract/fields/units.ts'
import {
  compose,
  frozenMail,
  invitationMail,
  lowBalanceMail,
  resetMail,
  type TroubledWebhook,
  verifyMail,
  webhookMail,
} from './templates.ts'

const LINK = 'https://svc.example/x?a=1&b=<"&token=t'
const ENVELOPE = { brand: 'Acme & <Sons>', to: 'asha@example.com' }
const HOSTILE = `"><script>alert(1)</script><img src=x onerror='x'>&`

const SINCE = new Date('2026-05-04T09:00:00.000Z')
const troubled = (fields: Partial<TroubledWebhook> = {}): TroubledWebhook => ({
  url: 'https://hooks.example.com:8443/secret-path?token=secret',
  failing_since: SINCE,
  consecutive_failures: 7,
  disabled_reason: null,
  ...fields,
})

const MAILS = [
  webhookMail(ENVELOPE, [troubled(), troubled({ disabled_reason: 'gone' })], LINK),
  verifyMail(ENVELOPE, LINK),
  resetMail(ENVELOPE, LINK),
  invitationMail(ENVELOPE, LINK, 'owner@example.com'),
  lowBalanceMail(ENVELOPE, { available: units(9_500_000), threshold: units(10_000_000) }, LINK),
  frozenMail(ENVELOPE, { numbers: 10, window_s: 60 }, LINK),
]

/** The text that a reader of the HTML part sees. */
function shown(html: string): string {
  const [, body = ''] = html.split('<body')
  return body
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

describe.each([
  [verifyMail, 'verify_email', '24 hours'],
  [resetMail, 'reset_password', '30 minutes'],
] as const)('%o', (write, kind, lifetime) => {
  const mail = write(ENVELOPE, LINK)

  it('has recipient, kind and link, and says how long the link works', () => {
    expect(mail).toMatchObject({ to: 'asha@example.com', kind, link: LINK })
    for (const text of [mail.text, mail.html]) expect(text).toContain(lifetime)
  })

  it('has the link unchanged in the text and escaped in the HTML', () => {
    expect(mail.text.split('\n')).toContain(LINK)
    expect(mail.html).toContain('href="https://svc.example/x?a=1&amp;b=&lt;&quot;&amp;token=t"')
  })
})

describe.each(MAILS.map((mail) => [mail.kind, mail] as const))('the mail %s', (_, mail) => {
  it('has the brand, and the same paragraphs in the text and in the HTML', () => {
    expect(mail.text.endsWith('\n\n-- \nAcme & <Sons>\n')).toBe(true)
    expect(mail.html).toContain('>Acme &amp; &lt;Sons&gt;</td>')
    for (const paragraph of mail.text.split('\n\n-- ')[0]?.split('\n\n') ?? []) {
      expect(shown(mail.html)).toContain(paragraph)
    }
  })

  it('declares colours for light and dark screens, and loads nothing', () => {
    expect(mail.html).toContain('<meta name="color-scheme" content="light dark">')
    expect(mail.html).toContain('@media (prefers-color-scheme: dark)')
    expect(mail.html).not.toMatch(/<script|<img|<link|url\(|@import|\ssrc=/i)
  })
})

it('a mail escapes hostile texts in each of its places, and keeps them in its text', () => {
  const { text, html } = compose(HOSTILE, {
    subject: HOSTILE,
    paragraphs: [HOSTILE],
    action: { label: HOSTILE, link: `https://svc.example/?${HOSTILE}` },
    notes: [HOSTILE],
  })
  expect(html).not.toMatch(/<script|<img|onerror='/i)
  expect(shown(html).split(HOSTILE)).toHaveLength(7)
  expect(text.split(HOSTILE)).toHaveLength(5)
})

it('the invitation names the owner by the address only, also a hostile one', () => {
  const owner = `"<b>o'x"@example.com`
  const { text, html } = invitationMail(ENVELOPE, LINK, owner)
  expect(text).toContain(owner)
  expect(shown(html)).toContain(owner)
  expect(html).not.toContain('<b>')
})

it('a mail about low credits has the amounts in text and HTML, and a link only to a console', () => {
  const low = { available: units(9_500_000), threshold: units(10_000_000) }
  const mail = lowBalanceMail(ENVELOPE, low, null)
  expect(mail).toMatchObject({ to: 'asha@example.com', kind: 'low_balance' })
  for (const text of [mail.text, mail.html]) {
    expect(text).toContain('has 9.5 credits left, less than its threshold of 10.')
  }
  expect(mail).not.toHaveProperty('link')
  expect(mail.html).not.toContain('<a ')
  expect(lowBalanceMail(ENVELOPE, low, LINK).text).toContain(`\n\n${LINK}\n\n`)
})

it('a mail about webhooks names their hosts and reasons, and nothing else of their addresses', () => {
  const failing = webhookMail(ENVELOPE, [troubled()], LINK)
  expect(failing).toMatchObject({ kind: 'webhook_failure', subject: 'A webhook fails', link: LINK })
  const since = 'since 2026-05-04 09:00 UTC: 7 attempts in a row failed'
  for (const text of [failing.text, failing.html]) {
    expect(text).toContain(`No delivery to hooks.example.com:8443 succeeded ${since}.`)
    expect(text).not.toContain('secret')
  }
  const gone = webhookMail(ENVELOPE, [troubled({ disabled_reason: 'gone' })], null)
  expect(gone.subject).toBe('A webhook was disabled')
  expect(gone.text).toContain('was disabled: it answered 410 Gone.')
  expect(gone).not.toHaveProperty('link')
  const many = webhookMail(ENVELOPE, Array(12).fill(troubled()), LINK)
  expect(many.subject).toBe('12 webhooks fail')
  expect(many.text.match(/No delivery to/g)).toHaveLength(10)
  expect(many.text).toContain('And 2 more.')
  const disabled = troubled({ disabled_reason: 'failing' })
  const subjectOf = (...webhooks: TroubledWebhook[]) =>
    webhookMail(ENVELOPE, webhooks, LINK).subject
  expect(subjectOf(disabled, disabled)).toBe('2 webhooks were disabled')
  expect(subjectOf(troubled(), disabled, troubled())).toBe('Webhooks: 1 disabled, 2 failing')
})
