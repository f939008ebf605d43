import { describe, expect, it } from 'vitest'
import { assertNames, readProvider, readProviders } from './read-providers.ts'

const gateway = {
  type: 'http',
  name: 'gateway',
  channels: ['sms'],
  auth: { type: 'bearer', token: 'canary-secret' },
  send: { url: 'https://gateway.example/send', body: { text: '{{text}}' } },
}

/** A reference to a variable. */
const VARIABLE = '$' + '{GATEWAY_TOKEN}'

const read = (value: unknown, variables: Record<string, string> = {}) =>
  readProviders(JSON.stringify(value), (name) => variables[name])

function faultOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError)
    return (error as RangeError).message
  }
  throw new Error('no error was thrown')
}

describe('a list of providers', () => {
  it.each([
    ['canary-secret', 'type is unknown'],
    [undefined, 'Missing required field: type'],
  ])('with the type %s lists the known types', (type, text) => {
    const fault = faultOf(() => read([{ ...gateway, type }]))
    expect(fault).toBe(
      `provider gateway: ${text}. Known types: http, sandbox, smpp, smtp, twilio, whatsapp_cloud, module`,
    )
  })

  it('is read in its order, with defaults', () => {
    const found = read([gateway, { ...gateway, name: 'second' }])
    expect(found.map(({ name }) => name)).toEqual(['gateway', 'second'])
    expect(found[0]).toMatchObject({ senders: {}, deadline_s: 15, handles_stop: false })
    expect(read([])).toEqual([])
  })

  it('takes secrets from variables where a whole text names one', () => {
    const auth = { type: 'bearer', token: VARIABLE }
    const [found] = read([{ ...gateway, auth }], { GATEWAY_TOKEN: 'canary-secret' })
    expect(found).toMatchObject({ auth: { token: 'canary-secret' } })
    const [kept] = read([{ ...gateway, auth: { ...auth, token: `x${VARIABLE}` } }])
    expect(kept).toMatchObject({ auth: { token: `x${VARIABLE}` } })
  })

  it.each([
    ['no JSON', () => readProviders('[canary-secret', () => undefined), 'it is not valid JSON'],
    ['no list', () => read(gateway), 'it is not a list'],
    ['too long', () => read(Array(51).fill(gateway)), 'it has more than 50 items'],
    [
      'without a variable that it names',
      () => read([{ ...gateway, auth: { type: 'bearer', token: VARIABLE } }]),
      'the variable GATEWAY_TOKEN is not set',
    ],
    [
      'with one name twice',
      () => read([gateway, gateway]),
      'provider gateway: the name is used twice',
    ],
  ])('is refused: %s', (_, work, text) => {
    const fault = faultOf(work)
    expect(fault).toBe(text)
    expect(fault).not.toContain('canary')
  })

  it('refuses the sandbox, which is always there', () => {
    expect(faultOf(() => read([{ type: 'sandbox', name: 'sandbox' }]))).toBe(
      'provider sandbox: the sandbox is always there and needs no settings',
    )
    expect(faultOf(() => assertNames(read([{ ...gateway, name: 'sandbox' }])))).toContain('sandbox')
  })
})

describe('an invalid provider', () => {
  it.each([
    ['a field missing', { send: undefined }, ['provider gateway', 'send']],
    ['a field too many', { canary_field: 1 }, ['provider gateway', 'canary_field']],
    ['an inner field', { auth: { type: 'bearer' } }, ['provider gateway', 'auth.token']],
    ['an unknown type', { type: 'pigeon' }, ['provider gateway', 'type']],
    ['an invalid rate', { messages_per_second: 0 }, ['gateway', 'messages_per_second']],
    ['an invalid name', { name: 'Gateway 1' }, ['name', 'must be 1 to 32 of a-z']],
  ])('is refused with its name and the field: %s', (_, fields, texts) => {
    const fault = faultOf(() => read([{ ...gateway, ...fields }]))
    for (const text of texts) expect(fault).toContain(text)
    expect(fault).not.toContain('canary-secret')
  })

  it('is refused with its position when it has no name', () => {
    expect(faultOf(() => read([gateway, { type: 'http' }]))).toContain('provider 2')
    expect(faultOf(() => readProvider('canary-secret'))).toMatch(/^provider 1\b(?!.*canary)/)
  })

  it.each([
    ['a secret of the wrong kind', { auth: { type: 'bearer', token: ['canary-secret'] } }],
    ['a secret for a type', { auth: { type: 'canary-secret', token: 'x' } }],
    ['a secret for an address', { send: { url: 'canary-secret', body: {} } }],
    ['a secret for a channel', { channels: ['canary-secret'] }],
    ['a secret for a number', { deadline_s: 'canary-secret' }],
  ])('is refused without its values: %s', (_, fields) => {
    expect(faultOf(() => read([{ ...gateway, ...fields }]))).not.toContain('canary-secret')
  })
})
