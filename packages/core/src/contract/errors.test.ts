import { describe, expect, test } from 'vitest'
import { failure, failureEnvelope, success } from './endpoints/openapi.ts'
import { invalid, isErrorCode, SvcError } from './errors.ts'

describe('SvcError', () => {
  test.each([
    ['validation_error', 400],
    ['unauthorized', 401],
    ['token_expired', 401],
    ['insufficient_credits', 402],
    ['forbidden', 403],
    ['not_found', 404],
    ['rate_limit_exceeded', 429],
    ['internal_error', 500],
  ] as const)('%s is %d', (code, status) => {
    const details = [{ path: '', message: 'text' }]
    expect(new SvcError(code, 'text', { details })).toMatchObject({ code, status, message: 'text' })
  })

  test('has details, retry_after_s and a cause', () => {
    const cause = new Error('the disk is full')
    const details = [{ path: 'to', message: 'text' }]
    const error = new SvcError('rate_limit_exceeded', 'text', { details, retry_after_s: 3, cause })
    expect(error).toMatchObject({ details, retry_after_s: 3, cause })
    expect(error).toBeInstanceOf(Error)
  })

  test('needs details for a validation_error to compile', () => {
    // @ts-expect-error TS2554: every 400 has the place of its fault
    expect(new SvcError('validation_error', 'text').details).toBeUndefined()
    expect(new SvcError('not_found', 'text').details).toBeUndefined()
  })

  test('invalid() has the fault as its message and only detail', () => {
    const { code, message, details } = invalid('to', 'text')
    expect([code, message, details]).toEqual([
      'validation_error',
      'text',
      [{ path: 'to', message: 'text' }],
    ])
  })

  test.each(['__proto__', 'toString', '', 'nope', 400, null])('%j is not a code', (code) => {
    expect(isErrorCode(code)).toBe(false)
  })
})

describe('the envelope', () => {
  test('of a success has the answer in data', () => {
    expect(success({ a: 1 })).toEqual({ success: true, data: { a: 1 } })
  })

  test('of a failure does not have the cause', () => {
    const error = new SvcError('not_found', 'Message not found', { cause: new Error('secret') })
    expect(JSON.stringify(failure(error))).toBe(
      '{"success":false,"error":"not_found","message":"Message not found"}',
    )
  })

  test('of a validation_error lists its faults, and matches its schema', () => {
    const details = [{ path: 'to', message: 'text' }]
    const envelope = failure(new SvcError('validation_error', 'text', { details }))
    expect(envelope.details).toEqual(details)
    expect(failureEnvelope.parse(JSON.parse(JSON.stringify(envelope)))).toEqual(envelope)
  })
})
