import { mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BROADCAST_STATUSES } from '../../src/contract/resources/broadcasts.ts'
import { type Core, createCore } from '../../src/core.ts'
import { backupDatabase } from '../../src/maintenance/backup/backup.ts'
import { restoreDatabase } from '../../src/maintenance/backup/restore.ts'
import { createEmptyDatabase, type TestDatabase } from '../postgres-database.ts'
import { exported, imported } from './move.ts'

let folder: string
let database: TestDatabase
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-marketing-'))
  mkdirSync(join(folder, 'backups'))
  database = await createEmptyDatabase()
})
afterEach(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

const file = (name: string) => join(folder, name)
const SQLITE = () => `file:${file('svc.db')}`
const POLL = { timeout: 20_000 }

/** Opens the service, lets it work, closes it. */
async function at<T>(database_url: string, work: (core: Core) => Promise<T>): Promise<T> {
  const core = await createCore({ database_url, threads: 0, signup_credits: '100' })
  try {
    return await work(core)
  } finally {
    await core.close()
  }
}

const sms = (text: string) => [{ channel: 'sms' as const, locale: 'en', content: { text } }]

/** A workspace with quiet hours, templates in each state, and a broadcast in each state. */
async function fill(core: Core): Promise<{ workspace_id: string; key: string }> {
  const { id: workspace_id } = await core.workspaces.signup({
    email: 'ops@example.com',
    password: 'correct horse battery 1',
    company_name: 'Example',
  })
  await core.workspaces.update(workspace_id, {
    time_zone: 'Africa/Nairobi',
    quiet_hours: [{ category: 'marketing', start: '21:00', end: '08:30', days: ['mon', 'sun'] }],
    postal_address: 'Żółw & Co\nMain Street 1',
    sms_opt_out_text: 'STOP to end',
  })
  const { templates, broadcasts, contacts } = core
  await templates.create(workspace_id, {
    name: 'news',
    category: 'transactional',
    variables: [{ name: 'offer', type: 'text', fallback: 'tea' }],
    variants: sms('Hi {{name|there}}, {{offer}}'),
  })
  await templates.publish(workspace_id, 'news')
  await templates.update(workspace_id, 'news', { variants: sms('Habari {{name|there}} 👋') })
  await templates.publish(workspace_id, 'news')
  await templates.update(workspace_id, 'news', { variants: sms('Not published yet') })
  const html = '<p>Größe {{name}}: {{#each items}}{{title}} {{/each}}</p>'
  await templates.create(workspace_id, {
    name: 'draft',
    category: 'marketing',
    variants: [{ channel: 'email', locale: 'de-AT', content: { subject: 'Neu', html } }],
    default_locale: 'de-AT',
  })
  await templates.create(workspace_id, { name: 'gone', variants: sms('Gone') })
  await templates.publish(workspace_id, 'gone')
  await templates.delete(workspace_id, 'gone')

  for (const [i, tag] of ['one', 'many', 'many', 'many'].entries()) {
    const phone = `+1415555010${i}`
    await contacts.create(workspace_id, { phone, tags: [tag], attributes: { time_zone: 'UTC' } })
  }
  const { key } = await core.apiKeys.create(workspace_id, {
    name: 'main',
    mode: 'live',
    scopes: ['send_messages', 'read_messages', 'manage_contacts'],
  })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  const request = (tag: string, more: object = {}) => ({
    channel: 'sms' as const,
    template: { name: 'news', variables: { offer: 'coffee' } },
    audience: {
      ...{ tags: [tag], exclude_tags: ['staff'], attributes: { time_zone: 'UTC' } },
      exclude_attributes: { city: 'Berlin' },
    },
    ...more,
  })
  const make = async (name: string, tag: string, more: object = {}) => {
    const made = await broadcasts.create(identity, { ...request(tag, more), name })
    return made.data.broadcast.id
  }
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
  await make('draft', 'many', { draft: true, rate: 30 })
  await make('scheduled', 'many', { scheduled_at: tomorrow, time_zone: 'recipient' })
  const finished = await make('finished', 'one')
  const running = await make('running', 'many', { rate: 1 })
  const paused = await make('paused', 'many', { rate: 1 })
  const canceled = await make('canceled', 'many', { rate: 1 })
  await core.startDispatch()
  const broadcast = async (id: string) => (await broadcasts.get(workspace_id, id)).broadcast
  for (const id of [running, paused, canceled]) {
    await expect.poll(async () => (await broadcast(id)).counts.accepted, POLL).toBe(1)
  }
  await expect.poll(async () => (await broadcast(finished)).status, POLL).toBe('finished')
  await broadcasts.pause(workspace_id, paused)
  await broadcasts.cancel(workspace_id, canceled)
  const settled = async (id: string) => (await broadcasts.get(workspace_id, id)).results.delivered
  for (const id of [finished, running, paused]) {
    await expect.poll(() => settled(id), POLL).toBe(1)
  }
  return { workspace_id, key }
}

/** All that the workspace sees of its quiet hours, templates and broadcasts. */
async function seen({ workspaces, templates, broadcasts }: Core, workspace_id: string) {
  const page = { limit: 100, offset: 0 }
  const names = ['news', 'draft', 'gone']
  const { broadcasts: all } = await broadcasts.list(workspace_id, page)
  const { templates: listed } = await templates.list(workspace_id, page)
  return {
    account: await workspaces.account(workspace_id),
    listed,
    drafts: await Promise.all(listed.map(({ name }) => templates.get(workspace_id, name))),
    versions: await Promise.all(
      names.map(async (name) => {
        const found = await templates
          .versions(workspace_id, name, page)
          .catch(() => ({ versions: [] }))
        return Promise.all(
          found.versions.map(({ version }) => templates.version(workspace_id, name, version)),
        )
      }),
    ),
    broadcasts: await Promise.all(all.map(({ id }) => broadcasts.get(workspace_id, id))),
  }
}

describe('quiet hours, templates and broadcasts in each state', () => {
  it('survive a backup and its restore', async () => {
    const [workspace_id, before] = await at(SQLITE(), async (core) => {
      const made = await fill(core)
      await core.dispatch.stop({ reason: 'backup' })
      return [made.workspace_id, await seen(core, made.workspace_id)] as const
    })
    const states = before.broadcasts.map(({ broadcast }) => broadcast.status)
    expect(states.toSorted()).toEqual(BROADCAST_STATUSES.toSorted())
    expect(before.versions.map((one) => one.length)).toEqual([2, 0, 1])

    const made = { database: file('svc.db'), to: file('backups'), keep: null }
    const backup = await backupDatabase({ ...made, verify: 'full', made_by: 'svc test' })
    const restored = file('restored.db')
    await restoreDatabase({ backup: backup.file, database: restored, verify: 'full' })
    await at(`file:${restored}`, async (core) => {
      expect(await seen(core, workspace_id)).toEqual(before)
    })
  })

  it('survive a move to PostgreSQL, go on there, and move back', async () => {
    const [{ workspace_id, key }, before] = await at(SQLITE(), async (core) => {
      const made = await fill(core)
      await core.dispatch.stop({ reason: 'move' })
      return [made, await seen(core, made.workspace_id)] as const
    })
    await imported(database.url, (await exported(SQLITE())).bytes)
    const after = await at(database.url, async (core) => {
      expect(await seen(core, workspace_id)).toEqual(before)
      const { broadcasts, templates } = core
      await templates.publish(workspace_id, 'news')
      const of = (name: string) =>
        before.broadcasts.find(({ broadcast }) => broadcast.name === name)?.broadcast.id ?? ''
      const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
      await broadcasts.cancel(workspace_id, of('running'))
      await broadcasts.update(identity, of('draft'), { rate: null, draft: false })
      await core.dispatch.resume()
      await core.startDispatch()
      const finished = async () => (await broadcasts.get(workspace_id, of('draft'))).broadcast
      await expect.poll(async () => (await finished()).status, POLL).toBe('finished')
      expect((await finished()).counts).toMatchObject({ audience: null, accepted: 3 })
      // It began after the move, with the version that was published there.
      expect((await finished()).template.version).toBe(3)
      const delivered = async () =>
        (await broadcasts.get(workspace_id, of('draft'))).results.delivered
      await expect.poll(delivered, POLL).toBe(3)
      // The first contact of the paused one had its turn before the move.
      await broadcasts.resume(identity, of('paused'))
      const paused = async () => (await broadcasts.get(workspace_id, of('paused'))).broadcast
      await expect.poll(async () => (await paused()).counts.contacts, POLL).toBe(2)
      await broadcasts.pause(workspace_id, of('paused'))
      await core.dispatch.stop({ reason: 'move' })
      return seen(core, workspace_id)
    })
    await imported(`file:${file('back.db')}`, (await exported(database.url)).bytes)
    await at(`file:${file('back.db')}`, async (core) => {
      expect(await seen(core, workspace_id)).toEqual(after)
    })
  })
})
