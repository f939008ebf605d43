import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect } from '../../src/storage/postgres/engine/connection.ts'
import { testRuntime } from '../fixtures.ts'
import { ownerOf, type PostgresServer, startPostgres } from '../postgres-server.ts'

let folder: string
let server: PostgresServer
let port: number

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-tls-'))
  for (const name of ['server', 'other']) {
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-days',
          '2',
          '-subj',
          '/CN=localhost',
        ],
        ...['-addext', 'subjectAltName=DNS:localhost'],
        ...['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)],
      ],
      { stdio: 'ignore' },
    )
  }
  const { uid, gid } = ownerOf(folder)
  if (uid !== undefined && gid !== undefined) {
    for (const name of readdirSync(folder)) chownSync(join(folder, name), uid, gid)
  }
  port = await freePort()
  server = await startPostgres({
    settings: {
      listen_addresses: 'localhost',
      port: String(port),
      ssl: 'on',
      ssl_cert_file: join(folder, 'server.crt'),
      ssl_key_file: join(folder, 'server.key'),
    },
  })
}, 60_000)

afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

/** Whether the connection is encrypted; or why there is none. */
async function encrypted(parameters: string, host = 'localhost'): Promise<boolean | string> {
  const text = parameters.replaceAll('FOLDER', encodeURIComponent(folder))
  const url = `postgres://svc@${host}:${port}/postgres${text && `?${text}`}`
  try {
    const connections = await connect(url, { log: testRuntime('tls').log })
    try {
      const question = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'
      const answers = [connections.hot, connections.cold, connections.slow].map((pool) =>
        pool.query<{ ssl: boolean }>(question),
      )
      const seen = (await Promise.all(answers)).map(({ rows }) => rows[0]?.ssl ?? false)
      const listener = await connections.connect?.()
      seen.push((await listener?.query<{ ssl: boolean }>(question))?.rows[0]?.ssl ?? false)
      await listener?.end()
      return seen.every(Boolean) || (seen.some(Boolean) ? 'some' : false)
    } finally {
      await connections.end()
    }
  } catch (error) {
    return (error as Error).message
  }
}

it.each([
  ['', false],
  ['sslmode=disable', false],
  ['sslmode=no-verify', true],
  ['sslmode=verify-full&sslrootcert=FOLDER%2Fserver.crt', true],
  ['sslmode=require&sslrootcert=FOLDER%2Fserver.crt', true],
  ['sslrootcert=FOLDER%2Fserver.crt', true],
  ['uselibpqcompat=true&sslmode=require', true],
  ['sslmode=verify-full', /self-signed certificate/],
  ['sslmode=require', /self-signed certificate/],
  ['sslmode=prefer', /self-signed certificate/],
  ['ssl=true', /self-signed certificate/],
  ['sslmode=verify-full&sslrootcert=FOLDER%2Fother.crt', /self-signed certificate|signature/],
  [
    'sslmode=verify-full&sslrootcert=FOLDER%2Fgone.crt',
    /certificate that cannot be read \(ENOENT\)/,
  ],
] as const)('with %j the connections are encrypted: %s', async (parameters, expected) => {
  const answer = await encrypted(parameters)
  if (expected instanceof RegExp) expect(answer).toMatch(expected)
  else expect(answer).toBe(expected)
})

it('with sslmode=verify-full the certificate must name the host', async () => {
  const root = 'sslrootcert=FOLDER%2Fserver.crt'
  expect(await encrypted(`sslmode=verify-full&${root}`, '127.0.0.1')).toMatch(/does not match/)
  expect(await encrypted(`uselibpqcompat=true&sslmode=verify-ca&${root}`, '127.0.0.1')).toBe(true)
})
