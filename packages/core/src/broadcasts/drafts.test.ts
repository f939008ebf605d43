import { describe, expect, it } from 'vitest'
import { createCarriers } from '../carriers/carriers.ts'
import type { Traits } from '../contract/outside/provider.ts'
import { createOneClickRule } from './drafts.ts'

const HTTPS = 'https://svc.example.com'

function faultWith(traits: Partial<Traits>[], public_url = HTTPS): string | null {
  const providers = traits.map((one, i) => ({
    name: `p${i}`,
    traits: { channels: ['email'], senders: {}, ...one } as Traits,
  }))
  return createOneClickRule({ carriers: createCarriers(providers), public_url: () => public_url })()
}

describe('one-click unsubscribe of the service', () => {
  it.each([
    [HTTPS, null],
    ['http://127.0.0.1:3000', null],
    ['http://[::1]:3000', null],
    ['http://svc.example.com', 'the public URL of the service is not https'],
  ])('at %s: %s', (public_url, fault) => {
    expect(faultWith([{ one_click: true }], public_url)).toBe(fault)
  })

  it('needs each provider of e-mail', () => {
    const off = { one_click: false }
    const fault = 'a provider of e-mail has it turned off'
    expect(faultWith([{ one_click: true }, off])).toBe(fault)
    expect(faultWith([{}])).toBeNull()
    expect(faultWith([{ ...off, channels: ['sms'] }], 'http://svc.example.com')).toBeNull()
  })
})
