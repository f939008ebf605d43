import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { svc, svcJson } from './svc.ts'

let server: DevServer

beforeAll(async () => {
  server = await startDevServer()
})

afterAll(() => server.close())

const pathOf = (name: string) => join(server.here.cwd, name)

test('import shows rejected contacts and a summary, and exits with 1', async () => {
  writeFileSync(
    pathOf('people.csv'),
    'phone,name,tags,city\n+255700000001,Asha,vip,Dodoma\n0700,Chiku,,\n+255700000002,=1+1,,\n',
  )
  const { code, stdout, stderr } = await svc(['contacts', 'import', 'people.csv'], server.here)
  expect(code).toBe(1)
  expect(stdout).toBe(
    'line 3\tphone\tPhone number must be in E.164 format: "0700" has no country code; set default_country, or write the number with + and its country code\n2 created, 0 updated, 0 unchanged, 1 rejected\n',
  )
  expect(stderr).toBe('svc: 1 of 3 were rejected\n')
})

test('list shows contacts, newest first, filtered by search and tag', async () => {
  const all = await svc(['contacts', 'list'], server.here)
  expect(all.stdout).toMatch(/^=1\+1\t\+255700000002\t\t\t\S+\nAsha\t\+255700000001\t\tvip\t\S+\n$/)
  const { contacts } = await svcJson<{ contacts: { attributes: object }[] }>(
    ['contacts', 'list', '--search', 'ASHA', '--tag', 'vip'],
    server.here,
  )
  expect(contacts).toMatchObject([{ name: 'Asha', attributes: { city: 'Dodoma' } }])
})

test.each(['csv', 'json'])(
  'what export writes as %s, import takes as nothing new',
  async (format) => {
    const name = `out.${format}`
    const argv = ['contacts', 'export', name, '--format', format]
    expect(await svc(argv, server.here)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `2 contacts written to ${name}\n`,
    })
    expect(statSync(pathOf(name)).mode & 0o777).toBe(0o600)
    const report = await svcJson(['contacts', 'import', name], server.here)
    expect(report).toEqual({ created: 0, updated: 0, unchanged: 2, rejected: 0, errors: [] })
  },
)

test('export replaces a file only when it is complete', async () => {
  const path = pathOf('kept.csv')
  writeFileSync(path, 'older', { mode: 0o644 })
  const { env, cwd } = server.here
  const refused = { cwd, env: { ...env, SVC_URL: server.url, SVC_API_KEY: 'svc_invalid' } }
  const { code, stderr } = await svc(['contacts', 'export', 'kept.csv'], refused)
  expect([code, stderr]).toEqual([1, expect.stringContaining('Invalid API key')])
  const files = () => readdirSync(cwd).filter((name) => name.startsWith('kept'))
  expect([readFileSync(path, 'utf8'), files()]).toEqual(['older', ['kept.csv']])
  symlinkSync('kept.csv', pathOf('kept-link.csv'))
  expect((await svc(['contacts', 'export', 'kept-link.csv'], server.here)).code).toBe(0)
  expect(lstatSync(pathOf('kept-link.csv')).isSymbolicLink()).toBe(true)
  expect(readFileSync(path, 'utf8')).toBe(readFileSync(pathOf('out.csv'), 'utf8'))
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(files()).toEqual(['kept-link.csv', 'kept.csv'])
})

test('export writes into a named pipe', async () => {
  execFileSync('mkfifo', [pathOf('pipe')])
  const reading = readFile(pathOf('pipe'), 'utf8')
  expect((await svc(['contacts', 'export', 'pipe'], server.here)).code).toBe(0)
  expect(await reading).toBe(readFileSync(pathOf('out.csv'), 'utf8'))
  expect(lstatSync(pathOf('pipe')).isFIFO()).toBe(true)
})

