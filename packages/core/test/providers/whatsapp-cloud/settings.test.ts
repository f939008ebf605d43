import { describe, expect, it } from 'vitest'
import { providerSettings, traitsOf } from '../../../src/providers/registry.ts'

const GIVEN = {
  type: 'whatsapp_cloud',
  name: 'wa',
  access_token: 'EAAtoken',
  app_secret: 'app-secret',
  verify_token: 'verify-token',
  senders: { '+15550783882': '2', '+15550783881': '1' },
}

const isRead = (changed: object) => providerSettings.safeParse({ ...GIVEN, ...changed }).success

describe('settings of whatsapp_cloud', () => {
  it('are read with what Meta has by default', () => {
    expect(providerSettings.parse(GIVEN)).toEqual({
      ...GIVEN,
      senders: [
        { number: '+15550783882', phone_number_id: '2' },
        { number: '+15550783881', phone_number_id: '1' },
      ],
      api_version: 'v25.0',
      api_url: 'https://graph.facebook.com',
      handles_stop: false,
    })
  })

  it('can be read again once read: they cross a thread border', () => {
    const once = providerSettings.parse(GIVEN)
    expect(providerSettings.parse(structuredClone(once))).toEqual(once)
  })

  it('say whence and how fast is sent, the first sender first', () => {
    expect(traitsOf(providerSettings.parse(GIVEN))).toEqual({
      channels: ['whatsapp'],
      senders: { whatsapp: ['+15550783882', '+15550783881'] },
      idempotent: false,
      lookup: false,
      callback_bytes: 4 * 1024 * 1024,
      listens: false,
      connected: false,
      messages_per_second: 80,
      handles_stop: false,
    })
    const told = { ...GIVEN, messages_per_second: 20, handles_stop: true }
    expect(traitsOf(providerSettings.parse(told))).toMatchObject({
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
  ])('take %s for the API', (api_url) => {
    const read = providerSettings.parse({ ...GIVEN, api_url })
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
  ])('refuse %s for the API', (api_url) => {
    expect(isRead({ api_url })).toBe(false)
  })

  it.each([
    ['no sender', { senders: [] }],
    ['a sender that is no number', { senders: { '15550783881': '1' } }],
    ['an ID that would leave its place in the address', { senders: { '+15550783881': '1/../2' } }],
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
    ['a secret that is too short to be one', { app_secret: '1234567' }],
    ['an empty verify token', { verify_token: '' }],
    ['a version that would leave its place', { api_version: 'v25.0/../v1' }],
    ['anything that is not a setting', { acess_token: 'x' }],
  ])('refuse %s', (_, changed) => {
    expect(isRead(changed)).toBe(false)
  })

  it('never repeat a secret in what is wrong', () => {
    const secret = 'hunter2 with a space'
    const { error } = providerSettings.safeParse({
      ...GIVEN,
      access_token: secret,
      app_secret: secret,
      verify_token: secret,
    })
    expect(error?.issues).toHaveLength(3)
    expect(JSON.stringify(error?.issues)).not.toContain('hunter2')
  })
})
