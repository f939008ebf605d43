import fc from 'fast-check'
import twilio from 'twilio'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { VoiceContent } from '../../../src/contract/resources/content.ts'
import { anyCharacter } from '../../any-character.ts'
import { CALLBACK_URL, jobOf, openTwilioBench, type TwilioBench } from './bench.ts'
import { readTwiml, type Verb } from './twiml.ts'

const SERVICE = `MG${'5'.repeat(32)}`
const LOOPBACK_CALLBACK = 'http://127.0.0.1:3000/callbacks/twilio'

let bench: TwilioBench
beforeEach(async () => {
  bench = await openTwilioBench()
})
afterEach(() => bench.close())

describe('an SMS', () => {
  it('is posted unchanged', async () => {
    const job = jobOf({ content: { text: ' 100% & +1=2 \u{1f600}\nüß ' } })
    expect(Object.fromEntries(await bench.formOf(job))).toEqual({
      To: job.recipient,
      From: '+15550100001',
      Body: ' 100% & +1=2 \u{1f600}\nüß ',
      StatusCallback: `${CALLBACK_URL}?w=${job.workspace_id}&m=${job.message_id}`,
    })
  })

  it('uses a messaging service that is the sender', async () => {
    const form = await bench.formOf(jobOf({ sender: SERVICE }))
    expect(form.get('MessagingServiceSid')).toBe(SERVICE)
    expect(form.has('From')).toBe(false)
  })

  it.each([
    ['&To=+15550009999&MessagingServiceSid=MG1'],
    ['x\r\nAuthorization: Basic eA==\r\n\r\nPOST / HTTP/1.1'],
    ['%26To%3D%2B15550009999'],
    ['\u0000'],
  ])('has the text %j and no parameter of it', async (text) => {
    const job = jobOf({ content: { text } })
    const form = await bench.formOf(job)
    expect(form.get('Body')).toBe(text)
    expect(form.getAll('To')).toEqual([job.recipient])
    expect([...form.keys()].sort()).toEqual(['Body', 'From', 'StatusCallback', 'To'])
    expect(bench.peer.posted()).toHaveLength(1)
  })

  it.each([
    '+15559999999',
    'whatsapp:+15550100003',
    `MG${'6'.repeat(32)}`,
    '+15550100001&To=+15550009999',
    '__proto__',
    '',
  ])('waits if its sender %j is not in the settings', async (sender) => {
    const [outcome] = await bench.provider.send([jobOf({ sender })])
    expect(outcome).toMatchObject({ type: 'retry', misconfigured: 'sender' })
    expect(bench.peer.posted()).toEqual([])
  })

  it.each([
    'client:joe',
    'sip:a@b.example',
    '15550100001',
    '+15550100001,+15550100002',
    '+15550100001\n',
    'whatsapp:+15550100001',
  ])('is refused if its recipient is %j, which is not a number', async (recipient) => {
    const [outcome] = await bench.provider.send([jobOf({ recipient })])
    expect(outcome).toMatchObject({ type: 'rejected', error_code: 'invalid_recipient' })
    expect(bench.peer.posted()).toEqual([])
  })

  it('is looked up after 5 minutes, because a callback may be lost', async () => {
    const [outcome] = await bench.provider.send([jobOf()])
    expect(outcome).toMatchObject({ type: 'accepted', lookup_after_ms: 300_000 })
  })
})

