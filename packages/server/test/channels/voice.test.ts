import { describe, expect, it } from 'vitest'
import { openCarriage } from './carriage.contract.ts'
import { CANARY, useStage } from './service.ts'
import { openTwilio } from './twilio-carrier.ts'

/** Takes a little less than two and a half minutes, so three are held. */
const TEXT = `${CANARY} `.repeat(82)
const HELD = 6

const stage = useStage(() => openCarriage(() => openTwilio()))

async function called({ content = { text: TEXT } }: { content?: object } = {}) {
  const { service, tenant, peer } = stage()
  const to = peer.recipient()
  const sent = await service.send(tenant.key, { to, channel: 'voice', content })
  await service.idle()
  return { to, sent, id: sent.body.data.message_id as string }
}

/** Twilio's report of the result of a call; returns the answer's status. */
async function ends(to: string, status: string, duration_s?: number): Promise<number> {
  const { service, peer } = stage()
  const twilio = peer as Awaited<ReturnType<typeof openTwilio>>
  const news = { status, ...(duration_s !== undefined && { duration_s }) }
  const request = twilio.twilio.advance(twilio.takenFor(to), news)
  if (!request) throw new Error('the call has no address for callbacks')
  const answer = await service.called(request)
  await service.idle()
  return answer.status
}

async function account(): Promise<{ credits_balance: number; credits_held: number }> {
  const { service, tenant } = stage()
  const answer = await service.call('GET', '/api/v1/account', { token: tenant.token })
  const { credits_balance, credits_held } = answer.body.data
  return { credits_balance, credits_held }
}

describe('a call', () => {
  it('is accepted with a hold for its minutes, and may last only as long as the hold covers', async () => {
    const before = await account()
    const { to, sent, id } = await called()
    expect([sent.status, sent.body.data.credits_used]).toEqual([201, HELD])
    expect(await account()).toEqual({
      credits_balance: before.credits_balance - HELD,
      credits_held: before.credits_held + HELD,
    })
    const twilio = stage().peer as Awaited<ReturnType<typeof openTwilio>>
    expect(twilio.takenFor(to).form.get('TimeLimit')).toBe('180')
    expect(await stage().service.statusOf(stage().tenant.key, id)).toBe('sent')
    expect(await ends(to, 'no-answer', 0)).toBe(200)
  })

  it.each([
    [1, 2],
    [60, 2],
    [61, 4],
    [180, 6],
    [181, 6],
  ])('of %i s costs %i credits at its end, once', async (duration_s, cost) => {
    const { service, tenant } = stage()
    const before = await account()
    const { to, id } = await called()
    for (const status of ['initiated', 'ringing', 'in-progress']) await ends(to, status)
    expect((await account()).credits_held).toBe(before.credits_held + HELD)
    const after = { ...before, credits_balance: before.credits_balance - cost }
    expect(await ends(to, 'completed', duration_s)).toBe(200)
    expect(await account()).toEqual(after)
    expect(await ends(to, 'completed', duration_s)).toBe(200)
    expect(await ends(to, 'completed', 5)).toBe(200)
    expect(await ends(to, 'busy', 0)).toBe(200)
    expect(await account()).toEqual(after)
    expect(await service.messageOf(tenant.key, id)).toMatchObject({
      status: 'delivered',
      credits_used: cost,
    })
    expect(service.eventsOf(id)).toEqual(['message.sent', 'message.delivered'])
  })

  it.each([
    ['busy', 'busy'],
    ['no-answer', 'unanswered'],
    ['failed', 'call_failed'],
  ])('that ends as %s costs no credits', async (status, error_code) => {
    const { service, tenant } = stage()
    const before = await account()
    const { to, id } = await called()
    expect(await ends(to, status, 0)).toBe(200)
    expect(await account()).toEqual(before)
    expect(await service.messageOf(tenant.key, id)).toMatchObject({
      status: 'failed',
      error_code,
      credits_used: 0,
    })
  })

  it('that Twilio refuses costs no credits', async () => {
    const { service, tenant, peer } = stage()
    const before = await account()
    const to = peer.recipient('refused')
    const id = await service.accepted(tenant.key, { to, channel: 'voice', content: { text: TEXT } })
    await service.idle()
    expect(await service.statusOf(tenant.key, id)).toBe('failed')
    expect(await account()).toEqual(before)
  })

  it('that Twilio accepted without an answer is found, not made again, and charged at its end', async () => {
    const { service, tenant } = stage()
    const twilio = stage().peer as Awaited<ReturnType<typeof openTwilio>>
    const before = await account()
    const to = twilio.recipient()
    twilio.twilio.plays(to, { type: 'drop' })
    const body = { to, channel: 'voice', content: { text: TEXT } }
    const id = await service.accepted(tenant.key, body)
    await service.idle()
    await service.advance(60_000)
    expect(await service.statusOf(tenant.key, id)).toBe('sent')
    expect(twilio.taken(to)).toBe(1)
    expect(await ends(to, 'completed', 30)).toBe(200)
    expect(await account()).toEqual({ ...before, credits_balance: before.credits_balance - 2 })
  })

  it('with an unknown result stays held, and is charged when its end is reported', async () => {
    const { service, tenant } = stage()
    const twilio = stage().peer as Awaited<ReturnType<typeof openTwilio>>
    const before = await account()
    const to = twilio.recipient()
    twilio.twilio.plays(to, { type: 'drop' })
    twilio.twilio.readsAnswer({ status: 500, body: {} })
    const body = { to, channel: 'voice', content: { text: TEXT } }
    const id = await service.accepted(tenant.key, body)
    await service.idle()
    // The time in which a call is made, plus one more query.
    for (let i = 0; i < 50; i += 1) await service.advance(300_000)
    twilio.twilio.readsAnswer(null)
    expect(await service.messageOf(tenant.key, id)).toMatchObject({
      status: 'failed',
      error_code: 'outcome_unknown',
    })
    expect((await account()).credits_held).toBe(before.credits_held + HELD)
    expect(await ends(to, 'completed', 30)).toBe(200)
    expect(await account()).toEqual({ ...before, credits_balance: before.credits_balance - 2 })
    expect(await service.statusOf(tenant.key, id)).toBe('delivered')
  })

  it('needs the credits for all of its minutes', async () => {
    const { service, peer } = stage()
    const poor = await service.tenant(HELD - 1)
    const body = { to: peer.recipient(), channel: 'voice', content: { text: TEXT } }
    const answer = await service.send(poor.key, body)
    expect([answer.status, answer.body.error]).toEqual([402, 'insufficient_credits'])
    expect(peer.taken(body.to)).toBe(0)
  })
})

