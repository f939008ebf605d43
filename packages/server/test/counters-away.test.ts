import { SvcError } from '@svc/core/contract'
import { expect, it } from 'vitest'
import { refusal } from './refusal.ts'
import { openWorld, type World } from './world.ts'

/** A world whose counters start to fail on demand, with `count`. */
async function without(count: () => Promise<never>): Promise<World & { key: string }> {
  let away = false
  const world = await openWorld({
    rates: 'specified',
    alter: (core) => ({ ...core, count: (request) => (away ? count() : core.count(request)) }),
  })
  const { key } = await world.key(await world.signup())
  away = true
  return Object.assign(world, { key })
}

const PATHS = ['/api/v1/messages', '/nothing', '/api/v1/account']

it('no request is admitted when counters fail, and only the log has the cause', async () => {
  const world = await without(() => Promise.reject(new Error('the disk is full')))
  const answers = [...PATHS.map((path) => world.call('GET', path)), world.send(world.key)]
  for (const { status, headers, text } of await Promise.all(answers)) {
    expect(status).toBe(500)
    expect(text).not.toContain('disk')
    expect(headers['x-ratelimit-remaining']).toBe('0')
  }
  const faults = world.takeFaults().filter(({ msg }) => msg === 'request failed')
  expect(faults).toHaveLength(answers.length)
  expect(JSON.stringify(faults[0])).toContain('the disk is full')
  await world.close()
})

it('busy counters cause a 429 without the text of a rate limit', async () => {
  const text = 'Too many requests. Please try again later.'
  const busy = new SvcError('rate_limit_exceeded', text, { retry_after_s: 5 })
  const world = await without(() => Promise.reject(busy))
  const { status, headers, body } = await world.send(world.key)
  expect(status).toBe(429)
  expect(headers['retry-after']).toBe('5')
  expect(body).toStrictEqual(refusal('rate_limit_exceeded', text))
  await world.close()
})

it('probes do not wait for counters that hang', async () => {
  const world = await without(() => new Promise(() => {}))
  for (const path of ['/health/live', '/health/ready']) {
    expect((await world.call('GET', path)).status).toBe(200)
  }
  await world.close()
})
