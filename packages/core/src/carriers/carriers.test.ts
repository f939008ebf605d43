import { describe, expect, it } from 'vitest'
import { installSettings } from '../providers/installed.ts'
import { createCarriers } from './carriers.ts'
import { readProvider } from './read-providers.ts'

const A = '+15005550001'
const B = '+15005550002'

const gateway = (name: string, settings: object = {}) => ({
  type: 'http',
  name,
  channels: ['sms'],
  send: { url: 'http://127.0.0.1/send', body: { text: '{{text}}' } },
  ...settings,
})

const carriersOf = (...providers: object[]) =>
  createCarriers(providers.map((one) => installSettings(readProvider(one))))

const sms = { channel: 'sms', livemode: true, sender: null } as const

describe('carriers of a message', () => {
  const carriers = carriersOf(
    gateway('a', { senders: { sms: [A, B] } }),
    gateway('b', { senders: { sms: [B] } }),
    gateway('any', { channels: ['sms', 'email'], senders: { email: ['news@example.com'] } }),
  )

  it('are in the order of the settings, each with its sender', () => {
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

  it('are all providers of e-mail, because the sender of an e-mail is only a name', () => {
    expect(carriers.of({ channel: 'email', livemode: true, sender: 'Acme' })).toEqual([
      { provider: 'any', sender: 'Acme' },
    ])
    expect(carriers.senderFault('email', 'Acme')).toBeNull()
  })

  it('are the sandbox for test keys, and for a channel without a provider', () => {
    const sandbox = [{ provider: 'sandbox', sender: null }]
    expect(carriers.of({ ...sms, livemode: false })).toEqual(sandbox)
    expect(carriers.of({ ...sms, channel: 'whatsapp' })).toEqual(sandbox)
    expect(carriersOf().of(sms)).toEqual(sandbox)
  })

  it('are empty after a try with another provider, when no provider serves the channel any more', () => {
    const none = carriersOf()
    expect(none.of({ ...sms, provider: 'gone' })).toEqual([])
    const sandbox = [{ provider: 'sandbox', sender: null }]
    expect(none.of({ ...sms, provider: null })).toEqual(sandbox)
    expect(none.of({ ...sms, provider: 'sandbox' })).toEqual(sandbox)
    expect(none.of({ ...sms, livemode: false, provider: 'gone' })).toEqual(sandbox)
    expect(carriers.of({ ...sms, provider: 'gone' })).toHaveLength(3)
  })

  it('are empty for a live call without a provider for voice, which would seem answered in the sandbox', () => {
    const call = { ...sms, channel: 'voice' } as const
    expect(carriers.of(call)).toEqual([])
    const sandbox = [{ provider: 'sandbox', sender: null }]
    expect(carriers.of({ ...call, livemode: false })).toEqual(sandbox)
    // A call that an earlier version gave to the sandbox gets its end there.
    expect(carriers.of({ ...call, provider: 'sandbox' })).toEqual(sandbox)
  })

  it('are empty when no provider has the sender', () => {
    const strict = carriersOf(gateway('a', { senders: { sms: [A] } }))
    expect(strict.of({ ...sms, sender: B })).toEqual([])
  })
})

describe('a sender', () => {
  const carriers = carriersOf(
    gateway('a', { senders: { sms: [A, B] } }),
    gateway('b', { senders: { sms: [B] } }),
  )

  it('of no provider is refused with the list of senders', () => {
    expect(carriers.senderFault('sms', 'Acme')).toBe(`Invalid sender. Must be one of: ${A}, ${B}`)
    expect(carriers.senderFault('sms', B)).toBeNull()
    expect(carriers.senderFault('sms', undefined)).toBeNull()
    expect(carriers.senderFault('voice', 'Acme')).toBeNull()
  })

  it('may be any when a provider has no senders of its own', () => {
    const open = carriersOf(gateway('a', { senders: { sms: [A] } }), gateway('any'))
    expect(open.senderFault('sms', 'Acme')).toBeNull()
  })

  it('is listed once for its channel', () => {
    expect(carriers.listedSenders('sms')).toEqual([A, B])
    expect(carriers.listedSenders('voice')).toEqual([])
    expect(carriersOf(gateway('any')).listedSenders('sms')).toEqual([])
  })

  it('is found by channel and by provider', () => {
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

describe('traits', () => {
  const carriers = carriersOf(gateway('a', { messages_per_second: 5 }))

  it('exist for every provider and the sandbox, and for no other name', () => {
    expect(carriers.traits.get('a')).toMatchObject({ channels: ['sms'], messages_per_second: 5 })
    expect(carriers.traits.get('sandbox')).toMatchObject({
      lookup: true,
      messages_per_second: null,
    })
    expect(carriers.traits.get('gone')).toBeUndefined()
  })

  it('decide whether a channel is served', () => {
    expect([carriers.serves('sms'), carriers.serves('voice')]).toEqual([true, false])
  })
})
