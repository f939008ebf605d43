import twilio from 'twilio'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startTwilioPeer, type TwilioPeer } from './peer.ts'

/** The package's own HTTP client, directed to the peer. */
class ToPeer extends twilio.RequestClient {
  readonly url: string
  constructor(url: string) {
    super({})
    this.url = url
  }

  override request<T>(options: Parameters<typeof twilio.RequestClient.prototype.request<T>>[0]) {
    return super.request<T>({
      ...options,
      uri: options.uri.replace('https://api.twilio.com', this.url),
    })
  }
}

let peer: TwilioPeer
let client: twilio.Twilio
beforeEach(async () => {
  peer = await startTwilioPeer()
  const { account_sid, auth_token } = peer.account
  client = twilio(account_sid, auth_token, { httpClient: new ToPeer(peer.url) })
})
afterEach(() => peer.close())

const from = '+15550100001'

it('lets Twilio’s package send messages and read their states', async () => {
  const to = '+15557770001'
  const made = await client.messages.create({ to, from, body: 'Hi', statusCallback: 'https://a.b' })
  expect(made).toMatchObject({ to, from, body: 'Hi', status: 'queued', numMedia: '0' })
  expect(made.dateSent).toBeNull()
  const [one] = peer.taken()
  if (!one) throw new Error('the peer accepted no message')
  peer.advance(one, { status: 'undelivered', code: 30_003 })
  const read = await client.messages(made.sid).fetch()
  expect(read).toMatchObject({ status: 'undelivered', errorCode: 30_003 })
  expect(read.dateSent).toBeInstanceOf(Date)
})

it('lets Twilio’s package read every page, and filter by dates that queued messages do not have', async () => {
  const to = '+15557770001'
  for (let i = 0; i < 7; i += 1) {
    peer.add('Messages', new URLSearchParams({ To: to, From: from, Body: String(i) }))
  }
  const all = await client.messages.list({ to, pageSize: 3 })
  expect(all.map(({ body }) => body)).toEqual(['6', '5', '4', '3', '2', '1', '0'])
  const dateSentAfter = new Date(0)
  expect(await client.messages.list({ to, dateSentAfter })).toEqual([])
  const [first] = peer.taken()
  if (first) peer.advance(first, { status: 'sent' })
  expect(await client.messages.list({ to, dateSentAfter })).toHaveLength(1)
  expect(await client.messages.list({ to: '+15557770002' })).toEqual([])
})

it('lets Twilio’s package make calls', async () => {
  const twiml = new twilio.twiml.VoiceResponse()
  twiml.say('Hello')
  const made = await client.calls.create({ to: '+15557770001', from, twiml, timeLimit: 60 })
  const [one] = peer.taken()
  if (one) peer.advance(one, { status: 'completed', duration_s: 9 })
  expect(await client.calls(made.sid).fetch()).toMatchObject({ status: 'completed', duration: '9' })
})

it('refuses so that Twilio’s package understands it', async () => {
  const refused = client.messages.create({ to: 'x', from, body: 'Hi' })
  await expect(refused).rejects.toMatchObject({ status: 400, code: 21_211 })
  peer.changeToken()
  await expect(client.messages.list()).rejects.toMatchObject({ status: 401, code: 20_003 })
})
