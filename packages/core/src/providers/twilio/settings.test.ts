import { describe, expect, it } from 'vitest'
import { providerSettings, traitsOf } from '../registry.ts'

const SERVICE = `MG${'5'.repeat(32)}`
const SANDBOX = '+14155238886'
const BASE = {
  name: 'twilio',
  type: 'twilio',
  account_sid: `AC${'0'.repeat(32)}`,
  auth_token: 'f'.repeat(32),
  senders: { sms: ['+15550100001', '12345', 'Shop & Co', SERVICE] },
}

function invalidPathsOf(more: object): string[] {
  const result = providerSettings.safeParse({ ...BASE, ...more })
  return result.success ? [] : result.error.issues.map(({ path }) => path.join('.'))
}

describe('the settings of Twilio', () => {
  it('determine the traits', () => {
    const senders = { ...BASE.senders, voice: ['+15550100002'] }
    const settings = providerSettings.parse({ ...BASE, senders, messages_per_second: 2 })
    expect(traitsOf(settings)).toEqual({
      channels: ['sms', 'voice'],
      senders,
      idempotent: false,
      lookup: true,
      callback_bytes: 256 * 1024,
      listens: false,
      connected: false,
      messages_per_second: 2,
      handles_stop: true,
      connections: 50,
    })
  })

  it('name the templates of WhatsApp', () => {
    const senders = { whatsapp: ['+15550100002'] }
    const known = (more: object) =>
      traitsOf(providerSettings.parse({ ...BASE, senders, ...more })).known_templates
    expect(known({ content_sids: { 'order:en': `HX${'1'.repeat(32)}` } })?.names).toEqual([
      'order:en',
    ])
    expect(known({})?.names).toEqual([])
    expect(known({})?.id_form.test(`HX${'a'.repeat(32)}`)).toBe(true)
  })

  it.each<[string, object, boolean | undefined]>([
    ['a sender of WhatsApp', { senders: { whatsapp: ['+15550100002'] } }, true],
    ['a messaging service', { senders: { whatsapp: [SERVICE] } }, true],
    ['no sender of WhatsApp', { check_approvals: true }, undefined],
    ['the sandbox', { senders: { whatsapp: [SANDBOX] } }, undefined],
    ['the sandbox beside a sender', { senders: { whatsapp: [SANDBOX, '+15550100002'] } }, true],
    ['the sandbox and true', { senders: { whatsapp: [SANDBOX] }, check_approvals: true }, true],
    [
      'a sender and false',
      { senders: { whatsapp: ['+15550100002'] }, check_approvals: false },
      undefined,
    ],
  ])('say whether approvals are checked: %s', (_, more, lists) => {
    expect(traitsOf(providerSettings.parse({ ...BASE, ...more })).lists_templates).toBe(lists)
  })

  it('can say that Twilio does not answer STOP', () => {
    const settings = providerSettings.parse({ ...BASE, handles_stop: false })
    expect(traitsOf(settings)).toMatchObject({ handles_stop: false, messages_per_second: null })
  })

  it.each<[string, object, string[]]>([
    ['nothing', {}, []],
    ['an API key', { api_key_sid: `SK${'1'.repeat(32)}`, api_key_secret: 'x' }, []],
    ['half an API key', { api_key_secret: 'x' }, ['api_key_sid']],
    ['no sender at all', { senders: {} }, ['senders']],
    ['an empty list', { senders: { sms: [] } }, ['senders.sms']],
    ['a number without +', { senders: { voice: ['15550100001'] } }, ['senders.voice.0']],
    ['a service that calls', { senders: { voice: [SERVICE] } }, ['senders.voice.0']],
    ['a name on WhatsApp', { senders: { whatsapp: ['Shop'] } }, ['senders.whatsapp.0']],
    ['a name too long', { senders: { sms: ['TwelveLetter'] } }, ['senders.sms.0']],
    ['a header in a name', { senders: { sms: ['a\r\nX: y'] } }, ['senders.sms.0']],
    ['another account', { account_sid: 'AC1' }, ['account_sid']],
    ['a malformed token', { auth_token: 'secret' }, ['auth_token']],
    ['a template without sid', { content_sids: { a: 'b' } }, ['content_sids.a']],
    ['a trial on this machine', { api_url: 'http://127.0.0.1:4010' }, []],
    ['a trial on this machine, IPv6', { api_url: 'http://[::1]:4010/' }, []],
    ['another address', { api_url: 'https://twilio.example' }, []],
    ['another address without TLS', { api_url: 'http://twilio.example' }, ['api_url']],
    ['an address that looks local', { api_url: 'http://127.0.0.1.example' }, ['api_url']],
    ['a password in the address', { api_url: 'https://u:p@twilio.example' }, ['api_url']],
    ['a query in the address', { api_url: 'https://twilio.example/?a=1' }, ['api_url']],
    ['an unknown setting', { authtoken: 'x' }, ['']],
  ])('with %s', (_, more, invalid) => {
    expect(invalidPathsOf(more)).toEqual(invalid)
  })
})
