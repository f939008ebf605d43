import { SvcError } from '@svc/core/contract'
import { expect, it } from 'vitest'
import { refusal } from './refusal.ts'
import { openWorld } from './world.ts'

it('work that the core is too busy for is answered 429, and is no fault of the log', async () => {
  const busy = new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: 1,
  })
  const world = await openWorld({
    alter: (core) => ({
      ...core,
      messages: { ...core.messages, send: () => Promise.reject(busy) },
    }),
  })
  const { key } = await world.key(await world.signup({ credits: 1 }))
  const { status, headers, body } = await world.send(key)
  expect(status).toBe(429)
  expect(headers['retry-after']).toBe('1')
  expect(body).toStrictEqual(
    refusal('rate_limit_exceeded', 'Too many requests. Please try again later.'),
  )
  // The limit itself has plenty left, and the headers say so.
  expect(Number(headers['x-ratelimit-remaining'])).toBeGreaterThan(0)
  await world.close()
})
