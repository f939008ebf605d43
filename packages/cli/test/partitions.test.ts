import { checkDatabase } from '@svc/server/doctor'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { enablePartitions } from '../../core/src/maintenance/partitions/partitions.ts'
import { createDatabase, type TestDatabase } from '../../core/test/postgres-database.ts'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
let database: TestDatabase
let here: { cwd: string; env: NodeJS.ProcessEnv }

beforeAll(async () => {
  database = await createDatabase()
  here = { cwd: folder.path, env: { SVC_DATABASE_URL: database.url } }
})
afterAll(async () => {
  await database?.drop()
  folder.remove()
})

interface Shown {
  tables: { table: string; is_partitioned: boolean; partitions: { name: string }[] }[]
}

/** The first moment of a month after this one, and the name of its partition. */
function month(after: number): { at: Date; name: string } {
  const now = new Date()
  const at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + after, 1))
  return { at, name: `messages_${at.toISOString().slice(0, 7).replace('-', '_')}` }
}

async function warnings({ url } = database, about = /partition|interrupted/): Promise<string[]> {
  const { findings } = await checkDatabase(url, { thorough: false, now: () => new Date() })
  return findings.flatMap(({ level, message }) =>
    level === 'warning' && about.test(message) ? [message] : [],
  )
}

test('SQLite is refused, with what removes old history there', async () => {
  const { code, stderr } = await svc(['partitions', 'enable', '--database', 'file:svc.db'], here)
  expect(code).toBe(1)
  expect(stderr).toBe(
    'svc: partitions are only for PostgreSQL; on SQLite, SVC_HISTORY_DAYS removes old history, and svc compact gives its space back\n',
  )
})

test('enable tells its steps, add adds months, and status and doctor name rows without a partition', async () => {
  const before = await svcJson<Shown>(['partitions', 'status'], here)
  expect(before.tables.map(({ is_partitioned }) => is_partitioned)).not.toContain(true)
  expect((await svc(['partitions', 'add'], here)).stderr).toContain('run svc partitions enable')
  expect((await svc(['partitions', 'add', '--months', '25'], here)).code).toBe(2)

  const { code, stdout } = await svc(['partitions', 'enable', '--months', '2'], here)
  expect(code).toBe(0)
  expect(stdout).toContain('messages: reads the rows once, while servers write, about 0…\n')
  expect(stdout).toMatch(/✓ 6 histories are partitioned by month\.\n$/)
  const namesOf = async () => {
    const { tables } = await svcJson<Shown>(['partitions', 'status'], here)
    return tables[0]?.partitions.map(({ name }) => name)
  }
  expect(await namesOf()).toEqual(['messages_first', month(2).name, 'messages_default'])
  const { added } = await svcJson<{ added: string[] }>(['partitions', 'add'], here)
  expect(added).toContain(month(3).name)
  expect((await svc(['partitions', 'add'], here)).stdout).toBe('Every month has its partitions.\n')
  expect(await warnings()).toEqual([])

  const owner = await database.connect()
  await owner.query(
    `insert into events (workspace_id, id, event, body, created_at)
     values ('w', 'ffff0000-0000-7000-8000-000000000000', 'credits.low', '{}', now())`,
  )
  expect((await svc(['partitions', 'status'], here)).stdout).toContain(
    '1 rows of events are in the default partition: run svc partitions add\n',
  )
  expect(await warnings()).toEqual(['1 rows of events are in the default partition'])
  await owner.query(`drop table ${month(2).name}, ${month(3).name}`)
  await owner.query('alter table messages detach partition messages_first')
  expect(await warnings()).toContain('messages has no partition for the next month')
})

