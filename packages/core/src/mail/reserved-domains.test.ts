import { describe, expect, it } from 'vitest'
import type { Mail } from '../contract/outside/mail.ts'
import { isReservedAddress, withoutReserved } from './reserved-domains.ts'

describe('Mails to reserved domains', () => {
  it.each([
    'demo@sandbox.svc',
    'a@example.com',
    'a@mail.example.org',
    'a@EXAMPLE.net',
    'a@x.test',
    'a@x.invalid',
  ])('are not sent: %s', (address) => {
    expect(isReservedAddress(address)).toBe(true)
  })

  it.each(['a@example.de', 'a@myexample.com', 'a@test.com', 'a@svc.io', 'not an address'])(
    'do not include %s',
    (address) => {
      expect(isReservedAddress(address)).toBe(false)
    },
  )

  it('go to the sandbox, and the others to the mail server', async () => {
    const sent: string[] = []
    const kept: string[] = []
    const mailer = withoutReserved(
      { send: async ({ to }) => void sent.push(to) },
      { send: async ({ to }) => void kept.push(to) },
    )
    for (const to of ['demo@sandbox.svc', 'owner@acme.io']) await mailer.send({ to } as Mail)
    expect(sent).toEqual(['owner@acme.io'])
    expect(kept).toEqual(['demo@sandbox.svc'])
  })
})
