import type { Role } from '@svc/core/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ACCOUNT } from '../../core/test/providers/whatsapp-cloud/peer.ts'
import type { Account } from './accounts.ts'
import { openMeta } from './channels/meta-carrier.ts'
import { openWorld, type World } from './world.ts'

let peer: Awaited<ReturnType<typeof openMeta>>
let world: World
let owner: Account
beforeAll(async () => {
  peer = await openMeta({ business_account_ids: [ACCOUNT] })
  world = await openWorld({
    providers: [peer.settings],
    console: {
      authenticate: async ({ headers: { 'x-person': id, 'x-role': role } }) =>
        typeof id === 'string' ? { workspace_id: id, role: role as Role | undefined } : null,
    },
  })
  owner = await world.signup()
})
afterAll(async () => {
  await world.close()
  await peer.close()
})

async function approval(query: string, role = 'viewer') {
  const answer = await world.app.inject({
    url: `/console/api/templates/approval?${query}`,
    headers: { 'sec-fetch-site': 'same-origin', 'x-person': owner.id, 'x-role': role },
  })
  return { status: answer.statusCode, body: JSON.parse(answer.body) }
}

it('the editor gets the state of a WhatsApp template, with refresh a new one', async () => {
  const bad = { name: 'bad', language: 'en', body: 0, status: 'REJECTED' }
  peer.meta.templates.push({ ...bad, rejected_reason: 'PROMOTIONAL' })
  const state = async (query: string) => (await approval(query)).body.data.approval
  const checked_at = world.now().toISOString()
  expect(await state('name=bad&language=en')).toEqual({
    ...{ state: 'refused', status: 'REJECTED', reason: 'PROMOTIONAL', checked_at },
  })
  expect(await state('name=bad&language=de')).toMatchObject({ state: 'missing' })
  peer.meta.templates.splice(-1, 1, { ...bad, status: 'APPROVED' })
  await world.advance(60_000)
  expect(await state('name=bad&language=en')).toMatchObject({ state: 'refused' })
  expect(await state('name=bad&language=en&refresh=true')).toEqual({
    ...{ state: 'approved', status: 'APPROVED', reason: null },
    checked_at: world.now().toISOString(),
  })
  expect((await approval('name=bad&refresh=yes')).status).toBe(400)
  expect((await approval(`name=${'n'.repeat(513)}`)).status).toBe(400)
})
