import { describe, expect, it } from 'vitest'
import { units } from '../contract/fields/units.ts'
import { lowBalanceMail, resetMail, verifyMail } from './templates.ts'

const LINK = 'https://svc.example/x?a=1&b=<"&token=t'

describe.each([
  [verifyMail, 'verify_email', '24 hours'],
  [resetMail, 'reset_password', '30 minutes'],
] as const)('%o', (write, kind, lifetime) => {
  const mail = write('asha@example.com', LINK)

  it('is a whole mail, and says how long its link works', () => {
    expect(mail).toMatchObject({ to: 'asha@example.com', kind, link: LINK })
    for (const text of [mail.text, mail.html]) expect(text).toContain(lifetime)
  })

  it('has the link as it is in the text, and escaped in the HTML', () => {
    expect(mail.text.split('\n')).toContain(LINK)
    expect(mail.html).toContain('href="https://svc.example/x?a=1&amp;b=&lt;&quot;&amp;token=t"')
  })
})

it('of a low balance says in text and HTML what is left, and has no link', () => {
  const low = { available: units(9_500_000), threshold: units(10_000_000) }
  const mail = lowBalanceMail('asha@example.com', low)
  expect(mail).toMatchObject({ to: 'asha@example.com', kind: 'low_balance' })
  for (const text of [mail.text, mail.html]) {
    expect(text).toContain('has 9.5 credits left, less than the 10 below which')
  }
  expect(mail).not.toHaveProperty('link')
})
