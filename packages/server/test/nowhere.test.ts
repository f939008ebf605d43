import { describe, expect, it } from 'vitest'
import { SEND } from './bodies.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

describe('an unknown route', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/api/v1'],
    ['GET', '/api/v2/messages'],
    ['GET', '/api/v1/Messages'],
    ['GET', '//api/v1/messages'],
    ['GET', '/api/v1/messages%2Fsend'],
    ['POST', '/api/v1/messages'],
    ['PUT', SEND],
    ['PATCH', SEND],
    ['HEAD', '/api/v1/nowhere'],
    ['HEAD', '/api/v1/billing/checkout'],
    ['OPTIONS', SEND],
    ['DELETE', '/api/v1/account'],
    ['PROPFIND', '/'],
    ['QUERY', '/api/v1/messages'],
    ['TRACE', '/'],
    ['GET', '/api/v1/messages/%zz'],
    ['GET', '/%'],
    ['GET', '/%ED%A0%80'],
    ['GET', '/%C0%AE%C0%AE/etc/passwd'],
    ['GET', '/\\..\\'],
    ['GET', `/${'a'.repeat(200)}`],
    ['GET', '/api/v1/messages;limit=0'],
  ])('%s %s is 404', async (method, path) => {
    const answer = await world().call(method, path)
    expect(answer.status).toBe(404)
    if (method !== 'HEAD')
      expect(answer.body).toStrictEqual(refusal('not_found', 'Route not found'))
  })

  it('is 404 with any input', async () => {
    for (const options of [
      { raw: '{' },
      { raw: 'x'.repeat(300_000) },
      { raw: 'x', headers: { 'content-type': 'text/plain' } },
    ]) {
      const answer = await world().call('POST', '/nowhere', options)
      expect(answer.body).toStrictEqual(refusal('not_found', 'Route not found'))
    }
  })
})
