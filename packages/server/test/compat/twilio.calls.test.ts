import { defineProvider } from '@svc/core'
import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from '../accounts.ts'
import { useWorld } from '../world.ts'

/** The contents of the calls that the provider got. */
const calls: unknown[] = []

const caller = defineProvider({
  name: 'caller',
  traits: { channels: ['voice'], senders: { voice: ['+14155550190'] } },
  async send(jobs) {
    calls.push(...jobs.map(({ content }) => content))
    return jobs.map(({ message_id }) => ({
      type: 'accepted',
      provider_message_id: `call_${message_id}`,
      lookup_after_ms: null,
      status: 'sent',
    }))
  },
})

const world = useWorld({ dispatch: true, listen: true, providers: [caller] })

const TO = '+14155550100'
const FROM = '+14155550190'

let owner: Account
let client: ReturnType<typeof twilio>
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  const { key } = await world().key(owner)
  client = twilio(sidOf('account', owner.id), key)
  client.api.baseUrl = `${world().url}/compat/twilio`
})

describe('the calls of the official package', () => {
  it('reads a text to the recipient, and shows the call', async () => {
    const twiml = '<Response><Say language="de-DE">Guten Tag</Say></Response>'
    const made = await client.calls.create({ to: TO, from: FROM, twiml })
    expect(made).toMatchObject({
      status: 'queued',
      to: TO,
      from: FROM,
      direction: 'outbound-api',
      accountSid: sidOf('account', owner.id),
    })
    expect(made.sid).toMatch(/^CA[0-9a-f]{32}$/)
    await world().dispatcher.idle()
    expect(calls.at(-1)).toMatchObject({ text: 'Guten Tag', language: 'de-DE' })
    const fetched = await client.calls(made.sid).fetch()
    expect(fetched).toMatchObject({ sid: made.sid, status: 'in-progress', to: TO, from: FROM })
    expect(fetched.duration).toBeNull()
  })

  it('plays a file', async () => {
    const twiml = '<Response><Play>https://files.example/hello.mp3</Play></Response>'
    await client.calls.create({ to: TO, from: FROM, twiml })
    await world().dispatcher.idle()
    expect(calls.at(-1)).toMatchObject({ audio_url: 'https://files.example/hello.mp3' })
  })

  it.each([
    ['a URL in place of TwiML', { url: 'https://app.example/twiml' }],
    ['a verb that is not supported', { twiml: '<Response><Dial>+14155550101</Dial></Response>' }],
  ])('refuses %s, and charges nothing', async (_, more) => {
    const before = (await client.balance.fetch()).balance
    await expect(client.calls.create({ to: TO, from: FROM, ...more })).rejects.toMatchObject({
      status: 400,
    })
    expect((await client.balance.fetch()).balance).toBe(before)
  })

  it('shows no call of another account, and no message as a call', async () => {
    const twiml = '<Response><Say>Hello</Say></Response>'
    const { sid } = await client.calls.create({ to: TO, from: FROM, twiml })
    const stranger = await world().signup({ credits: 10 })
    const other = twilio(sidOf('account', stranger.id), (await world().key(stranger)).key)
    other.api.baseUrl = `${world().url}/compat/twilio`
    await expect(other.calls(sid).fetch()).rejects.toMatchObject({ status: 404, code: 20404 })
    const sms = await client.messages.create({ to: TO, from: FROM, body: 'Hello' })
    const asCall = sms.sid.replace('SM', 'CA')
    await expect(client.calls(asCall).fetch()).rejects.toMatchObject({ status: 404 })
  })
})
