import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Sqlite } from '../../core/src/storage/sqlite/engine/connection.ts'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
const here = { cwd: folder.path, env: { SVC_SIGNUP_CREDITS: '2.5' } }

beforeAll(async () => {
  const create = ['workspaces', 'create', '--name', 'X', '--email', 'ops@example.com']
  await svc([...create, '--password-stdin'], { ...here, stdin: 'correct horse battery\n' })
  await svc(['credits', 'grant', '0.1', '--id', 'g1', '--reason', '=1+1;"x"'], here)
})

afterAll(() => folder.remove())

test('verify shows the trial balance of a consistent ledger, and exits with 0', async () => {
  const { code, stdout } = await svc(['ledger', 'verify'], here)
  expect(code).toBe(0)
  expect(stdout).toContain('promo:operator\t1\t-0.1\n')
  expect(stdout).toContain('workspaces\t2\t2.6\n')
  expect(stdout).toMatch(/^The ledger is consistent: 2 entries of 1 workspace, and 0 messages/m)
  const report = await svcJson(['ledger', 'verify', '--workspace', 'ops@example.com'], here)
  expect(report).toMatchObject({ ok: true, entries: 2, differences: [] })
  const shown = await svc(['ledger', 'verify'], { ...here, terminal: true })
  expect(shown.stderr).toContain('entries')
})

test('export writes CSV with exact decimals and escaped formulas, and JSON lines', async () => {
  const { code, stdout, stderr } = await svc(['ledger', 'export'], here)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '2 entries.\n' })
  const [header, , grant] = stdout.split('\r\n')
  expect(header).toMatch(/^workspace_id,email,seq,id,kind,amount,/)
  expect(grant).toMatch(/,ops@example\.com,2,[^,]+,grant,0\.1,0,2\.6,0,promo:operator,grant,g1,0,/)
  expect(grant).toContain(`,"'=1+1;""x""",`)
  const lines = (await svc(['ledger', 'export', '--format', 'jsonl'], here)).stdout.split('\n')
  const line: object = JSON.parse(lines[1] ?? '')
  expect(Object.keys(line).join()).toBe(header)
  expect(line).toMatchObject({
    email: 'ops@example.com',
    seq: 2,
    kind: 'grant',
    amount: 0.1,
    held_delta: 0,
    balance_after: 2.6,
    held_after: 0,
    counter_account: 'promo:operator',
    ref_type: 'grant',
    ref_id: 'g1',
    ref_n: 0,
    unit_price: null,
    resolves: null,
    actor: 'operator',
    description: '=1+1;"x"',
  })
})

test('export writes a new file, and filters by time', async () => {
  const argv = ['ledger', 'export', '--out', 'a.csv', '--until', '2020-01-01T00:00:00Z']
  expect(await svcJson(argv, here)).toMatchObject({ entries: 0 })
  expect(readFileSync(`${folder.path}/a.csv`, 'utf8').split('\r\n')).toHaveLength(2)
  expect(existsSync(`${folder.path}/a.csv.part`)).toBe(false)
  expect(await svc(argv, here)).toMatchObject({ code: 2 })
  for (const since of ['soon', 'May 4', '4/5/2026', '2026-02-30']) {
    expect(await svc(['ledger', 'export', '--since', since], here)).toMatchObject({ code: 2 })
  }
})

test('verify --file follows the entries of exported files', async () => {
  const argv = ['ledger', 'verify', '--file']
  await svc(['ledger', 'export', '--format', 'jsonl', '--out', 'all.jsonl'], here)
  expect(await svc([...argv, 'all.jsonl', 'all.jsonl'], here)).toMatchObject({
    code: 0,
    stdout: 'The files are complete: 2 entries of 1 workspace, which prove 0 openings.\n',
  })
  const lines = readFileSync(`${folder.path}/all.jsonl`, 'utf8')
  writeFileSync(`${folder.path}/changed.jsonl`, lines.replace('"amount":0.1', '"amount":0.2'))
  const changed = await svc([...argv, 'changed.jsonl'], here)
  expect(changed).toMatchObject({
    code: 1,
    stderr: 'svc: the files and the ledger differ: 1 difference\n',
  })
  expect(changed.stdout).toMatch(
    /^balance_after\t[0-9a-f-]+\t2\t2600000, held 0\t2700000, held 0$/m,
  )
  await svc(['ledger', 'export', '--out', 'all.csv'], here)
  const csv = await svc([...argv, 'all.csv'], here)
  expect(csv.code).toBe(2)
  expect(csv.stderr).toContain(
    'all.csv, line 1: not an entry of a ledger: export it with svc ledger export --format jsonl',
  )
  expect(await svc([...argv, 'none.jsonl'], here)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('none.jsonl does not exist'),
  })
  expect(await svc([...argv, 'all.jsonl', 'data'], here)).toMatchObject({
    code: 2,
    stderr: 'svc: ./data is a folder: give its files\n',
  })
  writeFileSync(`${folder.path}/long.jsonl`, 'x'.repeat(2 ** 20 + 1))
  expect(await svc([...argv, 'long.jsonl'], here)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('long.jsonl has a line of more than 1048576 bytes: export it'),
  })
})

test('reads the database of --database, also to find the workspace', async () => {
  const elsewhere = { ...here, env: { SVC_DATA_DIR: 'nowhere' } }
  for (const database of [`file:${folder.path}/data/svc.db`, 'file:data/svc.db']) {
    const argv = ['ledger', 'verify', '--database', database, '--workspace', 'ops@example.com']
    const report = await svcJson<{ ok: boolean; entries: number }>(argv, elsewhere)
    expect(report).toMatchObject({ ok: true, workspaces: 1, entries: 2 })
    const exported = await svc(['ledger', 'export', '--database', database], elsewhere)
    expect(exported.stderr).toBe('2 entries.\n')
  }
  const missing = await svc(['ledger', 'verify', '--database', 'file:no.db'], here)
  expect(missing.code).toBe(2)
})

test('verify shows a difference, and exits with 1', async () => {
  const database = new Sqlite(`${folder.path}/data/svc.db`)
  database.exec('update credit_accounts set balance = balance + 1')
  database.close()
  const { code, stdout, stderr } = await svc(['ledger', 'verify'], here)
  expect(code).toBe(1)
  expect(stdout).toMatch(/^balance\t[0-9a-f-]+\t\t\t2600001\t2600000$/m)
  expect(stderr).toBe('svc: the ledger is inconsistent: 2 differences\n')
  const asJson = await svc(['ledger', 'verify', '--json'], here)
  expect(asJson.code).toBe(1)
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    ok: false,
    differences: [{ check: 'balance' }, { check: 'trial_balance' }],
  })
  expect(JSON.parse(asJson.stderr)).toMatchObject({ error: 'ledger_differs' })
})

test('verify names the settings without a database, and exits with 2', async () => {
  const { code, stderr } = await svc(['ledger', 'verify'], { cwd: `${folder.path}/none` })
  expect(code).toBe(2)
  expect(stderr).toContain('set SVC_DATABASE_URL or SVC_DATA_DIR')
})
