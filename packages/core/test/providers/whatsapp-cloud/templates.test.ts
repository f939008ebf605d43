import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Provider } from '../../../src/contract/outside/provider.ts'
import { createProviderClient } from '../../../src/providers/http-client.ts'
import { openWhatsappCloud } from '../../../src/providers/whatsapp-cloud/whatsapp-cloud.ts'
import { ACCOUNT, type MetaPeer, startMetaPeer } from './peer.ts'

let peer: MetaPeer
let provider: Provider

const WELCOME = { welcome: { name: 'hello_world', language: 'en_US' } }

beforeEach(async () => {
  peer = await startMetaPeer()
  provider = openWhatsappCloud(
    peer.settings({ business_account_ids: [ACCOUNT], templates: WELCOME }),
    { http: createProviderClient({ deadline_ms: 5_000 }) },
  )
})
afterEach(async () => {
  await provider.close?.()
  await peer.close()
})

describe('the list of templates', () => {
  it('has all pages, with the state of each, and the ids of the settings', async () => {
    peer.templates.push({ name: 'sale', language: 'de', body: 0, status: 'PAUSED' })
    const rejected = { status: 'REJECTED', rejected_reason: 'PROMOTIONAL' }
    peer.templates.push({ name: 'bad', language: 'en', body: 0, ...rejected })
    peer.templates.push({ name: 'new', language: 'en', body: 0, status: 'PENDING' })
    const list = await provider.templates?.()
    if (list?.type !== 'listed') throw new Error(JSON.stringify(list))
    expect(new Set(list.templates.map(({ name }) => name))).toEqual(
      new Set(peer.templates.map(({ name }) => name)),
    )
    expect(list.templates).toHaveLength(8)
    const states = list.templates.filter(({ name }) => ['bad', 'new'].includes(name))
    expect(states).toHaveLength(2)
    expect(states).toEqual(
      expect.arrayContaining([
        {
          ...{ name: 'bad', language: 'en', status: 'REJECTED', is_approved: false },
          reason: 'PROMOTIONAL',
        },
        { name: 'new', language: 'en', status: 'PENDING', is_approved: false, is_pending: true },
      ]),
    )
    expect(list.templates).toContainEqual({
      name: 'sale',
      language: 'de',
      status: 'PAUSED',
      is_approved: false,
    })
    expect(list.templates.filter(({ is_approved }) => is_approved)).toHaveLength(5)
    expect(list.ids).toEqual(WELCOME)
    // Each page is asked for at the address of the settings.
    expect(peer.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(
      ['', '&after=2', '&after=4', '&after=6'].map(
        (after) =>
          `GET /v25.0/${ACCOUNT}/message_templates?fields=name,language,status,rejected_reason&limit=250${after}`,
      ),
    )
  })

  it('is unavailable with the reason when Meta refuses, or answers without a list', async () => {
    peer.fail(null, { type: 'raw', status: 200, body: '{"data":"none"}' })
    expect(await provider.templates?.()).toEqual({
      type: 'unavailable',
      reason: `${ACCOUNT}: The answer has no templates`,
    })
    peer.fail({ type: 'raw', status: 200, body: '{"data":[],"paging":{"next":"x"}}' })
    expect(await provider.templates?.()).toMatchObject({ type: 'unavailable' })
    peer.fail('drop_before')
    expect(await provider.templates?.()).toMatchObject({ type: 'unavailable' })
    peer.revoke()
    const refused = await provider.templates?.()
    expect(refused).toMatchObject({ type: 'unavailable' })
    expect(JSON.stringify(refused)).not.toContain('EAAlocal')
  })

  it('takes the best state where two accounts have the template', async () => {
    await provider.close?.()
    provider = openWhatsappCloud(peer.settings({ business_account_ids: [ACCOUNT, '7'] }))
    const body = (status: string) =>
      JSON.stringify({ data: [{ name: 'a', language: 'en', status }, { name: 3 }, null] })
    peer.fail({ type: 'raw', status: 200, body: body('APPROVED') })
    peer.fail({ type: 'raw', status: 200, body: body('REJECTED') })
    const list = await provider.templates?.()
    // The last one counts.
    expect(list).toMatchObject({ templates: [{ status: 'REJECTED' }, { status: 'APPROVED' }] })
  })

  it('is absent without an account in the settings', () => {
    const without = openWhatsappCloud(peer.settings())
    expect(without.templates).toBeUndefined()
    return without.close?.()
  })
})