describe('the channel', () => {
  const refusalOf = async (
    channel: string,
    service = stage().service,
    key = stage().tenant.key,
  ) => {
    const answer = await service.send(key, { channel, to: '+14155559999', content: { text: 'x' } })
    return [answer.status, answer.body.message]
  }

  it('is listed while a provider makes calls, only for single messages, and is in the description', async () => {
    const { service, tenant } = stage()
    const text = 'Invalid channel. Must be one of: sms, whatsapp, email, voice'
    expect(await refusalOf('fax')).toEqual([400, text])
    const bulk = await service.call('POST', '/api/v1/messages/bulk', {
      key: tenant.key,
      json: { channel: 'voice', content: { text: 'x' }, recipients: ['+14155559999'] },
    })
    expect([bulk.status, bulk.body.error]).toEqual([400, 'validation_error'])
    const described = await (await fetch(`${service.url}/openapi.json`)).text()
    expect(described).toContain('VoiceRequest')
  })

  it('is neither accepted nor listed without a provider that makes calls', async () => {
    const other = await openCarriage(() => openTwilio({ senders: { sms: ['+15550100001'] } }))
    const { service, tenant, peer } = other
    const text = 'Invalid channel. Must be one of: sms, whatsapp, email'
    expect(await refusalOf('voice', service, tenant.key)).toEqual([400, text])
    expect(await refusalOf('fax', service, tenant.key)).toEqual([400, text])
    const described = await (await fetch(`${service.url}/openapi.json`)).text()
    expect(described).not.toContain('VoiceRequest')
    const content = { text: CANARY }
    await service.accepted(tenant.key, { to: peer.recipient(), channel: 'sms', content })
    await other.close()
  })
})
