import { describe, expect, it } from 'vitest'
import { useWorld } from './world.ts'

describe('sending domains over the API', () => {
  const world = useWorld({ self_service_domains: false })

  it('refuses changes of a workspace without self-service, and names support', async () => {
    const owner = await world().signup()
    const { id } = await world().core.domains.create(owner.id, { domain: 'acme.example' })
    const { token } = owner
    const json = { domain: 'b.example' }
    for (const [method, path, body] of [
      ['POST', '/api/v1/domains', json],
      ['POST', `/api/v1/domains/${id}/rotate`, undefined],
      ['DELETE', `/api/v1/domains/${id}`, undefined],
    ] as const) {
      const refused = await world().call(method, path, { token, json: body })
      expect(refused.status).toBe(403)
      expect(refused.body).toMatchObject({
        error: 'forbidden',
        message: expect.stringContaining('support'),
      })
    }
    const verified = await world().call('POST', `/api/v1/domains/${id}/verify`, { token })
    expect(verified.status).toBe(200)
    expect(verified.body.data.domain).toMatchObject({ id, status: 'pending' })
    const again = await world().call('POST', `/api/v1/domains/${id}/verify`, { token })
    expect(again.status).toBe(429)
    expect(again.headers['retry-after']).toMatch(/^(?:[1-9]|10)$/)
    const list = await world().call('GET', '/api/v1/domains', { token })
    expect(list.body.data).toMatchObject({ domains: [{ id }], pagination: { total: 1 } })
    expect(list.text).not.toMatch(/private|PRIVATE/)
  })
})