describe('the settings', () => {
  async function formWith(options: Parameters<typeof openTwilioBench>[0], more = {}) {
    const other = await openTwilioBench(options)
    try {
      return await other.formOf(jobOf(more))
    } finally {
      await other.close()
    }
  }

  it('set how long a text message may wait', async () => {
    const form = await formWith({ settings: { validity_period_s: 600 } })
    expect(form.get('ValidityPeriod')).toBe('600')
  })

  it('set how long a phone rings', async () => {
    const call = { channel: 'voice', content: { text: 'Hi' } }
    const form = await formWith({ settings: { ring_timeout_s: 25 } }, call)
    expect(form.get('Timeout')).toBe('25')
  })

  it('allow loopback callbacks if the API is on a loopback address', async () => {
    const form = await formWith({ callback_url: LOOPBACK_CALLBACK })
    expect(form.get('StatusCallback')).toContain(LOOPBACK_CALLBACK)
  })

  it('alone name the address of the API, whatever the package finds in the environment', async () => {
    vi.stubEnv('TWILIO_REGION', 'ie1')
    vi.stubEnv('TWILIO_EDGE', 'dublin')
    try {
      expect((await formWith({})).get('Body')).toBe('Your order A1 is ready')
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('are checked with the account', async () => {
    expect(await bench.provider.check?.()).toBeNull()
    bench.peer.readsAnswer({ status: 200, body: { sid: 'AC1', status: 'active' } })
    expect(await bench.provider.check?.()).toMatch(/not Twilio/)
    const { account_sid: sid } = bench.settings
    bench.peer.readsAnswer({ status: 200, body: { sid, status: 'suspended' } })
    expect(await bench.provider.check?.()).toMatch(/not active/)
    bench.peer.readsAnswer({ status: 500, body: 'canary' })
    expect(await bench.provider.check?.()).toBe('Twilio answers HTTP 500')
    bench.peer.changeToken()
    expect(await bench.provider.check?.()).toMatch(/credentials are not valid \(20003\)/)
    await bench.peer.refuse()
    expect(await bench.provider.check?.()).toMatch(/^Twilio: The connection/)
  })

  it('with an unknown API key fail the check', async () => {
    const key = { api_key_sid: `SK${'1'.repeat(32)}`, api_key_secret: 'canary' }
    const other = await openTwilioBench({ settings: key })
    const problem = await other.provider.check?.()
    await other.close()
    expect(problem).toMatch(/20003/)
    expect(problem).not.toMatch(/canary/)
  })
})

describe('WhatsApp', () => {
  const whatsapp = (content: object) => jobOf({ channel: 'whatsapp', content: content as never })

  it('has its prefix on both sides', async () => {
    const job = whatsapp({ text: 'Hello', preview_url: true })
    const form = await bench.formOf(job)
    expect(form.get('To')).toBe(`whatsapp:${job.recipient}`)
    expect(form.get('From')).toBe('whatsapp:+15550100003')
    expect(form.get('Body')).toBe('Hello')
  })

  it('sends media with a caption', async () => {
    const url = 'https://files.example/a.pdf?x=1&y=2'
    const media = { type: 'document', url, caption: 'Bill', filename: 'b.pdf' }
    const form = await bench.formOf(whatsapp({ media }))
    expect([form.get('MediaUrl'), form.get('Body')]).toEqual([url, 'Bill'])
  })

  it('sends media without a caption', async () => {
    const media = { type: 'image', url: 'https://files.example/a.png' }
    const form = await bench.formOf(whatsapp({ media }))
    expect(form.has('Body')).toBe(false)
  })

  it.each([
    [{ name: 'order_ready', language: 'en' }, 'a'],
    [{ name: 'order_ready', language: 'sw' }, 'b'],
    [{ id: `HX${'c'.repeat(32)}` }, 'c'],
  ])('finds the ContentSid of %j', async (template, letter) => {
    const form = await bench.formOf(whatsapp({ template }))
    expect(form.get('ContentSid')).toBe(`HX${letter.repeat(32)}`)
    expect(form.has('Body')).toBe(false)
  })

  it.each([
    [{ name: 'unknown', language: 'en' }],
    [{ name: '__proto__', language: 'en' }],
    [{ name: 'constructor', language: 'en' }],
    [{ id: 'HX1&To=x' }],
  ])('refuses the template %j, which has no ContentSid in the settings', async (template) => {
    const [outcome] = await bench.provider.send([whatsapp({ template })])
    expect(outcome).toMatchObject({ type: 'rejected', error_code: 'template_unknown' })
    expect(bench.peer.posted()).toEqual([])
  })

  it('fills in a template without changing its values', async () => {
    const variables = JSON.parse('{"1":"\\"},\\"2\\":\\"x","2":"a&ContentSid=b","__proto__":"y"}')
    const template = { name: 'order_ready', language: 'en', variables }
    const form = await bench.formOf(whatsapp({ template }))
    expect(JSON.parse(form.get('ContentVariables') ?? '')).toEqual(variables)
    expect(form.getAll('ContentSid')).toHaveLength(1)
  })
})

describe('a call', () => {
  const callOf = (content: VoiceContent) => jobOf({ channel: 'voice', content })

  async function verbsOf(content: VoiceContent): Promise<Verb[] | null> {
    return readTwiml((await bench.formOf(callOf(content))).get('Twiml') ?? '')
  }

  it('reads the text out, with the paid duration as its limit', async () => {
    const job = callOf({ text: 'Your code is 1 2 3', language: 'en-GB', voice: 'Polly.Amy' })
    const form = await bench.formOf(job)
    expect(form.get('TimeLimit')).toBe('120')
    expect(form.get('Timeout')).toBe('60')
    expect(form.getAll('StatusCallbackEvent')).toEqual(['initiated', 'completed'])
    expect(form.get('StatusCallback')).toContain(`m=${job.message_id}`)
    expect(readTwiml(form.get('Twiml') ?? '')).toEqual([
      {
        name: 'Say',
        attributes: { language: 'en-GB', voice: 'Polly.Amy' },
        text: 'Your code is 1 2 3',
        verbs: [],
      },
    ])
  })

  it('plays a recording', async () => {
    const audio_url = 'https://files.example/a.mp3?x=1&y=</Play><Dial>+19005550100</Dial>'
    const verb = { name: 'Play', attributes: {}, text: audio_url, verbs: [] }
    expect(await verbsOf({ audio_url })).toEqual([verb])
  })

  it('is looked up when it must have ended', async () => {
    const [outcome] = await bench.provider.send([callOf({ text: 'Hi' })])
    expect(outcome).toMatchObject({ type: 'accepted', lookup_after_ms: (60 + 120 + 60) * 1_000 })
  })

  it.each<[string, VoiceContent]>([
    ['a text', { text: '</Say><Dial>+19005550100</Dial><Say>' }],
    ['a text of entities', { text: '&lt;/Say&gt;&lt;Dial&gt;&#60;' }],
    ['a text with CDATA', { text: ']]><![CDATA[</Say><Dial>1</Dial>]]>' }],
    ['a language', { text: 'x', language: 'en"/><Dial>+1</Dial>' }],
    ['a voice', { text: 'x', voice: `a' b="><Redirect>https://x.example</Redirect>` }],
  ])('executes no verb that is in %s', async (_, content) => {
    const verbs = await verbsOf(content)
    expect(verbs).toHaveLength(1)
    expect(verbs?.[0]).toMatchObject({ name: 'Say', text: content.text, verbs: [] })
  })

  it('has any text unchanged, except for characters that XML does not have', () => {
    const any = fc.string({ unit: anyCharacter, maxLength: 60 })
    return fc.assert(
      fc.asyncProperty(any, any, async (text, voice) => {
        const verbs = await verbsOf({ text, voice })
        const readable = (any_text: string) => any_text.replace(UNWRITABLE, ' ')
        expect(verbs).toEqual([
          { name: 'Say', attributes: { voice: readable(voice) }, text: readable(text), verbs: [] },
        ])
      }),
      { numRuns: 50 },
    )
  })

  it('has the TwiML that Twilio’s package writes', async () => {
    const text = 'Tom & Jerry: 1 < 2 > 0 </Say> üß\u{1f600}'
    const form = await bench.formOf(callOf({ text, language: 'de-DE', voice: 'a&"<' }))
    const library = new twilio.twiml.VoiceResponse()
    library.say({ language: 'de-DE', voice: 'a&"<' as 'alice' }, text)
    const declaration = '<?xml version="1.0" encoding="UTF-8"?>'
    expect(declaration + form.get('Twiml')).toBe(library.toString())
  })

  it('is refused if its TwiML is too long', async () => {
    const [outcome] = await bench.provider.send([callOf({ text: '&'.repeat(1_000) })])
    expect(outcome).toMatchObject({ type: 'rejected', error_code: 'content_too_long' })
    expect(bench.peer.posted()).toEqual([])
  })

  it('has a limit of 600 s by default', async () => {
    const form = await bench.formOf({ ...callOf({ text: 'Hi' }), max_duration_s: null })
    expect(form.get('TimeLimit')).toBe('600')
  })
})

/** Not a character of XML 1.0 (section 2.2). */
const UNWRITABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu
