import { api, type Endpoint } from '@svc/core/contract'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { useWorld } from './world.ts'

const world = useWorld({ console: { brand: 'Acme' } })

const READS = Object.values(api).flatMap((endpoints) =>
  Object.values<Endpoint>(endpoints).filter(({ method }) => method === 'GET'),
)
const UNKNOWN = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 10 })
  key = (await world().key(owner)).key
  await world().send(key)
  await world().contact(owner)
})

/** The answer without the parts that differ between two equal requests. */
async function answerTo(method: 'GET' | 'HEAD', url: string, headers: Record<string, string>) {
  const { statusCode, headers: all, body } = await world().app.inject({ method, url, headers })
  const {
    date: _date,
    'x-request-id': _id,
    'x-ratelimit-remaining': _left,
    'transfer-encoding': _chunked,
    ...same
  } = all
  return { status: statusCode, headers: same, body }
}

describe('HEAD (RFC 9110 9.3.2)', () => {
  it.each(READS)('$path answers as GET, without a body', async ({ path, auth }) => {
    const credential: Record<string, string> =
      auth === 'none'
        ? {}
        : auth === 'api_key'
          ? { 'x-api-key': key }
          : { authorization: `Bearer ${owner.token}` }
    for (const headers of auth === 'none' ? [{}] : [credential, {}]) {
      const url = path.replace(/:\w+/g, UNKNOWN)
      const { body, ...got } = await answerTo('GET', url, headers)
      const head = await answerTo('HEAD', url, headers)
      expect(body).not.toBe('')
      expect(head).toStrictEqual({ ...got, body: '' })
    }
  })

  it.each(['/docs', '/openapi.json', '/console', '/console/messages'])(
    '%s is a page',
    async (url) => {
      const { body: _, ...got } = await answerTo('GET', url, {})
      expect(got.status).toBe(200)
      expect(await answerTo('HEAD', url, {})).toStrictEqual({ ...got, body: '' })
    },
  )

  it('of a CSV file is an answer without a body', async () => {
    const url = '/api/v1/contacts/export?format=csv'
    const headers = { authorization: `Bearer ${owner.token}` }
    const { status, body, headers: shown } = await answerTo('HEAD', url, headers)
    expect([status, body, shown['content-type']]).toEqual([200, '', 'text/csv; charset=utf-8'])
  })

  it('reaches no callback, because the GET of a provider may report a receipt', async () => {
    const head = await world().app.inject({ method: 'HEAD', url: '/callbacks/sandbox' })
    expect(head.statusCode).toBe(404)
  })
})
