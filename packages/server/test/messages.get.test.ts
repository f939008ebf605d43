import { beforeAll, describe, expect, it } from 'vitest'
import { type Account, sms } from './accounts.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const MESSAGES = '/api/v1/messages'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 10 })
  key = (await world().key(owner)).key
})

const send = (body: object) => world().call('POST', `${MESSAGES}/send`, { key, json: body })
const get = (id: string) => world().call('GET', `${MESSAGES}/${id}`, { key })

describe(`GET ${MESSAGES}/:id`, () => {
  describe('200', () => {
    it('accepts the id in any case', async () => {
      const id = (await send(sms)).body.data.message_id
      expect((await get(id.toUpperCase())).body.data.message.id).toBe(id)
    })

    it('is the complete record', async () => {
      const metadata = { order_id: 'A1', nested: { list: [1, null, true, 'x'] } }
      const sent = await send({ ...sms, metadata })
      const { status, body } = await get(sent.body.data.message_id)
      expect(status).toBe(200)
      expect(body).toStrictEqual({
        success: true,
        data: {
          message: {
            id: sent.body.data.message_id,
            workspace_id: owner.id,
            channel: 'sms',
            sender: null,
            recipient: '+14155552671',
            content: { text: 'Hello' },
            status: 'queued',
            credits_used: 1,
            credits_refunded: 0,
            provider: null,
            provider_message_id: null,
            error_code: null,
            error_message: null,
            metadata,
            segments: 1,
            encoding: 'GSM-7',
            bulk_id: null,
            livemode: true,
            created_at: '2026-05-04T09:00:00.000Z',
            updated_at: '2026-05-04T09:00:00.000Z',
            scheduled_at: null,
            expires_at: null,
            sent_at: null,
            delivered_at: null,
            read_at: null,
            failed_at: null,
            erased_at: null,
          },
        },
      })
    })

    it('returns content and metadata as they were sent', async () => {
      const content = { subject: 'ünï', html: '<p>ö & "quotes"</p>', text: 'line\r\nline\t\u2028' }
      const metadata = { '': 0, 'a.b': { '': [] }, ключ: '😀', big: 123456789012345, tiny: 1e-7 }
      const sent = await send({ to: 'asha@example.com', channel: 'email', content, metadata })
      const { message } = (await get(sent.body.data.message_id)).body.data
      expect(message).toMatchObject({ content, metadata })
    })
  })

  describe('404', () => {
    it.each(['01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01', 'x', '%00', '%F0%9F%98%80', 'a'.repeat(200)])(
      'returns not_found for id %s',
      async (id) => {
        const { status, body } = await get(id)
        expect(status).toBe(404)
        expect(body).toStrictEqual(refusal('not_found', 'Message not found'))
      },
    )
  })
})