test('detach takes the oldest month, status and export name it, and attach brings it back', async () => {
  const old = await createDatabase()
  try {
    const there = { cwd: folder.path, env: { SVC_DATABASE_URL: old.url } }
    const early = await svc(['partitions', 'detach', '--yes'], there)
    expect(early.stderr).toBe(
      'svc: no history is partitioned yet: run svc partitions enable first\n',
    )
    await enablePartitions(old.url, { now: new Date('2026-01-10Z'), ahead: 6 })
    expect((await svc(['partitions', 'detach', '2026-1'], there)).code).toBe(2)
    expect((await svc(['partitions', 'detach'], there)).stderr).toContain('add --yes')
    const dry = await svc(['partitions', 'detach', '--dry-run'], there)
    expect(dry.stdout).toBe('first with 0 messages can be detached.\n')
    const { code, stdout } = await svc(['partitions', 'detach', '--yes'], there)
    expect(code).toBe(0)
    expect(stdout).toContain('first: moves the bulks…\n')
    expect(stdout).toMatch(/✓ first with 0 messages is detached\.\n$/)
    expect(await svcJson(['partitions', 'status'], there)).toMatchObject({
      detached: [{ month: 'first', schema: 'svc_detached_first', step: 'detached', messages: 0 }],
    })
    expect((await svc(['partitions', 'status'], there)).stdout).toMatch(
      /^first is detached: 0 messages, \d\.\d MB in the schema svc_detached_first$/m,
    )
    const owner = await old.connect()
    const statusAt = async (step: string) => {
      await owner.query(
        `do $$ begin execute format('comment on schema svc_detached_first is %L', regexp_replace(
           obj_description('svc_detached_first'::regnamespace, 'pg_namespace'), '"step":"[a-z]+"', '"step":"${step}"')); end $$`,
      )
      return (await svc(['partitions', 'status'], there)).stdout
    }
    expect(await warnings(old, /interrupted/)).toEqual([])
    expect(await statusAt('bulks')).toMatch(
      /^the detachment of first runs now or was interrupted: run svc partitions detach first to continue it; \d\.\d MB in the schema svc_detached_first$/m,
    )
    expect(await warnings(old, /interrupted/)).toEqual([
      'the detachment of first runs now or was interrupted: until its end no recipient can be erased, and no ledger entry is folded',
    ])
    expect(await statusAt('returning')).toMatch(
      /^the attachment of first runs now or was interrupted: run svc partitions attach first /m,
    )
    expect(await warnings(old, /interrupted/)).toEqual([
      expect.stringMatching(/^the attachment of first runs now or was interrupted: /),
    ])
    expect(await statusAt('attaching')).toMatch(/^the attachment of first runs now /m)
    const undone = await svc(['partitions', 'detach', 'first', '--yes'], there)
    expect(undone.stdout).toMatch(/✓ first with 0 messages is detached\.\n$/)
    expect(await warnings(old, /interrupted/)).toEqual([])
    expect((await svc(['export', 'all.jsonl.gz'], there)).stderr).toContain(
      'first is detached and not exported: run svc partitions attach first first.\n',
    )
    const wrong = await svc(['partitions', 'attach', '2031-01', '--yes'], there)
    expect(wrong.stderr).toBe('svc: 2031-01 is not detached\n')
    expect(await svcJson(['partitions', 'attach', 'first', '--yes'], there)).toEqual({
      month: 'first',
      messages: 0,
    })
    expect(await svcJson(['partitions', 'status'], there)).toMatchObject({ detached: [] })
  } finally {
    await old.drop()
  }
})

test('an erasure names a month that a migration keeps it from searching', async () => {
  const old = await createDatabase()
  try {
    const there = { cwd: folder.path, env: { SVC_DATABASE_URL: old.url } }
    const argv = ['workspaces', 'create', '--name', 'Example', '--email', 'ops@example.com']
    const stdin = 'correct horse battery\n'
    const { stdout } = await svc([...argv, '--password-stdin', '--json'], { ...there, stdin })
    await enablePartitions(old.url, { now: new Date('2026-01-10Z'), ahead: 6 })
    const owner = await old.connect()
    expect((await svc(['partitions', 'detach', '--yes'], there)).code).toBe(0)
    await owner.query(
      `insert into svc_detached_first.messages (id, workspace_id, channel, recipient, content, metadata, livemode, status,
         accepted, credits_used, credits_refunded, sequence, created_at, updated_at)
       values ('019b0000-0000-7000-8000-000000000000', $1, 'sms', '+255700000009', '{}', '{}', false, 'delivered', true, 0, 0, 1,
         '2026-01-09', '2026-01-09')`,
      [JSON.parse(stdout).workspace.id],
    )
    const erase = ['recipients', 'erase', '+255700000009']
    await owner.query('alter table svc_detached_first.messages rename column recipients to people')
    const named =
      'the detached month first cannot be erased, because a migration changed the tables since: erase its rows with SQL, or drop its schema (svc partitions status names it)'
    expect((await svc([...erase, '--dry-run'], there)).stderr).toContain(`${named}.\n`)
    const { code, stderr } = await svc([...erase, '--yes'], there)
    expect(code).toBe(1)
    expect(stderr).toMatch(/\nsvc: the detached month first cannot be erased, [^\n]+\n$/)
  } finally {
    await old.drop()
  }
})
