import { describe, expect, it } from 'vitest'
import { providerSettings, traitsOf } from '../../../src/providers/registry.ts'

const SETTINGS = {
  type: 'whatsapp_cloud',
  name: 'wa',
  access_token: 'EAAtoken',
  app_secret: 'app-secret',
  verify_token: 'verify-token',
  senders: { '+15550783882': '2', '+15550783881': '1' },
}

const isRead = (changed: object) => providerSettings.safeParse({ ...SETTINGS, ...changed }).success

describe('settings of whatsapp_cloud', () => {
  it('have defaults for Meta’s API', () => {
    expect(providerSettings.parse(SETTINGS)).toEqual({
      ...SETTINGS,
      senders: [
        { number: '+15550783882', phone_number_id: '2' },
        { number: '+15550783881', phone_number_id: '1' },
      ],
      api_version: 'v25.0',
      api_url: 'https://graph.facebook.com',
      handles_stop: false,
    })
  })

  it('name each business account once, and then list the templates', () => {
    expect(isRead({ business_account_ids: ['102290129340398', '7'] })).toBe(true)
    for (const business_account_ids of [[], ['7', '7'], ['a'], [7], '7', Array(21).fill('7')]) {
      expect(isRead({ business_account_ids })).toBe(false)
    }
    const settings = providerSettings.parse({ ...SETTINGS, business_account_ids: ['7'] })
    expect(traitsOf(settings).lists_templates).toBe(true)
  })

  it('can be parsed again after a structured clone', () => {
    const once = providerSettings.parse(SETTINGS)
    expect(providerSettings.parse(structuredClone(once))).toEqual(once)
  })

  it('give the traits: senders in order, and the pace', () => {
    expect(traitsOf(providerSettings.parse(SETTINGS))).toEqual({
      channels: ['whatsapp'],
      senders: { whatsapp: ['+15550783882', '+15550783881'] },
      idempotent: false,
      lookup: false,
      callback_bytes: 4 * 1024 * 1024,
      listens: false,
      connected: false,
      messages_per_second: 80,
      handles_stop: false,
      connections: 50,
    })
    const changed = { ...SETTINGS, messages_per_second: 20, handles_stop: true }
    expect(traitsOf(providerSettings.parse(changed))).toMatchObject({
      messages_per_second: 20,
      handles_stop: true,
    })
  })

  it.each([
    'https://graph.facebook.com/',
    'https://proxy.example/meta',
    'http://127.0.0.1:8080',
    'http://localhost:8080',
    'http://[::1]:8080',
  ])('accept %s as api_url', (api_url) => {
    const read = providerSettings.parse({ ...SETTINGS, api_url })
    expect(read).toMatchObject({ api_url: api_url.replace(/\/$/, '') })
  })

  it.each([
    'http://graph.facebook.com',
    'http://127.0.0.1.evil.example',
    'http://localhost.evil.example',
    'ftp://127.0.0.1',
    'https://user:secret@graph.facebook.com',
    'https://graph.facebook.com/?a=b',
    'https://graph.facebook.com/#a',
    'graph.facebook.com',
  ])('refuse %s as api_url', (api_url) => {
    expect(isRead({ api_url })).toBe(false)
  })

  it.each([
    ['no sender', { senders: [] }],
    ['a sender that is not a number', { senders: { '15550783881': '1' } }],
    ['an ID that would change the path', { senders: { '+15550783881': '1/../2' } }],
    ['one ID for two numbers', { senders: { '+15550783881': '1', '+15550783882': '1' } }],
    [
      'one number twice',
      {
        senders: [
          { number: '+15550783881', phone_number_id: '1' },
          { number: '+15550783881', phone_number_id: '2' },
        ],
      },
    ],
    ['a token that would end its header', { access_token: 'EAA\r\nx: y' }],
    ['a secret that is too short', { app_secret: '1234567' }],
    ['an empty verify token', { verify_token: '' }],
    ['a version that would change the path', { api_version: 'v25.0/../v1' }],
    ['an unknown setting', { acess_token: 'x' }],
  ])('refuse %s', (_, changed) => {
    expect(isRead(changed)).toBe(false)
  })

  it('do not repeat a secret in an error', () => {
    const secret = 'hunter2 with a space'
    const { error } = providerSettings.safeParse({
      ...SETTINGS,
      access_token: secret,
      app_secret: secret,
      verify_token: secret,
    })
    expect(error?.issues).toHaveLength(3)
    expect(JSON.stringify(error?.issues)).not.toContain('hunter2')
  })
})
