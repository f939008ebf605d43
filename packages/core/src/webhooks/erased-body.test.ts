import { expect, it } from 'vitest'
import { EVENTS, eventBody } from '../contract/resources/events.ts'
import { erasedBody } from './erased-body.ts'

it('leaves no address of an e-mail with several recipients', () => {
  const { data, example } = EVENTS['message.recipients_failed']
  const body = eventBody('message.recipients_failed', data.parse(example))
  const erased = erasedBody(body) ?? ''
  expect(body).toContain('juma@example.com')
  expect(erased).not.toMatch(/@example\.com|mailbox/)
  expect(JSON.parse(erased).data).toMatchObject({
    recipient: 'erased',
    failed_recipients: ['erased'],
    error_code: 'bounced',
  })
  expect(erasedBody(erased)).toBeNull()
})
