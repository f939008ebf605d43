import { beforeAll, describe, expect, it } from 'vitest'
import { type Account, sms } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

const MESSAGES = '/api/v1/messages'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
})

async function sent(json: object = sms): Promise<string> {
  const answer = await world().call('POST', `${MESSAGES}/send`, { key, json })
  await world().dispatcher.idle()
  return answer.body.data.message_id
}
const erase = (id: string, by = key) => world().call('DELETE', `${MESSAGES}/${id}`, { key: by })
const redact = (id: string, by = key) =>
  world().call('POST', `${MESSAGES}/${id}/redact`, { key: by })
const get = async (id: string) =>
  (await world().call('GET', `${MESSAGES}/${id}`, { key })).body.data.message

describe(`DELETE ${MESSAGES}/:id`, () => {
  it('erases a message and keeps its status and price', async () => {
    const id = await sent()
    const { status, body } = await erase(id)
    expect([status, body]).toEqual([200, { success: true, data: { message: 'Message erased' } }])
    expect(await get(id)).toMatchObject({
      recipient: 'erased',
      content: {},
      status: 'delivered',
      credits_used: 1,
    })
  })

  it('refuses a scheduled message, and notes an erasure in the audit log', async () => {
    const id = await sent({ ...sms, scheduled_at: '2026-05-05T09:00:00Z' })
    const late = await erase(id)
    const text = 'Message cannot be erased: it is still queued'
    expect(late.body).toStrictEqual(refusal('validation_error', text, 'id'))
    const erased = await sent()
    await erase(erased)
    const { token } = owner
    const log = await world().call('GET', '/api/v1/audit?action=message.erased&limit=1', { token })
    expect(log.body.data.audit_entries[0]).toMatchObject({
      actor: { kind: 'api_key' },
      target: { type: 'message', id: erased },
    })
  })

  it('answers 404 for the message of another workspace', async () => {
    const id = await sent()
    const other = await world().key(await world().signup())
    for (const answer of [await erase(id, other.key), await redact(id, other.key)]) {
      expect(answer.status).toBe(404)
    }
  })
})

describe(`POST ${MESSAGES}/:id/redact`, () => {
  it('removes the content and keeps the recipient', async () => {
    const id = await sent()
    expect((await redact(id)).status).toBe(200)
    expect(await get(id)).toMatchObject({ recipient: sms.to, content: {}, erased_at: null })
  })
})
