import { describe, expect, it } from 'vitest'
import { createCarriers } from './carriers.ts'
import { readProviders } from './read-providers.ts'

const A = '+15005550001'
const B = '+15005550002'

const gateway = (name: string, given: object = {}) => ({
  type: 'http',
  name,
  channels: ['sms'],
  send: { url: 'http://127.0.0.1/send', body: { text: '{{text}}' } },
  ...given,
})

const carriersOf = (...providers: object[]) =>
  createCarriers(readProviders(JSON.stringify(providers), () => undefined))

const sms = { channel: 'sms', livemode: true, sender: null } as const

describe('who can carry a message', () => {
  const carriers = carriersOf(
    gateway('a', { senders: { sms: [A, B] } }),
    gateway('b', { senders: { sms: [B] } }),
    gateway('any', { channels: ['sms', 'email'], senders: { email: ['news@example.com'] } }),
  )

  it('is told in the order of the settings, each with the sender it then has', () => {
    expect(carriers.of(sms)).toEqual([
      { provider: 'a', sender: A },
      { provider: 'b', sender: B },
      { provider: 'any', sender: null },
    ])
    expect(carriers.of({ ...sms, sender: A })).toEqual([
      { provider: 'a', sender: A },
      { provider: 'any', sender: A },
    ])
  })

  it("is whoever serves e-mail, for an e-mail's sender is but a name", () => {
    expect(carriers.of({ channel: 'email', livemode: true, sender: 'Acme' })).toEqual([
      { provider: 'any', sender: 'Acme' },
    ])
    expect(carriers.senderFault('email', 'Acme')).toBeNull()
  })

  it('is the sandbox for test keys, and where nobody serves the channel', () => {
    const sandbox = [{ provider: 'sandbox', sender: null }]
    expect(carriers.of({ ...sms, livemode: false })).toEqual(sandbox)
    expect(carriers.of({ ...sms, channel: 'voice' })).toEqual(sandbox)
    expect(carriersOf().of(sms)).toEqual(sandbox)
  })

  it('is nobody for what another was asked for, where nobody serves the channel any more', () => {
    const none = carriersOf()
    expect(none.of({ ...sms, provider: 'gone' })).toEqual([])
    const sandbox = [{ provider: 'sandbox', sender: null }]
    expect(none.of({ ...sms, provider: null })).toEqual(sandbox)
    expect(none.of({ ...sms, provider: 'sandbox' })).toEqual(sandbox)
    expect(none.of({ ...sms, livemode: false, provider: 'gone' })).toEqual(sandbox)
    expect(carriers.of({ ...sms, provider: 'gone' })).toHaveLength(3)
  })

  it('is nobody where nobody has the sender', () => {
    const strict = carriersOf(gateway('a', { senders: { sms: [A] } }))
    expect(strict.of({ ...sms, sender: B })).toEqual([])
  })
})

describe('a sender', () => {
  const carriers = carriersOf(
    gateway('a', { senders: { sms: [A, B] } }),
    gateway('b', { senders: { sms: [B] } }),
  )

  it('that nobody has is refused by the names of those there are', () => {
    expect(carriers.senderFault('sms', 'Acme')).toBe(`Invalid sender. Must be one of: ${A}, ${B}`)
    expect(carriers.senderFault('sms', B)).toBeNull()
    expect(carriers.senderFault('sms', undefined)).toBeNull()
    expect(carriers.senderFault('voice', 'Acme')).toBeNull()
  })

  it('may be any where some provider takes any', () => {
    const open = carriersOf(gateway('a', { senders: { sms: [A] } }), gateway('any'))
    expect(open.senderFault('sms', 'Acme')).toBeNull()
  })

  it('is known for ours', () => {
    expect([A, B, 'Acme'].map((sender) => carriers.hasSender('sms', sender))).toEqual([
      true,
      true,
      false,
    ])
    expect(carriers.hasSender('whatsapp', A)).toBe(false)
    expect([A, B, 'Acme'].map((sender) => carriers.isListed('b', sender))).toEqual([
      false,
      true,
      false,
    ])
    expect(carriers.isListed('gone', A)).toBe(false)
  })
})

describe('what follows from settings', () => {
  const carriers = carriersOf(gateway('a', { messages_per_second: 5 }))

  it('is known of every provider, of the sandbox, and of nobody else', () => {
    expect(carriers.traits('a')).toMatchObject({ channels: ['sms'], messages_per_second: 5 })
    expect(carriers.traits('sandbox')).toMatchObject({ lookup: true, messages_per_second: null })
    expect(carriers.traits('gone')).toBeUndefined()
  })

  it('tells whether a channel is served', () => {
    expect([carriers.serves('sms'), carriers.serves('voice')]).toEqual([true, false])
  })
})
