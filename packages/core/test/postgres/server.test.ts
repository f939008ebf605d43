import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'

const patient = { timeout: 15_000 }

function folderOf({ url }: Pick<PostgresServer, 'url'>): string {
  return decodeURIComponent(/@([^/]+)\//.exec(url)?.[1] ?? expect.fail(url))
}

async function ask(url: string, question: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(question)
  await client.end()
  return rows
}

describe.skipIf(process.platform === 'win32')('the server that tests are run on', () => {
  it('is a PostgreSQL that flushes, is reached by its owner alone, and leaves nothing behind', async () => {
    const server = await startPostgres()
    const settings =
      "select current_setting('fsync') as fsync, current_setting('listen_addresses') as tcp"
    expect(await ask(server.url, settings)).toEqual([{ fsync: 'on', tcp: '' }])
    expect(existsSync(folderOf(server))).toBe(true)
    await server.stop()
    await server.stop()
    expect(existsSync(folderOf(server))).toBe(false)
  })

  it('ends with the process that started it, also when that is killed', async () => {
    const program = `
      import { startPostgres } from ${JSON.stringify(new URL('../postgres-server.ts', import.meta.url).href)}
      console.log((await startPostgres()).url)
    `
    const tsx = ['--import', import.meta.resolve('tsx')]
    const child = spawn(process.execPath, [...tsx, '--input-type=module', '-e', program])
    const [url] = await once(createInterface(child.stdout), 'line')
    expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }])
    child.kill('SIGKILL')
    await expect.poll(() => existsSync(folderOf({ url })), patient).toBe(false)
  })

  it('that cannot start is a failure that tells why', async () => {
    await expect(startPostgres({ settings: { port: 'nonsense' } })).rejects.toThrow(
      /PostgreSQL did not start.*invalid value for parameter "port": "nonsense"/s,
    )
  })
})
