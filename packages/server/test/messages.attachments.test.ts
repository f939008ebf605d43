import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { useWorld } from './world.ts'

const MB = 2 ** 20
const BYTES = randomBytes(9 * MB)

const world = useWorld({ dispatch: false })

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
})

const mail = (attachments: object[], more: object = {}) => ({
  to: 'asha@example.com',
  channel: 'email',
  content: { subject: 'Hi', text: 'Hello', attachments, ...more },
})
const file = (bytes: Buffer, filename = 'a.bin') => ({
  filename,
  content: bytes.toString('base64'),
})
const send = (json: object, headers: Record<string, string> = {}) =>
  world().call('POST', '/api/v1/messages/send', { key, json, headers })

async function filesOf(id: string) {
  const { body } = await world().call('GET', `/api/v1/messages/${id}`, { key })
  return body.data.message.content.attachments
}

describe('an e-mail with files of 9 MB', () => {
  it('is accepted, and shown with the size of the file', async () => {
    const { status, body } = await send(mail([file(BYTES)]))
    expect(status).toBe(201)
    const { message_id } = body.data
    expect(await filesOf(message_id)).toEqual([{ filename: 'a.bin', size_bytes: 9 * MB }])
    const whole = await world().core.messages.whole(owner.id, message_id)
    const [stored] = (whole.content as { attachments: { content: string }[] }).attachments
    expect(Buffer.from(stored?.content ?? '', 'base64').equals(BYTES)).toBe(true)
  })

  it('is the same request with its escapes, and gets the same answer for its key', async () => {
    const headers = { 'idempotency-key': 'k1' }
    const first = await send(mail([file(BYTES)]), headers)
    const raw = JSON.stringify(mail([file(BYTES)])).replaceAll('/', '\\/')
    const again = await world().call('POST', '/api/v1/messages/send', {
      key,
      raw,
      headers: { ...headers, 'content-type': 'application/json' },
    })
    expect(again.body).toEqual(first.body)
    const other = await send(mail([file(BYTES.subarray(1))]), headers)
    expect(other.status).toBe(400)
  })

  it('is refused if the file is no base64', async () => {
    const { content } = file(BYTES)
    const broken = {
      filename: 'a',
      content: `${content.slice(0, 5_000_000)}!${content.slice(5_000_001)}`,
    }
    const { status, body } = await send(mail([file(randomBytes(3)), broken]))
    expect([status, body.details]).toEqual([
      400,
      [
        {
          path: 'content.attachments.1.content',
          message: 'Attachments must be base64 with its padding, without line breaks',
        },
      ],
    ])
  })
})

describe('files that are too large', () => {
  it('of more than 10 MB together are refused, and the error names the setting', async () => {
    const { status, body } = await send(mail([file(BYTES), file(randomBytes(MB + 1))]))
    expect([status, body.message]).toEqual([
      400,
      'Attachments must be at most 10485760 bytes together, decoded (SVC_ATTACHMENTS_MAX_MB)',
    ])
  })

  it('are not read at all beyond the size of a request', async () => {
    const { status, body } = await send(mail([file(BYTES), file(BYTES)]))
    expect([status, body.message]).toEqual([
      400,
      'Request body is too large: at most 18175320 bytes (SVC_ATTACHMENTS_MAX_MB)',
    ])
  })

  it('do not make room for other parts of more than 4 MB', async () => {
    const { status, body } = await send(mail([file(BYTES)], { html: 'x'.repeat(4 * MB) }))
    expect([status, body.message]).toEqual([400, 'Request body is too large'])
  })
})
