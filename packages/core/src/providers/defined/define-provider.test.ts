import { describe, expect, it } from 'vitest'
import { defineProvider, isDefinedProvider } from './define-provider.ts'
import type { ProviderDefinition } from './definition.ts'

const send = async () => []
const valid: ProviderDefinition = { name: 'acme', traits: { channels: ['sms'] }, send }

describe('a defined provider', () => {
  it('has safe traits by default', () => {
    expect(defineProvider(valid)).toMatchObject({
      name: 'acme',
      traits: {
        channels: ['sms'],
        senders: {},
        idempotent: false,
        lookup: false,
        callback_bytes: null,
        listens: false,
        connected: false,
        messages_per_second: null,
        handles_stop: false,
      },
    })
  })

  it('has the traits of its functions', () => {
    const { traits } = defineProvider({
      ...valid,
      lookup: async () => [],
      readCallback: () => ({ type: 'forged' }),
      listen: async () => ({ states: () => [], close: async () => {} }),
    })
    expect(traits).toMatchObject({ lookup: true, callback_bytes: 262_144, listens: true })
  })

  it('keeps its traits when the definition changes afterwards', () => {
    const senders = { sms: ['+14155550190'] }
    const definition = { ...valid, traits: { channels: ['sms' as const], senders } }
    const { traits } = defineProvider(definition)
    senders.sms.push('+14155550191')
    expect(traits.senders).toEqual({ sms: ['+14155550190'] })
    expect(() => Object.assign(traits, { lookup: true })).toThrow(TypeError)
  })

  it('may be an instance of a class', () => {
    class Acme {
      name = 'acme'
      traits = { channels: ['sms' as const] }
      async send() {
        return []
      }
    }
    expect(isDefinedProvider(defineProvider(new Acme()))).toBe(true)
    expect(isDefinedProvider(new Acme())).toBe(false)
  })

  it.each<[unknown, string]>([
    [null, 'defineProvider: must be an object'],
    [{}, 'defineProvider: name: is missing'],
    [{ ...valid, name: 'Acme' }, 'defineProvider: name: must be 1 to 32 of a-z'],
    [{ ...valid, traits: undefined }, 'defineProvider: traits: is missing'],
    [
      { ...valid, traits: { channels: [] } },
      'defineProvider: traits.channels: must have at least 1',
    ],
    [
      { ...valid, traits: { channels: ['fax'] } },
      'defineProvider: traits.channels.0: must be one of',
    ],
    [
      { ...valid, traits: { channels: ['sms', 'sms'] } },
      'defineProvider: traits.channels: must not',
    ],
    [
      { ...valid, traits: { channels: ['sms'], lookup: true } },
      'defineProvider: traits: Unknown field: traits.lookup',
    ],
    [
      { ...valid, traits: { channels: ['sms'], senders: { sms: [] } } },
      'defineProvider: traits.senders.sms: must',
    ],
    [
      { ...valid, traits: { channels: ['sms'], messages_per_second: 0 } },
      'defineProvider: traits.messages_per_second: must',
    ],
    [
      { ...valid, traits: { channels: ['sms'], callback_bytes: 100 } },
      'defineProvider: traits.callback_bytes: needs readCallback',
    ],
    [
      { ...valid, traits: { channels: ['sms'], connected: true } },
      'defineProvider: traits.connected: needs listen',
    ],
    [{ ...valid, send: undefined }, 'defineProvider: send: must be a function'],
    [{ ...valid, lookup: 'x' }, 'defineProvider: lookup: must be a function'],
  ])('is refused with the name of the wrong field: %o', (definition, text) => {
    let message = ''
    try {
      defineProvider(definition as ProviderDefinition)
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError)
      message = (error as Error).message
    }
    expect(message.slice(0, text.length)).toBe(text)
  })
})
