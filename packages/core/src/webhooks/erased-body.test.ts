import { expect, it } from 'vitest'
import { EVENTS, eventBody } from '../contract/resources/events.ts'
import { erasedBody, isErasedBody } from './erased-body.ts'

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

it('leaves neither the address nor the metadata of a verification', () => {
  const { data, example } = EVENTS['verification.approved']
  const body = eventBody('verification.approved', data.parse(example))
  const erased = erasedBody(body) ?? ''
  expect(JSON.parse(erased)).toEqual({
    event: 'verification.approved',
    data: { ...JSON.parse(body).data, to: 'erased', metadata: {} },
  })
  expect(isErasedBody(erased)).toBe(true)
  expect(erasedBody(erased)).toBeNull()
})

it('changes no event about the codes of a country', () => {
  const { data, example } = EVENTS['verification.paused']
  expect(erasedBody(eventBody('verification.paused', data.parse(example)))).toBeNull()
})
