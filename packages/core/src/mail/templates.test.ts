import { describe, expect, it } from 'vitest'
import { units } from '../contract/fields/units.ts'
import { lowBalanceMail, resetMail, verifyMail } from './templates.ts'

const LINK = 'https://svc.example/x?a=1&b=<"&token=t'

describe.each([
  [verifyMail, 'verify_email', '24 hours'],
  [resetMail, 'reset_password', '30 minutes'],
] as const)('%o', (write, kind, lifetime) => {
  const mail = write('asha@example.com', LINK)

  it('has recipient, kind and link, and says how long the link works', () => {
    expect(mail).toMatchObject({ to: 'asha@example.com', kind, link: LINK })
    for (const text of [mail.text, mail.html]) expect(text).toContain(lifetime)
  })

  it('has the link unchanged in the text and escaped in the HTML', () => {
    expect(mail.text.split('\n')).toContain(LINK)
    expect(mail.html).toContain('href="https://svc.example/x?a=1&amp;b=&lt;&quot;&amp;token=t"')
  })
})

it('a mail about low credits has the amounts in text and HTML, and no link', () => {
  const low = { available: units(9_500_000), threshold: units(10_000_000) }
  const mail = lowBalanceMail('asha@example.com', low)
  expect(mail).toMatchObject({ to: 'asha@example.com', kind: 'low_balance' })
  for (const text of [mail.text, mail.html]) {
    expect(text).toContain('has 9.5 credits left, less than its threshold of 10.')
  }
  expect(mail).not.toHaveProperty('link')
})
