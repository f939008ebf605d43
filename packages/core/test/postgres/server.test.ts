import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'

const patient = { timeout: 15_000 }

async function select(url: string, question: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(question)
  await client.end()
  return rows
}

describe('the server that tests are run on', () => {
  it('is a PostgreSQL that flushes, is reached by its owner alone, and leaves nothing behind', async () => {
    const server = await startPostgres()
    // A socket in a folder of its own, where there are such.
    const tcp = process.platform === 'win32' ? '127.0.0.1' : ''
    const settings =
      "select current_setting('fsync') as fsync, current_setting('listen_addresses') as tcp"
    expect(await select(server.url, settings)).toEqual([{ fsync: 'on', tcp }])
    expect(existsSync(server.folder)).toBe(true)
    await server.stop()
    await server.stop()
    expect(existsSync(server.folder)).toBe(false)
  })

  it('ends with the process that started it, also when that is killed', async () => {
    const program = `
      import { startPostgres } from ${JSON.stringify(new URL('../postgres-server.ts', import.meta.url).href)}
      console.log(JSON.stringify(await startPostgres()))
    `
    const tsx = ['--import', import.meta.resolve('tsx')]
    const child = spawn(process.execPath, [...tsx, '--input-type=module', '-e', program])
    const [line] = await once(createInterface(child.stdout), 'line')
    const { url, folder }: PostgresServer = JSON.parse(line)
    expect(await select(url, 'select 1 as one')).toEqual([{ one: 1 }])
    child.kill('SIGKILL')
    await expect.poll(() => existsSync(folder), patient).toBe(false)
  })

  it('that cannot start is a failure with the reason', async () => {
    await expect(startPostgres({ settings: { port: 'nonsense' } })).rejects.toThrow(
      /PostgreSQL did not start.*invalid value for parameter "port": "nonsense"/s,
    )
  })
})