test('export writes to stdout without a file', async () => {
  const { stdout } = await svc(['contacts', 'export'], server.here)
  expect(stdout).toBe(readFileSync(pathOf('out.csv'), 'utf8'))
  expect(stdout).toContain("'=1+1")
})

test.each([
  ['absent.csv', null, 'cannot read absent.csv: there is no such file'],
  ['broken.json', '{', 'broken.json is not JSON'],
  ['other.json', '{"people":[]}', 'other.json must contain an array of contacts'],
])('import refuses an invalid file: %s', async (name, text, message) => {
  if (text !== null) writeFileSync(pathOf(name), text)
  const { code, stderr } = await svc(['contacts', 'import', name], server.here)
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})

test('import refuses an invalid CSV file with the line number', async () => {
  writeFileSync(pathOf('broken.csv'), 'phone,name\n+1\n')
  const { code, stderr } = await svc(['contacts', 'import', 'broken.csv'], server.here)
  expect(code).toBe(2)
  expect(stderr).toContain('broken.csv, line 2: it has another number of cells than the header')
})

test('import shows the columns without importing, and takes what the headings do not say', async () => {
  const text =
    'Vorname;Nachname;Kontakt;Ort\r\nAda;Lovelace;0151 / 12345670;Köln\r\nBen;;4,91511E+12;\r\n'
  writeFileSync(pathOf('people-de.csv'), Buffer.from(text, 'latin1'))
  const argv = [
    'contacts',
    'import',
    'people-de.csv',
    '--default-country',
    'de',
    '--column',
    'Kontakt=phone',
  ]
  const trial = await svc([...argv, '--dry-run'], server.here)
  expect(trial.code).toBe(1)
  expect(trial.stdout).toMatch(/^Vorname\tfirst_name\tAda \| Ben$/m)
  expect(trial.stdout).toMatch(/^Kontakt\tphone\t/m)
  expect(trial.stdout).toMatch(/^line 3\tphone\t.*scientific notation.*format the column as text/m)
  expect(trial.stdout).toContain('It would be: 1 created, 0 updated, 0 unchanged, 1 rejected')
  expect((await svc(['contacts', 'list', '--search', 'Ada'], server.here)).stdout).toBe('')
  const { stdout } = await svc([...argv, '--json'], server.here)
  expect(JSON.parse(stdout)).toMatchObject({
    created: 1,
    rejected: 1,
    errors: [{ index: 1, line: 3 }],
  })
  const list = await svcJson(['contacts', 'list', '--search', 'Ada'], server.here)
  expect(list).toMatchObject({
    contacts: [{ name: 'Ada Lovelace', phone: '+4915112345670', attributes: { Ort: 'Köln' } }],
  })
})

test('import refuses a column of addresses whose heading is unknown', async () => {
  writeFileSync(pathOf('unknown.csv'), 'external_id,Kontakt\n1,a@example.com\n')
  const { code, stderr } = await svc(['contacts', 'import', 'unknown.csv'], server.here)
  expect(code).toBe(2)
  expect(stderr).toContain('unknown.csv: the column Kontakt has e-mail addresses')
})

test('a dry run of more contacts than one request finds what the import finds', async () => {
  const rows = Array.from({ length: 1_100 }, (_, i) => `big-${i},+1415556${1000 + i},`)
  const again = ['big-0,+14155561000,', 'other,+14155561001,', ',+14155561002,z@example.com']
  writeFileSync(pathOf('big.csv'), ['external_id,phone,email', ...rows, ...again].join('\n'))
  const argv = ['contacts', 'import', 'big.csv', '--json']
  const trial = JSON.parse((await svc([...argv, '--dry-run'], server.here)).stdout)
  const { file: _, ...found } = trial
  expect(found).toMatchObject({ created: 1_100, updated: 1, unchanged: 1, rejected: 1 })
  expect(found.errors).toMatchObject([{ line: 1_103, path: 'phone' }])
  expect(JSON.parse((await svc(argv, server.here)).stdout)).toEqual(found)
})
