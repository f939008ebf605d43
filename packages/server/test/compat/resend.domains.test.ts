import { Resend } from 'resend'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { startTxtServer } from '../../../core/test/domains/txt-server.ts'
import { createDatabase, type TestDatabase } from '../../../core/test/postgres-database.ts'
import { openWorld, useWorld, type World } from '../world.ts'

const clientOf = ({ url }: World, key: string) =>
  new Resend(key, { baseUrl: `${url}/compat/resend` })

describe.each(['SQLite', 'PostgreSQL'])('domains of Resend with %s', (engine) => {
  let dns: Awaited<ReturnType<typeof startTxtServer>>
  let database: TestDatabase | null = null
  let world: World
  beforeAll(async () => {
    dns = await startTxtServer()
    if (engine === 'PostgreSQL') database = await createDatabase()
    world = await openWorld({
      listen: true,
      domains_dns: [dns.address],
      ...(database && { database_url: database.url }),
    })
  })
  afterAll(async () => {
    await world.close()
    await database?.drop()
    await dns.close()
  })

  it('are added, shown, verified, changed and removed', async () => {
    const owner = await world.signup()
    const { domains } = clientOf(world, (await world.key(owner)).key)
    const made = await domains.create({ name: 'Acme.example', tls: 'opportunistic' })
    expect(made).toMatchObject({
      error: null,
      data: { name: 'acme.example', status: 'not_started' },
    })
    const { id = '', records = [] } = made.data ?? {}
    expect(records).toEqual([
      {
        record: 'DKIM',
        name: expect.stringMatching(/^svc\w+\._domainkey\.acme\.example$/),
        type: 'TXT',
        ttl: 'Auto',
        status: 'not_started',
        value: expect.stringMatching(/^v=DKIM1; k=rsa; p=/),
      },
    ])
    expect((await domains.verify(id)).data).toEqual({ object: 'domain', id })
    expect((await domains.get(id)).data).toMatchObject({
      object: 'domain',
      status: 'pending',
      records: [{ status: 'pending' }],
    })
    const soon = await domains.verify(id)
    expect(soon.error).toMatchObject({ statusCode: 429, name: 'rate_limit_exceeded' })
    expect(soon.headers?.['retry-after']).toBe('10')
    dns.records.set(records[0]?.name ?? '', [records[0]?.value ?? ''])
    world.step(10_000)
    expect((await domains.verify(id)).error).toBeNull()
    expect((await domains.get(id)).data).toMatchObject({
      name: 'acme.example',
      status: 'verified',
      capabilities: { sending: 'enabled', receiving: 'disabled' },
      records: [{ record: 'DKIM', status: 'verified' }],
    })
    // The API shows the same domain.
    const { body } = await world.call('GET', `/api/v1/domains/${id}`, { token: owner.token })
    expect(body.data.domain).toMatchObject({ domain: 'acme.example', status: 'verified' })
    expect((await domains.update({ id, openTracking: false })).data).toEqual({
      object: 'domain',
      id,
    })
    expect((await domains.remove(id)).data).toEqual({ object: 'domain', id, deleted: true })
    expect((await domains.get(id)).error).toMatchObject({ statusCode: 404, name: 'not_found' })
  })
})

describe('domains of Resend', () => {
  const world = useWorld({ listen: true })

  async function domainsOf() {
    const owner = await world().signup()
    return { owner, ...clientOf(world(), (await world().key(owner)).key) }
  }

  let shared: Awaited<ReturnType<typeof domainsOf>>
  beforeAll(async () => {
    shared = await domainsOf()
  })

  it('are listed in pages, newest first', async () => {
    const { domains } = await domainsOf()
    for (const name of ['a.example', 'b.example', 'c.example']) await domains.create({ name })
    const first = await domains.list({ limit: 2 })
    expect(first.data?.data.map(({ name }) => name)).toEqual(['c.example', 'b.example'])
    expect(first.data?.has_more).toBe(true)
    const after = first.data?.data[1]?.id ?? ''
    const rest = await domains.list({ limit: 2, after })
    expect(rest.data).toMatchObject({ has_more: false, data: [{ name: 'a.example' }] })
  })

  it('are those of the workspace', async () => {
    const one = await domainsOf()
    const other = await domainsOf()
    const id = (await one.domains.create({ name: 'own.example' })).data?.id ?? ''
    const refused = { statusCode: 404, name: 'not_found' }
    expect((await other.domains.get(id)).error).toMatchObject(refused)
    expect((await other.domains.verify(id)).error).toMatchObject(refused)
    expect((await other.domains.update({ id, tls: 'opportunistic' })).error).toMatchObject(refused)
    expect((await other.domains.remove(id)).error).toMatchObject(refused)
    expect((await other.domains.list()).data?.data).toEqual([])
    expect((await one.domains.get(id)).error).toBeNull()
  })

  it.each([
    { mode: 'test', scopes: ['send_messages', 'read_messages', 'manage_webhooks'] },
    { mode: 'live', scopes: ['send_messages'] },
    { mode: 'live', scopes: ['send_messages', 'read_messages', 'manage_webhooks'] },
  ] as const)('are refused for a key that may not do everything: %j', async ({ mode, scopes }) => {
    const key = await world().key(shared.owner, { mode, scopes: [...scopes] })
    const { domains } = clientOf(world(), key.key)
    const refused = { statusCode: 401, name: 'restricted_api_key' }
    expect((await domains.list()).error).toMatchObject(refused)
    expect((await domains.create({ name: 'a.example' })).error).toMatchObject(refused)
  })

  test.each([
    [{ region: 'eu-west-1' }, 'region'],
    [{ openTracking: true }, 'open_tracking'],
    [{ tls: 'enforced' }, 'tls'],
    [{ capabilities: { receiving: 'enabled' } }, 'capabilities.receiving'],
    [{ customReturnPath: 'mail' }, 'custom_return_path'],
  ] as const)('refuse a setting without effect: %j', async (setting, field) => {
    const { domains } = shared
    const { error } = await domains.create({ name: 'a.example', ...setting })
    expect(error).toMatchObject({ statusCode: 422, name: 'validation_error' })
    expect(error?.message).toContain(`\`${field}\``)
    expect((await domains.list()).data?.data).toEqual([])
  })

  test.each(['', 'localhost', 'asha@example.com', `${'x'.repeat(300)}.example`])(
    'refuse a name that cannot send mail: %.20s',
    async (name) => {
      expect((await shared.domains.create({ name })).error?.statusCode).toBe(422)
    },
  )

  it('refuse a name that the workspace has already', async () => {
    const { domains } = await domainsOf()
    await domains.create({ name: 'a.example' })
    const { error } = await domains.create({ name: 'A.example' })
    expect(error).toMatchObject({ statusCode: 422, name: 'validation_error' })
  })
})

describe('domains of Resend without self-service', () => {
  const world = useWorld({ listen: true, self_service_domains: false })

  it('can be shown and verified, and not changed', async () => {
    const owner = await world().signup()
    const { id } = await world().core.domains.create(owner.id, { domain: 'acme.example' })
    const { domains } = clientOf(world(), (await world().key(owner)).key)
    const refused = {
      statusCode: 403,
      name: 'validation_error',
      message: expect.stringContaining('contact support'),
    }
    expect((await domains.create({ name: 'b.example' })).error).toMatchObject(refused)
    expect((await domains.remove(id)).error).toMatchObject(refused)
    expect((await domains.verify(id)).error).toBeNull()
    expect((await domains.list()).data?.data).toMatchObject([{ id }])
  })
})
