import { describe, expect, test } from 'vitest'
import { api } from '../api.ts'
import { createClient } from './client.ts'
import { sendMessage } from './send-message.ts'

const request = { channel: 'sms', to: '+14155552671', content: { text: 'Hi' } } as const
const sent = {
  message_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
  status: 'queued',
  credits_used: 0.1,
  created_at: '2026-05-04T09:30:00.000Z',
} as const

/** The options of a client whose requests are recorded and answered. */
function answering(status: number, body: unknown) {
  const requests: unknown[] = []
  const fetch = async (...request: unknown[]) => {
    requests.push(request)
    return Response.json(body, { status })
  }
  return { requests, options: { base_url: 'https://svc.test/', api_key: 'svc_k', fetch } }
}

describe('sendMessage', () => {
  test('sends the request of the client and returns its data in JSON', async () => {
    const { requests, options } = answering(201, { success: true, data: { ...sent, more: 1 } })
    const more = { idempotency_key: 'order-1' }
    const data = await sendMessage(options, request, more)
    expect(data).toEqual(sent)
    expect(api.messages.send.data.decode(data)).toEqual(
      await createClient(options).messages.send(request, more),
    )
    expect(requests).toHaveLength(2)
    expect(requests[0]).toEqual(requests[1])
  })

  test('throws the error that the server sent', async () => {
    const error = 'insufficient_credits'
    const { options } = answering(402, { success: false, error, message: 'Not enough credits.' })
    await expect(sendMessage(options, request)).rejects.toMatchObject({
      name: 'SvcError',
      code: error,
      message: 'Not enough credits.',
    })
  })

  test.each([
    null,
    'ok',
    { success: true },
    { success: true, data: null },
    ...Object.keys(sent).map((name) => ({ success: true, data: { ...sent, [name]: null } })),
  ])('refuses the answer %j', async (body) => {
    const { options } = answering(201, body)
    await expect(sendMessage(options, request)).rejects.toMatchObject({
      code: 'internal_error',
      message: "The server's answer is not what /api/v1/messages/send promises",
    })
  })
})
